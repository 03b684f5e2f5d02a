"""Clipped statistics of cells, each counted into bins once, and splines through them."""

from __future__ import annotations

import math

import numpy as np
from numba import prange

from footprint.kernels.common.jit import njit
from footprint.kernels.mesh.bins import below, extent, median_of, rank_of, spread
from footprint.kernels.mesh.contract import FEW, MOST, TURNS
from footprint.kernels.sigma_clip.contract import BACKGROUND

# Values that are put in order one by one.
_LINE = 32
# Values a bin has of its share: so few that what a bound cuts is soon looked at.
EACH = 8


@njit(cache=True, nogil=True)
def _clip(n, kappa, low, scale, bins, centre, binned, starts, sums, spare):
    """Median, mean and deviation of n values once nothing is further than kappa deviations from the median."""
    least, largest, kept = -np.inf, np.inf, -1
    i, j, median, start, stop = 0, n, 0.0, np.int64(0), np.int64(0)
    _, total_under, squares_under = below(-np.inf, False, low, scale, bins, centre, binned, starts, sums)
    _, total, squares = below(np.inf, True, low, scale, bins, centre, binned, starts, sums)
    total, squares = total - total_under, squares - squares_under
    while True:
        m = j - i
        mean = total / m
        deviation = math.sqrt(max(squares / m - mean * mean, 0.0))
        mean += centre
        if m == kept:
            return median, mean, deviation
        median, start, stop = median_of(i, j, bins, binned, starts, spare, start, stop)
        least, largest, kept = max(least, median - kappa * deviation), min(largest, median + kappa * deviation), m
        under, total_under, squares_under = below(least, False, low, scale, bins, centre, binned, starts, sums)
        upto, total, squares = below(largest, True, low, scale, bins, centre, binned, starts, sums)
        if upto <= under:
            # Nothing is that near the median: the value over it stands alone.
            alone = rank_of(min(under, j - 1), bins, binned, starts, spare, start, stop)[0]
            return alone, alone, 0.0
        i, j, total, squares = under, upto, total - total_under, squares - squares_under


