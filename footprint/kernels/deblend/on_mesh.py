"""Noises over a background that a mesh tells, where anything may stand out: no map is made, and most pixels are only compared.

Between four centres of cells the background is bicubic, and the noise no less than a bicubic, so that background plus some noises
lies over the least of the Bernstein coefficients of both. A pixel under that does not stand out; most stretches of a row have no
other.
"""

from __future__ import annotations

import numpy as np
from numba import prange

from footprint.kernels.common.jit import njit
from footprint.kernels.deblend.contract import AT_ONCE
from footprint.kernels.find_sources.contract import LEVEL, PIXELS, SPREAD, X_PEAK, Y_PEAK
from footprint.kernels.mesh.lines import ahead, lay_parts, paint_row, place

# What rounding may make of both maps and of a pixel over them, in terms of all that they are made of.
_ROUNDED = 4e-6


@njit(cache=True, nogil=True)
def over_level(row, begin, end, level, spread, values, ranks):
    """What pixels of a row from ``begin`` to ``end`` are over the level, and how many spreads that is."""
    for x in range(np.uint64(begin), np.uint64(end)):
        over, noise = np.float64(row[x]) - np.float64(level[x]), np.float64(spread[x])
        values[x] = over
        ranks[x] = over / noise if noise > 0 else np.nan


