"""Stripes on the CPU: which columns they are, and what is done about them; what goes by rank is in cpu_ranks.py."""

from __future__ import annotations

import numpy as np
from numba import prange

from footprint.kernels.common.borders import source_index
from footprint.kernels.common.jit import njit
from footprint.kernels.remove_stripes.contract import WIDE
from footprint.kernels.remove_stripes.cpu_ranks import bits_of, smooth, sort, unsort, unsort_marked

__all__ = [
    "bridge", "contrast", "detect", "divide", "means", "profile", "roughness", "smooth", "sort",
    "subtract", "unsort", "unsort_marked",
]  # fmt: skip
_mirrored = njit(cache=True)(source_index)
# Rows whose surroundings are made float64 at a time: they stay in a core's first cache.
_TALL = 16


# -- which columns are stripes -------------------------------------------------------------------------------------------
@njit(cache=True, parallel=True, nogil=True, error_model="numpy")
def _profile(keys, smoothed, ratio, drop):
    n_x, n_a = keys.shape[1:]
    for unit in prange(keys.shape[0] * n_x):
        bits = np.empty(2, np.uint32)
        values, s, x = bits.view(np.float32), unit // n_x, unit % n_x
        own, usual = 0.0, 0.0
        # Both sums side by side: each waits for its own last addition.
        for r in range(drop, n_a - drop):
            bits[0], bits[1] = bits_of(keys[s, x, r]), bits_of(smoothed[s, x, r])
            own += values[0]
            usual += values[1]
        count = n_a - 2 * drop
        ratio[s, x] = (own / count) / (usual / count) if usual != 0 else 1.0


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
        one[0] = bits_of(order[n - 1 - k])
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


@njit(cache=True, nogil=True)
def _roughness_of(column, first, rows, wide, total):
    """Add what ``rows`` rows of a strip of columns fluctuate; ``wide`` is made of these and what is around them, in float64."""
    n_a, across = column.shape
    for i in range(rows + 9):
        row, to = column[_mirrored(first + i - 5, n_a, 2)], wide[i]
        for x in range(across):
            to[x] = row[x]
    for i in range(rows):
        a, b, c, d, e = wide[i], wide[i + 1], wide[i + 2], wide[i + 3], wide[i + 4]
        f, g, h, j, k = wide[i + 5], wide[i + 6], wide[i + 7], wide[i + 8], wide[i + 9]
        for x in range(across):
            around = a[x] + b[x] + c[x] + d[x] + e[x] + f[x] + g[x] + h[x] + j[x] + k[x]
            total[x] += abs(f[x] - around / 10)


@njit(cache=True, parallel=True, nogil=True)
def _roughness(lines, rough):
    n_a, n_x = lines.shape[1:]
    tiles = (n_x + WIDE - 1) // WIDE
    for unit in prange(lines.shape[0] * tiles):
        s, x0 = unit // tiles, unit % tiles * WIDE
        x1 = min(x0 + WIDE, n_x)
        total, wide = np.zeros(WIDE), np.empty((_TALL + 9, WIDE))
        for first in range(0, n_a, _TALL):
            _roughness_of(lines[s, :, x0:x1], first, min(_TALL, n_a - first), wide[:, : x1 - x0], total)
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
    tiles = (n_x + WIDE - 1) // WIDE
    for unit in prange(lines.shape[0] * tiles):
        s, x0 = unit // tiles, unit % tiles * WIDE
        x1 = min(x0 + WIDE, n_x)
        total = np.zeros(WIDE)
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
