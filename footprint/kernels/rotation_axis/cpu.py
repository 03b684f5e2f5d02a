"""Registration of opposite projections on the CPU: every shift in question, by direct sums in float64."""

from __future__ import annotations

import numpy as np
from numba import prange

from footprint.kernels.common.jit import njit


# Sums may be taken in any order: their error in float64 is far below the peak's curvature.
@njit(cache=True, nogil=True, error_model="numpy", fastmath={"reassoc", "contract"})
def _sums(first, opposite, m, x0, x1):
    f = g = ff = gg = fg = 0.0
    mirrored = opposite[::-1]
    offset = opposite.size - 1 - m
    for x in range(x0, x1):
        u, v = np.float64(first[x]), np.float64(mirrored[x + offset])
        f += u
        g += v
        ff += u * u
        gg += v * v
        fg += u * v
    n = x1 - x0
    return fg - f * g / n, ff - f * f / n, gg - g * g / n


@njit(cache=True, parallel=True, nogil=True, error_model="numpy")
def _rotation_axis(sinograms, pairs, out, first, window, differ):
    n_z, n_x = sinograms.shape[0], sinograms.shape[2]
    for unit in prange(out.shape[0] * out.shape[1]):
        pair, k = unit // out.shape[1], unit % out.shape[1]
        m = first + k
        x0, x1 = max(0, m - n_x + 1), min(n_x - 1, m) + 1
        if window:
            x0, x1 = max(x0, (m + 1) // 2 - window), min(x1, m // 2 + window + 1)
        both = left = right = 0.0
        for z in range(n_z if x1 > x0 else 0):
            a, b, c = _sums(sinograms[z, pairs[pair, 0]], sinograms[z, pairs[pair, 1]], m, x0, x1)
            both, left, right = both + a, left + b, right + c
        # What rounding leaves of a constant row's variance is no structure.
        floor = 1e-12 * n_x * n_z
        alike = 0.5 * (left + right) if differ else np.sqrt(left * right)
        out[pair, k] = both / alike if left > floor and right > floor else 0.0


def rotation_axis(
    sinograms: np.ndarray, pairs: np.ndarray, out: np.ndarray, *, first: int, window: int = 0, differ: bool = False
) -> None:
    """Normalised correlation of projection ``pairs[p, 0]`` with ``pairs[p, 1]`` mirrored about ``(first + k) / 2``.

    ``sinograms`` (n_z, n, n_x) float32, ``pairs`` (n_pairs, 2) int64, ``out`` (n_pairs, n_k) float64. Only samples that both
    projections see count, of these the ``window`` nearest to the axis on both sides if it is not 0; each row's means over them are
    taken off; covariances and variances are summed over rows. With ``differ`` the covariance is over the mean of the variances, not
    their geometric one: 1 less the variance of the difference over their sum.
    """
    _rotation_axis(sinograms, pairs, out, first, window, differ)
