"""Whether arrays have memory in common."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from footprint.backend.arrays import kind_of


def one_memory(a: Any, b: Any) -> bool:
    """Whether two arrays, both on the host or both on a device, are one: the same bytes, seen the same way."""
    alike = tuple(a.shape) == tuple(b.shape) and a.dtype == b.dtype and a.strides == b.strides
    return alike and kind_of(a).span(a)[0] == kind_of(b).span(b)[0]


def _mapped(array: np.ndarray) -> tuple[str, int, int] | None:
    """The file that an array is a map of, and the ends of its bytes there; None for one in memory."""
    whole: Any = array
    while isinstance(whole.base, np.ndarray):
        whole = whole.base
    if not isinstance(whole, np.memmap) or whole.filename is None:
        return None
    # A map that was cut knows where it began only by its address.
    moved = whole.offset - np.lib.array_utils.byte_bounds(whole)[0]
    first, end = np.lib.array_utils.byte_bounds(array)
    return os.path.realpath(whole.filename), first + moved, end + moved


def _of_one_file(a: np.ndarray, b: np.ndarray) -> bool:
    """Whether two arrays that lie apart in memory are maps of the same bytes of a file."""
    if a.base is None or b.base is None or (one := _mapped(a)) is None or (other := _mapped(b)) is None:
        return False
    return one[0] == other[0] and one[1] < other[2] and other[1] < one[2]


def shared_memory(a: Any, b: Any) -> bool:
    """Whether two arrays, both on the host or both on a device, have bytes in common; interleaved ones of the host need not."""
    if not isinstance(a, np.ndarray) or not isinstance(b, np.ndarray):
        if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
            return False
        # Of arrays of a device only the ends are looked at.
        (first, end), (start, stop) = kind_of(a).span(a), kind_of(b).span(b)
        return first < stop and start < end
    if not np.may_share_memory(a, b):
        return _of_one_file(a, b)
    try:
        return bool(np.shares_memory(a, b, max_work=10**6))  # type: ignore[arg-type]
    except np.exceptions.TooHardError:
        return True
