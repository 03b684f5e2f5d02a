"""Where the pixels of a block climb to, and which basin that is.

A pixel holds 1 + the index in the block of the pixel it climbs to, at a root minus the basin's number; following the pointers
halves their paths, so that no island, however long its slopes are, takes more than n log n. Threads may follow while others halve:
whatever they read leads to the same root. Numbers are taken when all paths are short.

Few pixels of most images are over the level. Which stretches of `AT_ONCE` pixels have any is noted when they climb, as a byte each:
whoever comes after passes over the others without a look at them.
"""

from __future__ import annotations

import numpy as np
from numba import prange

from footprint.kernels.common.jit import njit
from footprint.kernels.deblend.contract import AT, AT_ONCE, FIRST, LINK, PIXELS

# Rows that a thread follows together.
_BAND = 64
# The directions of neighbours in raster order, and where a pixel stays.
STAYS = 4
_FAR = np.int64(1) << 62


@njit(cache=True, nogil=True)
def touch(one, row, x, d, reach, least, largest):
    """Whether a pixel and that of the row ``one`` which is ``d`` columns on are neighbours: see `kernels.deblend.contract`."""
    return d == 0 or reach == 1 or least <= one[x] <= largest or least <= row[x + d] <= largest


@njit(cache=True, nogil=True)
def way_of(above, row, below, up, down, x, reach, least, largest):
    """Direction of the highest of a pixel and its neighbours, from 0 to 8; of equal ones the first."""
    best, way = row[x], STAYS
    last = row.size - 1
    if up:
        for d in range(-1, 2):
            if 0 <= x + d <= last and touch(above, row, x, d, reach, least, largest):
                v = above[x + d]
                if v <= largest and (v > best or (v == best and way == STAYS)):
                    best, way = v, 1 + d
    if x > 0:
        v = row[x - 1]
        if v <= largest and (v > best or (v == best and way == STAYS)):
            best, way = v, 3
    if x < last:
        v = row[x + 1]
        if best < v <= largest:
            best, way = v, 5
    if down:
        for d in range(-1, 2):
            if 0 <= x + d <= last and touch(below, row, x, d, reach, least, largest):
                v = below[x + d]
                if best < v <= largest:
                    best, way = v, 7 + d
    return way, best


@njit(cache=True, nogil=True)
def _ways(above, row, below, least, top, middle, bottom, corners, out):
    """`way_of` of the pixels between the first and the last, in one order of comparisons, which vector instructions can do.

    ``top``, ``middle`` and ``bottom`` are the largest values that count of each row, ``corners`` whether all of theirs do.
    """
    one = np.uint64(1)
    for x in range(one, np.uint64(max(row.size, 1) - 1)):
        best, way = -middle - middle, np.int32(STAYS)
        upper, lower = (above[x] >= least) & (above[x] <= top), (below[x] >= least) & (below[x] <= bottom)
        left, right = (row[x - one] >= least) & (row[x - one] <= middle), (row[x + one] >= least) & (row[x + one] <= middle)
        v = above[x - one]
        if (v <= top) & (v > best) & (corners | upper | left):
            best, way = v, np.int32(0)
        v = above[x]
        if (v <= top) & (v > best):
            best, way = v, np.int32(1)
        v = above[x + one]
        if (v <= top) & (v > best) & (corners | upper | right):
            best, way = v, np.int32(2)
        v = row[x - one]
        if (v <= middle) & (v > best):
            best, way = v, np.int32(3)
        v = row[x]
        if (v <= middle) & (v > best):
            best, way = v, np.int32(STAYS)
        v = row[x + one]
        if (v <= middle) & (v > best):
            best, way = v, np.int32(5)
        v = below[x - one]
        if (v <= bottom) & (v > best) & (corners | lower | left):
            best, way = v, np.int32(6)
        v = below[x]
        if (v <= bottom) & (v > best):
            best, way = v, np.int32(7)
        v = below[x + one]
        if (v <= bottom) & (v > best) & (corners | lower | right):
            best, way = v, np.int32(8)
        out[x] = way


@njit(cache=True, nogil=True)
def _any_over(row, start, stop, least, largest):
    """Whether any value lies within bounds."""
    n = np.int32(0)
    for x in range(np.uint64(start), np.uint64(stop)):
        n |= np.int32((row[x] >= least) & (row[x] <= largest))
    return n != 0


@njit(cache=True, nogil=True)
def next_set(row, some, x):
    """The first pixel from x on that belongs to a basin, or the end of the row."""
    width, b = row.size, x // AT_ONCE
    while x < width:
        stop = min((b + 1) * AT_ONCE, width)
        if some[b]:
            while x < stop and row[x] == 0:
                x += 1
            if x < stop:
                return x
        x = stop
        b += 1
    return width


@njit(cache=True, nogil=True)
def _point(row, out, base, width, begins, ends, least, largest, bright):
    """Make pointers of directions; how many roots there are, and how many summits. Without a branch, so that vectors do it."""
    roots, summits = np.int32(0), np.int32(0)
    for x in range(np.uint64(row.size)):
        v, way = row[x], np.int64(out[x])
        summits += np.int32((way == STAYS) & (v >= bright) & (v <= largest))
        way = STAYS if ends | (begins & (way < 3)) else way
        # A direction is 3 times the rows below the row above, and columns from the left.
        rows = np.int64(way > 2) + np.int64(way > 5)
        here = (v >= least) & (v <= largest)
        roots += np.int32(here & (way == STAYS))
        out[x] = base + rows * (width - 3) + way + np.int64(x) if here else 0
    return roots, summits


