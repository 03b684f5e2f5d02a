"""Places on the plane, sorted into square cells, so that neighbours of one are found in nine of them."""

from __future__ import annotations

import numpy as np

from footprint.kernels.common.jit import njit


@njit(cache=True, nogil=True)
def cell(iy, ix, cells):
    """The number of a cell by where it lies, in cells: several share a number where there are more.

    Eight by eight follow each other, so that what is near is near in tables by these numbers, too.
    """
    y, x = int(iy), int(ix)
    mixed = np.uint64(y >> 3) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(x >> 3) * np.uint64(0xC2B2AE3D27D4EB4F)
    within = np.uint64((y & 7) << 3 | (x & 7))
    return np.int64((((mixed ^ (mixed >> np.uint64(29))) << np.uint64(6)) + within) % np.uint64(cells))


@njit(cache=True, nogil=True)
def sort(ys, xs, n, size, starts, order):
    """List the first ``n`` places cell by cell: in ``order``, those of cell c from ``starts[c]`` up to ``starts[c + 1]``."""
    cells = starts.size - 1
    starts[:] = 0
    for k in range(n):
        starts[cell(ys[k] // size, xs[k] // size, cells) + 1] += 1
    for c in range(cells):
        starts[c + 1] += starts[c]
    for k in range(n - 1, -1, -1):
        c = cell(ys[k] // size, xs[k] // size, cells) + 1
        starts[c] -= 1
        order[starts[c]] = k
    # What was each cell's end is its start now.
    for c in range(cells):
        starts[c] = starts[c + 1]
    starts[cells] = n
