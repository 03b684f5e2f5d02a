"""The values of a cell by bins: what lies under a bound, or has a rank, is told of one bin's values and of sums before it."""

from __future__ import annotations

import numpy as np

from footprint.kernels.common.copied import put
from footprint.kernels.common.jit import njit
from footprint.kernels.mesh.contract import SAMPLE, STEP

# Deviations of the sample that the bins reach to either side; what is beyond lies in one more bin.
REACH = 6.0
FAR = 3e38


@njit(cache=True, nogil=True)
def _bin(v, low, scale, top):
    """The bin of a value: never lower than that of a smaller one. All are float32, twice as many of which go into a vector."""
    t = (v - low) * scale + np.float32(1.0)
    t = t if t > np.float32(0.0) else np.float32(0.0)
    return np.int32(t if t < top else top)


@njit(cache=True, nogil=True)
def _ranked(few, m, first, second, third):
    """The values of three ranks among few: of those that no more lie under, the one that most do. Vectors count them."""
    lower = middle = upper = few[0]
    most_lower = most_middle = most_upper = np.int32(-1)
    for i in range(m):
        v, under = few[i], np.int32(0)
        for j in range(np.uint64(m)):
            under += np.int32(few[j] < v)
        if most_lower < under <= first:
            lower, most_lower = v, under
        if most_middle < under <= second:
            middle, most_middle = v, under
        if most_upper < under <= third:
            upper, most_upper = v, under
    return np.float64(lower), np.float64(middle), np.float64(upper)