@njit(cache=True, nogil=True)
def _climb_row(block, above, below, r, out, some, up, down, begins, ends, reach, least, largest, bright):
    """Of one row; how many roots there are, and how many summits from ``bright`` up."""
    row, width, roots, summits = block[r], block.shape[1], 0, 0
    nothing = -largest - largest
    bounds = (largest if up else nothing, largest, largest if down else nothing)
    for start in range(0, width, AT_ONCE):
        stop = min(start + AT_ONCE, width)
        some[start // AT_ONCE] = over = _any_over(row, start, stop, least, largest)
        if not over:
            out[start:stop] = 0
            continue
        a, b = max(start - 1, 0), min(stop + 1, width)
        _ways(above[a:b], row[a:b], below[a:b], least, *bounds, reach == 1, out[a:b])
        for x in (0, width - 1):
            if start <= x < stop:
                out[x], _ = way_of(above, row, below, up, down, x, reach, least, largest)
        n, high = _point(row[start:stop], out[start:stop], (r - 1) * width + start, width, begins, ends, least, largest, bright)
        roots += n
        summits += high
    return roots, summits


@njit(cache=True, parallel=True, nogil=True)
def climb(block, before, nodes, roots, some, first, height, reach, strip, least, largest, bright):
    """Point pixels to where they climb, roots to themselves; count the roots of each row, and the summits from ``bright`` up."""
    rows, summits = block.shape[0], 0
    for r in prange(rows):
        y = first + r
        above = block[r - 1] if r else before[0]
        below = block[min(r + 1, rows - 1)]
        begins, ends = y % strip == 0, (y + 1) % strip == 0 and y + 1 < height
        down = r + 1 < rows and not ends
        n, over = _climb_row(block, above, below, r, nodes[r], some[r], y > 0, down, begins, ends, reach, least, largest, bright)
        roots[r + 1] = n
        summits += over
    return summits


@njit(cache=True, parallel=True, nogil=True)
def number(block, nodes, roots, some, first, offset, peaks, basins, keep):
    """Number the roots in raster order; write their basins' rows where they are to be kept."""
    rows, width = block.shape
    roots[0] = 0
    for r in range(rows):
        roots[r + 1] += roots[r]
    for r in prange(rows):
        row, n = nodes[r], roots[r]
        if roots[r + 1] == n:
            continue
        for start in range(0, width, AT_ONCE):
            if not some[r, start // AT_ONCE]:
                continue
            for x in range(start, min(start + AT_ONCE, width)):
                if row[x] == r * width + x + 1:
                    n += 1
                    row[x] = -n
                    k = offset + n - 1
                    if keep and k < peaks.size:
                        peaks[k] = block[r, x]
                        basins[LINK, k], basins[AT, k] = k, (first + r) * width + x
                        basins[FIRST, k], basins[PIXELS, k] = _FAR, 0
    return roots[rows]


@njit(cache=True, nogil=True)
def _step(flat, row, x):
    """Have a pixel point to where that points to which it points to, as far as that is no root; without a branch."""
    k = row[x]
    up = flat[np.uint64(max(k, 1) - 1)]
    row[x] = up if (k > 0) & (up > 0) else k


@njit(cache=True, nogil=True)
def _halve(flat, i):
    """Have a pixel point to its root; the way there is halved."""
    at, up = i, flat[i]
    if up > 0:
        further = flat[up - 1]
        while further > 0:
            flat[i] = further
            i = further - 1
            if flat[i] < 0:
                up = further
                break
            up = flat[i]
            further = flat[up - 1]
        flat[at] = up


@njit(cache=True, nogil=True)
def _back(flat, nodes, some, low, high):
    """Go through rows from the last pixel to the first: what points down or right takes what is known there."""
    width = nodes.shape[1]
    for r in range(high - 1, low - 1, -1):
        row = nodes[r]
        for start in range((width - 1) // AT_ONCE * AT_ONCE, -1, -AT_ONCE):
            stop = min(start + AT_ONCE, width)
            if some[r, start // AT_ONCE]:
                for x in range(stop - 1, start - 1, -1):
                    _step(flat, row, np.uint64(x))


@njit(cache=True, nogil=True)
def _forth(flat, nodes, some, low, high):
    """Go through rows from the first pixel to the last, and follow to its end what does not point to a root then."""
    width = nodes.shape[1]
    for r in range(low, high):
        row = nodes[r]
        for start in range(0, width, AT_ONCE):
            stop = min(start + AT_ONCE, width)
            if not some[r, start // AT_ONCE]:
                continue
            far = False
            for x in range(np.uint64(start), np.uint64(stop)):
                _step(flat, row, x)
                k = row[x]
                far |= (k > 0) & (flat[np.uint64(max(k, 1) - 1)] > 0)
            for x in range(start, stop if far else start):
                _halve(flat, r * width + x)


@njit(cache=True, parallel=True, nogil=True)
def follow(nodes, some):
    """Every pixel takes the number of the root it climbs to.

    Once back and once forth through a band of rows most of them are known, without a branch that nobody can foretell. Threads
    halve one another's paths, so as long as they do all that is written are pixels farther up: a number could be written over by
    who read what was there before it.
    """
    rows, width = nodes.shape
    flat = nodes.reshape(-1)
    for t in prange(-(-rows // _BAND)):
        _back(flat, nodes, some, t * _BAND, min((t + 1) * _BAND, rows))
        _forth(flat, nodes, some, t * _BAND, min((t + 1) * _BAND, rows))
    for r in prange(rows):
        row = nodes[r]
        for start in range(0, width, AT_ONCE):
            stop = min(start + AT_ONCE, width)
            if not some[r, start // AT_ONCE]:
                continue
            for x in range(np.uint64(start), np.uint64(stop)):
                k = row[x]
                while k > 0:
                    k = flat[np.uint64(k - 1)]
                row[x] = k
