"""Basins of the pixels over a level, a block of rows at a time: the label image itself has the pointers by which they climb."""

from __future__ import annotations

import numpy as np
from numba import prange

from footprint.kernels.common.jit import njit
from footprint.kernels.deblend.climb import STAYS, climb, follow, next_set, number, way_of
from footprint.kernels.deblend.contract import AT, BRIGHT, FIRST, LINK, MET, PIXELS, SEEN, TREE
from footprint.kernels.deblend.tree import meet, settle
from footprint.kernels.find_sources.contract import LEVEL, SPREAD, X_PEAK, Y_PEAK
from footprint.kernels.find_sources.contract import PIXELS as COUNTED
from footprint.kernels.find_sources.cpu import _level as level


@njit(cache=True, nogil=True)
def _leave(above, row, up, x_nodes, above_nodes, seam, best, offset, reach, largest, basins):
    """A strip's last row: link its pixels to the highest of those that are known, and keep what those below have to be over."""
    width = row.size
    for x in range(width):
        if x_nodes[x] == 0:
            continue
        way, best[x] = way_of(above, row, row, up, False, x, reach, largest)
        k = offset - x_nodes[x] - 1
        if k < basins.shape[0]:
            if way < 3:
                basins[k, LINK] = above_nodes[x + way - 1]
            else:
                basins[k, LINK] = offset - x_nodes[x + way - STAYS] - 1
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
            way, _ = way_of(above, row, row, True, False, x, reach, largest)
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
    n = peaks.size
    for r in range(rows):
        y, row, mine = first + r, block[r], nodes[r]
        above = block[r - 1] if r else last[0]
        # The numbers of this row's basins, and of those of the row before.
        ids, over = lines[r % 2], lines[1 - r % 2]
        ids[:] = -1
        if y > 0 and y % strip == 0:
            over[:] = seam
            _join(above, row, mine, seam, best, offset, y, reach, largest, basins)
        x = next_set(mine, 0)
        while x < width:
            a, start, node = offset - mine[x] - 1, x, mine[x]
            while x < width and mine[x] == node:
                ids[x] = a
                x += 1
            if a < n:
                basins[a, PIXELS] += x - start
                basins[a, FIRST] = min(basins[a, FIRST], y * width + start)
            _borders(row, above, ids, over if y > 0 else over[:0], start, x, y, reach,
                     near_heights, near, heights, passes, basins, marks, keys, order, spare)  # fmt: skip
            x = next_set(mine, x)
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
    return way if way < STAYS else way - 1


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
    bright = climb(
        block, last, nodes, roots, first, height, int(connectivity == 8), strip, least, largest, level(stats, block.dtype, seed)
    )
    return int(number(block, nodes, roots, first, offset, peaks, basins, keep)), int(bright)


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
    follow(nodes)
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
        follow(nodes)
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
