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

from footprint.kernels.rank_filter.networks import kept
from footprint.spec import ArraySpec, Limits

MOST = 11
"""Longest side of a window."""
SMALL, AT_ONCE = 25, 4
"""Elements of the largest window under which the CPU reads rows where they lie, and rows of results that are made at once then."""
STRIP = 8192
"""Bytes of a row that a thread goes down by."""
RING, LEAST = 32 << 10, 512
"""Bytes of what is kept of rows, which strips are shortened for, and bytes of the shortest."""
ROWS = 32 * AT_ONCE
"""Rows that a thread goes down, unless there are fewer for every thread."""
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


def strip(width: int, itemsize: int, most: int = STRIP) -> int:
    """Results of a row that are made at once, in whole vectors of at most so many bytes."""
    lanes = VECTOR // itemsize
    return min(most // itemsize, -(-max(width, 1) // lanes) * lanes)


def pitch(width: int, wide: int, itemsize: int, most: int = STRIP) -> int:
    """Elements of a line: a strip and what its last window needs, in whole vectors, and one more."""
    lanes = VECTOR // itemsize
    return strip(width, itemsize, most) + -(-(wide - 1) // lanes) * lanes + lanes


def ring_bytes(tall: int, wide: int, rank: int) -> int:
    """Bytes of the longest strip of which what is looked at of the rows of a window, and of one more, is kept."""
    lines = (tall + 1) * len(kept(wide, tall, rank))
    return min(STRIP, max(LEAST, RING // lines // VECTOR * VECTOR))


def side_pitch(wide: int, itemsize: int) -> int:
    """Elements of a row of what a vector of windows needs at an image's side."""
    lanes = VECTOR // itemsize
    return lanes + max(1, -(-(wide - 1) // lanes)) * lanes


def rank_filter_work(
    limits: Limits, image: ArraySpec, out: ArraySpec, *, tall: int, wide: int, rank: int, **_: object
) -> tuple[ArraySpec, ...]:
    """For each thread a ring of what is kept of rows and one row as it is stored, or what is needed at a side."""
    most, lanes = ring_bytes(tall, wide, rank), VECTOR // out.itemsize
    rows, width = min(ROWS, -(-out.shape[1] // AT_ONCE) * AT_ONCE), out.shape[2]
    ring = (tall + 1) * len(kept(wide, tall, rank)) * strip(width, out.itemsize, most) + pitch(width, wide, out.itemsize, most)
    side = (rows + tall - 1) * side_pitch(wide, out.itemsize) if tall * wide <= SMALL and width >= lanes else 0
    return (ArraySpec((limits.threads, -(-max(ring, side) // lanes) * lanes), keys(out.dtype)),)


def chosen_work(
    limits: Limits, image: ArraySpec, places: ArraySpec, out: ArraySpec, *, tall: int, wide: int, **_: object
) -> tuple[ArraySpec, ...]:
    """For each thread the lines of a window, twice, and one of results."""
    size = (2 * tall + 1) * pitch(out.shape[2], wide, out.itemsize)
    return (ArraySpec((limits.threads, size), keys(out.dtype)),)
