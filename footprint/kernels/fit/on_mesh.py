"""Windows of what pixels are over a background that a mesh tells, without a map of it."""

from __future__ import annotations

import math

import numpy as np
from numba import prange

from footprint.kernels.common.jit import njit
from footprint.kernels.fit.contract import radius_of
from footprint.kernels.fit.windows import ask_ahead, opened, window
from footprint.kernels.mesh.lines import cell_of, lay_parts, paint_row, place

# Noise of cells that is this small beside others', or at all, may be rounded to 0.
_SMALL, _LEAST = 1e-6, 1e-36


@njit(cache=True, nogil=True)
def _noisy(smooth, v, w, u, t):
    """Whether the noise is surely over 0 between cells from (v, u) up to (w, t): it is where that of all of them is."""
    least, most, known = np.inf, -np.inf, True
    for y in range(v, w):
        for x in range(u, t):
            noise = smooth[4, y, x]
            least, most, known = min(least, noise), max(most, noise), known and math.isfinite(noise)
    return known and least > max(_SMALL * most, _LEAST)


@njit(cache=True, nogil=True)
def _over(block, r, begin, many, level, spread, sure, stamps, k, to):
    """What pixels of a row are over their level, NaN where the noise is not over 0."""
    # No views of arrays: threads would wait for each other to count them.
    r, begin, k, to = np.uint64(r), np.uint64(begin), np.uint64(k), np.uint64(to)
    if sure:
        for x in range(np.uint64(many)):
            stamps[k, to + x] = np.float64(block[r, begin + x]) - np.float64(level[x])
    else:
        for x in range(np.uint64(many)):
            over = np.float64(block[r, begin + x]) - np.float64(level[x])
            stamps[k, to + x] = over if spread[x] > 0 else np.nan


@njit(cache=True, parallel=True, nogil=True)
def _stamp_on_mesh(block, smooth, boxes, n, stamps, radius, first, size, known, parts, maps):
    rows, width = block.shape
    side, down, cells, threads = 2 * radius + 1, smooth.shape[1], smooth.shape[2], known.shape[0]
    lay_parts(parts, size)
    for t in prange(threads):
        a, bend, level, spread = known[t, 0], known[t, 1], maps[t, 0], maps[t, 1]
        for k in range(n * t // threads, n * (t + 1) // threads):
            if not opened(k, boxes, stamps, first):
                continue
            ask_ahead(block, k, n, boxes, radius, first)
            y0, x0, low, high, begin, end = window(k, boxes, radius, first, rows, width)
            cell, stop = cell_of(begin, size, cells), min(cell_of(end - 1, size, cells) + 2, cells)
            if low >= high:
                continue
            sure = _noisy(smooth, cell_of(low, size, down), min(cell_of(high - 1, size, down) + 2, down), cell, stop)
            for y in range(low, high):
                at = place(y, size, down)
                paint_row(smooth, 0, at, size, begin, end, parts, a, bend, level, 0)
                if not sure:
                    paint_row(smooth, 4, at, size, begin, end, parts, a, bend, spread, 0)
                _over(block, y - first, begin, end - begin, level, spread, sure, stamps, k, (y - y0) * side + begin - x0)


def stamp_on_mesh(block, smooth, boxes, count, stamps, known, parts, maps, *, first, size) -> None:
    """See `footprint.kernels.fit.contract`."""
    if 0 <= count[0] <= boxes.shape[0]:
        _stamp_on_mesh(block, smooth, boxes, int(count[0]), stamps, radius_of(stamps), first, size, known, parts, maps)
