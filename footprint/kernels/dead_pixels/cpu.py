"""Dead pixels on the CPU: one row at a time."""

from __future__ import annotations

import numpy as np
from numba import prange

from footprint.kernels.common.copied import put
from footprint.kernels.common.jit import njit

_ZERO = np.float32(0)


@njit(cache=True, nogil=True, error_model="numpy")
def mend(row, empty=_ZERO):
    """Fill NaN from its neighbours, by distance; a row that has none with ``empty``."""
    n, x, dead = row.size, 0, False
    # Most rows have none, which a loop of vectors sees.
    for i in range(n):
        dead |= row[i] != row[i]
    while dead and x < n:
        if row[x] == row[x]:
            x += 1
            continue
        end = x
        while end < n and row[end] != row[end]:
            end += 1
        left = row[x - 1] if x > 0 else (row[end] if end < n else empty)
        right = row[end] if end < n else left
        for i in range(x, end):
            row[i] = left + (right - left) * (np.float32(i - x + 1) / np.float32(end - x + 1))
        x = end


@njit(cache=True, parallel=True, nogil=True, error_model="numpy")
def _dead_pixels(rows, out, empty):
    for r in prange(rows.shape[0]):
        put(out[r], rows[r])
        mend(out[r], empty)


def dead_pixels(rows: np.ndarray, out: np.ndarray, *, empty: float = 0.0) -> None:
    """Copy rows, mended; see `footprint.kernels.dead_pixels.contract`."""
    width = rows.shape[-1]
    _dead_pixels(rows.reshape(-1, width), out.reshape(-1, width), np.float32(empty))
