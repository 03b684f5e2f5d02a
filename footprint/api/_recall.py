"""Calls like an earlier one: what was found out then, by the look of the arguments, so that only the data is handled anew."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any

import numpy as np

from footprint import settings
from footprint.api._arrays import shared_memory
from footprint.api._turned import Order
from footprint.backend.arrays import Address, Backwards, kind_of, plain_kind
from footprint.plan.exact import told
from footprint.plan.ready import READY, Known
from footprint.plan.results import LEAST, RESULTS
from footprint.spec import ArraySpec

# As a launch takes them.
_READY = (np.ndarray, Backwards, Address)


def looks(verb: str, options: tuple[Any, ...], *arrays: Any) -> Hashable | None:
    """The look of a call: its options to the last bit, kinds, shapes, dtypes and layout of its arrays, and what else decides it.

    ``options`` are all arguments but the data, small tables among them. None where one of them is of a type that is not known to
    be all that it shows: such a call goes the long way.
    """
    words = told(options)
    if words is None:
        return None
    found: list[Any] = [verb, words, settings.decisive()]
    for array in arrays:
        if type(array) is np.ndarray:
            flags = array.flags
            found.append((array.shape, array.dtype, flags.c_contiguous or array.strides, flags.writeable))
        elif array is None:
            found.append(None)
        else:
            kind = plain_kind(array)
            look = kind.look(array) if kind is not None else None
            if look is None:
                return None
            found.append(look)
    return tuple(found)


def recall(look: Hashable | None) -> Known | None:
    """What is known of such a call."""
    return READY.recall(look) if look is not None else None


def remember(look: Hashable | None, key: str | None, result: ArraySpec, small: str = "", **more: Any) -> None:
    """Keep for the next call what this one came to: its plan's key, its result, the dtype of its small inputs, and ``more``."""
    if look is not None and key is not None:
        READY.remember(look, Known(key, small, ((result.shape, np.dtype(result.dtype)),), **more))


def remember_turned(look: Hashable | None, key: str | None, image: Any, out: Any, result: ArraySpec, order: Order) -> None:
    """The same of a call that sees axes in another order, which NumPy's arrays alone are asked for again."""
    if order is None:
        remember(look, key, result)
    elif type(image) is np.ndarray and (out is None or type(out) is np.ndarray):
        remember(look, key, result, turns=(order, order))


def values_decide(look: Hashable | None, key: str | None, small: str) -> None:
    """Keep that calls of this look come to this plan or another by the values of a mask, which is seen in the dtype ``small``."""
    if look is not None and key is not None:
        READY.remember(look, Known(key, small, (), None))


def replay(known: Known, ins: Sequence[Any], outs: Sequence[Any]) -> bool:
    """Run the ready plan on arrays that fit it; False where it is not there: given up, or running in another thread."""
    bound = READY.take(known.key)
    if bound is None:
        return False
    try:
        bound.replay([a if type(a) in _READY else kind_of(a).launched(a) for a in (*ins, *outs)])
    except BaseException:
        bound.free()
        raise
    READY.put(known.key, bound)
    for array in outs:
        if type(array) not in _READY:
            kind_of(array).written(array)
    return True


def fresh(known: Known, number: int, like: Any) -> Any | None:
    """A new array for a result, of the kind of ``like``; None where the long way must make it, as where memory is short."""
    shape, dtype = known.results[number]
    try:
        if type(like) is not np.ndarray:
            return kind_of(like).empty(shape, dtype, like)
        # As `RESULTS.new` does; a small call feels every function.
        made = np.empty(shape, dtype)
        return made if made.nbytes < LEAST else RESULTS.instead(made)
    except MemoryError:
        return None


def again(look: Hashable | None, ins: Sequence[Any], out: Any = None, seen: Callable[[Any], Any] | None = None) -> Any | None:
    """The result of a call like an earlier one; None where there was none.

    ``ins`` are the plan's inputs, the first of the kind the result is; ``out`` the caller's own array, apart from all of them or
    the first itself; ``seen`` is how the plan sees a result of which more than the address counts.
    """
    known = recall(look)
    if known is None or (out is not None and any(out is not array and shared_memory(array, out) for array in ins)):
        return None
    target = fresh(known, 0, ins[0]) if out is None else out
    if target is None:
        return None
    if known.turns is not None:
        first, last = known.turns
        return target if replay(known, (ins[0].transpose(first), *ins[1:]), (target.transpose(last),)) else None
    # Arrays of the host are asked no more than their type.
    if seen is not None and (type(target) is np.ndarray or not kind_of(target).whole(target)):
        return target if replay(known, ins, (seen(target),)) else None
    return target if replay(known, ins, (target,)) else None
