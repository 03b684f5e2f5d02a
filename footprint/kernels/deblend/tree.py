"""The tree of basins: passes kept while they are met, sorted, and opened from the highest down.

Of all passes only those of the highest spanning forest matter, and of a forest and what is met later only the forest of both: so
room for twice as many passes as basins is enough for any image. Ranks are strict, so the forest is one, in whatever order passes
come.
"""

from __future__ import annotations

import numpy as np

from footprint.kernels.common.jit import njit
from footprint.kernels.deblend.contract import (
    AT,
    BRIGHT,
    CODE,
    COMPONENT,
    COMPONENTS,
    FIRST,
    ISLAND,
    LABEL,
    LINK,
    MANY,
    MET,
    OWNER,
    PIXELS,
    STORED,
    TREE,
    A,
    B,
    crowd,
)
from footprint.kernels.sigma_clip.contract import BACKGROUND, NOISE

_DIGIT = 11
_SIGN = np.uint64(1) << np.uint64(63)
# Odd numbers whose multiples are spread over all bits.
_MIX, _STIR = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xC2B2AE3D27D4EB4F)


@njit(cache=True, nogil=True)
def _find(basins, column, k):
    """The end of a chain; the way there is halved."""
    while basins[k, column] != k:
        basins[k, column] = basins[basins[k, column], column]
        k = basins[k, column]
    return k


