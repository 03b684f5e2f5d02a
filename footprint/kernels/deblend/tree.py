"""The tree of basins: passes kept while they are met, sorted, and opened from the highest down.

Of all passes only those of the highest spanning forest matter, and of a forest and what is met later only the forest of both: so
room for twice as many passes as basins is enough for any image. Ranks are strict, so the forest is one, in whatever order passes
come.
"""

from __future__ import annotations

import numpy as np

from footprint.kernels.common.copied import put
from footprint.kernels.common.digits import DIGIT, sort_numbers
from footprint.kernels.common.jit import njit
from footprint.kernels.deblend.contract import (
    AT,
    BRIGHT,
    CODE,
    COMPONENT,
    COMPONENTS,
    FIRST,
    HEIGHT,
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

_HALF, _LOW = np.uint64(32), np.uint64((1 << 32) - 1)
_SIGN = np.uint64(1) << np.uint64(63)
_ALL = (np.int64(1) << np.int64(62)) - 1 + (np.int64(1) << np.int64(62))


@njit(cache=True, nogil=True)
def rank_of(height):
    """A whole number that is higher where a value is; both zeros are one."""
    bits = np.float64(height + 0.0).view(np.int64)
    return bits ^ ((bits >> 63) & _ALL)


@njit(cache=True, nogil=True)
def _height_of(rank):
    return np.int64(rank ^ ((rank >> 63) & _ALL)).view(np.float64)


@njit(cache=True, nogil=True)
def _find(chain, k):
    """The end of a chain; the way there is halved."""
    while chain[k] != k:
        chain[k] = chain[chain[k]]
        k = chain[k]
    return k


@njit(cache=True, nogil=True)
def _sort(keys, order, spare, n):
    """Sort an order of n by ``keys[order]``, ascending, equal ones as they are; digits that are all the same cost nothing."""
    if n < 2:
        return
    differ = np.uint64(0)
    for i in range(n):
        differ |= keys[order[i]] ^ keys[order[0]]
    starts = np.empty((1 << DIGIT) + 1, np.int64)
    mask = np.uint64((1 << DIGIT) - 1)
    for turn in range(-(-64 // DIGIT)):
        shift = np.uint64(turn * DIGIT)
        if (differ >> shift) & mask == 0:
            continue
        starts[:] = 0
        for i in range(n):
            starts[((keys[order[i]] >> shift) & mask) + np.uint64(1)] += 1
        for d in range(1 << DIGIT):
            starts[d + 1] += starts[d]
        for i in range(n):
            d = (keys[order[i]] >> shift) & mask
            spare[starts[d]] = order[i]
            starts[d] += 1
        put(order[:n], spare)


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
def _digits(number):
    n = np.int64(0)
    while n < 63 and number >> n:
        n += 1
    return n


@njit(cache=True, nogil=True)
def _rank_packed(passes, n, keys, order, spare):
    """As `_rank`, by numbers of a rank and a place in one; whether there is room for both, as where values are float32.

    Such numbers are read one after the other, keys by way of an order from all over memory.
    """
    least, most, low, codes = passes[0, HEIGHT], passes[0, HEIGHT], np.int64(0), np.int64(0)
    for e in range(n):
        rank = passes[e, HEIGHT]
        least, most, low, codes = min(least, rank), max(most, rank), low | rank, max(codes, passes[e, CODE])
    # Of doubles that were floats the last digits are all 0, and first ones are few where ranks are alike.
    zeros, places = np.int64(0), _digits(n)
    while zeros < 62 and (low >> zeros) & 1 == 0:
        zeros += 1
    # Less than 2^62 each, their difference is an int64.
    reach = (most >> zeros) - (least >> zeros) if zeros else _ALL
    high = _digits(reach) + places
    if high > 63 or _digits(codes) + places > 63:
        return False
    spares, mask = spare.view(np.uint64), (np.int64(1) << places) - 1
    for e in range(n):
        keys[e] = ((most >> zeros) - (passes[e, HEIGHT] >> zeros)) << places | e
    sort_numbers(keys[:n], spares, places, high)
    first = 0
    while first < n:
        height, stop = np.int64(keys[first]) >> places, first + 1
        while stop < n and np.int64(keys[stop]) >> places == height:
            stop += 1
        if stop > first + 1:
            for i in range(first, stop):
                e = np.int64(keys[i]) & mask
                keys[i] = passes[e, CODE] << places | e
            sort_numbers(keys[first:stop], spares, places, _digits(codes) + places)
        for i in range(first, stop):
            order[i] = np.int64(keys[i]) & mask
        first = stop
    return True


@njit(cache=True, nogil=True)
def _rank(passes, n, keys, order, spare):
    """Order passes: the highest first, of equal ones the first in raster order."""
    if n == 0 or _rank_packed(passes, n, keys, order, spare):
        return
    for e in range(n):
        order[e] = e
        keys[e] = passes[e, CODE]
    _sort(keys, order, spare, n)
    for e in range(n):
        keys[e] = ~(np.uint64(passes[e, HEIGHT]) ^ _SIGN)
    _sort(keys, order, spare, n)


@njit(cache=True, nogil=True)
def thin(passes, basins, n, stored, keys, order, spare):
    """Keep the passes of the highest spanning forest; how many they are."""
    tree = basins[TREE]
    for k in range(n):
        tree[k] = k
    _rank(passes, stored, keys, order, spare)
    for q in range(stored):
        e = order[q]
        a, b = _find(tree, passes[e, A]), _find(tree, passes[e, B])
        keys[e] = a != b
        tree[max(a, b)] = min(a, b)
    kept = 0
    for e in range(stored):
        if keys[e]:
            put(passes[kept], passes[e])
            kept += 1
    return kept


@njit(cache=True, nogil=True)
def _gather(basins, passes, marks):
    """Give every basin's pixels to the one that it is linked to, and passes their ends."""
    link, first, pixels = basins[LINK], basins[FIRST], basins[PIXELS]
    linked = False
    for k in range(marks[MET]):
        root = _find(link, k)
        if root != k:
            pixels[root] += pixels[k]
            first[root] = min(first[root], first[k])
            linked = True
        basins[TREE, k], basins[OWNER, k], basins[MANY, k] = k, k, 0
    for e in range(marks[STORED] if linked else 0):
        passes[e, A], passes[e, B] = _find(link, passes[e, A]), _find(link, passes[e, B])


@njit(cache=True, nogil=True)
def _apart(one, other, width):
    """The square of the distance of two pixels."""
    y, x = one // width - other // width, one % width - other % width
    return y * y + x * x


@njit(cache=True, nogil=True)
def _in_order(passes, stored, order, ends, heights):
    """Copy what opening a pass needs of it, in their order: rows all over memory are then asked for side by side."""
    for q in range(stored):
        e = order[q]
        ends[q] = passes[e, A] << 32 | passes[e, B]
        heights[q] = passes[e, HEIGHT]


@njit(cache=True, nogil=True)
def _open(
    peaks, basins, passes, stored, order, ends, heights, background, seed, prominence, contrast, min_area, width, shallow,
    fewest, most, low, up, close, far,
):  # fmt: skip
    """Open the passes in order: branches that meet end, or stay as sources; see the contract."""
    tree, owner, many, pixels, first, at = basins[TREE], basins[OWNER], basins[MANY], basins[PIXELS], basins[FIRST], basins[AT]
    _in_order(passes, stored, order, ends, heights)
    for q in range(stored):
        a, b = np.int64(ends[q] >> _HALF), np.int64(ends[q] & _LOW)
        elder, younger = _find(tree, a), _find(tree, b)
        if elder == younger:
            continue
        if peaks[elder] < peaks[younger] or (peaks[elder] == peaks[younger] and at[elder] > at[younger]):
            a, b, elder, younger = b, a, younger, elder
        over = peaks[younger] - _height_of(heights[q])
        beamed = fewest <= pixels[younger] <= most
        if beamed and over <= prominence:
            top = at[younger]
            beamed = low <= _apart(top, passes[order[q], CODE] >> 3, width) <= up
            beamed &= close <= _apart(top, at[_find(owner, a)], width) <= far
        least = max(shallow if beamed else prominence, contrast * (peaks[elder] - background))
        rises = peaks[younger] - background > seed and over > least and pixels[younger] >= min_area
        if not (rises or many[younger]):
            owner[_find(owner, younger)] = _find(owner, a)
        elif not many[elder] and pixels[elder] < min_area:
            owner[_find(owner, elder)] = _find(owner, b)
            many[elder] = many[younger]
        else:
            many[elder] = 1
        tree[younger] = elder
        pixels[elder] += pixels[younger]
        first[elder] = min(first[elder], first[younger])


@njit(cache=True, nogil=True)
def _islands(peaks, basins, n, background, seed, min_area, keys, order, spare):
    """Number the islands that are kept in raster order of their first pixels: MANY of their highest basin."""
    islands = 0
    for k in range(n):
        basins[MANY, k] = 0
        kept = peaks[k] - background > seed and basins[PIXELS, k] >= min_area
        if basins[LINK, k] == k and basins[TREE, k] == k and kept:
            order[islands] = k
            keys[k] = basins[FIRST, k]
            islands += 1
    _sort(keys, order, spare, islands)
    for i in range(islands):
        basins[MANY, order[i]] = i + 1


@njit(cache=True, nogil=True)
def _sources(peaks, basins, n, keys, order, spare):
    """Order the sources by island, the brightest first; return how many."""
    found = 0
    for k in range(n):
        if basins[LINK, k] == k and _find(basins[OWNER], k) == k and basins[MANY, _find(basins[TREE], k)] > 0:
            order[found] = k
            keys[k] = basins[AT, k]
            found += 1
    _sort(keys, order, spare, found)
    _falling(peaks, keys, order, found)
    _sort(keys, order, spare, found)
    for i in range(found):
        keys[order[i]] = basins[MANY, _find(basins[TREE], order[i])]
    _sort(keys, order, spare, found)
    return found


@njit(cache=True, nogil=True)
def _name(basins, n, order, found, members):
    """Write the sources' rows; every basin's label is left in TREE."""
    for k in range(n):
        basins[PIXELS, k] = 0
    first = 0
    for i in range(found):
        basins[PIXELS, order[i]] = i + 1
        island = basins[MANY, _find(basins[TREE], order[i])]
        if i and members[i - 1, ISLAND] != island:
            first = i
        members[i, ISLAND], members[i, COMPONENT], members[i, LABEL] = island, i - first + 1, i + 1
    last = found
    for i in range(found - 1, -1, -1):
        members[i, COMPONENTS] = last - i + members[i, COMPONENT] - 1
        if members[i, COMPONENT] == 1:
            last = i
    for k in range(n):
        basins[TREE, k] = basins[PIXELS, _find(basins[OWNER], _find(basins[LINK], k))]


def settle(
    stats, count, members, peaks, basins, passes, seam, best, last, marks, keys, order, spare, *,
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
    _gather(basins, passes, marks)
    stored = int(marks[STORED])
    _rank(passes, stored, keys, order, spare)
    _open(peaks, basins, passes, stored, order, keys, spare, background, *rules)
    _islands(peaks, basins, n, background, level, int(min_area), keys, order, spare)
    count[0] = found = int(_sources(peaks, basins, n, keys, order, spare))
    if found <= members.shape[0]:
        _name(basins, n, order, found, members)
