"""Projections turned in their plane, on the CPU."""

from __future__ import annotations

import numpy as np
from numba import prange

from footprint.kernels.common.jit import njit


@njit(cache=True, parallel=True, nogil=True, error_model="numpy")
def _untilt(images, out, sine, cosine, z0, y0, rows):
    n, k, n_x = out.shape
    zc, xc = (rows - 1) / 2, (n_x - 1) / 2
    for unit in prange(n * k):
        image, r = images[unit // k], unit % k
        dz = y0 + r - zc
        for x in range(n_x):
            dx = x - xc
            z = min(max(zc + cosine * dz - sine * dx, 0.0), rows - 1.0)
            h = min(max(xc + sine * dz + cosine * dx, 0.0), n_x - 1.0)
            i, j = int(z), int(h)
            p, q = np.float32(z - i), np.float32(h - j)
            below, right = min(i + 1, rows - 1) - z0, min(j + 1, n_x - 1)
            one = np.float32(1)
            upper = (one - q) * image[i - z0, j] + q * image[i - z0, right]
            lower = (one - q) * image[below, j] + q * image[below, right]
            out[unit // k, r, x] = (one - p) * upper + p * lower


def untilt(images: np.ndarray, out: np.ndarray, *, sine: float, cosine: float, z0: int, y0: int, rows: int) -> None:
    """See `footprint.kernels.untilt.contract`."""
    _untilt(images, out, sine, cosine, z0, y0, rows)
