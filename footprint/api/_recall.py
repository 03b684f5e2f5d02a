"""Calls like an earlier one: what was found out then, by the look of the arguments, so that only the data is handled anew."""

from __future__ import annotations

import os
import sys
from collections.abc import Hashable, Sequence
from typing import Any, NamedTuple

import numpy as np

from footprint.flow.ready import READY

# Calls remembered; the oldest go first. An entry is a few hundred bytes.
_MOST = 512


class Known(NamedTuple):
    """What a call comes to: the key of its ready plan, dtype of its small inputs, and its results' shapes and dtypes."""

    key: Hashable
    small: str
    results: tuple[tuple[tuple[int, ...], Any], ...]
    device: str


_CALLS: dict[Hashable, Known] = {}


def looks(verb: str, options: Hashable, *arrays: Any) -> Hashable | None:
    """The look of a call: kinds, shapes, dtypes and layout of its arrays and all that else decides it; None for unusual arrays."""
    found: list[Any] = [verb, options, os.environ.get("FOOTPRINT_THREADS"), os.environ.get("FOOTPRINT_DEVICE")]
    for array in arrays:
        kind = type(array)
        if array is None:
            found.append(None)
        elif kind is np.ndarray:
            found.append((0, array.shape, array.dtype, array.flags.c_contiguous, array.flags.writeable))
        elif kind.__module__ == "cupy" and kind.__name__ == "ndarray":
            found.append((1, array.shape, array.dtype, array.flags.c_contiguous, array.device.id))
        else:
            return None
    try:
        hash(options)
    except TypeError:
        return None
    return tuple(found)


def recall(look: Hashable | None) -> Known | None:
    """What is known of such a call."""
    return _CALLS.get(look) if look is not None else None


def remember(look: Hashable | None, known: Known) -> None:
    """Keep it for the next call."""
    if look is not None:
        if len(_CALLS) >= _MOST:
            _CALLS.pop(next(iter(_CALLS)), None)
        _CALLS[look] = known


def replay(known: Known, ins: Sequence[Any], outs: Sequence[Any]) -> bool:
    """Run the ready plan on arrays that fit it; False where it has been given up meanwhile."""
    bound = READY.take(known.key)
    if bound is None:
        return False
    try:
        bound.replay([*ins, *outs])
    except BaseException:
        bound.free()
        raise
    READY.put(known.key, bound)
    return True


def fresh(known: Known, number: int, like: Any) -> Any | None:
    """A new array for a result, of the kind of ``like``; None where that is not this thread's device."""
    shape, dtype = known.results[number]
    if type(like) is np.ndarray:
        return np.empty(shape, dtype)
    cupy: Any = sys.modules["cupy"]
    if cupy.cuda.runtime.getDevice() != like.device.id:
        return None
    return cupy.empty(shape, dtype)
