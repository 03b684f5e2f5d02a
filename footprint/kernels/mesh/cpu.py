"""Clipped statistics of cells, each sorted once, and splines through them."""

from __future__ import annotations

import math

import numpy as np
from numba import njit, prange

from footprint.kernels.mesh.contract import FEW, TURNS
from footprint.kernels.sigma_clip.contract import BACKGROUND


@njit(cache=True, nogil=True)
def _sort(a, n, keys, counts):
    """Sort a[:n], without NaN, by three passes over eleven ordered bits each."""
    bits = a.view(np.uint32)
    counts[:, :] = 0
    for i in range(n):
        v = bits[i]
        v ^= np.uint32(0xFFFFFFFF) if v >> np.uint32(31) else np.uint32(0x80000000)
        keys[0, i] = v
        for k in range(3):
            counts[k, (v >> np.uint32(11 * k)) & np.uint32(2047)] += 1
    for k in range(3):
        total = 0
        for j in range(2048):
            here = counts[k, j]
            counts[k, j] = total
            total += here
    for k in range(3):
        source, target, shift = keys[k & 1], keys[1 - (k & 1)], np.uint32(11 * k)
        for i in range(n):
            v = source[i]
            digit = (v >> shift) & np.uint32(2047)
            target[counts[k, digit]] = v
            counts[k, digit] += 1
    for i in range(n):
        v = keys[1, i]
        bits[i] = v ^ (np.uint32(0x80000000) if v >> np.uint32(31) else np.uint32(0xFFFFFFFF))


@njit(cache=True, nogil=True)
def _clip(a, n, kappa, sums):
    """Median, mean and deviation of sorted a[:n] once nothing is further than kappa deviations from the median."""
    i, j = 0, n
    while True:
        m = j - i
        mean = (sums[0, j] - sums[0, i]) / m
        deviation = math.sqrt(max((sums[1, j] - sums[1, i]) / m - mean * mean, 0.0))
        median = 0.5 * (np.float64(a[i + (m - 1) // 2]) + np.float64(a[i + m // 2]))
        low, high = median - kappa * deviation, median + kappa * deviation
        first, last = i, j
        while i < j - 1 and a[i] < low:
            i += 1
        while j > i + 1 and a[j - 1] > high:
            j -= 1
        if i == first and j == last:
            return median, mean, deviation


@njit(cache=True, nogil=True)
def _cell(a, n, kappa, up, sums):
    """Background and noise of sorted a[:n]."""
    sums[0, 0] = sums[1, 0] = 0.0
    for k in range(n):
        v = np.float64(a[k])
        sums[0, k + 1], sums[1, k + 1] = sums[0, k] + v, sums[1, k] + v * v
    median, mean, deviation = _clip(a, n, kappa, sums)
    if deviation == 0.0:
        return median, deviation
    if up == 0.0 or n < FEW:
        return (2.5 * median - 1.5 * mean if abs(mean - median) < 0.3 * deviation else median), deviation
    hazard = math.exp(-0.5 * up * up) / math.sqrt(2 * math.pi) / (0.5 * math.erfc(-up / math.sqrt(2.0)))
    level, noise = median, deviation
    for _ in range(TURNS):
        i, j = np.searchsorted(a[:n], np.float32(level - 5 * noise)), np.searchsorted(a[:n], np.float32(level + up * noise))
        m = j - i
        if m < 16:
            return median, deviation
        mean = (sums[0, j] - sums[0, i]) / m
        variance = max((sums[1, j] - sums[1, i]) / m - mean * mean, 0.0)
        wider = math.sqrt(variance / (1 - up * hazard - hazard * hazard))
        higher = mean + wider * hazard
        if not wider > 0:
            return median, deviation
        moved = abs(higher - level) + abs(wider - noise)
        level, noise = 0.5 * (level + higher), 0.5 * (noise + wider)
        if moved < 1e-4 * noise:
            break
    return level, noise


@njit(cache=True, parallel=True, nogil=True)
def _cells(image, cells, first, size, kappa, good, up, values, keys, sums, counts):
    rows, columns, threads = -(-image.shape[0] // size), cells.shape[2], values.shape[0]
    for t in prange(threads):
        for r in range(rows * t // threads, rows * (t + 1) // threads):
            for c in range(columns):
                part = image[r * size : (r + 1) * size, c * size : (c + 1) * size]
                n, anchor = 0, 0.0
                for y in range(part.shape[0]):
                    for x in range(part.shape[1]):
                        v = np.float64(part[y, x])
                        if math.isfinite(v):
                            if n == 0:
                                anchor = v
                            values[t, n] = np.float32(v - anchor)
                            n += 1
                level = noise = np.nan
                if n > 0 and n >= good * part.size:
                    _sort(values[t], n, keys[t], counts[t])
                    # About their median, so that squares keep their digits.
                    middle = np.float64(values[t, n // 2])
                    for i in range(n):
                        values[t, i] = np.float32(np.float64(values[t, i]) - middle)
                    level, noise = _cell(values[t], n, kappa, up, sums[t])
                    level += middle + anchor
                cells[0, first // size + r, c], cells[1, first // size + r, c] = level, noise


def cells(image, cells, values, keys, sums, counts, *, first, size, kappa, good, up) -> None:
    """See `footprint.kernels.mesh.contract`."""
    _cells(image, cells, first, size, kappa, good, up, values, keys, sums, counts)


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
            for x in range(out.shape[1]):
                c, d, g, f, low, high = _place(x, size, nx)
                out[r, x] = g * a[c] + f * a[d] + low * bend[c] + high * bend[d]


def paint(smooth, out, rows, *, first, size, which) -> None:
    """See `footprint.kernels.mesh.contract`."""
    _paint(smooth, 4 * which, out, first, size, rows)


def level(stats, out) -> None:
    """See `footprint.kernels.mesh.contract`."""
    out[...] = stats[BACKGROUND]
