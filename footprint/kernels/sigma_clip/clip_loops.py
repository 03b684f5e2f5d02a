"""The loops of sigma clipping: one over the pixels for each kind of pass, and the clips on the pixels put aside."""

from __future__ import annotations

import numpy as np
from numba import get_num_threads, prange

from footprint.kernels.common.digits import DIGIT, share_numbers, sort_numbers
from footprint.kernels.common.few import TOUCH, few
from footprint.kernels.common.jit import njit
from footprint.kernels.sigma_clip.contract import COUNT, HIGH, ITERATIONS, LOW, MEAN, MEDIAN, SMALL, STD

# What `numbers` and `marks` hold from pass to pass.
CENTER, BULK_LO, WINDOW_LO, WINDOW_HI, BULK_HI, SUM, SQUARES, BOUND_LO, BOUND_HI, NEXT_ABOVE = range(10)
SHARE, END_LO, END_HI, END_MEDIAN, ERROR, FINITE = range(10, 16)
PHASE, SEEN, KEPT, LEFT, BULK, WIDE, TURNS, BASE, SHIFT, FRESH, INSIDE, BELOW, LOST, RECENTRED, TRIES = range(15)

# Standard deviations between a sum's center and the mean from which digits are lost that someone could miss.
FAR = 300.0

# Threads that sorting is shared among at most: each has a table of 16 KiB.
_SHARES = 8


@njit(cache=True, nogil=True)
def take(flat, offset, stride, kept, filled):
    """Every ``stride``-th pixel of the image that lies in this block and is finite."""
    for i in range((-offset) % stride, flat.size, stride):
        if np.isfinite(flat[i]):
            kept[filled] = flat[i]
            filled += 1
    return filled


@njit(cache=True, nogil=True)
def _add(kept, start, stop, center):
    """Sum and sum of squares about the center, in order."""
    total, squares = 0.0, 0.0
    for i in range(start, stop):
        d = np.float64(kept[i]) - center
        total += d
        squares += d * d
    return total, squares


@njit(cache=True, nogil=True)
def _value(kept, a, b, first, last, left, right, rank):
    """The survivor of this rank, or NaN where it is one of those that were only counted.

    Survivors in order: kept[a:first], ``left`` uncounted ones, kept[first:last], ``right`` uncounted ones, kept[last:b].
    """
    for start, stop, gap in ((a, min(b, first), left), (max(a, first), min(b, last), right), (max(a, last), b, 0)):
        if rank < stop - start:
            return np.float64(kept[start + rank])
        rank -= max(stop - start, 0) + gap
        if rank < 0:
            return np.nan
    return np.nan


@njit(cache=True, nogil=True)
def middle_of(low, high):
    """The mean of the two middle pixels to the last digit of NumPy's, and where their sum would overflow all the same."""
    middle = 0.5 * (low + high)
    return middle if np.isfinite(middle) else low + 0.5 * (high - low)


