"""Passes between the basins of a block: bands of its rows are walked side by side, each with its own places for what it finds.

Pixels of a basin and its first are whole numbers that threads add up as they come; of passes the forest is one in whatever order
they are stored (`kernels.deblend.tree`). So bands change no bit.
"""

from __future__ import annotations

import numpy as np
from numba import prange

from footprint.kernels.common.copied import put
from footprint.kernels.common.few import SMALL, TOUCH
from footprint.kernels.common.jit import njit
from footprint.kernels.common.words import add, lower
from footprint.kernels.deblend.climb import STAYS, next_set, touch, way_of
from footprint.kernels.deblend.contract import (
    AT,
    CODE,
    COLUMN,
    FIRST,
    HEIGHT,
    LIMIT,
    LINK,
    MET,
    PIXELS,
    PLACE,
    ROW,
    STOP,
    STORED,
    A,
    B,
)
from footprint.kernels.deblend.tree import rank_of, thin

# Places a band keeps beside those for what it has at hand: the passes of a pixel.
_SPARE = 8
# Empty pixels that take as long as the passes of a basin.
_EACH = 1024
# Odd numbers whose multiples are spread over all bits.
_MIX, _STIR = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xC2B2AE3D27D4EB4F)


@njit(cache=True, nogil=True)
def _basin(node, offset):
    """Of a node: minus the number in the block from 1, or of a row before the block the number of all from 1."""
    return np.int64(offset) - node - 1 if node < 0 else np.int64(node) - 1


@njit(cache=True, nogil=True)
def _leave(above, row, up, x_nodes, above_nodes, seam, best, offset, reach, least, largest, basins):
    """A strip's last row: link its pixels to the highest of those that are known, and keep what those below have to be over."""
    width = row.size
    for x in range(width):
        if x_nodes[x] == 0:
            continue
        way, best[x] = way_of(above, row, row, up, False, x, reach, least, largest)
        to = above_nodes[x + way - 1] if way < 3 else x_nodes[x + way - STAYS]
        basins[LINK, offset - x_nodes[x] - 1] = _basin(to, offset)
    for x in range(width):
        seam[x] = offset - x_nodes[x] - 1 if x_nodes[x] else -1


@njit(cache=True, nogil=True)
def _join(above, row, x_nodes, seam, best, offset, y, reach, least, largest, basins):
    """A strip's first row: link the row before to what is higher here, and what is here to what is higher there."""
    width = row.size
    for x in range(width):
        if seam[x] >= 0:
            most, to = best[x], -1
            for d in range(-1, 2):
                near = 0 <= x + d < width and touch(row, above, x, d, reach, least, largest)
                if near and most < row[x + d] <= largest:
                    most, to = row[x + d], x + d
            if to >= 0:
                basins[LINK, seam[x]] = offset - x_nodes[to] - 1
        if x_nodes[x]:
            k = offset - x_nodes[x] - 1
            way, _ = way_of(above, row, row, True, False, x, reach, least, largest)
            # Only of a root is that all there is to know: others may climb further down.
            if way < 3 and basins[AT, k] == y * width + x:
                basins[LINK, k] = seam[x + way - 1]


@njit(cache=True, nogil=True)
def _count(basins, k, start, stop, first):
    """Give a run of pixels to its basin, to which another thread may give some as well."""
    add(basins.ctypes.data + 8 * (PIXELS * basins.shape[1] + k), stop - start)
    if first < basins[FIRST, k]:
        lower(basins.ctypes.data + 8 * (FIRST * basins.shape[1] + k), first)


@njit(cache=True, nogil=True)
def _meet(one, other, offset, height, code, band, near, passes):
    """Two basins touch: keep the best pass of the pair at hand; what is in its place is stored."""
    a, b, rank = _basin(one, offset), _basin(other, offset), rank_of(height)
    low, high = min(a, b), max(a, b)
    mixed = np.uint64(low) * _MIX + np.uint64(high) * _STIR
    best = near[np.int64((mixed ^ (mixed >> np.uint64(29))) >> np.uint64(40)) & (near.shape[0] - 1)]
    if best[A] == low and best[B] == high:
        if rank > best[HEIGHT] or (rank == best[HEIGHT] and code < best[CODE]):
            best[HEIGHT], best[CODE] = rank, code
        return
    if best[A] >= 0:
        put(passes[band[PLACE]], best)
        band[PLACE] += 1
    best[HEIGHT], best[CODE], best[A], best[B] = rank, code, low, high


