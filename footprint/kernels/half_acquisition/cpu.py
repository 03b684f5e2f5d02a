"""Rows of the whole field on the CPU: one row at a time."""

from __future__ import annotations

import numpy as np
from numba import prange

from footprint.kernels.common.jit import njit


@njit(cache=True, nogil=True, error_model="numpy")
def _area(v, reach):
    """Integral of the weight up to ``v``, but for a constant."""
    if v <= -reach:
        return v
    return 0.0 if v >= reach else v / 2 - v * v / (4 * reach) - reach / 4


@njit(cache=True, parallel=True, nogil=True, error_model="numpy")
def _half_acquisition(rows, axes, moves, out, offset, extra, side, reach):
    n_a, n_x = rows.shape[1:]
    first = -extra if side < 0 else 0
    last = n_x + (extra if side > 0 else 0)
    for unit in prange(rows.shape[0] * n_a):
        z, a = unit // n_a, unit % n_a
        line, to = rows[z, a], out[z, a]
        axis = axes[a] + moves[min(z, len(moves) - 1), 0]
        for i in range(to.size):
            x = i - offset
            if x < first or x >= last:
                to[i] = 0
                continue
            u = side * (x - axis)
            weight = 2 * (_area(u + 0.5, reach) - _area(u - 0.5, reach))
            to[i] = np.float32(weight) * line[min(max(x, 0), n_x - 1)]


def half_acquisition(
    rows: np.ndarray, axes: np.ndarray, moves: np.ndarray, out: np.ndarray, *, offset: int, extra: int, side: int, reach: float
) -> None:
    """Widen and weigh; see `footprint.kernels.half_acquisition.contract`."""
    _half_acquisition(rows, axes, moves, out, offset, extra, side, reach)
