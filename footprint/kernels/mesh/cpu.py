"""Clipped statistics of cells, each counted into bins once, and splines through them."""

from __future__ import annotations

import math

import numpy as np
from numba import prange

from footprint.kernels.common.jit import njit
from footprint.kernels.mesh.contract import FEW, MOST, SAMPLE, TURNS
from footprint.kernels.sigma_clip.contract import BACKGROUND

# Values a bin has of its share: so few that what a bound cuts is soon looked at.
EACH = 8
# Deviations of the sample that the bins reach to either side; what is beyond lies in one more bin.
REACH = 6.0
FAR = 3e38


@njit(cache=True, nogil=True)
def _bin(v, low, scale, bins):
    """The bin of a value: never lower than that of a smaller one."""
    t = (np.float64(v) - low) * scale + 1.0
    t = t if t > 0.0 else 0.0
    top = bins + 1.0
    return np.int32(t if t < top else top)


@njit(cache=True, nogil=True)
def _range(a, n, few):
    """Where most of the values lie: a centre, and half the width of the bins; the width is 0 where all values are one."""
    m = min(n, SAMPLE)
    for i in range(m):
        few[i] = a[i * n // m]
    few[:m].sort()
    centre = np.float64(few[m // 2])
    half = REACH * 0.5 * (np.float64(few[(84 * m) // 100]) - np.float64(few[(16 * m) // 100]))
    if half == 0.0:
        least, largest = a[0], a[0]
        for i in range(n):
            least, largest = min(least, a[i]), max(largest, a[i])
        half = max(np.float64(largest) - centre, centre - np.float64(least))
    # What no float32 holds lies at its end.
    return min(max(centre, -FAR), FAR), min(half, FAR)


@njit(cache=True, nogil=True)
def _spread(a, n, low, scale, bins, centre, binned, places, starts, sums):
    """Lay values by their bins; count, and sum about the centre, what lies before each."""
    starts[: bins + 3] = 0
    for i in range(n):
        places[i] = _bin(a[i], low, scale, bins)
    for i in range(n):
        starts[places[i] + 1] += 1
    for b in range(bins + 2):
        starts[b + 1] += starts[b]
    for i in range(n):
        b = places[i]
        binned[starts[b]] = a[i]
        starts[b] += 1
    # Every start has become that of the next bin.
    for b in range(bins + 2, 0, -1):
        starts[b] = starts[b - 1]
    starts[0] = 0
    sums[0, 0] = sums[1, 0] = 0.0
    for b in range(bins + 2):
        total, squares = 0.0, 0.0
        for i in range(starts[b], starts[b + 1]):
            d = np.float64(binned[i]) - centre
            total += d
            squares += d * d
        sums[0, b + 1], sums[1, b + 1] = sums[0, b] + total, sums[1, b] + squares


@njit(cache=True, nogil=True)
def _below(bound, equal, low, scale, bins, centre, binned, starts, sums):
    """Count, sum and sum of squares about the centre of what is under a bound, or ``equal`` to it."""
    b = _bin(bound, low, scale, bins)
    count, total, squares = starts[b], sums[0, b], sums[1, b]
    for i in range(starts[b], starts[b + 1]):
        v = np.float64(binned[i])
        if v < bound or (equal and v == bound):
            count += 1
            total += v - centre
            squares += (v - centre) * (v - centre)
    return count, total, squares


@njit(cache=True, nogil=True)
def _rank(r, bins, binned, starts):
    """The value of a rank; its bin is sorted."""
    first, last = 0, bins + 1
    while first < last:
        b = (first + last) // 2
        if starts[b + 1] <= r:
            first = b + 1
        else:
            last = b
    binned[starts[first] : starts[first + 1]].sort()
    return np.float64(binned[r])


@njit(cache=True, nogil=True)
def _clip(n, kappa, low, scale, bins, centre, binned, starts, sums):
    """Median, mean and deviation of n values once nothing is further than kappa deviations from the median."""
    least, largest, kept = -np.inf, np.inf, -1
    i, j, median = 0, n, 0.0
    total, squares = sums[0, bins + 2], sums[1, bins + 2]
    while True:
        m = j - i
        mean = total / m
        deviation = math.sqrt(max(squares / m - mean * mean, 0.0))
        mean += centre
        if m == kept:
            return median, mean, deviation
        median = 0.5 * (_rank(i + (m - 1) // 2, bins, binned, starts) + _rank(i + m // 2, bins, binned, starts))
        least, largest, kept = max(least, median - kappa * deviation), min(largest, median + kappa * deviation), m
        under, total_under, squares_under = _below(least, False, low, scale, bins, centre, binned, starts, sums)
        upto, total, squares = _below(largest, True, low, scale, bins, centre, binned, starts, sums)
        if upto <= under:
            # Nothing is that near the median: the value over it stands alone.
            alone = _rank(min(under, j - 1), bins, binned, starts)
            return alone, alone, 0.0
        i, j, total, squares = under, upto, total - total_under, squares - squares_under


@njit(cache=True, nogil=True)
def _cell(a, n, kappa, up, binned, places, starts, sums):
    """Background and noise of a[:n]."""
    centre, half = _range(a, n, binned)
    if half == 0.0:
        return centre, 0.0
    bins = max(16, min(MOST, n // EACH))
    low, scale = centre - half, 0.5 * bins / half
    _spread(a, n, low, scale, bins, centre, binned, places, starts, sums)
    median, mean, deviation = _clip(n, kappa, low, scale, bins, centre, binned, starts, sums)
    if deviation == 0.0:
        return median, deviation
    if up == 0.0 or n < FEW:
        return (2.5 * median - 1.5 * mean if abs(mean - median) < 0.3 * deviation else median), deviation
    hazard = math.exp(-0.5 * up * up) / math.sqrt(2 * math.pi) / (0.5 * math.erfc(-up / math.sqrt(2.0)))
    level, noise = median, deviation
    for _ in range(TURNS):
        under, total_under, squares_under = _below(level - 5 * noise, False, low, scale, bins, centre, binned, starts, sums)
        upto, total, squares = _below(level + up * noise, False, low, scale, bins, centre, binned, starts, sums)
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
def _gather(part, a):
    """What is finite, told from the first that is; how many, and that first."""
    n, anchor = 0, np.nan
    for y in range(part.shape[0]):
        row, missing = part[y], 0
        for x in range(row.size):
            missing += 0 if abs(row[x]) < np.inf else 1
        x = 0
        while anchor != anchor and x < row.size:
            anchor = np.float64(row[x]) if math.isfinite(row[x]) else anchor
            x += 1
        if missing == 0:
            for x in range(row.size):
                a[n + x] = np.float32(np.float64(row[x]) - anchor)
            n += row.size
            continue
        for x in range(row.size):
            if math.isfinite(row[x]):
                a[n] = np.float32(np.float64(row[x]) - anchor)
                n += 1
    return n, anchor


@njit(cache=True, parallel=True, nogil=True)
def _cells(image, cells, first, size, kappa, good, up, more, values, places, starts, sums):
    rows, columns, threads = -(-image.shape[0] // size), cells.shape[2], values.shape[0]
    for t in prange(threads):
        for r in range(rows * t // threads, rows * (t + 1) // threads):
            for c in range(columns):
                part = image[r * size : (r + 1) * size, c * size : (c + 1) * size]
                a = values[t, 0]
                n, anchor = _gather(part, a)
                level = noise = np.nan
                if n > 0 and n >= good * part.size:
                    level, noise = _cell(a, n, kappa, up, values[t, 1], places[t], starts[t], sums[t])
                    level += anchor
                    noise *= more
                cells[0, first // size + r, c], cells[1, first // size + r, c] = level, noise


def cells(image, cells, values, places, starts, sums, *, first, size, kappa, good, up, more) -> None:
    """See `footprint.kernels.mesh.contract`."""
    _cells(image, cells, first, size, kappa, good, up, more, values, places, starts, sums)


@njit(cache=True, nogil=True)
def _middle(values, n):
    values[:n].sort()
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
def _stretch(out, start, stop, centre, per, c0, c1, c2, c3):
    """A cubic of the distance from a cell's centre, in cells, at pixels from start to stop."""
    # Vector instructions make doubles of int32, and not of int64.
    for x in range(np.int32(start), np.int32(stop)):
        f = (np.float64(np.int32(x)) - centre) * per
        out[x] = c0 + f * (c1 + f * (c2 + f * c3))


@njit(cache=True, nogil=True)
def _line(a, bend, size, out):
    """A spline from centre to centre of the cells along a row, linear before the first and after the last."""
    nx, width, per = a.size, out.size, 1.0 / size
    if nx == 1:
        out[:] = a[0]
        return
    for k in range(nx - 1):
        centre = size * (k + 0.5) - 0.5
        start, stop = math.ceil(centre), min(math.ceil(centre + size), width)
        c1 = a[k + 1] - a[k] - bend[k] / 3 - bend[k + 1] / 6
        c2, c3 = bend[k] / 2, (bend[k + 1] - bend[k]) / 6
        if k == 0:
            _stretch(out, 0, min(start, width), centre, per, a[0], a[1] - a[0], 0.0, 0.0)
        _stretch(out, start, stop, centre, per, a[k], c1, c2, c3)
        if k == nx - 2:
            _stretch(out, stop, width, centre, per, a[k], a[k + 1] - a[k], 0.0, 0.0)


@njit(cache=True, parallel=True, nogil=True)
def _paint(smooth, k, out, first, size, rows):
    ny, nx, threads = smooth.shape[1], smooth.shape[2], rows.shape[0]
    for t in prange(threads):
        a, bend = rows[t, 0], rows[t, 1]
        for r in range(out.shape[0] * t // threads, out.shape[0] * (t + 1) // threads):
            c, d, g, f, low, high = _place(first + r, size, ny)
            for x in range(nx):
                a[x] = g * smooth[k, c, x] + f * smooth[k, d, x] + low * smooth[k + 1, c, x] + high * smooth[k + 1, d, x]
                bend[x] = g * smooth[k + 2, c, x] + f * smooth[k + 2, d, x] + low * smooth[k + 3, c, x] + high * smooth[k + 3, d, x]
            _line(a, bend, size, out[r])


def paint(smooth, out, rows, *, first, size, which) -> None:
    """See `footprint.kernels.mesh.contract`."""
    _paint(smooth, 4 * which, out, first, size, rows)


def level(stats, out) -> None:
    """See `footprint.kernels.mesh.contract`."""
    out[...] = stats[BACKGROUND]