@njit(cache=True, nogil=True)
def _higher(wanted, value, other, here, there, way, back, most, code):
    """The pass of two pixels if it is ``wanted`` and over the best so far; it has the lower one, and the direction of the other.

    Without a branch: which neighbours are of other basins nobody can foretell.
    """
    low = value <= other
    v, at = value if low else other, here * 8 + way if low else there * 8 + back
    better = wanted & ((v > most) | ((v == most) & (at < code)))
    return v if better else most, at if better else code


@njit(cache=True, nogil=True)
def _row(row, above, mine, some, over, x, y, offset, reach, enough, band, near, passes, basins):
    """The passes of a row's pixels to what lies before them, from ``x`` on; the column where there was no room for more.

    Pixels one after the other along a border are of the same two basins: the best of their passes is met once.
    """
    width = mine.size
    none = mine[0] * 0
    nothing, far = row.dtype.type(-np.inf), np.int64(1) << 62
    left, start, begun = mine[x - 1] if x > 0 else none, x, False
    one, other, most, code = none, none, nothing, far
    while x < width:
        node = mine[x]
        if node == 0:
            if begun:
                _count(basins, _basin(left, offset), start, x, y * width + start)
            begun, left = False, node
            x = next_set(mine, some, x)
            continue
        if node != left or not begun:
            if begun:
                _count(basins, _basin(left, offset), start, x, y * width + start)
            begun, start = True, x
        before, after = max(x - 1, 0), min(x + 1, width - 1)
        top, beside = over[x], reach | int(over[x] != 0)
        corner = over[before] if beside | int(left != 0) else node
        further = over[after] if beside | int(mine[after] != 0) else node
        if ((left ^ node) | (top ^ node) | (corner ^ node) | (further ^ node)) != 0:
            if band[PLACE] + enough > band[LIMIT]:
                break
            to_left, to_top = (left != node) & (left != 0), (top != node) & (top != 0)
            to_corner = (corner != node) & (corner != 0) & (x > 0)
            to_further = (further != node) & (further != 0) & (x + 1 < width)
            to = (left if to_left else none) | (top if to_top else none)
            to |= (corner if to_corner else none) | (further if to_further else none)
            several = (to_left & (left != to)) | (to_top & (top != to))
            several |= (to_corner & (corner != to)) | (to_further & (further != to))
            for k in range(4 if several else 1):
                if several:
                    # One of those that differ at a time; of one twice the second time changes nothing.
                    to = corner if k == 0 else top if k == 1 else further if k == 2 else left
                if to == 0 or to == node:
                    continue
                if not ((node == one and to == other) or (node == other and to == one)):
                    if one != other:
                        _meet(one, other, offset, np.float64(most), code, band, near, passes)
                    one, other, most, code = node, to, nothing, far
                value, here = row[x], y * width + x
                most, code = _higher(to_corner & (corner == to), value, above[before], here, here - width - 1, 0, 7, most, code)
                most, code = _higher(to_top & (top == to), value, above[x], here, here - width, 1, 6, most, code)
                most, code = _higher(to_further & (further == to), value, above[after], here, here - width + 1, 2, 5, most, code)
                most, code = _higher(to_left & (left == to), value, row[before], here, here - 1, 3, 4, most, code)
        left = node
        x += 1
    if begun:
        _count(basins, _basin(left, offset), start, x, y * width + start)
    if one != other:
        _meet(one, other, offset, np.float64(most), code, band, near, passes)
    return x


@njit(cache=True, nogil=True)
def _rows(block, nodes, some, last, line, offset, first, reach, band, near, passes, basins):
    """Walk a band, until it ends or its places are taken; then store what is at hand."""
    width, enough = block.shape[1], near.shape[0] + _SPARE
    near[:, A] = -1
    r, x = band[ROW], band[COLUMN]
    while r < band[STOP]:
        above, over = (block[r - 1], nodes[r - 1]) if r else (last[0], line[0])
        x = _row(block[r], above, nodes[r], some[r], over, x, first + r, offset, reach, enough, band, near, passes, basins)
        if x < width:
            break
        r, x = r + 1, 0
    band[ROW], band[COLUMN] = r, x
    for h in range(near.shape[0]):
        if near[h, A] >= 0:
            put(passes[band[PLACE]], near[h])
            band[PLACE] += 1


