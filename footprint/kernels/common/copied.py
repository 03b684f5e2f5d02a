"""Copies between lines of arrays. What NumPy has for them, ``to[:] = line``, takes Numba seconds to compile in every process."""

from __future__ import annotations

import numpy as np

from footprint.kernels.common.jit import njit


@njit(cache=True, nogil=True, borrows=True)
def put(to, line):
    """Copy a line to another that is apart from it, or that it is."""
    for i in range(np.uint64(to.size)):
        to[i] = line[i]
