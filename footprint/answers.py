"""What a public function answers to keywords that it does not have: one sentence, with the nearest word that it does have."""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Sequence
from contextlib import AbstractContextManager
from pathlib import PurePath
from typing import Any, NamedTuple, TypeVar

from footprint.errors import ArgumentError, closest

Verb = TypeVar("Verb", bound=Callable[..., Any])

_WORD = (str, PurePath)
_KEYWORDS = 0x08  # of a code object's flags: the function takes any


Taker = Callable[[type], Callable[..., Any] | None]
"""Who takes a call in a verb's place, by the type of its first argument; None where the verb does, or NotImplemented of a call."""


class Words(NamedTuple):
    """What a verb takes by name, too, such as a mask: where it is among the arguments, what it is called, and what opens it.

    ``opened(word, first, named)``, of the call's first argument and its keywords, is a context of what the verb then takes.
    """

    at: int
    name: str
    opened: Callable[[Any, Any, dict[str, Any]], AbstractContextManager[Any]]


def answering(verb: Verb, home: str = "footprint", taker: Taker | None = None, words: Words | None = None) -> Verb:
    """``verb``, which ``home`` has under its name: its errors about the call itself say what the arguments are called here.

    Arrays that the verb does not know go to who takes them, ``taker``; ``words`` is what it takes by name.
    """
    code = verb.__code__
    positional, known = code.co_argcount, code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]

    watchers = [name for name in ("progress", "on_plan") if name in known]

    @functools.wraps(verb)
    def call(*args: Any, **named: Any) -> Any:
        if taker is not None and (args or named):
            other = taker(type(args[0] if args else named.get(known[0])))
            if other is not None:
                rest = named if args else {name: one for name, one in named.items() if name != known[0]}
                found = other(*(args or (named[known[0]],)), **rest)
                if found is not NotImplemented:
                    return found
        for name in watchers:
            if not (named.get(name) is None or callable(named[name])):
                raise ArgumentError(name, repr(named[name]), "a function, or None")
        try:
            if words is not None:
                word = args[words.at] if len(args) > words.at else named.get(words.name)
                if isinstance(word, _WORD):
                    first = args[0] if args else named.get(known[0])
                    return _by_name(verb, words, word, first, args, named)
            return verb(*args, **named)
        except ArgumentError as error:
            if error.name == "center" and "center" not in known and "method" in known:
                # A search is asked for by `reconstruct`, too, by a method's name in the axis's place.
                raise type(error)("method", error.got, error.wanted, error.fix.replace("center=", "method=")) from error
            if fix := _outside((*args, *named.values()), "axes" in known, str(error.got)):
                raise type(error)(error.name, error.got, error.wanted, fix) from error
            raise
        except TypeError as error:
            if fix := _outside((*args, *named.values()), "axes" in known, str(error)):
                raise TypeError(f"{verb.__name__}() needs numbers that are known; {fix}") from error
            # Python looks for these in this order, before the function begins: no error from within is taken for one of them.
            if not code.co_flags & _KEYWORDS:
                check_keywords(verb.__name__, named, known)
            holder = args[0] if args else None
            if "missing" in str(error) and "header" in known and hasattr(holder, "header") and hasattr(holder, "data"):
                raise TypeError(f"{error}; give an HDU's array and its header apart, hdu.data and hdu.header") from None
            twice = [name for name in named if name in known[: min(len(args), positional)]]
            said = [note for name in twice if (note := told_of(name, known))]
            if len(args) > positional and len(known) > positional:
                said.append(f"name what comes after {known[positional - 1]}, as in {known[positional]}=")
            if not said:
                raise
            raise TypeError("; ".join([str(error), *said])) from None

    # Pickled by this name, it is found again.
    call.__module__ = home
    return call  # type: ignore[return-value]


# What traces an array, by the names of such arrays' types.
_TRACERS = {"BatchTracer": "vmap", "JVPTracer": "grad", "LinearizeTracer": "grad"}


def _outside(given: Sequence[Any], along: bool, said: str) -> str:
    """What is to be done where an error has ``said`` that a library traces an argument, which has no values then.

    ``along``: the verb takes axes.
    """
    at_once = ", on all images at once with axes=(1, 2)" if along else ""
    if "doesn't have storage" in said:
        return f"call the function outside torch.vmap and torch.func{at_once}"
    if "trace" not in said.lower():
        return ""
    flat = [one for some in given for one in (some if isinstance(some, tuple | list) else (some,))]
    traced = next((one for one in flat if hasattr(one, "aval") and "Trace" in type(one).__name__), None)
    if traced is None:
        return ""
    by = _TRACERS.get(type(traced).__name__, "jit")
    if by == "vmap":
        return f'call the function outside jax.vmap{at_once}, or through jax.pure_callback with vmap_method="sequential"'
    if by == "grad":
        return (
            "call the function outside jax.grad, or through jax.pure_callback in a jax.custom_vjp, which says what its gradient is"
        )
    fix = "call the function outside jax.jit, or through jax.pure_callback"
    return f"make it a static argument of jax.jit, or {fix}" if getattr(traced, "shape", None) == () else fix


def _by_name(verb: Callable[..., Any], words: Words, word: Any, first: Any, args: tuple[Any, ...], named: dict[str, Any]) -> Any:
    """The call with what a word names in the word's place."""
    with words.opened(word, first, named) as value:
        if len(args) > words.at:
            return verb(*args[: words.at], value, *args[words.at + 1 :], **named)
        return verb(*args, **named | {words.name: value})


def check_keywords(verb: str, named: Collection[str], known: Sequence[str]) -> None:
    """Refuse the first of ``named`` that is none of ``known``, in one sentence."""
    word = next((name for name in named if name not in known), None)
    if word is None:
        return
    sentence = f"{verb}() got an unexpected keyword argument {word!r}"
    raise TypeError(f"{sentence}; {told_of(word, known) or _nearest(word, named, known)}") from None


def told_of(word: str, known: Collection[str]) -> str:
    """What other libraries' users are told, by hand."""
    from footprint.elsewhere import NOTES

    return next((note for (ours, theirs), note in NOTES.items() if theirs == word and set(ours.split()) <= set(known)), "")


def _nearest(word: str, named: Collection[str], known: Sequence[str]) -> str:
    """The argument that a word means; all of them where none is near."""
    free = [name for name in known if name not in named]
    if not free:
        return "it takes no such argument" if known else "it takes none"
    if meant := meant_by(word, free):
        return f"that is {meant}= here"
    near = closest(word, free)
    return f"the nearest is {near}=" if near else f"it takes {', '.join(f'{name}=' for name in known)}"


def meant_by(word: str, known: Collection[str]) -> str:
    """The one of ``known`` that other libraries call ``word``; an empty string where there is none."""
    from footprint.elsewhere import ARGUMENTS

    return next((ours for ours, theirs in ARGUMENTS.items() if word in theirs.split() and ours in known), "")