@njit(cache=True, nogil=True)
def _piece(i, size, n):
    """Which of the pieces of a spline along an axis a pixel lies in: 0 before the first of n centres, n after the last."""
    return 0 if n == 1 or i < ahead(size) else min(1 + (i - ahead(size)) // size, n)


@njit(cache=True, nogil=True)
def _controls(piece, n, weights):
    """Weights of values and bends at two cells that bound a piece, half a cell long at the ends; their first cell, and how many."""
    weights[:, :] = 0.0
    if n == 1:
        weights[0, 0] = 1.0
        return 0, 1
    if piece == 0:
        weights[0, 0], weights[0, 1], weights[1, 0] = 1.5, -0.5, 1.0
        return 0, 2
    if piece == n:
        weights[0, 0], weights[0, 1], weights[1, 1] = -0.5, 1.5, 1.0
        return n - 2, 2
    weights[0, 0] = weights[3, 1] = 1.0
    weights[1, 0], weights[1, 1], weights[1, 2], weights[1, 3] = 2 / 3, 1 / 3, -1 / 9, -1 / 18
    weights[2, 0], weights[2, 1], weights[2, 2], weights[2, 3] = 1 / 3, 2 / 3, -1 / 18, -1 / 9
    return piece - 1, 4


@njit(cache=True, nogil=True)
def _bound(smooth, sigma, across, down, v, u, many_y, many_x):
    """What background plus so many noises is over, throughout a piece of both splines; NaN where that is not known."""
    least, sizes = np.inf, 0.0
    last_y, last_x = min(v + 1, smooth.shape[1] - 1), min(u + 1, smooth.shape[2] - 1)
    for j in range(many_x):
        # Along x, of values and bends at both cells along y.
        at_cells = (0.0, 0.0, 0.0, 0.0)
        for q in range(4):
            x, weight, k = (last_x if q % 2 else u), across[j, q], 2 * (q // 2)
            a = smooth[k, v, x] + sigma * smooth[4 + k, v, x]
            b = smooth[k, last_y, x] + sigma * smooth[4 + k, last_y, x]
            c = smooth[k + 1, v, x] + sigma * smooth[5 + k, v, x]
            d = smooth[k + 1, last_y, x] + sigma * smooth[5 + k, last_y, x]
            at_cells = (at_cells[0] + weight * a, at_cells[1] + weight * b, at_cells[2] + weight * c, at_cells[3] + weight * d)
            if j == 0:
                for one in (v, last_y):
                    for m in (k, k + 1):
                        sizes += abs(smooth[m, one, x]) + sigma * abs(smooth[4 + m, one, x])
        for i in range(many_y):
            w = down[i]
            least = min(least, w[0] * at_cells[0] + w[1] * at_cells[1] + w[2] * at_cells[2] + w[3] * at_cells[3])
    return least - _ROUNDED * sizes


@njit(cache=True, nogil=True)
def _bounds(smooth, sigma, piece, size, width, weights, bounds, stretches):
    """The bounds of a row's stretches, whose ``piece`` along y is known."""
    n = smooth.shape[2]
    across, down = weights[0], weights[1]
    v, many_y = _controls(piece, smooth.shape[1], down)
    for k in range(bounds.size):
        u, many_x = _controls(k, n, across)
        bounds[k] = _bound(smooth, sigma, across, down, v, u, many_y, many_x)
    for s in range(stretches.size):
        first, last = _piece(s * AT_ONCE, size, n), _piece(min((s + 1) * AT_ONCE, width) - 1, size, n)
        least, known = bounds[first], True
        for k in range(first, last + 1):
            least, known = min(least, bounds[k]), known and bounds[k] == bounds[k]
        stretches[s] = least if known else -np.inf


@njit(cache=True, nogil=True)
def _flag(row, stretches, flags):
    """Flag stretches of a row that have a value that is not under their bound, or that are beside such a value."""
    one = np.uint64(1)
    flags[:] = 0
    for s in range(np.uint64(stretches.size)):
        bound, found = stretches[s], np.int32(0)
        start, stop = s * np.uint64(AT_ONCE), min((s + one) * np.uint64(AT_ONCE), np.uint64(row.size))
        for x in range(start, stop):
            found |= np.int32(row[x] >= bound)
        if found:
            flags[s + one] = 1
            flags[s] |= np.uint8(row[start] >= bound)
            flags[s + one + one] |= np.uint8(row[stop - one] >= bound)


@njit(cache=True, nogil=True)
def _widened(above, here, below, near):
    """Which stretches are flagged in one of three rows, as the neighbours of what stands out are looked at."""
    some, one = np.uint8(0), np.uint64(1)
    for s in range(np.uint64(near.size)):
        near[s] = above[s + one] | here[s + one] | below[s + one]
        some |= near[s]
    return some != 0


@njit(cache=True, nogil=True)
def _tell(row, smooth, y, size, near, known, parts, maps, values, ranks):
    """What pixels of a row are over the mesh, in the stretches that are wanted; 0 elsewhere."""
    # No views of arrays in the loop: threads would wait for each other to count them.
    a, bend, level, spread = known[0], known[1], maps[0], maps[1]
    s, at = 0, place(y, size, smooth.shape[1])
    while s < near.size:
        start = s
        s += 1
        while s < near.size and near[s] == near[start]:
            s += 1
        begin, end = start * AT_ONCE, min(s * AT_ONCE, row.size)
        if not near[start]:
            for x in range(np.uint64(begin), np.uint64(end)):
                ranks[x] = 0
            continue
        paint_row(smooth, 0, at, size, begin, end, parts, a, bend, level, begin)
        paint_row(smooth, 4, at, size, begin, end, parts, a, bend, spread, begin)
        over_level(row, begin, end, level, spread, values, ranks)


@njit(cache=True, parallel=True, nogil=True)
def _told_on_mesh(block, smooth, ranks, values, first, size, sigma, known, bounds, parts, maps, flags, near):
    height, width, ny, threads = block.shape[0], block.shape[1], smooth.shape[1], known.shape[0]
    lay_parts(parts, size)
    for t in prange(threads):
        begin, end, piece = height * t // threads, height * (t + 1) // threads, -1
        stretches, weights = maps[t, 2, : near.shape[1]], np.zeros((2, 4, 4))
        for r in range(begin - 1, end + 1):
            # The row itself, and then the one before it, when those on either side have been flagged.
            if not 0 <= r < height:
                flags[t, r % 3, :] = 0
            else:
                if piece != _piece(first + r, size, ny):
                    piece = _piece(first + r, size, ny)
                    _bounds(smooth, sigma, piece, size, width, weights, bounds[t], stretches)
                _flag(block[r], stretches, flags[t, r % 3])
            y = r - 1
            if y < begin:
                continue
            # What lies beyond a part's ends is not known here.
            if y == 0 or y + 1 == height:
                near[t, :] = 1
            elif not _widened(flags[t, (y - 1) % 3], flags[t, y % 3], flags[t, r % 3], near[t]):
                ranks[y] = 0
                continue
            _tell(block[y], smooth, first + y, size, near[t], known[t], parts, maps[t], values[y], ranks[y])


def told_on_mesh(block, smooth, ranks, values, known, bounds, parts, maps, flags, near, *, first, size, sigma) -> None:
    """See `footprint.kernels.deblend.contract`."""
    _told_on_mesh(block, smooth, ranks, values, first, size, sigma, known, bounds, parts, maps, flags, near)


@njit(cache=True, nogil=True)
def _at(smooth, k, y, x, size, known, parts, out):
    """A map at a pixel."""
    paint_row(smooth, k, place(y, size, smooth.shape[1]), size, x, x + 1, parts, known[0], known[1], out, 0)
    return out[0]


@njit(cache=True, nogil=True)
def _at_peaks_on_mesh(rows, smooth, boxes, moments, first, size, known, parts, out):
    lay_parts(parts, size)
    for k in range(boxes.shape[0]):
        y, x = boxes[k, Y_PEAK], boxes[k, X_PEAK]
        if boxes[k, PIXELS] > 0 and first <= y < first + rows:
            moments[k, LEVEL] = _at(smooth, 0, y, x, size, known, parts, out)
            moments[k, SPREAD] = _at(smooth, 4, y, x, size, known, parts, out)


def at_peaks_on_mesh(block, smooth, boxes, moments, known, parts, out, *, first, size) -> None:
    """See `footprint.kernels.deblend.contract`."""
    _at_peaks_on_mesh(block.shape[0], smooth, boxes, moments, first, size, known, parts, out)