@njit(cache=True, nogil=True, error_model="numpy")
def clip_kept(kept, numbers, left, bulk, turns, before, sigma, maxiters, strict, stats, counts):
    """Clip until nothing changes, on the sorted ``kept``; return False where the pixels only counted would have to be looked at.

    ``turns`` clips were made, the last on ``before`` pixels. ``stats[HIGH + 1 :]`` receive the lowest and highest median met.
    """
    size, center = kept.size, numbers[CENTER]
    first = np.searchsorted(kept, numbers[BULK_LO]) if bulk else 0
    last = np.searchsorted(kept, numbers[WINDOW_HI], "right") if bulk else size
    right = bulk - left
    middle = _add(kept, first, last, center)
    a, b = 0, size
    if turns == 0:
        stats[LOW], stats[HIGH] = -np.inf, np.inf
    stats[HIGH + 1], stats[HIGH + 2] = np.inf, -np.inf
    while True:
        n = b - a + bulk
        total, squares = numbers[SUM], numbers[SQUARES]
        parts = (_add(kept, a, min(first, b), center), middle, _add(kept, max(last, a), b, center))
        if a > first or b < last:
            parts = (parts[0], _add(kept, max(a, first), min(b, last), center), parts[2])
        for one in parts:
            total += one[0]
            squares += one[1]
        low_value = _value(kept, a, b, first, last, left, right, (n - 1) // 2)
        high_value = _value(kept, a, b, first, last, left, right, n // 2)
        median = middle_of(low_value, high_value)
        mean = total / n
        std = np.sqrt(max(squares / n - mean * mean, 0.0))
        offset = center
        if abs(mean) > FAR * std and mean != 0.0:
            # So far from the mean, the center eats the variance's digits.
            if bulk:
                return False
            offset = median
            total, squares = _add(kept, a, b, offset)
            mean = total / n
            std = np.sqrt(max(squares / n - mean * mean, 0.0))
        stats[MEAN], stats[MEDIAN], stats[STD] = offset + mean, median, std
        counts[COUNT], counts[ITERATIONS] = n, turns
        if np.isnan(median):
            return False
        stats[HIGH + 1], stats[HIGH + 2] = min(stats[HIGH + 1], median), max(stats[HIGH + 2], median)
        if turns == maxiters or n == before:
            return True
        low, high = median - sigma * std, median + sigma * std
        if (left and not low < numbers[BULK_LO]) or (right and not high > numbers[BULK_HI]):
            return False
        stats[LOW], stats[HIGH] = low, high
        turns += 1
        counts[ITERATIONS] = turns
        next_a, next_b = a, b
        while next_a < next_b and (kept[next_a] < low or (strict and kept[next_a] == low)):
            next_a += 1
        while next_b > next_a and (kept[next_b - 1] > high or (strict and kept[next_b - 1] == high)):
            next_b -= 1
        if next_b - next_a + bulk == 0 or (next_a == a and next_b == b):
            return True
        a, b = next_a, next_b


@njit(cache=True, nogil=True)
def take_all(flat, kept, numbers, stats, counts):
    """Forget the image before and keep all that is finite of a small one."""
    for i in range(stats.size):
        stats[i] = np.nan
    for i in range(counts.size):
        counts[i] = 0
    for i in range(numbers.size):
        numbers[i] = 0.0
    return take(flat, 0, 1, kept, 0)


@njit(cache=True, nogil=True)
def in_order(sums, strips, column, total):
    """Add a column of the strips one by one, so that no cut into blocks changes the sum."""
    for s in range(strips):
        total += sums[s, column]
    return total


@njit(cache=True, nogil=True)
def _turn(keys, half, first, last, back):
    """Bits of floats as numbers that order as the floats do, or ``back``."""
    sign, zero, one = np.uint64(half), np.uint64(0), np.uint64(1)
    every, place = sign | (sign - one), np.uint64(8 * keys.itemsize - 1)
    # Without a branch, which values of both signs would make slow.
    for i in range(first, last):
        key = np.uint64(keys[i])
        set_ = key >> place
        keys[i] = key ^ (sign | (every & (set_ - one if back else zero - set_)))


@njit(cache=True, nogil=True)
def sort_floats(keys, spare, half):
    """Sort finite floats, given as their bits: NumPy takes four times as long where no vectors of AVX-512 sort quickly."""
    _turn(keys, half, 0, keys.size, False)
    sort_numbers(keys, spare, 0, 8 * keys.itemsize)
    _turn(keys, half, 0, keys.size, True)


@njit(cache=True, parallel=True, nogil=True)
def _share_turn(keys, half, shares, back):
    for t in prange(shares):
        _turn(keys, half, t * keys.size // shares, (t + 1) * keys.size // shares, back)


def share_floats(keys, spare, half, threads):
    """The same by several threads."""
    _share_turn(keys, half, threads, False)
    share_numbers(keys, spare, 0, 8 * keys.itemsize, np.empty((threads, 1 << DIGIT), np.int64))
    _share_turn(keys, half, threads, True)


def sort_kept(found, spare):
    """Sort what is kept, piece by piece where there is no room for as much again; NumPy takes four times as long."""
    n, bits, half = found.size, f"u{found.itemsize}", np.uint64(1 << (8 * found.itemsize - 1))
    if SMALL < n <= spare.size:
        threads = 1 if few(n * TOUCH) else min(get_num_threads(), _SHARES)
        if threads > 1:
            share_floats(found.view(bits), spare[:n].view(bits), half, threads)
        else:
            sort_floats(found.view(bits), spare[:n].view(bits), half)
        return
    if n <= SMALL:
        found.sort()
        return
    found.partition(n // 2)
    sort_kept(found[: n // 2], spare)
    sort_kept(found[n // 2 :], spare)