@njit(cache=True, nogil=True)
def extent(a, n, few):
    """Where most of the values lie: a centre, and half the width of the bins; the width is 0 where all values are one."""
    m = min(n, SAMPLE)
    for i in range(m):
        few[i] = a[i * n // m]
    lower, centre, upper = _ranked(few, m, (16 * m) // 100, m // 2, (84 * m) // 100)
    half = REACH * 0.5 * (upper - lower)
    if half == 0.0:
        least, largest = a[0], a[0]
        for i in range(n):
            least, largest = min(least, a[i]), max(largest, a[i])
        half = max(np.float64(largest) - centre, centre - np.float64(least))
    # What no float32 holds lies at its end.
    return min(max(centre, -FAR), FAR), min(half, FAR)


@njit(cache=True, nogil=True, fastmath={"reassoc"})
def _sum(part, centre):
    """Sum and sum of squares about the centre, of a slice: loops whose length is known beforehand are not made vectors of."""
    total, squares = 0.0, 0.0
    for i in range(np.uint64(part.size)):
        d = np.float64(part[i]) - centre
        total += d
        squares += d * d
    return total, squares


@njit(cache=True, nogil=True, fastmath={"reassoc"})
def _side(binned, start, stop, bound, equal, over, centre):
    """Count, sum and sum of squares about the centre of what is under a bound, or ``equal`` to it; or of what is not: ``over`` it.

    Without a branch, as it would be a toss.
    """
    count, total, squares = 0, 0.0, 0.0
    for i in range(np.uint64(start), np.uint64(stop)):
        v = np.float64(binned[i])
        taken = (v <= bound if equal else v < bound) != over
        d = v - centre if taken else 0.0
        count += np.int64(taken)
        total += d
        squares += d * d
    return count, total, squares


@njit(cache=True, nogil=True)
def spread(a, n, low, scale, bins, centre, binned, places, starts, sums):
    """Lay values by their bins; count what lies before each, and sum about the centre what lies before every `STEP` of them.

    Sums begin with the first step after the bin of what lies too low for the others.
    """
    starts[: bins + 4] = 0
    # Unsigned, an index is not looked at for whether it counts from the end.
    one, top, ahead = np.uint32(1), np.float32(bins + 1), np.uint64(1)
    for i in range(np.uint64(n)):
        places[i] = _bin(a[i], low, scale, top)
    # Counts two bins ahead are starts one bin ahead, and starts of the bins themselves once each has all its values.
    for i in range(np.uint64(n)):
        starts[np.uint64(places[i]) + ahead + ahead] += one
    before = np.uint32(0)
    for b in range(np.uint64(bins + 4)):
        before += starts[b]
        starts[b] = before
    # In two turns: where a store goes that waits for a load, the loads after it wait, too.
    for i in range(np.uint64(n)):
        b = np.uint64(places[i]) + ahead
        at = starts[b]
        starts[b] = at + one
        places[i] = at
    for i in range(np.uint64(n)):
        binned[places[i]] = a[i]
    # Sums go by whole steps: what fills the last up lies under nothing.
    for i in range(n, -(-n // STEP) * STEP):
        binned[i] = np.nan
    first = -(-np.int64(starts[1]) // STEP)
    sums[0, first] = sums[1, first] = 0.0
    for s in range(first, n // STEP):
        total, squares = _sum(binned[s * STEP : (s + 1) * STEP], centre)
        sums[0, s + 1], sums[1, s + 1] = sums[0, s] + total, sums[1, s] + squares


@njit(cache=True, nogil=True)
def below(bound, equal, low, scale, bins, centre, binned, starts, sums):
    """Count of what is under a bound, or ``equal`` to it; sum and sum of squares about the centre, less those up to a first step.

    That step is the first after the bin of what lies too low: a difference of two such sums has no digits of what is under both
    bounds, however far. Whole steps are looked at, as what lies in the bins before is under the bound, too, and nothing after.
    """
    # Rounded to what values are, a bound may come to equal one, and not to change its place among others.
    b = _bin(np.float32(bound), low, scale, np.float32(bins + 1))
    first = -(-np.int64(starts[1]) // STEP)
    s, stop = np.int64(starts[b]) // STEP, -(-np.int64(starts[b + 1]) // STEP)
    if s >= first:
        count, total, squares = _side(binned, s * STEP, stop * STEP, bound, equal, False, centre)
        return s * STEP + count, sums[0, s] + total, sums[1, s] + squares
    # All values may be fewer than whole steps.
    before = min(first * STEP, np.int64(starts[bins + 2]))
    over, total_over, squares_over = _side(binned, 0, before, bound, equal, True, centre)
    count, total, squares = _side(binned, first * STEP, max(stop, first) * STEP, bound, equal, False, centre)
    return before - over + count, total - total_over, squares - squares_over


@njit(cache=True, nogil=True)
def rank_of(r, bins, binned, starts, spare, start, stop):
    """The value of a rank, and from where to where ``spare`` is sorted: it is as long as ranks stay in one bin.

    What shares the rank's bin is sorted in ``spare``, not in its place, as sums are of what lies as it does.
    """
    if start <= r < stop:
        return np.float64(spare[r]), start, stop
    first, last = 0, bins + 1
    while first < last:
        b = (first + last) // 2
        if starts[b + 1] <= r:
            first = b + 1
        else:
            last = b
    start, stop = np.int64(starts[first]), np.int64(starts[first + 1])
    if stop - start > SAMPLE:
        put(spare[start:stop], binned[start:stop])
        spare[start:stop].sort()
        return np.float64(spare[r]), start, stop
    for i in range(start, stop):
        v, j = binned[i], i
        while j > start and spare[j - 1] > v:
            spare[j] = spare[j - 1]
            j -= 1
        spare[j] = v
    return np.float64(spare[r]), start, stop


@njit(cache=True, nogil=True)
def median_of(i, j, bins, binned, starts, spare, start, stop):
    """The median of ranks from i to j, and from where to where ``spare`` is sorted then; ``start`` and ``stop``: where it was."""
    low, start, stop = rank_of(i + (j - i - 1) // 2, bins, binned, starts, spare, start, stop)
    high, start, stop = rank_of(i + (j - i) // 2, bins, binned, starts, spare, start, stop)
    return 0.5 * (low + high), start, stop