@njit(cache=True, parallel=True, nogil=True)
def _side_by_side(block, nodes, some, last, line, offset, first, reach, bands, near, passes, basins):
    for t in prange(bands.shape[0]):
        _rows(block, nodes, some, last, line, offset, first, reach, bands[t], near[t], passes, basins)


@njit(cache=True, nogil=True)
def _share(bands, roots, start, stop, width):
    """Share rows among bands, by their width and by the basins they have; which ones changes nothing but time."""
    n, r = bands.shape[0], start
    before = roots[start] * _EACH + start * width
    work = roots[stop] * _EACH + stop * width - before
    for t in range(n):
        bands[t, ROW], bands[t, COLUMN] = r, 0
        while r < stop and (roots[r] * _EACH + r * width - before) * n < work * (t + 1):
            r += 1
        bands[t, STOP] = r if t + 1 < n else stop


@njit(cache=True, nogil=True)
def _together(bands, each, passes, marks):
    """Close the gaps between what bands have stored; whether all of them are through."""
    through, n = True, marks[STORED]
    for t in range(bands.shape[0]):
        for e in range(bands[t, LIMIT] - each, bands[t, PLACE]):
            put(passes[n], passes[e])
            n += 1
        through &= bands[t, ROW] == bands[t, STOP]
    marks[STORED] = n
    return through


@njit(cache=True, nogil=True)
def _strip(
    block, nodes, some, last, line, offset, first, reach, start, stop, roots, bands, near, passes, basins, marks, keys, order, spare
):  # fmt: skip
    """Walk rows of a strip, side by side where they are many; where there is no place left for a round, keep but a forest."""
    size, width, least = passes.shape[0], block.shape[1], near.shape[1] + _SPARE
    # A forest takes up to half of all places: who walks has another half in which to find what the next forest is made of.
    n = max(1, min(bands.shape[0], size // (4 * least))) if (stop - start) * width * TOUCH >= SMALL else 1
    bands = bands[:n]
    _share(bands, roots, start, stop, width)
    through = False
    while not through:
        if size - marks[STORED] < 2 * least * n:
            marks[STORED] = thin(passes, basins, marks[MET], marks[STORED], keys, order, spare)
        each = (size - marks[STORED]) // n
        for t in range(n):
            bands[t, PLACE] = marks[STORED] + t * each
            bands[t, LIMIT] = bands[t, PLACE] + each
        if n > 1:
            _side_by_side(block, nodes, some, last, line, offset, first, reach, bands, near, passes, basins)
        else:
            _rows(block, nodes, some, last, line, offset, first, reach, bands[0], near[0], passes, basins)
        through = _together(bands, each, passes, marks)


@njit(cache=True, nogil=True)
def walk(
    block, nodes, some, offset, first, height, reach, strip, least, largest,
    basins, passes, seam, best, last, marks, roots, line, bands, near, keys, order, spare,
):  # fmt: skip
    """Count the pixels of basins, and gather the passes between them; link basins across strips."""
    rows, width = block.shape
    for x in range(width):
        line[0, x] = seam[x] + 1 if first > 0 else 0
    start = 0
    while start < rows:
        y = first + start
        stop = min(rows, (y // strip + 1) * strip - first)
        if y > 0:
            above = block[start - 1] if start else last[0]
            _join(above, block[start], nodes[start], seam, best, offset, y, reach, least, largest, basins)
        _strip(
            block, nodes, some, last, line, offset, first, reach, start, stop, roots, bands, near, passes, basins, marks,
            keys, order, spare,
        )  # fmt: skip
        if first + stop < height:
            r = stop - 1
            above, over = (block[r - 1], nodes[r - 1]) if r else (last[0], line[0])
            _leave(above, block[r], first + r > 0, nodes[r], over, seam, best, offset, reach, least, largest, basins)
        start = stop
    put(last[0], block[rows - 1])
