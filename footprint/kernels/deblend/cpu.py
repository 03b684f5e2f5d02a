"""Basins of the pixels over a level, a block of rows at a time: pointers to the highest neighbour live in the label image itself.

A pixel holds 1 + the index in the block of the pixel it climbs to, at a root minus the basin's number; following the pointers
halves their paths, so that no island, however long its slopes are, takes more than n log n. Threads may follow while others halve:
whatever they read leads to the same root.
"""

from __future__ import annotations

import numpy as np
from numba import prange

from footprint.kernels.common.jit import njit
from footprint.kernels.deblend.contract import AT, FIRST, LINK, MET, PIXELS, SEEN, TREE
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


@njit(cache=True, parallel=True, nogil=True)
def _climb(block, before, nodes, roots, first, height, reach, strip, least, largest):
    """Point every pixel to where it climbs, roots to themselves; count the roots of each row."""
    rows, width = block.shape
    for r in prange(rows):
        y, row, out, n = first + r, block[r], nodes[r], 0
        above = block[r - 1] if r else before[0]
        below = block[min(r + 1, rows - 1)]
        begins, ends = y % strip == 0, (y + 1) % strip == 0 and y + 1 < height
        for x in range(width):
            v = row[x]
            if not (least <= v <= largest):
                out[x] = 0
                continue
            way = _STAYS
            if not ends:
                way, _ = _way(above, row, below, y > 0, r + 1 < rows, x, reach, largest)
            if way == _STAYS or (begins and way < 3):
                out[x] = r * width + x + 1
                n += 1
            else:
                out[x] = (r + way // 3 - 1) * width + x + way % 3
        roots[r + 1] = n


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
    """Every pixel takes the number of the root it climbs to."""
    flat, width = nodes.reshape(-1), nodes.shape[1]
    for r in prange(nodes.shape[0]):
        for x in range(width):
            here = i = r * width + x
            k = flat[i]
            if k <= 0:
                continue
            while k > 0:
                up = flat[k - 1]
                if up < 0:
                    k = up
                    break
                flat[i] = up
                i = up - 1
                k = flat[i]
            flat[here] = k


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
            if start > 0 and ids[start - 1] >= 0:
                _border(row[start], row[start - 1], a, ids[start - 1], y * width + start, -1, 3, 5, near_heights, near,
                        heights, passes, basins, marks, keys, order, spare)  # fmt: skip
            if y == 0:
                continue
            for q in range(start, x):
                for d in range(-reach, reach + 1):
                    if 0 <= q + d < width and over[q + d] >= 0 and over[q + d] != a:
                        _border(row[q], above[q + d], a, over[q + d], y * width + q, d - width, 1 + d, 7 - d, near_heights, near,
                                heights, passes, basins, marks, keys, order, spare)  # fmt: skip
        if (y + 1) % strip == 0 and y + 1 < height:
            _leave(above, row, y > 0, mine, over, seam, best, offset, reach, largest, basins)
    last[0, :] = block[rows - 1]


@njit(cache=True, nogil=True)
def _border(
    value, other, a, b, index, step, way, back, near_heights, near, heights, passes, basins, marks, keys, order, spare
):  # fmt: skip
    """A pixel at ``index`` and one before it, ``step`` away, of different basins: the lower of the two is where they pass."""
    if value <= other:
        at = index * 8 + _code(way)
    else:
        at = (index + step) * 8 + _code(back)
    meet(a, b, np.float64(min(value, other)), at, near_heights, near, heights, passes, basins, marks, keys, order, spare)


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


def _basins(block, stats, nodes, last, roots, offset, peaks, basins, keep, first, height, sigma, connectivity, strip) -> int:
    """Leave every pixel's basin in ``nodes``; return how many there are in the block."""
    least, largest = _bounds(block, stats, sigma)
    _climb(block, last, nodes, roots, first, height, int(connectivity == 8), strip, least, largest)
    found = _number(block, nodes, roots, first, offset, peaks, basins, keep)
    _follow(nodes)
    return int(found)


def gather(
    block, stats, nodes, peaks, basins, heights, passes, near_heights, near, seam, best, last, marks, roots, lines, keys, order,
    spare, *, first, height, sigma, connectivity, strip,
) -> None:  # fmt: skip
    """See `footprint.kernels.deblend.contract`."""
    if first == 0:
        marks[:], near[:] = 0, -1
    offset = int(marks[MET])
    found = _basins(block, stats, nodes, last, roots, offset, peaks, basins, True, first, height, sigma, connectivity, strip)
    marks[MET] += found
    _walk(
        block, nodes, offset, first, height, int(connectivity == 8), strip, _bounds(block, stats, sigma)[1],
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
        options = (first, height, sigma, connectivity, strip)
        marks[SEEN] += _basins(block, stats, nodes, last, roots, offset, peaks, basins, False, *options)
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
