"""Marks the pixels over a level."""

from __future__ import annotations

import numpy as np
from numba import prange

from footprint.kernels.common.few import STREAM, TOUCH, few
from footprint.kernels.common.jit import njit
from footprint.kernels.sigma_clip.contract import BACKGROUND, NOISE

PIECE = 1 << 14


@njit(cache=True, nogil=True)
def _threshold(image, mask, level, background, first, last):
    values, marks = image[first:last], mask[first:last]
    for i in range(values.size):
        v = np.float64(values[i])
        marks[i] = (v - background > level) & (v < np.inf)


@njit(cache=True, parallel=True, nogil=True)
def _share_threshold(image, mask, level, background):
    for s in prange((image.size + PIECE - 1) // PIECE):
        _threshold(image, mask, level, background, s * PIECE, min(image.size, (s + 1) * PIECE))


@njit(cache=True, nogil=True)
def _at_least(image, mask, least, first, last):
    values, marks = image[first:last], mask[first:last]
    for i in range(values.size):
        marks[i] = values[i] >= least


@njit(cache=True, parallel=True, nogil=True)
def _share_least(image, mask, least):
    for s in prange((image.size + PIECE - 1) // PIECE):
        _at_least(image, mask, least, s * PIECE, min(image.size, (s + 1) * PIECE))


def _least(dtype: np.dtype, level: float, background: float) -> int:
    """The least integer of a dtype that is over the level; one more than there are where none is."""
    first, last = np.iinfo(dtype).min, np.iinfo(dtype).max + 1
    while first < last:
        middle = (first + last) // 2
        first, last = (first, middle) if float(middle) - background > level else (middle + 1, last)
    return first


def threshold(image, mask, *, level, background) -> None:
    """See `footprint.kernels.threshold.contract`."""
    values, marks = image.reshape(-1), mask.reshape(-1)
    small = few(values.size * STREAM)
    if values.dtype.kind in "iu" and values.itemsize < 8 and not few(values.size * TOUCH):
        # Small integers are compared as many at a time as a vector holds, which numbers of eight bytes are not.
        least = _least(values.dtype, float(level), float(background))
        if least > np.iinfo(values.dtype).max:
            marks.fill(0)
        elif small:
            _at_least(values, marks, values.dtype.type(least), 0, values.size)
        else:
            _share_least(values, marks, values.dtype.type(least))
    elif small:
        _threshold(values, marks, level, background, 0, values.size)
    else:
        _share_threshold(values, marks, level, background)


def over(image, mask, stats, *, sigma) -> None:
    """See `footprint.kernels.threshold.contract`."""
    threshold(image, mask, level=sigma * stats[NOISE], background=stats[BACKGROUND])


@njit(cache=True, parallel=True, nogil=True)
def _invert(image, out, level, step):
    for s in prange((image.size + PIECE - 1) // PIECE):
        for i in range(s * PIECE, min(image.size, (s + 1) * PIECE)):
            out[i] = 2 * np.float64(level[i * step]) - np.float64(image[i])


def invert(image, out, stats) -> None:
    """See `footprint.kernels.threshold.contract`."""
    _invert(image.reshape(-1), out.reshape(-1), stats[BACKGROUND : BACKGROUND + 1], 0)


def invert_over(image, out, level) -> None:
    """See `footprint.kernels.threshold.contract`."""
    _invert(image.reshape(-1), out.reshape(-1), level.reshape(-1), 1)
