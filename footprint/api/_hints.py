"""Arguments by the names that other libraries have for them: the error says what they are called here."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

Verb = TypeVar("Verb", bound=Callable[..., Any])


def hinted(words: Mapping[str, str], rest: str) -> Callable[[Verb], Verb]:
    """Have a verb answer keywords that it does not know, or is given twice, by ``words``, and too many arguments by ``rest``."""

    def of(verb: Verb) -> Verb:
        code = verb.__code__
        positional, known = code.co_argcount, code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]

        @functools.wraps(verb)
        def call(*args: Any, **named: Any) -> Any:
            try:
                return verb(*args, **named)
            except TypeError as error:
                taken = known[: len(args)]
                found = [words[name] for name in named if name in words and (name not in known or name in taken)]
                if len(args) > positional:
                    found.append(rest)
                if not found:
                    raise
                raise TypeError("; ".join([str(error), *dict.fromkeys(found)])) from None

        return call  # type: ignore[return-value]

    return of
