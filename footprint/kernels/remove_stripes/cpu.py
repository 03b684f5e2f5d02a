"""Stripes on the CPU: columns are sorted and filtered by tiles of sixteen, a cache line of every row."""

from __future__ import annotations

import numpy as np
from numba import njit, prange

from footprint.kernels.common.borders import source_index
from footprint.kernels.remove_stripes.contract import TILE

_TOP = np.uint32(0x80000000)
_mirrored = njit(cache=True)(source_index)


@njit(cache=True, nogil=True)
def _key(bits):
    """A number ordered as the float of these bits; both zeros are one."""
    if bits == _TOP:
        bits = np.uint32(0)
    return ~bits if bits & _TOP else bits | _TOP


@njit(cache=True, nogil=True)
def _bits(key):
    return key ^ _TOP if key & _TOP else ~key


@njit(cache=True, nogil=True)
def _radix(keys, places, spare_keys, spare_places):
    """Sort by 8 bits at a time, stable; the result is where it began."""
    count = np.zeros(257, np.int64)
    for shift in range(0, 32, 8):
        a, p = (keys, places) if shift % 16 == 0 else (spare_keys, spare_places)
        b, q = (spare_keys, spare_places) if shift % 16 == 0 else (keys, places)
        count[:] = 0
        for i in range(a.size):
            count[((a[i] >> np.uint32(shift)) & np.uint32(255)) + 1] += 1
        for digit in range(256):
            count[digit + 1] += count[digit]
        for i in range(a.size):
            digit = (a[i] >> np.uint32(shift)) & np.uint32(255)
            at = count[digit]
            count[digit] = at + 1
            b[at], q[at] = a[i], p[i]


