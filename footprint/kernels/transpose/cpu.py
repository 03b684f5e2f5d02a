"""Transposition of rows on the CPU."""

from __future__ import annotations

import numpy as np
from numba import prange

from footprint.kernels.common.jit import njit


@njit(cache=True, parallel=True, nogil=True)
def _transpose(stack, out):
    n = stack.shape[0]
    for unit in prange(n * stack.shape[1]):
        j, i = unit // n, unit % n
        out[j, i] = stack[i, j]


def transpose(stack: np.ndarray, out: np.ndarray) -> None:
    """Copy row by row; see `footprint.kernels.transpose.contract`."""
    _transpose(stack, out)
