"""Projections turned in their plane, on the CPU."""

from __future__ import annotations

import numpy as np
from numba import prange

from footprint.kernels.common.jit import njit

# Neighbouring pixels that, where a small tilt leaves them neighbours in a row, are made by vectors.
_RUN = 16


@njit(cache=True, nogil=True)
def _place(x, dz, sine, cosine, zc, xc):
    """Row and column that a pixel is looked up at."""
    dx = x - xc
    z = min(max(zc + cosine * dz - sine * dx, 0.0), 2 * zc)
    return z, min(max(xc + sine * dz + cosine * dx, 0.0), 2 * xc)


@njit(cache=True, nogil=True)
def _between(above, below, k, right, p, q):
    """Of two rows and the columns ``k`` and ``right``, by how far into each gap."""
    one = np.float32(1)
    upper = (one - q) * above[k] + q * above[right]
    lower = (one - q) * below[k] + q * below[right]
    return (one - p) * upper + p * lower


@njit(cache=True, nogil=True)
def _run(above, below, x0, i, j, dz, sine, cosine, zc, xc, line):
    """Pixels from ``x0`` on that are looked up between the same two rows, in columns from ``j`` on."""
    for k in range(np.uint64(line.size)):
        z, h = _place(np.float64(x0 + np.int64(k)), dz, sine, cosine, zc, xc)
        p, q = np.float32(z - i), np.float32(h - (j + np.int64(k)))
        line[k] = _between(above, below, k, k + np.uint64(1), p, q)


@njit(cache=True, parallel=True, nogil=True, error_model="numpy")
def _untilt(images, out, sine, cosine, z0, y0, rows):
    n, k, n_x = out.shape
    zc, xc = (rows - 1) / 2, (n_x - 1) / 2
    for unit in prange(n * k):
        image, line = images[unit // k], out[unit // k, unit % k]
        dz = y0 + unit % k - zc
        for x0 in range(0, n_x, _RUN):
            x1 = min(x0 + _RUN, n_x)
            z, h = _place(np.float64(x0), dz, sine, cosine, zc, xc)
            last_z, last_h = _place(np.float64(x1 - 1), dz, sine, cosine, zc, xc)
            i, j, wide = np.int64(z), np.int64(h), x1 - x0 + 1
            # Columns go on by no more than one a pixel.
            if i == np.int64(last_z) and np.int64(last_h) - j == x1 - 1 - x0 and j + wide <= n_x:
                above, below = image[i - z0], image[min(i + 1, rows - 1) - z0]
                _run(above[j : j + wide], below[j : j + wide], x0, i, j, dz, sine, cosine, zc, xc, line[x0:x1])
                continue
            for x in range(x0, x1):
                z, h = _place(np.float64(x), dz, sine, cosine, zc, xc)
                i, j = np.int64(z), np.int64(h)
                above, below = image[i - z0], image[min(i + 1, rows - 1) - z0]
                line[x] = _between(above, below, j, min(j + 1, n_x - 1), np.float32(z - i), np.float32(h - j))


def untilt(images: np.ndarray, out: np.ndarray, *, sine: float, cosine: float, z0: int, y0: int, rows: int) -> None:
    """See `footprint.kernels.untilt.contract`."""
    _untilt(images, out, sine, cosine, z0, y0, rows)
