"""The values of a cell by bins: what lies under a bound, or has a rank, is told of one bin's values and of sums before it."""

from __future__ import annotations

import numpy as np

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
def _ranked(few, m, rank):
    """The value of a rank among few: of those that no more lie under, the one that most do. Vectors count them."""
    found, most = few[0], np.int32(-1)
    for i in range(m):
        v, under = few[i], np.int32(0)
        for j in range(np.uint64(m)):
            under += np.int32(few[j] < v)
        if most < under <= rank:
            found, most = v, under
        if under == rank:
            break
    return np.float64(found)


@njit(cache=True, nogil=True)
def extent(a, n, few):
    """Where most of the values lie: a centre, and half the width of the bins; the width is 0 where all values are one."""
    m = min(n, SAMPLE)
    for i in range(m):
        few[i] = a[i * n // m]
    centre = _ranked(few, m, m // 2)
    half = REACH * 0.5 * (_ranked(few, m, (84 * m) // 100) - _ranked(few, m, (16 * m) // 100))
    if half == 0.0:
        least, largest = a[0], a[0]
        for i in range(n):
            least, largest = min(least, a[i]), max(largest, a[i])
        half = max(np.float64(largest) - centre, centre - np.float64(least))
    # What no float32 holds lies at its end.
    return min(max(centre, -FAR), FAR), min(half, FAR)


@njit(cache=True, nogil=True, fastmath={"reassoc"})
def _sum(part, centre):
    """Sum and sum of squares about the centre."""
    total, squares = 0.0, 0.0
    for i in range(np.uint64(part.size)):
        d = np.float64(part[i]) - centre
        total += d
        squares += d * d
    return total, squares


@njit(cache=True, nogil=True)
def spread(a, n, low, scale, bins, centre, binned, places, starts, sums):
    """Lay values by their bins; count what lies before each, and sum about the centre what lies before every `STEP` of them."""
    starts[: bins + 3] = 0
    # Unsigned, an index is not looked at for whether it counts from the end.
    one, top = np.uint32(1), np.float32(bins + 1)
    for i in range(np.uint64(n)):
        places[i] = _bin(a[i], low, scale, top)
    for i in range(np.uint64(n)):
        starts[places[i]] += one
    before = np.uint32(0)
    for b in range(np.uint64(bins + 3)):
        here = starts[b]
        starts[b] = before
        before += here
    for i in range(np.uint64(n)):
        b = places[i]
        at = starts[b]
        binned[at] = a[i]
        starts[b] = at + one
    # Every start has become that of the next bin.
    for b in range(bins + 2, 0, -1):
        starts[b] = starts[b - 1]
    starts[0] = 0
    sums[0, 0] = sums[1, 0] = 0.0
    for s in range(n // STEP):
        total, squares = _sum(binned[s * STEP : (s + 1) * STEP], centre)
        sums[0, s + 1], sums[1, s + 1] = sums[0, s] + total, sums[1, s] + squares


@njit(cache=True, nogil=True)
def below(bound, equal, low, scale, bins, centre, binned, starts, sums):
    """Count, sum and sum of squares about the centre of what is under a bound, or ``equal`` to it."""
    # Rounded to what values are, a bound may come to equal one, and not to change its place among others.
    b = _bin(np.float32(bound), low, scale, np.float32(bins + 1))
    count = np.int64(starts[b])
    s = count // STEP
    total, squares = _sum(binned[s * STEP : count], centre)
    total += sums[0, s]
    squares += sums[1, s]
    for w in binned[starts[b] : starts[b + 1]]:
        v = np.float64(w)
        if v < bound or (equal and v == bound):
            count += 1
            total += v - centre
            squares += (v - centre) * (v - centre)
    return count, total, squares


@njit(cache=True, nogil=True)
def rank_of(r, bins, binned, starts, spare):
    """The value of a rank; what shares its bin is sorted in ``spare``, as sums are of what lies as it does. Where that bin ends."""
    first, last = 0, bins + 1
    while first < last:
        b = (first + last) // 2
        if starts[b + 1] <= r:
            first = b + 1
        else:
            last = b
    start, stop = np.int64(starts[first]), np.int64(starts[first + 1])
    if stop - start > SAMPLE:
        spare[start:stop] = binned[start:stop]
        spare[start:stop].sort()
        return np.float64(spare[r]), stop
    for i in range(start, stop):
        v, j = binned[i], i
        while j > start and spare[j - 1] > v:
            spare[j] = spare[j - 1]
            j -= 1
        spare[j] = v
    return np.float64(spare[r]), stop


@njit(cache=True, nogil=True)
def median_of(i, j, bins, binned, starts, spare):
    """The median of ranks from i to j."""
    r, other = i + (j - i - 1) // 2, i + (j - i) // 2
    low, stop = rank_of(r, bins, binned, starts, spare)
    high = np.float64(spare[other]) if other < stop else rank_of(other, bins, binned, starts, spare)[0]
    return 0.5 * (low + high)