@njit(cache=True, parallel=True, nogil=True)
def _sort(lines, keys, places, spare_keys, spare_places):
    n_a, n_x = lines.shape[1:]
    tiles, threads = (n_x + TILE - 1) // TILE, spare_keys.shape[0]
    units = lines.shape[0] * tiles
    for t in prange(threads):
        for unit in range(units * t // threads, units * (t + 1) // threads):
            s, x0 = unit // tiles, unit % tiles * TILE
            x1 = min(x0 + TILE, n_x)
            for a in range(n_a):
                for x in range(x0, x1):
                    keys[s, x, a] = _key(lines[s, a, x])
                    places[s, x, a] = a
            for x in range(x0, x1):
                _radix(keys[s, x], places[s, x], spare_keys[t], spare_places[t])


@njit(cache=True, nogil=True)
def _slide(row, size, window, to):
    """Medians of a row (n,) by a sorted window that one value leaves and one joins at a time."""
    n, before = row.size, size // 2
    for k in range(size):
        value, at = row[_mirrored(k - before, n, 2)], k
        while at > 0 and window[at - 1] > value:
            window[at] = window[at - 1]
            at -= 1
        window[at] = value
    to[0] = window[before]
    for x in range(1, n):
        old, new = row[_mirrored(x - 1 - before, n, 2)], row[_mirrored(x + size - 1 - before, n, 2)]
        if old != new:
            low, high = 0, size - 1
            while low < high:
                middle = (low + high) // 2
                if window[middle] < old:
                    low = middle + 1
                else:
                    high = middle
            if new > old:
                while low + 1 < size and window[low + 1] < new:
                    window[low] = window[low + 1]
                    low += 1
            else:
                while low > 0 and window[low - 1] > new:
                    window[low] = window[low - 1]
                    low -= 1
            window[low] = new
        to[x] = window[before]


@njit(cache=True, parallel=True, nogil=True)
def _smooth(keys, smoothed, size, rows, window):
    n_x, n_a = keys.shape[1:]
    tiles, threads = (n_a + TILE - 1) // TILE, rows.shape[0]
    units = keys.shape[0] * tiles
    for t in prange(threads):
        for unit in range(units * t // threads, units * (t + 1) // threads):
            s, r0 = unit // tiles, unit % tiles * TILE
            r1 = min(r0 + TILE, n_a)
            for x in range(n_x):
                for r in range(r0, r1):
                    rows[t, r - r0, x] = keys[s, x, r]
            for r in range(r0, r1):
                _slide(rows[t, r - r0], size, window[t], smoothed[s, :, r])


@njit(cache=True, parallel=True, nogil=True)
def _unsort(smoothed, places, marks, lines):
    n_x, n_a = smoothed.shape[1:]
    tiles = (n_x + TILE - 1) // TILE
    for unit in prange(smoothed.shape[0] * tiles):
        s, x0 = unit // tiles, unit % tiles * TILE
        for x in range(x0, min(x0 + TILE, n_x)):
            if marks.shape[0] == 0 or marks[s, x] != 0:
                for r in range(n_a):
                    lines[s, places[s, x, r], x] = _bits(smoothed[s, x, r])


def sort(lines: np.ndarray, keys: np.ndarray, places: np.ndarray, *work: np.ndarray) -> None:
    """Sort every column; see `footprint.kernels.remove_stripes.contract` for all of these."""
    _sort(lines.view(np.uint32), keys, places, *work)


def smooth(keys: np.ndarray, smoothed: np.ndarray, *work: np.ndarray, size: int) -> None:
    """Take medians along x."""
    _smooth(keys, smoothed, size, *work)


def unsort(smoothed: np.ndarray, places: np.ndarray, lines: np.ndarray) -> None:
    """Put all values back."""
    _unsort(smoothed, places, np.empty((0, 0), np.int32), lines.view(np.uint32))


def unsort_marked(smoothed: np.ndarray, places: np.ndarray, marks: np.ndarray, lines: np.ndarray) -> None:
    """Put values back in marked columns."""
    _unsort(smoothed, places, marks, lines.view(np.uint32))


# -- which columns are stripes -------------------------------------------------------------------------------------------
@njit(cache=True, nogil=True)
def _mean_of(keys, drop, one, value):
    """The mean of sorted values without some at both ends, in float64."""
    total = 0.0
    for r in range(drop, keys.size - drop):
        one[0] = _bits(keys[r])
        total += value[0]
    return total / (keys.size - 2 * drop)


@njit(cache=True, parallel=True, nogil=True, error_model="numpy")
def _profile(keys, smoothed, ratio, drop):
    n_x = keys.shape[1]
    for unit in prange(keys.shape[0] * n_x):
        one = np.empty(1, np.uint32)
        value, s, x = one.view(np.float32), unit // n_x, unit % n_x
        own, usual = _mean_of(keys[s, x], drop, one, value), _mean_of(smoothed[s, x], drop, one, value)
        ratio[s, x] = own / usual if usual != 0 else 1.0


def profile(keys: np.ndarray, smoothed: np.ndarray, ratio: np.ndarray, *, drop: int) -> None:
    """Compare columns with their neighbours."""
    _profile(keys, smoothed, ratio, drop)


@njit(cache=True, nogil=True, error_model="numpy")
def _detect(ratio, order, marks, snr, edge):
    n, drop = ratio.size, ratio.size // 4
    first, last = drop, n - drop - 1
    marks[:] = 0
    count, sum_y, sum_xx, sum_xy = max(last - first, 0), 0.0, 0.0, 0.0
    if count < 2:
        return
    middle = 0.5 * (first + last - 1)
    one = np.empty(1, np.uint32)
    low, high = 0.0, 0.0
    for k in range(n):
        one[0] = _bits(order[n - 1 - k])
        value = np.float64(one.view(np.float32)[0])
        high = value if k == 0 else high
        low = value
        if first <= k < last:
            sum_y += value
            sum_xx += (k - middle) ** 2
            sum_xy += (k - middle) * value
    slope = sum_xy / sum_xx
    top = sum_y / count - slope * middle
    bottom = top + slope * (n - 1)
    noise = max(abs(bottom - top), 1e-6)
    upper = top + 0.5 * snr * noise if abs(high - top) / noise >= snr else np.inf
    lower = bottom - 0.5 * snr * noise if abs(low - bottom) / noise >= snr else -np.inf
    for x in range(edge, n - edge):
        for k in range(max(x - 1, 0), min(x + 2, n)):
            if ratio[k] > upper or ratio[k] <= lower:
                marks[x] = 1


def detect(ratio: np.ndarray, order: np.ndarray, marks: np.ndarray, *, snr: float, edge: int) -> None:
    """Mark columns that stand out."""
    for s in range(len(ratio)):
        _detect(ratio[s], order[s, 0], marks[s], snr, edge)


@njit(cache=True, parallel=True, nogil=True)
def _roughness(lines, rough):
    n_a, n_x = lines.shape[1:]
    tiles = (n_x + TILE - 1) // TILE
    for unit in prange(lines.shape[0] * tiles):
        s, x0 = unit // tiles, unit % tiles * TILE
        x1 = min(x0 + TILE, n_x)
        total = np.zeros(TILE)
        around = np.zeros(TILE)
        for a in range(n_a):
            around[:] = 0
            for k in range(-5, 5):
                row = lines[s, _mirrored(a + k, n_a, 2)]
                for x in range(x0, x1):
                    around[x - x0] += row[x]
            for x in range(x0, x1):
                total[x - x0] += abs(lines[s, a, x] - around[x - x0] / 10)
        for x in range(x0, x1):
            rough[s, x] = total[x - x0]


def roughness(lines: np.ndarray, rough: np.ndarray) -> None:
    """Sum what columns fluctuate."""
    _roughness(lines, rough)


# -- corrections ---------------------------------------------------------------------------------------------------------
@njit(cache=True, parallel=True, nogil=True, error_model="numpy")
def _divide(lines, ratio):
    n_a = lines.shape[1]
    for unit in prange(lines.shape[0] * n_a):
        s, a = unit // n_a, unit % n_a
        for x in range(lines.shape[2]):
            if ratio[s, x] > 0:
                lines[s, a, x] /= ratio[s, x]


def divide(lines: np.ndarray, ratio: np.ndarray) -> None:
    """Divide columns by their ratios."""
    _divide(lines, ratio)


@njit(cache=True, parallel=True, nogil=True)
def _bridge(lines, marks):
    n_a, n_x = lines.shape[1:]
    for unit in prange(lines.shape[0] * n_a):
        s = unit // n_a
        row, marked = lines[s, unit % n_a], marks[s]
        before = -1
        for x in range(n_x):
            if marked[x] == 0:
                before = x
                continue
            after = x + 1
            while after < n_x and marked[after] != 0:
                after += 1
            if before >= 0 and after < n_x:
                share = np.float32(x - before) / np.float32(after - before)
                row[x] = (np.float32(1) - share) * row[before] + share * row[after]


def bridge(lines: np.ndarray, marks: np.ndarray) -> None:
    """Replace marked columns by those around them."""
    _bridge(lines, marks)


@njit(cache=True, parallel=True, nogil=True)
def _means(lines, means, shares):
    n_a, n_x = lines.shape[1:]
    tiles = (n_x + TILE - 1) // TILE
    for unit in prange(lines.shape[0] * tiles):
        s, x0 = unit // tiles, unit % tiles * TILE
        x1 = min(x0 + TILE, n_x)
        total = np.zeros(TILE)
        for a in range(n_a):
            for x in range(x0, x1):
                v = np.float64(lines[s, a, x])
                total[x - x0] += np.exp(-v) if shares else v
        for x in range(x0, x1):
            mean = total[x - x0] / n_a
            means[s, x] = -np.log(mean) if shares else mean


def means(lines: np.ndarray, means: np.ndarray, *, shares: bool = False) -> None:
    """Average over angles."""
    _means(lines, means, shares)


@njit(cache=True, nogil=True, error_model="numpy")
def _contrast(means, weights, out, divide):
    n, radius = means.shape[1], weights.size - 1
    for s in range(means.shape[0]):
        for x in range(n):
            total = weights[0] * np.float64(means[s, x])
            for k in range(1, radius + 1):
                total += weights[k] * (np.float64(means[s, _mirrored(x - k, n, 2)]) + means[s, _mirrored(x + k, n, 2)])
            if divide:
                out[s, x] = means[s, x] / total if total > 0 else 1.0
            else:
                out[s, x] = means[s, x] - total


def contrast(means: np.ndarray, weights: np.ndarray, out: np.ndarray, *, divide: bool) -> None:
    """Take what is sharp of a profile."""
    _contrast(means, weights, out, divide)


@njit(cache=True, parallel=True, nogil=True)
def _subtract(lines, profile):
    n_a = lines.shape[1]
    for unit in prange(lines.shape[0] * n_a):
        s, a = unit // n_a, unit % n_a
        for x in range(lines.shape[2]):
            lines[s, a, x] -= profile[s, x]


def subtract(lines: np.ndarray, profile: np.ndarray) -> None:
    """Take a profile off every row."""
    _subtract(lines, profile)
