"""Zingers on the CPU: whether a median is passed is a count, so that only what passes it is ever sorted."""

from __future__ import annotations

import numpy as np
from numba import prange

from footprint.kernels.common.jit import njit
from footprint.kernels.remove_zingers.contract import MOST


@njit(cache=True, nogil=True)
def _row_of(z, z0, total):
    return min(max(z, 0), total - 1) - z0


@njit(cache=True, nogil=True)
def _median(image, row, x, half, z0, total, window):
    """Of the values around one, NaN last."""
    n_x, count = image.shape[1], 0
    for dz in range(-half, half + 1):
        line = image[_row_of(row + dz, z0, total)]
        for dx in range(-half, half + 1):
            value, at = line[min(max(x + dx, 0), n_x - 1)], count
            while at > 0 and (window[at - 1] > value or (window[at - 1] != window[at - 1] and value == value)):
                window[at] = window[at - 1]
                at -= 1
            window[at] = value
            count += 1
    return window[count // 2]


@njit(cache=True, nogil=True, error_model="numpy")
def _count(counts, line, other, dx, factor):
    """Add what of another row, moved, is clearly below."""
    n = line.size
    for x in range(min(max(-dx, 0), n)):
        counts[x] += other[0] * factor < line[x]
    for x in range(max(-dx, 0), min(n, n - dx)):
        counts[x] += other[x + dx] * factor < line[x]
    for x in range(max(n - dx, 0), n):
        counts[x] += other[n - 1] * factor < line[x]


@njit(cache=True, parallel=True, nogil=True, error_model="numpy")
def _remove(images, out, half, factor, z0, y0, total, counts):
    k, side = out.shape[1], 2 * half + 1
    threads, units = counts.shape[0], out.shape[0] * k
    for t in prange(threads):
        window = np.empty(MOST * MOST, np.float32)
        for unit in range(units * t // threads, units * (t + 1) // threads):
            image, z = images[unit // k], y0 + unit % k
            line, to, below = image[z - z0], out[unit // k, unit % k], counts[t]
            to[:] = line
            below[:] = 0
            for dz in range(-half, half + 1):
                other = image[_row_of(z + dz, z0, total)]
                for dx in range(-half, half + 1):
                    _count(below, line, other, dx, factor)
            for x in range(line.size):
                if below[x] > side * side // 2:
                    to[x] = _median(image, z, x, half, z0, total, window)


def remove_zingers(
    images: np.ndarray, out: np.ndarray, counts: np.ndarray, *, size: int, threshold: float, z0: int, y0: int, total: int
) -> None:
    """Replace what is far above its neighbours; see `footprint.kernels.remove_zingers.contract`."""
    _remove(images, out, size // 2, np.float32(1 + threshold), z0, y0, total, counts)
