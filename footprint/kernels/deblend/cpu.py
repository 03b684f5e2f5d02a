"""Basins of the pixels over a level, a block of rows at a time: pointers to the highest neighbour live in the label image itself.

A pixel holds 1 + the index in the block of the pixel it climbs to, at a root minus the basin's number; following the pointers
halves their paths, so that no island, however long its slopes are, takes more than n log n. Threads may follow while others halve:
whatever they read leads to the same root. Numbers are taken when all paths are short.
"""

from __future__ import annotations

import numpy as np
from numba import prange

from footprint.kernels.common.jit import njit
from footprint.kernels.deblend.contract import AT, BRIGHT, FIRST, LINK, MET, PIXELS, SEEN, TREE
from footprint.kernels.deblend.tree import meet, settle
from footprint.kernels.find_sources.contract import LEVEL, SPREAD, X_PEAK, Y_PEAK
from footprint.kernels.find_sources.contract import PIXELS as COUNTED
from footprint.kernels.find_sources.cpu import _level as level

# The directions of neighbours in raster order, and where a pixel stays.
_STAYS = 4
_FAR = np.int64(1) << 62


@njit(cache=True, nogil=True)
def _way(above, row, below, up, down, x, reach, largest):
    """Direction of the highest of a pixel and its neighbours, from 0 to 8; of equal ones the first."""
    best, way = row[x], _STAYS
    last = row.size - 1
    if up:
        for d in range(-reach, reach + 1):
            if 0 <= x + d <= last:
                v = above[x + d]
                if v <= largest and (v > best or (v == best and way == _STAYS)):
                    best, way = v, 1 + d
    if x > 0:
        v = row[x - 1]
        if v <= largest and (v > best or (v == best and way == _STAYS)):
            best, way = v, 3
    if x < last:
        v = row[x + 1]
        if best < v <= largest:
            best, way = v, 5
    if down:
        for d in range(-reach, reach + 1):
            if 0 <= x + d <= last:
                v = below[x + d]
                if best < v <= largest:
                    best, way = v, 7 + d
    return way, best


@njit(cache=True, nogil=True)
def _ways(above, row, below, top, middle, bottom, corners, out):
    """`_way` of the pixels between the first and the last, in one order of comparisons, which vector instructions can do.

    ``top``, ``middle`` and ``bottom`` are the largest values that count of each row, ``corners`` whether theirs do.
    """
    least = -middle - middle
    up, down = (top, bottom) if corners else (least, least)
    one = np.uint64(1)
    for x in range(one, np.uint64(max(row.size, 1) - 1)):
        best, way = least, np.int32(_STAYS)
        v = above[x - one]
        if (v <= up) & (v > best):
            best, way = v, np.int32(0)
        v = above[x]
        if (v <= top) & (v > best):
            best, way = v, np.int32(1)
        v = above[x + one]
        if (v <= up) & (v > best):
            best, way = v, np.int32(2)
        v = row[x - one]
        if (v <= middle) & (v > best):
            best, way = v, np.int32(3)
        v = row[x]
        if (v <= middle) & (v > best):
            best, way = v, np.int32(_STAYS)
        v = row[x + one]
        if (v <= middle) & (v > best):
            best, way = v, np.int32(5)
        v = below[x - one]
        if (v <= down) & (v > best):
            best, way = v, np.int32(6)
        v = below[x]
        if (v <= bottom) & (v > best):
            best, way = v, np.int32(7)
        v = below[x + one]
        if (v <= down) & (v > best):
            best, way = v, np.int32(8)
        out[x] = way


