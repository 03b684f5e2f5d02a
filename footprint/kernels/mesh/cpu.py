"""Clipped statistics of cells, and splines through them."""

from __future__ import annotations

import math

import numpy as np
from numba import prange

from footprint.kernels.common.jit import njit
from footprint.kernels.common.vectors import await_rows
from footprint.kernels.mesh.contract import AT_ONCE, BEND, FEW, HUGE, TURNS
from footprint.kernels.mesh.lines import lay_parts, paint_row, place, seen
from footprint.kernels.mesh.near import (
    FAR,
    REACH,
    at_least,
    beyond,
    close,
    extent,
    listed,
    median_of,
    narrowed,
    ordered,
    rank_of,
    summed,
    under,
)
from footprint.kernels.sigma_clip.contract import BACKGROUND

# Values are summed once that lie within so many deviations of a sample's centre, or, where bounds have come nearer, within such a
# share of their distance; the others are listed.
_CORE, _SHARE = 2.3, 0.75
# Where a normal is cut off, values are listed so many deviations to either side, and those so far below the level; later in an
# interval as long as so many of the bound's last steps.
_AROUND, _BELOW, _NEARER = 0.12, 4.0, 20.0
INFINITE = np.float32(np.inf)


@njit(cache=True, nogil=True)
def _clip(a, n, kappa, centre, half, tails, few):
    """Median, mean and deviation of n values once nothing is further than kappa deviations from the median.

    Then how many ``tails`` lists, which are all that are under a value, and that value.
    """
    spread = half / REACH
    # Sums of the values that no bound is near, and a list of the others.
    low, high = np.float32(centre - _CORE * spread), np.float32(centre + _CORE * spread)
    origin = centre
    core, inner, inner_squares = summed(a, n, low, high, origin)
    outer = listed(a, n, low, high, tails, True)
    # The median is looked for by how many are under the sample's, as far as that is told.
    guess = centre + min(max((0.5 * n - under(a, n, np.float32(centre))) / (0.4 * n), -1.0), 1.0) * spread
    wide = (0.03 + 2 / math.sqrt(n)) * spread
    least, largest, kept, start, stop = -np.inf, np.inf, -1, np.int64(0), np.int64(0)
    i, j, median = 0, n, 0.0
    _, total, squares = summed(tails, outer, np.float32(-FAR), np.float32(FAR), origin)
    while True:
        m = j - i
        mean = (inner + total) / m
        deviation = math.sqrt(max((inner_squares + squares) / m - mean * mean, 0.0))
        mean += origin
        if m == kept:
            return median, mean, deviation, outer, low
        median, start, stop = median_of(i, j, a, n, guess, wide, few, start, stop)
        least, largest, kept = max(least, median - kappa * deviation), min(largest, median + kappa * deviation), m
        first, last = at_least(least), beyond(largest)
        if first > low or last < high:
            low = max(np.float32(median - _SHARE * (median - least)), first)
            high = max(min(np.float32(median + _SHARE * (largest - median)), last), low)
            # About what they now lie round, so that no digits are lost of a spread that is small beside the sample's.
            origin = median
            core, inner, inner_squares = summed(a, n, low, high, origin)
            outer = listed(a, n, low, high, tails, True)
        count, total, squares = summed(tails, outer, first, last, origin)
        below = under(tails, outer, first)
        if core + count <= 0:
            # Nothing is that near the median: the value over it stands alone.
            alone = rank_of(min(below, j - 1), a, n, guess, wide, few, start, stop)[0]
            return alone, alone, 0.0, outer, low
        i, j = below, below + core + count


@njit(cache=True, nogil=True)
def _cell(a, n, kappa, up, hazard, tails, few):
    """Background and noise of a[:n]."""
    centre, half = extent(a, n, few)
    if half == 0.0:
        return centre, 0.0
    close(a, n)
    median, mean, deviation, outer, low = _clip(a, n, kappa, centre, half, tails, few)
    if deviation == 0.0:
        return median, deviation
    if up == 0.0 or n < FEW:
        return (2.5 * median - 1.5 * mean if abs(mean - median) < 0.3 * deviation else median), deviation
    level = origin = median
    noise, around, lower, moved = deviation, np.int64(0), np.int64(0), np.inf
    # The interval that the upper bound is in, whose values are listed; what lies under the lowest value summed is listed, too.
    begin, end, lowest, core, inner, inner_squares = INFINITE, -INFINITE, -INFINITE, np.int64(0), 0.0, 0.0
    for _ in range(TURNS):
        first, last = level - 5 * noise, level + up * noise
        if not (begin <= last <= end and first <= lowest):
            begin, end = np.float32(last - _AROUND * noise), beyond(last + _AROUND * noise)
            lowest, origin = min(np.float32(level - _BELOW * noise), begin), level
            core, inner, inner_squares = summed(a, n, lowest, begin, origin)
            around = listed(a, n, begin, end, few)
            if lower or lowest > low or under(tails, outer, lowest):
                lower, low = listed(a, n, -INFINITE, lowest, tails), -INFINITE
        elif _NEARER * moved < np.float64(end) - np.float64(begin) and around > AT_ONCE:
            # What steps that shorten lead to lies in a shorter interval.
            reach = 0.25 * _NEARER * moved
            lower_end, upper_end = max(np.float32(last - reach), begin), min(beyond(last + reach), end)
            count, total, squares = summed(few, around, begin, lower_end, origin)
            core, inner, inner_squares = core + count, inner + total, inner_squares + squares
            begin, end, around = lower_end, upper_end, narrowed(few, around, lower_end, upper_end)
        m, total, squares = summed(few, around, begin, last, origin)
        if lower:
            more, total_lower, squares_lower = summed(tails, lower, first, lowest, origin)
            m, total, squares = m + more, total + total_lower, squares + squares_lower
        m += core
        if m < 16:
            return median, deviation
        mean = (inner + total) / m
        variance = max((inner_squares + squares) / m - mean * mean, 0.0)
        wider = math.sqrt(variance / (1 - up * hazard - hazard * hazard))
        higher = origin + mean + wider * hazard
        if not wider > 0:
            return median, deviation
        moved = abs(higher - level) + abs(wider - noise)
        level, noise = higher, wider
        if moved < 1e-4 * noise:
            break
    return level, noise