@njit(cache=True, nogil=True)
def _cell(a, n, kappa, up, hazard, binned, places, starts, sums):
    """Background and noise of a[:n]."""
    centre, half = extent(a, n, binned)
    if half == 0.0:
        return centre, 0.0
    bins = max(16, min(MOST, n // EACH))
    low, scale = np.float32(centre - half), np.float32(0.5 * bins / half)
    spread(a, n, low, scale, bins, centre, binned, places, starts, sums)
    median, mean, deviation = _clip(n, kappa, low, scale, bins, centre, binned, starts, sums, a)
    if deviation == 0.0:
        return median, deviation
    if up == 0.0 or n < FEW:
        return (2.5 * median - 1.5 * mean if abs(mean - median) < 0.3 * deviation else median), deviation
    level, noise = median, deviation
    for _ in range(TURNS):
        under, total_under, squares_under = below(level - 5 * noise, False, low, scale, bins, centre, binned, starts, sums)
        upto, total, squares = below(level + up * noise, False, low, scale, bins, centre, binned, starts, sums)
        m = upto - under
        if m < 16:
            return median, deviation
        mean = (total - total_under) / m
        variance = max((squares - squares_under) / m - mean * mean, 0.0)
        wider = math.sqrt(variance / (1 - up * hazard - hazard * hazard))
        higher = centre + mean + wider * hazard
        if not wider > 0:
            return median, deviation
        moved = abs(higher - level) + abs(wider - noise)
        level, noise = 0.5 * (level + higher), 0.5 * (noise + wider)
        if moved < 1e-4 * noise:
            break
    return level, noise


@njit(cache=True, nogil=True)
def _first_finite(image, y0, y1, x0, x1):
    """The first value of a cell that is finite; the first of all where none is."""
    for y in range(y0, y1):
        for x in range(x0, x1):
            if math.isfinite(image[y, x]):
                return image[y, x]
    return image[y0, x0]


@njit(cache=True, nogil=True)
def _gather(image, y0, y1, x0, x1, a):
    """What is finite of a cell, told from the first that is; how many, and that first.

    In the image's own dtype: a difference of float32 is the same when it is rounded once.
    """
    anchor, missing, n = _first_finite(image, y0, y1, x0, x1), np.int32(0), np.uint64(0)
    width = np.uint64(x1 - x0)
    for y in range(y0, y1):
        row = image[y]
        for x in range(width):
            v = row[np.uint64(x0) + x]
            missing += np.int32(0) if abs(v) < np.inf else np.int32(1)
            a[n + x] = np.float32(v - anchor)
        n += width
    if missing:
        n = np.uint64(0)
        for y in range(y0, y1):
            for x in range(x0, x1):
                a[n] = np.float32(image[y, x] - anchor)
                n += np.uint64(math.isfinite(image[y, x]))
    return np.int64(n), np.float64(anchor)


@njit(cache=True, parallel=True, nogil=True)
def _cells(image, cells, first, size, kappa, good, up, more, values, places, starts, sums):
    rows, columns, threads = -(-image.shape[0] // size), cells.shape[2], values.shape[0]
    hazard = math.exp(-0.5 * up * up) / math.sqrt(2 * math.pi) / (0.5 * math.erfc(-up / math.sqrt(2.0)))
    for t in prange(threads):
        for r in range(rows * t // threads, rows * (t + 1) // threads):
            for c in range(columns):
                y0, y1 = r * size, min((r + 1) * size, image.shape[0])
                x0, x1 = c * size, min((c + 1) * size, image.shape[1])
                a = values[t, 0]
                n, anchor = _gather(image, y0, y1, x0, x1, a)
                level = noise = np.nan
                if n > 0 and n >= good * (y1 - y0) * (x1 - x0):
                    level, noise = _cell(a, n, kappa, up, hazard, values[t, 1], places[t], starts[t], sums[t])
                    level += anchor
                    noise *= more
                cells[0, first // size + r, c], cells[1, first // size + r, c] = level, noise


def cells(image, cells, values, places, starts, sums, *, first, size, kappa, good, up, more) -> None:
    """See `footprint.kernels.mesh.contract`."""
    _cells(image, cells, first, size, kappa, good, up, more, values, places, starts, sums)


@njit(cache=True, nogil=True)
def _middle(values, n):
    if n > _LINE:
        values[:n].sort()
    # A general sort takes several times as long over a window of cells.
    for i in range(1, n if n <= _LINE else 0):
        v, j = values[i], i
        while j > 0 and values[j - 1] > v:
            values[j] = values[j - 1]
            j -= 1
        values[j] = v
    return 0.5 * (values[(n - 1) // 2] + values[n // 2])


@njit(cache=True, nogil=True)
def _fill(cells, filled, values):
    """Empty cells take the median of the nearest ring that is not."""
    ny, nx = cells.shape
    for y in range(ny):
        for x in range(nx):
            filled[y, x] = cells[y, x]
            reach = 1
            while not math.isfinite(filled[y, x]) and reach < max(ny, nx):
                n = 0
                for v in range(max(0, y - reach), min(ny, y + reach + 1)):
                    for u in range(max(0, x - reach), min(nx, x + reach + 1)):
                        if math.isfinite(cells[v, u]):
                            values[n] = cells[v, u]
                            n += 1
                if n:
                    filled[y, x] = _middle(values, n)
                reach += 1


@njit(cache=True, nogil=True)
def _turned(i, n):
    """An index within the ends, and the one it is turned about that end from; twice the same where a table is too short."""
    end = min(max(i, 0), n - 1)
    mirror = 2 * end - i
    return end, mirror if 0 <= mirror < n else end


@njit(cache=True, nogil=True)
def _at(filled, y, x):
    """A cell, beyond the ends by the table turned about its end, so that a slope goes on."""
    v, w = _turned(y, filled.shape[0])
    u, t = _turned(x, filled.shape[1])
    beyond_y, beyond_x = v != y, u != x
    here = 2 * filled[v, u] - filled[v, t] if beyond_x else filled[v, u]
    if beyond_y:
        here = 2 * here - (2 * filled[w, u] - filled[w, t] if beyond_x else filled[w, u])
    return here


@njit(cache=True, nogil=True)
def _filter(filled, width, out, values):
    reach = width // 2
    for y in range(out.shape[0]):
        for x in range(out.shape[1]):
            n = 0
            for v in range(y - reach, y + reach + 1):
                for u in range(x - reach, x + reach + 1):
                    values[n] = _at(filled, v, u)
                    n += 1
            out[y, x] = _middle(values, n)


@njit(cache=True, nogil=True)
def _curve(a, bend, work):
    """Second derivatives of the natural cubic spline through values a unit apart."""
    n = a.size
    bend[:n] = 0.0
    work[:n] = 0.0
    for i in range(1, n - 1):
        pivot = 0.5 * bend[i - 1] + 2
        bend[i] = -0.5 / pivot
        work[i] = (3 * (a[i + 1] - 2 * a[i] + a[i - 1]) - 0.5 * work[i - 1]) / pivot
    for i in range(n - 2, -1, -1):
        bend[i] = bend[i] * bend[i + 1] + work[i]


@njit(cache=True, nogil=True)
def _smooth(cells, smooth, values, filled, width):
    for k in range(2):
        _fill(cells[k], filled, values)
        _filter(filled, width, smooth[4 * k], values)
        for x in range(cells.shape[2]):
            _curve(smooth[4 * k, :, x], smooth[4 * k + 1, :, x], values)
        for part in range(2):
            for y in range(cells.shape[1]):
                _curve(smooth[4 * k + part, y], smooth[4 * k + 2 + part, y], values)


def smooth(cells, smooth, values, filled, *, width) -> None:
    """See `footprint.kernels.mesh.contract`."""
    _smooth(cells, smooth, values, filled, width)


@njit(cache=True, nogil=True)
def _place(i, size, n):
    """The cell whose centre is at or before a pixel, the one after it, and the weights of their values and of their bends."""
    t = (i + 0.5) / size - 0.5
    k = min(max(math.floor(t), 0), max(n - 2, 0))
    f = t - k
    g = 1 - f
    inside = 0.0 <= f <= 1.0
    return k, min(k + 1, n - 1), g, f, (g * g * g - g) / 6 if inside else 0.0, (f * f * f - f) / 6 if inside else 0.0


@njit(cache=True, nogil=True)
def _stretch(out, start, stop, part, first, c0, c1, c2, c3):
    """A cubic of the distance from a cell's centre, in cells, at pixels from start to stop; ``part`` has it from ``first`` on."""
    if stop > start:
        to, f = out[start:stop], part[first : first + stop - start]
        for x in range(np.uint64(to.size)):
            to[x] = c0 + f[x] * (c1 + f[x] * (c2 + f[x] * c3))


@njit(cache=True, nogil=True)
def _line(a, bend, size, out, part):
    """A spline from centre to centre of the cells along a row, linear before the first and after the last.

    ``part``: how far pixels are from the first cell's centre, in cells, as many as a cell has beyond it; all cells are alike.
    """
    nx, width = a.size, out.size
    if nx == 1:
        out[:] = a[0]
        return
    # The first pixel at or after a cell's centre.
    ahead = math.ceil(0.5 * size - 0.5)
    for k in range(nx - 1):
        start = size * k + ahead
        stop = min(start + size, width)
        c1 = a[k + 1] - a[k] - bend[k] / 3 - bend[k + 1] / 6
        c2, c3 = bend[k] / 2, (bend[k + 1] - bend[k]) / 6
        if k == 0:
            _stretch(out, 0, min(start, width), part, 0, a[0], a[1] - a[0], 0.0, 0.0)
        _stretch(out, start, stop, part, ahead, a[k], c1, c2, c3)
        if k == nx - 2:
            _stretch(out, stop, width, part, ahead + size, a[k], a[k + 1] - a[k], 0.0, 0.0)


@njit(cache=True, parallel=True, nogil=True)
def _paint(smooth, k, out, first, size, rows, parts):
    ny, nx, threads = smooth.shape[1], smooth.shape[2], rows.shape[0]
    for x in range(parts.size):
        parts[x] = (x - (0.5 * size - 0.5)) / size
    for t in prange(threads):
        a, bend = rows[t, 0], rows[t, 1]
        for r in range(out.shape[0] * t // threads, out.shape[0] * (t + 1) // threads):
            c, d, g, f, low, high = _place(first + r, size, ny)
            for x in range(nx):
                a[x] = g * smooth[k, c, x] + f * smooth[k, d, x] + low * smooth[k + 1, c, x] + high * smooth[k + 1, d, x]
                bend[x] = g * smooth[k + 2, c, x] + f * smooth[k + 2, d, x] + low * smooth[k + 3, c, x] + high * smooth[k + 3, d, x]
            _line(a, bend, size, out[r], parts)


def paint(smooth, out, rows, parts, *, first, size, which) -> None:
    """See `footprint.kernels.mesh.contract`."""
    _paint(smooth, 4 * which, out, first, size, rows, parts)


def level(stats, out) -> None:
    """See `footprint.kernels.mesh.contract`."""
    out[...] = stats[BACKGROUND]
