"""The same on the CPU; sums run in a fixed order, so that results have the same bits however a job is cut."""

from __future__ import annotations

import numpy as np
from numba import njit, prange

from tests.growth_kernels.contract import REACH

_COUNT = np.float32(2 * REACH + 1)


@njit(cache=True, parallel=True, nogil=True, error_model="numpy")
def _unsharp(lines, out, first, start, total):
    for i in prange(out.shape[0]):
        z = first + i
        for j in range(out.shape[1]):
            for x in range(out.shape[2]):
                near = np.float32(0)
                for k in range(-REACH, REACH + 1):
                    near += lines[min(max(z + k, 0), total - 1) - start, j, x]
                out[i, j, x] = np.float32(2) * lines[z - start, j, x] - near / _COUNT


@njit(cache=True, parallel=True, nogil=True, error_model="numpy")
def _off_mean(stack, out):
    n = np.float32(stack.shape[0])
    for z in prange(stack.shape[1]):
        for x in range(stack.shape[2]):
            mean = np.float32(0)
            for a in range(stack.shape[0]):
                mean += stack[a, z, x]
            mean /= n
            for a in range(stack.shape[0]):
                out[a, z, x] = stack[a, z, x] - mean


def unsharp(lines, out, *, first, start, total):
    """See `tests.growth_kernels.contract`."""
    _unsharp(lines, out, first, start, total)


def off_mean(stack, out):
    """See `tests.growth_kernels.contract`."""
    _off_mean(stack, out)
