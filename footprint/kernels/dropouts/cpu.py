"""Dropouts on the CPU: one row at a time."""

from __future__ import annotations

import numpy as np
from numba import prange

from footprint.kernels.common.copied import put
from footprint.kernels.common.jit import njit
from footprint.kernels.dropouts.contract import LONGEST


@njit(cache=True, nogil=True, error_model="numpy")
def _any(row, level):
    """Whether any value of a row is dead."""
    found = False
    if level > 0:
        for x in range(row.size):
            found |= row[x] >= level
    else:
        for x in range(row.size):
            found |= row[x] == 0
    return found


@njit(cache=True, parallel=True, nogil=True, error_model="numpy")
def _dropouts(rows, out, level):
    n = rows.shape[1]
    for r in prange(rows.shape[0]):
        row, to, start = rows[r], out[r], -1
        # Most rows have none, which a loop of vectors sees.
        if not _any(row, level):
            put(to, row)
            continue
        # The first of a run of dead values.
        for x in range(n):
            value = row[x]
            dead = value >= level if level > 0 else value == 0
            if dead:
                start = x if start < 0 else start
            elif start >= 0:
                if 0 < start and x - start <= LONGEST:
                    left = to[start - 1]
                    for i in range(start, x):
                        to[i] = left + (value - left) * (np.float32(i - start + 1) / np.float32(x - start + 1))
                start = -1
            to[x] = value


def dropouts(rows: np.ndarray, out: np.ndarray, *, level: float) -> None:
    """Mend rows; see `footprint.kernels.dropouts.contract`."""
    width = rows.shape[-1]
    _dropouts(rows.reshape(-1, width), out.reshape(-1, width), np.float32(level))