@njit(cache=True, nogil=True)
def _sort(keys, order, spare, n):
    """Sort an order of n by ``keys[order]``, ascending, equal ones as they are; digits that are all the same cost nothing."""
    if n < 2:
        return
    differ = np.uint64(0)
    for i in range(n):
        differ |= keys[order[i]] ^ keys[order[0]]
    starts = np.empty((1 << _DIGIT) + 1, np.int64)
    mask = np.uint64((1 << _DIGIT) - 1)
    for turn in range(-(-64 // _DIGIT)):
        shift = np.uint64(turn * _DIGIT)
        if (differ >> shift) & mask == 0:
            continue
        starts[:] = 0
        for i in range(n):
            starts[((keys[order[i]] >> shift) & mask) + np.uint64(1)] += 1
        for d in range(1 << _DIGIT):
            starts[d + 1] += starts[d]
        for i in range(n):
            d = (keys[order[i]] >> shift) & mask
            spare[starts[d]] = order[i]
            starts[d] += 1
        order[:n] = spare[:n]


@njit(cache=True, nogil=True)
def _falling(values, keys, order, n):
    """Keys that ascend where values descend."""
    bits = values.view(np.uint64)
    for i in range(n):
        k = order[i]
        # Both zeros are one value.
        key = bits[k] if values[k] != 0.0 else np.uint64(0)
        keys[k] = key if key & _SIGN else ~(key | _SIGN)


@njit(cache=True, nogil=True)
def _rank(heights, passes, n, keys, order, spare):
    """Order passes: the highest first, of equal ones the first in raster order."""
    for e in range(n):
        order[e] = e
        keys[e] = passes[e, CODE]
    _sort(keys, order, spare, n)
    _falling(heights, keys, order, n)
    _sort(keys, order, spare, n)


@njit(cache=True, nogil=True)
def _thin(heights, passes, basins, marks, keys, order, spare):
    """Keep the passes of the highest spanning forest."""
    n, stored = min(marks[MET], basins.shape[0]), marks[STORED]
    for k in range(n):
        basins[k, TREE] = k
    _rank(heights, passes, stored, keys, order, spare)
    for q in range(stored):
        e = order[q]
        a, b = _find(basins, TREE, passes[e, A]), _find(basins, TREE, passes[e, B])
        keys[e] = a != b
        basins[max(a, b), TREE] = min(a, b)
    kept = 0
    for e in range(stored):
        if keys[e]:
            heights[kept] = heights[e]
            passes[kept, :] = passes[e, :]
            kept += 1
    marks[STORED] = kept


@njit(cache=True, nogil=True)
def _store(height, code, a, b, heights, passes, basins, marks, keys, order, spare):
    if marks[STORED] == heights.size:
        _thin(heights, passes, basins, marks, keys, order, spare)
    e = marks[STORED]
    heights[e], passes[e, CODE], passes[e, A], passes[e, B] = height, code, a, b
    marks[STORED] = e + 1


@njit(cache=True, nogil=True)
def meet(a, b, height, code, near_heights, near, heights, passes, basins, marks, keys, order, spare):
    """Two basins touch: keep the best pass of the pair at hand; what is in its place is stored."""
    low, high = min(a, b), max(a, b)
    if high >= basins.shape[0]:
        return
    mixed = np.uint64(low) * _MIX + np.uint64(high) * _STIR
    h = np.int64((mixed ^ (mixed >> np.uint64(29))) >> np.uint64(40)) & (near_heights.size - 1)
    if near[h, A] == low and near[h, B] == high:
        if height > near_heights[h] or (height == near_heights[h] and code < near[h, CODE]):
            near_heights[h], near[h, CODE] = height, code
        return
    if near[h, A] >= 0:
        _store(near_heights[h], near[h, CODE], near[h, A], near[h, B], heights, passes, basins, marks, keys, order, spare)
    near_heights[h], near[h, CODE], near[h, A], near[h, B] = height, code, low, high


@njit(cache=True, nogil=True)
def _gather(basins, heights, passes, near_heights, near, marks, keys, order, spare):
    """Store what is at hand; give every basin's pixels to the one that it is linked to, and passes their ends."""
    for h in range(near_heights.size):
        if near[h, A] >= 0:
            _store(near_heights[h], near[h, CODE], near[h, A], near[h, B], heights, passes, basins, marks, keys, order, spare)
            near[h, A] = -1
    for k in range(marks[MET]):
        root = _find(basins, LINK, k)
        if root != k:
            basins[root, PIXELS] += basins[k, PIXELS]
            basins[root, FIRST] = min(basins[root, FIRST], basins[k, FIRST])
        basins[k, TREE], basins[k, OWNER], basins[k, MANY] = k, k, 0
    for e in range(marks[STORED]):
        passes[e, A], passes[e, B] = _find(basins, LINK, passes[e, A]), _find(basins, LINK, passes[e, B])


@njit(cache=True, nogil=True)
def _apart(one, other, width):
    """The square of the distance of two pixels."""
    y, x = one // width - other // width, one % width - other % width
    return y * y + x * x


@njit(cache=True, nogil=True)
def _open(
    peaks, basins, heights, passes, stored, order, background, seed, prominence, contrast, min_area, width, shallow,
    fewest, most, low, up, close, far,
):  # fmt: skip
    """Open the passes in order: branches that meet end, or stay as sources; see the contract."""
    for q in range(stored):
        e = order[q]
        a, b = passes[e, A], passes[e, B]
        elder, younger = _find(basins, TREE, a), _find(basins, TREE, b)
        if elder == younger:
            continue
        if peaks[elder] < peaks[younger] or (peaks[elder] == peaks[younger] and basins[elder, AT] > basins[younger, AT]):
            a, b, elder, younger = b, a, younger, elder
        over = peaks[younger] - heights[e]
        beamed = fewest <= basins[younger, PIXELS] <= most
        if beamed and over <= prominence:
            top = basins[younger, AT]
            beamed = low <= _apart(top, passes[e, CODE] >> 3, width) <= up
            beamed &= close <= _apart(top, basins[_find(basins, OWNER, a), AT], width) <= far
        least = max(shallow if beamed else prominence, contrast * (peaks[elder] - background))
        rises = peaks[younger] - background > seed and over > least and basins[younger, PIXELS] >= min_area
        if not (rises or basins[younger, MANY]):
            basins[_find(basins, OWNER, younger), OWNER] = _find(basins, OWNER, a)
        elif not basins[elder, MANY] and basins[elder, PIXELS] < min_area:
            basins[_find(basins, OWNER, elder), OWNER] = _find(basins, OWNER, b)
            basins[elder, MANY] = basins[younger, MANY]
        else:
            basins[elder, MANY] = 1
        basins[younger, TREE] = elder
        basins[elder, PIXELS] += basins[younger, PIXELS]
        basins[elder, FIRST] = min(basins[elder, FIRST], basins[younger, FIRST])


@njit(cache=True, nogil=True)
def _islands(peaks, basins, n, background, seed, min_area, keys, order, spare):
    """Number the islands that are kept in raster order of their first pixels: MANY of their highest basin."""
    islands = 0
    for k in range(n):
        basins[k, MANY] = 0
        kept = peaks[k] - background > seed and basins[k, PIXELS] >= min_area
        if basins[k, LINK] == k and basins[k, TREE] == k and kept:
            order[islands] = k
            keys[k] = basins[k, FIRST]
            islands += 1
    _sort(keys, order, spare, islands)
    for i in range(islands):
        basins[order[i], MANY] = i + 1


@njit(cache=True, nogil=True)
def _sources(peaks, basins, n, keys, order, spare):
    """Order the sources by island, the brightest first; return how many."""
    found = 0
    for k in range(n):
        if basins[k, LINK] == k and _find(basins, OWNER, k) == k and basins[_find(basins, TREE, k), MANY] > 0:
            order[found] = k
            keys[k] = basins[k, AT]
            found += 1
    _sort(keys, order, spare, found)
    _falling(peaks, keys, order, found)
    _sort(keys, order, spare, found)
    for i in range(found):
        keys[order[i]] = basins[_find(basins, TREE, order[i]), MANY]
    _sort(keys, order, spare, found)
    return found


@njit(cache=True, nogil=True)
def _name(basins, n, order, found, members):
    """Write the sources' rows; every basin's label is left in TREE."""
    for k in range(n):
        basins[k, PIXELS] = 0
    first = 0
    for i in range(found):
        basins[order[i], PIXELS] = i + 1
        island = basins[_find(basins, TREE, order[i]), MANY]
        if i and members[i - 1, ISLAND] != island:
            first = i
        members[i, ISLAND], members[i, COMPONENT], members[i, LABEL] = island, i - first + 1, i + 1
    last = found
    for i in range(found - 1, -1, -1):
        members[i, COMPONENTS] = last - i + members[i, COMPONENT] - 1
        if members[i, COMPONENT] == 1:
            last = i
    for k in range(n):
        basins[k, TREE] = basins[_find(basins, OWNER, _find(basins, LINK, k)), PIXELS]


def settle(
    stats, count, members, peaks, basins, heights, passes, near_heights, near, seam, best, last, marks, keys, order, spare, *,
    seed, prominence, contrast, min_area, beamed, width,
) -> None:  # fmt: skip
    """See `footprint.kernels.deblend.contract`."""
    n = int(marks[MET])
    if n > peaks.size:
        count[0] = crowd(n, int(marks[BRIGHT]))
        return
    background, noise = float(stats[BACKGROUND]), float(stats[NOISE])
    level, rise, (shallow, *bounds) = seed * noise, prominence * noise, beamed
    rules = (level, rise, float(contrast), int(min_area), int(width), float(shallow) * noise, *map(int, bounds))
    _gather(basins, heights, passes, near_heights, near, marks, keys, order, spare)
    stored = int(marks[STORED])
    _rank(heights, passes, stored, keys, order, spare)
    _open(peaks, basins, heights, passes, stored, order, background, *rules)
    _islands(peaks, basins, n, background, level, int(min_area), keys, order, spare)
    count[0] = found = int(_sources(peaks, basins, n, keys, order, spare))
    if found <= members.shape[0]:
        _name(basins, n, order, found, members)
