"""Zingers on the CPU: the median of every window, put back to what was there where that is not far above it."""

from __future__ import annotations

import numpy as np
from numba import prange

from footprint.kernels.common.few import TOUCH, few
from footprint.kernels.common.jit import njit
from footprint.kernels.rank_filter.cpu import rank_filter


@njit(cache=True, nogil=True, error_model="numpy")
def _kept(images, out, factor, moved, first, last):
    """Some rows of the result, of which row 0 was row ``moved`` of the images."""
    k = out.shape[1]
    for unit in range(first, last):
        line, medians = images[unit // k, unit % k + moved], out[unit // k, unit % k]
        for x in range(medians.size):
            # NaN is on neither side: what is none stays, and what has it for a median.
            medians[x] = medians[x] if medians[x] * factor < line[x] else line[x]


@njit(cache=True, parallel=True, nogil=True, error_model="numpy")
def _all_kept(images, out, factor, moved, threads):
    units = out.shape[0] * out.shape[1]
    for t in prange(threads):
        _kept(images, out, factor, moved, units * t // threads, units * (t + 1) // threads)


def remove_zingers(
    images: np.ndarray, out: np.ndarray, work: np.ndarray, *, size: int, threshold: float, z0: int, y0: int, total: int
) -> None:
    """Replace what is far above its neighbours; see `footprint.kernels.remove_zingers.contract`."""
    # A part has all the rows that its windows reach: where one goes beyond it, the detector ends.
    half, edge = size // 2, "nearest"
    begin, rank = y0 - z0 - half, size * size // 2
    rank_filter(images, out, work, tall=size, wide=size, rank=rank, y0=begin, x0=-half, border_y=edge, border_x=edge, cval=0.0)
    factor = np.float32(1 + threshold)
    if few(TOUCH * out.size):
        _kept(images, out, factor, y0 - z0, 0, out.shape[0] * out.shape[1])
    else:
        _all_kept(images, out, factor, y0 - z0, len(work))
