"""One rank of the window around every pixel: what the kernel ``rank_filter`` computes, and its workspace.

``launch("rank_filter", image, out, tall=, wide=, rank=, y0=, x0=, border_y=, border_x=, cval=)`` computes, for all of ``out``::

    out[p, y, x] = the rank-th smallest, from 0, of image[p, y + y0 + i, x + x0 + j], i < tall, j < wide

where every plane is continued beyond its edges as the two borders say (names of ``borders.BORDERS``, or "none" for an axis whose
halo is part of the array). Both are 3-D and of one dtype: float32, float64, an integer, or on a GPU float16. Values are compared
as ``numpy.sort`` orders them, NaN after all numbers, and -0.0 before 0.0, so that a rank is the same bits however it is found.

``launch("rank_filter.chosen", image, places, out, tall=, wide=, count=, rank=, ...)`` takes only ``count`` places of the window,
the pairs ``(i, j)`` of ``places``, an int64 array.
"""

from __future__ import annotations

import functools

import numpy as np

from footprint.spec import ArraySpec, Limits

MOST = 11
"""Longest side of a window."""
ONCE = 25
"""Elements of the largest window whose columns are sorted as its vectors are come to."""
TWICE = 9
"""The same of one whose windows of two rows are made at once on the CPU: those of more need more registers than there are."""
STRIP = 8192
"""Bytes of a row that a thread goes down by, so that the lines of a window stay near."""
ROWS = 128
"""Rows that it goes down, unless there are fewer for every thread."""
FEW_ROWS = 32
"""The same of windows sorted at once: what they find at the ends of rows is then still near."""
VECTOR = 64
"""Bytes of the widest vectors: lines are whole numbers of them, and one more, which may be read in vain."""


@functools.cache
def keys(dtype: str) -> str:
    """What values of a dtype are compared as: integers of their size."""
    kind = np.dtype(dtype)
    return f"i{kind.itemsize}" if kind.kind == "f" else kind.str


def key_of(value: float, dtype: str) -> int:
    """The integer that a number is compared as."""
    with np.errstate(over="ignore"):
        # Beyond the dtype's range it is infinite there.
        bits = int(np.asarray(value).astype(dtype).view(keys(dtype)))
    if np.dtype(dtype).kind != "f":
        return bits
    most = int(np.iinfo(keys(dtype)).max)
    return most if np.isnan(value) else bits ^ (most if bits < 0 else 0)


def lowest(dtype: str) -> int:
    """The key of minus infinity: what is below it is a NaN with a sign."""
    return key_of(-np.inf, dtype) if np.dtype(dtype).kind == "f" else 0


@functools.cache
def shift(itemsize: int) -> int:
    """What is subtracted on the CPU from keys of floats of so many bytes: minus infinity then has the least that there is."""
    return lowest(f"f{itemsize}") - int(np.iinfo(f"i{itemsize}").min)


def strip(width: int, itemsize: int) -> int:
    """Results of a row that are made at once, in whole vectors."""
    lanes = VECTOR // itemsize
    return min(STRIP // itemsize, -(-max(width, 1) // lanes) * lanes)


def pitch(width: int, wide: int, itemsize: int) -> int:
    """Elements of a line: a strip and what its last window needs, in whole vectors, and one more."""
    lanes = VECTOR // itemsize
    return strip(width, itemsize) + -(-(wide - 1) // lanes) * lanes + lanes


def at_once(tall: int, wide: int) -> bool:
    """Whether a window is small enough for its columns' ranks to stay in registers."""
    return tall * wide <= ONCE


def lines(tall: int, wide: int) -> int:
    """Lines of a thread's workspace: a window's, one of results, and a row as it is stored or the ranks of columns."""
    return tall + 1 + (1 if at_once(tall, wide) else tall)


def rank_filter_work(
    limits: Limits, image: ArraySpec, out: ArraySpec, *, tall: int, wide: int, **_: object
) -> tuple[ArraySpec, ...]:
    """For each thread its `lines`."""
    return (ArraySpec((limits.threads, lines(tall, wide) * pitch(out.shape[2], wide, out.itemsize)), keys(out.dtype)),)


def chosen_work(
    limits: Limits, image: ArraySpec, places: ArraySpec, out: ArraySpec, *, tall: int, wide: int, **_: object
) -> tuple[ArraySpec, ...]:
    """For each thread the lines of a window, twice, and one of results."""
    size = (2 * tall + 1) * pitch(out.shape[2], wide, out.itemsize)
    return (ArraySpec((limits.threads, size), keys(out.dtype)),)
