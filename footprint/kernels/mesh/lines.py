"""Rows of maps, and stretches of them, from the splines through a mesh's cells: the same bits wherever a stretch begins."""

from __future__ import annotations

import math

import numpy as np

from footprint.kernels.common.jit import njit
from footprint.kernels.mesh.contract import BEND, OUTER


@njit(cache=True, nogil=True)
def place(i, size, n):
    """The cell whose centre is at or before a pixel, the one after it, and the weights of their values and of their bends."""
    t = (i + 0.5) / size - 0.5
    k = min(max(math.floor(t), 0), max(n - 2, 0))
    f = t - k
    g = 1 - f
    inside = 0.0 <= f <= 1.0
    return k, min(k + 1, n - 1), g, f, (g * g * g - g) / 6 if inside else 0.0, (f * f * f - f) / 6 if inside else 0.0


@njit(cache=True, nogil=True)
def seen(cell, outer, is_bounded):
    """What a cell counts for where it is seen from beyond the outer one: of a noise little, see the contract."""
    return min(cell, OUTER * outer) if is_bounded else cell


@njit(cache=True, nogil=True)
def _knots(smooth, k, at, first, last, a, bend):
    """Values and second derivatives along a row whose `place` is known, at the cells from ``first`` up to ``last``."""
    c, d, g, f, low, high = at
    before, after = k > 0 and f < 0, k > 0 and f > 1
    for x in range(first, last):
        here, there = smooth[k, c, x], smooth[k, d, x]
        value = g * seen(here, there, after) + f * seen(there, here, before)
        a[x - first] = value + low * smooth[k + 1, c, x] + high * smooth[k + 1, d, x]
        bend[x - first] = g * smooth[k + 2, c, x] + f * smooth[k + 2, d, x] + low * smooth[k + 3, c, x] + high * smooth[k + 3, d, x]
        if k:
            bend[x - first] = min(bend[x - first], BEND * a[x - first])


@njit(cache=True, nogil=True)
def lay_parts(parts, size):
    """How far pixels are from the first cell's centre, in cells, as many as a cell has beyond it; all cells are alike."""
    for x in range(parts.size):
        parts[x] = (x - (0.5 * size - 0.5)) / size


@njit(cache=True, nogil=True)
def ahead(size):
    """The first pixel at or after a cell's centre."""
    return math.ceil(0.5 * size - 0.5)


@njit(cache=True, nogil=True)
def cell_of(x, size, n):
    """The cell whose centre is at or before a pixel, as `place` has it, but never the last of several."""
    return min(max((x - ahead(size)) // size, 0), max(n - 2, 0))


@njit(cache=True, nogil=True)
def _stretch(out, to, many, parts, first, c0, c1, c2, c3):
    """A cubic of the distance from a cell's centre, at so many pixels; ``parts`` has the distance from ``first`` on."""
    # No views of arrays: threads would wait for each other to count them.
    to, first = np.uint64(to), np.uint64(first)
    for x in range(np.uint64(max(many, 0))):
        f = parts[first + x]
        out[to + x] = c0 + f * (c1 + f * (c2 + f * c3))


@njit(cache=True, nogil=True)
def _line(a, bend, known, n, size, begin, end, parts, out, to, noise):
    """Pixels from ``begin`` to ``end`` of a row of a spline, which is linear before the first of ``n`` centres and after the last.

    ``a`` and ``bend`` are `_knots` from cell ``known`` on; ``parts`` as `lay_parts` lays them; ``out`` has them from ``to`` on.
    ``noise``: whether they are that.
    """
    if n == 1:
        out[to : to + end - begin] = a[0]
        return
    x, k, beyond, to = begin, cell_of(begin, size, n), ahead(size), to - begin
    while x < end:
        # A line before the first centre, and after the last.
        i, start, last = k - known, size * k + beyond, k == n - 2
        if x < start:
            stop = min(start, end)
            there = seen(a[i + 1], a[i], noise)
            _stretch(out, to + x, stop - x, parts, x - size * k, a[i], there - a[i], 0.0, 0.0)
            x = stop
        stop = min(start + size, end)
        if x < stop:
            c1 = a[i + 1] - a[i] - bend[i] / 3 - bend[i + 1] / 6
            _stretch(out, to + x, stop - x, parts, x - size * k, a[i], c1, bend[i] / 2, (bend[i + 1] - bend[i]) / 6)
            x = stop
        if last and x < end:
            here = seen(a[i], a[i + 1], noise)
            _stretch(out, to + x, end - x, parts, x - size * k, here, a[i + 1] - here, 0.0, 0.0)
            x = end
        k += 1


@njit(cache=True, nogil=True)
def paint_row(smooth, k, at, size, begin, end, parts, a, bend, out, to):
    """Pixels from ``begin`` to ``end`` of a row whose `place` is known, of the map that begins at ``k``; see `_line` for the rest.

    ``a`` and ``bend`` have room for a row of cells.
    """
    n = smooth.shape[2]
    cell = cell_of(begin, size, n)
    _knots(smooth, k, at, cell, min(cell_of(end - 1, size, n) + 2, n), a, bend)
    _line(a, bend, cell, n, size, begin, end, parts, out, to, k > 0)