@njit(cache=True, parallel=True, nogil=True)
def _climb(block, before, nodes, roots, first, height, reach, strip, least, largest, bright):
    """Point pixels to where they climb, roots to themselves; count the roots of each row, and the summits from ``bright`` up."""
    rows, width = block.shape
    nothing, summits = -largest - largest, 0
    for r in prange(rows):
        y, row, out, n = first + r, block[r], nodes[r], 0
        above = block[r - 1] if r else before[0]
        below = block[min(r + 1, rows - 1)]
        begins, ends = y % strip == 0, (y + 1) % strip == 0 and y + 1 < height
        up, down, over = y > 0, r + 1 < rows and not ends, 0
        _ways(above, row, below, largest if up else nothing, largest, largest if down else nothing, reach == 1, out)
        for x in (0, width - 1):
            out[x], _ = _way(above, row, below, up, down, x, reach, largest)
        for x in range(width):
            v, way = row[x], out[x]
            over += (way == _STAYS) & (v >= bright) & (v <= largest)
            if ends or (begins and way < 3):
                way = _STAYS
            here = (r + way // 3 - 1) * width + x + way % 3
            set_here = (v >= least) & (v <= largest)
            n += set_here & (way == _STAYS)
            out[x] = here if set_here else 0
        roots[r + 1] = n
        summits += over
    return summits


@njit(cache=True, parallel=True, nogil=True)
def _number(block, nodes, roots, first, offset, peaks, basins, keep):
    """Number the roots in raster order; write their basins' rows where they are to be kept."""
    rows, width = block.shape
    roots[0] = 0
    for r in range(rows):
        roots[r + 1] += roots[r]
    for r in prange(rows):
        row, n = nodes[r], roots[r]
        if roots[r + 1] == n:
            continue
        for x in range(width):
            if row[x] == r * width + x + 1:
                n += 1
                row[x] = -n
                k = offset + n - 1
                if keep and k < peaks.size:
                    peaks[k] = block[r, x]
                    basins[k, LINK], basins[k, AT] = k, (first + r) * width + x
                    basins[k, FIRST], basins[k, PIXELS] = _FAR, 0
    return roots[rows]


@njit(cache=True, parallel=True, nogil=True)
def _follow(nodes):
    """Every pixel takes the number of the root it climbs to.

    Threads halve one another's paths, so as long as they do all that is written are pixels farther up: a number could be written
    over by who read what was there before it.
    """
    flat, width = nodes.reshape(-1), nodes.shape[1]
    for r in prange(nodes.shape[0]):
        for x in range(width):
            i = r * width + x
            up = flat[i]
            if up <= 0:
                continue
            further = flat[up - 1]
            while further > 0:
                flat[i] = further
                i = further - 1
                if flat[i] < 0:
                    up = further
                    break
                up = flat[i]
                further = flat[up - 1]
            flat[r * width + x] = up
    for r in prange(nodes.shape[0]):
        for x in range(width):
            k = flat[r * width + x]
            while k > 0:
                k = flat[k - 1]
            flat[r * width + x] = k


@njit(cache=True, nogil=True)
def _leave(above, row, up, x_nodes, above_nodes, seam, best, offset, reach, largest, basins):
    """A strip's last row: link its pixels to the highest of those that are known, and keep what those below have to be over."""
    width = row.size
    for x in range(width):
        if x_nodes[x] == 0:
            continue
        way, best[x] = _way(above, row, row, up, False, x, reach, largest)
        k = offset - x_nodes[x] - 1
        if k < basins.shape[0]:
            if way < 3:
                basins[k, LINK] = above_nodes[x + way - 1]
            else:
                basins[k, LINK] = offset - x_nodes[x + way - _STAYS] - 1
    for x in range(width):
        seam[x] = offset - x_nodes[x] - 1 if x_nodes[x] else -1


@njit(cache=True, nogil=True)
def _join(above, row, x_nodes, seam, best, offset, y, reach, largest, basins):
    """A strip's first row: link the row before to what is higher here, and what is here to what is higher there."""
    width, n = row.size, basins.shape[0]
    for x in range(width):
        if 0 <= seam[x] < n:
            most, to = best[x], -1
            for d in range(-reach, reach + 1):
                if 0 <= x + d < width and most < row[x + d] <= largest:
                    most, to = row[x + d], x + d
            if to >= 0:
                basins[seam[x], LINK] = offset - x_nodes[to] - 1
        k = offset - x_nodes[x] - 1
        if x_nodes[x] and k < n:
            way, _ = _way(above, row, row, True, False, x, reach, largest)
            # Only of a root is that all there is to know: others may climb further down.
            if way < 3 and basins[k, AT] == y * width + x:
                basins[k, LINK] = seam[x + way - 1]


@njit(cache=True, nogil=True)
def _walk(
    block, nodes, offset, first, height, reach, strip, largest,
    peaks, basins, heights, passes, near_heights, near, seam, best, last, marks, lines, keys, order, spare,
):  # fmt: skip
    """Count the pixels of basins, and gather the passes between them, row by row; link basins across strips."""
    rows, width = block.shape
    n, ids, over = peaks.size, lines[0], lines[1]
    for r in range(rows):
        y, row, mine = first + r, block[r], nodes[r]
        above = block[r - 1] if r else last[0]
        if y > 0 and y % strip == 0:
            over[:] = seam
            _join(above, row, mine, seam, best, offset, y, reach, largest, basins)
        elif r:
            over[:] = ids
        for x in range(width):
            ids[x] = offset - mine[x] - 1 if mine[x] else -1
        x = 0
        while x < width:
            a = ids[x]
            if a < 0:
                x += 1
                continue
            start = x
            while x < width and ids[x] == a:
                x += 1
            if a < n:
                basins[a, PIXELS] += x - start
                basins[a, FIRST] = min(basins[a, FIRST], y * width + start)
            _borders(row, above, ids, over if y > 0 else over[:0], start, x, y, reach,
                     near_heights, near, heights, passes, basins, marks, keys, order, spare)  # fmt: skip
        if (y + 1) % strip == 0 and y + 1 < height:
            _leave(above, row, y > 0, mine, over, seam, best, offset, reach, largest, basins)
    last[0, :] = block[rows - 1]


@njit(cache=True, nogil=True)
def _borders(
    row, above, ids, over, start, stop, y, reach, near_heights, near, heights, passes, basins, marks, keys, order, spare
):  # fmt: skip
    """The passes of a run of one basin to what lies before it.

    Pixels across its border that are of one basin come one after the other: the best of their passes is met once.
    """
    width, a, pair, most, code = row.size, ids[start], -1, row[start], 0
    if start > 0 and ids[start - 1] >= 0:
        pair = ids[start - 1]
        most, code = _pass(row[start], row[start - 1], y * width + start, -1, 3, 5)
    for p in range(max(start - reach, 0), min(stop + reach, over.size)):
        b = over[p]
        if b < 0 or b == a:
            continue
        if b != pair:
            if pair >= 0:
                meet(a, pair, np.float64(most), code, near_heights, near, heights, passes, basins, marks, keys, order, spare)
            pair, code = b, -1
        for q in range(max(start, p - reach), min(stop, p + reach + 1)):
            d = p - q
            value, at = _pass(row[q], above[p], y * width + q, d - width, 1 + d, 7 - d)
            if code < 0 or value > most or (value == most and at < code):
                most, code = value, at
    if pair >= 0:
        meet(a, pair, np.float64(most), code, near_heights, near, heights, passes, basins, marks, keys, order, spare)


@njit(cache=True, nogil=True)
def _pass(value, other, index, step, way, back):
    """Between a pixel at ``index`` and one before it, ``step`` away, of different basins: the lower of the two, and which it is."""
    if value <= other:
        return value, index * 8 + _code(way)
    return other, (index + step) * 8 + _code(back)


@njit(cache=True, nogil=True)
def _code(way):
    """Of eight directions, without the one that stays."""
    return way if way < _STAYS else way - 1


@njit(cache=True, parallel=True, nogil=True)
def _paint(nodes, labels, basins, offset):
    for r in prange(nodes.shape[0]):
        for x in range(nodes.shape[1]):
            k = nodes[r, x]
            labels[r, x] = basins[offset - k - 1, TREE] if k else 0


def _bounds(block, stats, sigma):
    """The values between which a pixel is set."""
    return level(stats, block.dtype, sigma), np.finfo(block.dtype).max


def _basins(block, stats, nodes, last, roots, offset, peaks, basins, keep, first, height, sigma, connectivity, strip, seed):
    """Number the basins of a block; return how many there are, and how many have summits over the seed."""
    least, largest = _bounds(block, stats, sigma)
    bright = _climb(
        block, last, nodes, roots, first, height, int(connectivity == 8), strip, least, largest, level(stats, block.dtype, seed)
    )
    return int(_number(block, nodes, roots, first, offset, peaks, basins, keep)), int(bright)


def gather(
    block, stats, nodes, peaks, basins, heights, passes, near_heights, near, seam, best, last, marks, roots, lines, keys, order,
    spare, *, first, height, sigma, connectivity, strip, seed,
) -> None:  # fmt: skip
    """See `footprint.kernels.deblend.contract`."""
    if first == 0:
        marks[:], near[:] = 0, -1
    offset, whole = int(marks[MET]), block.shape[0] == height
    known, options = (block, stats, nodes, last, roots, offset, peaks, basins), (first, height, sigma, connectivity)
    found, bright = _basins(*known, True, *options, height if whole else strip, seed)
    if whole and found > peaks.size:
        # With room for that many the image may have to be cut.
        found, _ = _basins(*known, False, *options, strip, seed)
    marks[MET] += found
    marks[BRIGHT] += bright
    if marks[MET] > peaks.size:
        last[0, :] = block[-1]
        return
    _follow(nodes)
    _walk(
        block, nodes, offset, first, height, int(connectivity == 8), height if whole else strip, _bounds(block, stats, sigma)[1],
        peaks, basins, heights, passes, near_heights, near, seam, best, last, marks, lines, keys, order, spare,
    )  # fmt: skip


def paint(
    block, stats, count, nodes, labels, peaks, basins, heights, passes, near_heights, near, seam, best, last, marks, roots, *,
    first, height, sigma, connectivity, strip, climb, capacity,
) -> None:  # fmt: skip
    """See `footprint.kernels.deblend.contract`."""
    if first == 0:
        marks[SEEN] = 0
    if marks[MET] > peaks.size or count[0] > capacity:
        labels[...] = 0
        return
    offset = int(marks[SEEN])
    if climb:
        options = (first, height, sigma, connectivity, strip, sigma)
        marks[SEEN] += _basins(block, stats, nodes, last, roots, offset, peaks, basins, False, *options)[0]
        _follow(nodes)
        last[0, :] = block[-1]
    _paint(nodes, labels, basins, offset)


@njit(cache=True, parallel=True, nogil=True)
def _told(block, level, spread, ranks, values):
    for y in prange(block.shape[0]):
        for x in range(block.shape[1]):
            over, noise = np.float64(block[y, x]) - np.float64(level[y, x]), np.float64(spread[y, x])
            values[y, x] = over
            ranks[y, x] = over / noise if noise > 0 else np.nan


def told(block, level, spread, ranks, values) -> None:
    """See `footprint.kernels.deblend.contract`."""
    _told(block, level, spread, ranks, values)


@njit(cache=True, nogil=True)
def _at_peaks(level, spread, boxes, moments, first):
    for k in range(boxes.shape[0]):
        y = boxes[k, Y_PEAK] - first
        if boxes[k, COUNTED] > 0 and 0 <= y < level.shape[0]:
            moments[k, LEVEL], moments[k, SPREAD] = level[y, boxes[k, X_PEAK]], spread[y, boxes[k, X_PEAK]]


def at_peaks(level, spread, boxes, moments, *, first) -> None:
    """See `footprint.kernels.deblend.contract`."""
    _at_peaks(level, spread, boxes, moments, first)


__all__ = ["at_peaks", "gather", "paint", "settle", "told"]
