"""Unsharp masks on the CPU: whole rows are summed."""

from __future__ import annotations

import numpy as np
from numba import njit, prange

from footprint.kernels.common.borders import source_index

_mirrored = njit(cache=True)(source_index)


@njit(cache=True, parallel=True, nogil=True, fastmath={"contract"})
def _blur_rows(lines, weights, blurred):
    n = lines.shape[1]
    for r in prange(lines.shape[0]):
        row, to = lines[r], blurred[r]
        for x in range(n):
            to[x] = weights[0] * row[x]
        for k in range(1, weights.size):
            weight = weights[k]
            for x in range(min(k, n)):
                to[x] += weight * (row[_mirrored(x - k, n, 2)] + row[_mirrored(x + k, n, 2)])
            for x in range(k, n - k):
                to[x] += weight * (row[x - k] + row[x + k])
            for x in range(max(k, n - k), n):
                to[x] += weight * (row[x - k] + row[_mirrored(x + k, n, 2)])


@njit(cache=True, parallel=True, nogil=True, fastmath={"contract"})
def _sharpen(lines, blurred, weights, out, amount, z0, y0, total):
    m, k = lines.shape[1], out.shape[1]
    for unit in prange(out.shape[0] * k):
        a, z = unit // k, y0 + unit % k
        to, own, middle = out[a, unit % k], lines[a, z - z0], blurred[a * m + z - z0]
        for x in range(to.size):
            to[x] = weights[0] * middle[x]
        for r in range(1, weights.size):
            up, down, weight = blurred[a * m + _mirrored(z - r, total, 2) - z0], _mirrored(z + r, total, 2), weights[r]
            low = blurred[a * m + down - z0]
            for x in range(to.size):
                to[x] += weight * (up[x] + low[x])
        for x in range(to.size):
            to[x] = own[x] + amount * (own[x] - to[x])


def blur_rows(lines: np.ndarray, weights: np.ndarray, blurred: np.ndarray) -> None:
    """Blur along x; see `footprint.kernels.unsharp.contract` for both."""
    _blur_rows(lines.reshape(-1, lines.shape[2]), weights, blurred)


def sharpen(
    lines: np.ndarray, blurred: np.ndarray, weights: np.ndarray, out: np.ndarray, *, amount: float, z0: int, y0: int, total: int
) -> None:
    """Blur along z, and take the difference."""
    _sharpen(lines, blurred, weights, out, np.float32(amount), z0, y0, total)
