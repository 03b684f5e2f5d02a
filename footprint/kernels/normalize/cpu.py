"""Rows less their parabolas on the CPU: one row at a time."""

from __future__ import annotations

import numpy as np
from numba import prange

from footprint.kernels.common.jit import njit
from footprint.kernels.normalize.contract import norms


@njit(cache=True, parallel=True, nogil=True, error_model="numpy", fastmath={"contract", "reassoc", "nsz"})
def _normalize(rows, out, mean, slope, bend):
    n = rows.shape[1]
    for r in prange(rows.shape[0]):
        row, to = rows[r], out[r]
        one, two, three = 0.0, 0.0, 0.0
        for j in range(n):
            x, value = (2 * j + 1 - n) / n, np.float64(row[j])
            one += value
            two += x * value
            three += (x * x - mean) * value
        one, two, three = one / n, two * slope, three * bend
        for j in range(n):
            x = (2 * j + 1 - n) / n
            to[j] = row[j] - (one + x * two + (x * x - mean) * three)


def normalize(rows: np.ndarray, out: np.ndarray) -> None:
    """Take parabolas off; see `footprint.kernels.normalize.contract`."""
    width = rows.shape[-1]
    if rows.size:
        _normalize(rows.reshape(-1, width), out.reshape(-1, width), *norms(width))