@njit(cache=True, nogil=True)
def _first_finite(image, y0, y1, x0, x1):
    """The first value of a cell that is less than HUGE; where none is the first that is finite, or of all."""
    first, found = image[y0, x0], False
    for y in range(y0, y1):
        for x in range(x0, x1):
            v = image[y, x]
            if abs(v) < HUGE:
                return v
            if not found and math.isfinite(v):
                first, found = v, True
    return first


@njit(cache=True, nogil=True)
def _gather(image, y0, y1, x0, x1, a):
    """What is finite of a cell, told from the first (see `_first_finite`); how many, and that first.

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
def _cells(image, cells, first, size, kappa, good, up, more, values):
    rows, columns, threads = -(-image.shape[0] // size), cells.shape[2], values.shape[0]
    hazard = math.exp(-0.5 * up * up) / math.sqrt(2 * math.pi) / (0.5 * math.erfc(-up / math.sqrt(2.0)))
    for t in prange(threads):
        # Cells one by one: a part of a wide image often has one row of them.
        for cell in range(rows * columns * t // threads, rows * columns * (t + 1) // threads):
            r, c = cell // columns, cell % columns
            y0, y1 = r * size, min((r + 1) * size, image.shape[0])
            x0, x1 = c * size, min((c + 1) * size, image.shape[1])
            a = values[t, 0]
            n, anchor = _gather(image, y0, y1, x0, x1, a)
            if c + 1 < columns:
                # The next cell's pixels come from far-off memory while this one's are looked at.
                await_rows(image, y0 * image.shape[1] + x1, image.shape[1], y1 - y0, min(size, image.shape[1] - x1))
            level = noise = np.nan
            if n > 0 and n >= good * (y1 - y0) * (x1 - x0):
                level, noise = _cell(a, n, kappa, up, hazard, values[t, 1], values[t, 2])
                level += anchor
                noise *= more
            cells[0, first // size + r, c], cells[1, first // size + r, c] = level, noise


def cells(image, cells, values, *, first, size, kappa, good, up, more) -> None:
    """See `footprint.kernels.mesh.contract`."""
    _cells(image, cells, first, size, kappa, good, up, more, values)


@njit(cache=True, nogil=True)
def _middle(values, n):
    ordered(values, n)
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
def _on(here, there, noise):
    """As far beyond an end as ``there`` lies within; noise stays over 0."""
    return 2 * here - seen(there, here, noise)


@njit(cache=True, nogil=True)
def _at(filled, y, x, noise):
    """A cell, beyond the ends by the table turned about its end, so that a slope goes on."""
    v, w = _turned(y, filled.shape[0])
    u, t = _turned(x, filled.shape[1])
    beyond_y, beyond_x = v != y, u != x
    here = _on(filled[v, u], filled[v, t], noise) if beyond_x else filled[v, u]
    if beyond_y:
        here = _on(here, _on(filled[w, u], filled[w, t], noise) if beyond_x else filled[w, u], noise)
    return here


@njit(cache=True, nogil=True)
def _filter(filled, width, out, values, noise):
    reach = width // 2
    for y in range(out.shape[0]):
        for x in range(out.shape[1]):
            n = 0
            for v in range(y - reach, y + reach + 1):
                for u in range(x - reach, x + reach + 1):
                    values[n] = _at(filled, v, u, noise)
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
def _held(a, bend):
    """A noise bends up by a share of itself at most."""
    for y in range(a.shape[0]):
        for x in range(a.shape[1]):
            bend[y, x] = min(bend[y, x], BEND * a[y, x])


@njit(cache=True, nogil=True)
def _smooth(cells, smooth, values, filled, width):
    for k in range(2):
        _fill(cells[k], filled, values)
        _filter(filled, width, smooth[4 * k], values, k == 1)
        for x in range(cells.shape[2]):
            _curve(smooth[4 * k, :, x], smooth[4 * k + 1, :, x], values)
        if k == 1:
            _held(smooth[4], smooth[5])
        for part in range(2):
            for y in range(cells.shape[1]):
                _curve(smooth[4 * k + part, y], smooth[4 * k + 2 + part, y], values)
    _held(smooth[4], smooth[6])


def smooth(cells, smooth, values, filled, *, width) -> None:
    """See `footprint.kernels.mesh.contract`."""
    _smooth(cells, smooth, values, filled, width)


@njit(cache=True, parallel=True, nogil=True)
def _paint(smooth, k, out, first, size, rows, parts):
    ny, threads = smooth.shape[1], rows.shape[0]
    lay_parts(parts, size)
    for t in prange(threads):
        a, bend = rows[t, 0], rows[t, 1]
        for r in range(out.shape[0] * t // threads, out.shape[0] * (t + 1) // threads):
            paint_row(smooth, k, place(first + r, size, ny), size, 0, out.shape[1], parts, a, bend, out[r], 0)


def paint(smooth, out, rows, parts, *, first, size, which) -> None:
    """See `footprint.kernels.mesh.contract`."""
    _paint(smooth, 4 * which, out, first, size, rows, parts)


def level(stats, out) -> None:
    """See `footprint.kernels.mesh.contract`."""
    out[...] = stats[BACKGROUND]
