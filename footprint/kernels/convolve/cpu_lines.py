"""Lines of an image on the CPU: copied with what lies beyond their ends, and correlated with a mask of a single row."""

from __future__ import annotations

import numpy as np
from numba import prange

from footprint.kernels.common import borders
from footprint.kernels.common.jit import njit
from footprint.kernels.common.vectors import BYTES, alone, apart
from footprint.kernels.convolve.contract import (
    CHAIN,
    LINE_DIRECT,
    LINE_GROUP,
    LINE_HELD,
    LINE_ROWS,
    STEP,
    row_pieces,
)
from footprint.kernels.convolve.cpu_sums import FEW_WHOLE, LINE_TAPS, few0, few1, few2, line_sums, row_total

_row_pieces = njit(cache=True, nogil=True)(row_pieces)
source_index = njit(cache=True, nogil=True)(borders.source_index)


@njit(cache=True, nogil=True)
def cast(source, target):
    """Copy elements as another dtype."""
    alone()
    for k in range(source.size):
        target[k] = source[k]


@njit(cache=True, nogil=True)
def fill(line, at, count, image, height, width, y, x, code_y, code_x, cval):
    """Copy ``count`` elements of row ``y`` from column ``x`` on, both of which may lie outside."""
    apart()
    row = source_index(y, height, code_y)
    first = min(max(-x, 0), count) if row >= 0 else count
    last = max(first, min(width - x, count))
    start = row * width
    # From 0: an index that might be negative would cost a test an element, and all vector instructions.
    cast(image[start + x + first : start + x + last], line[at + first : at + last])
    for i in range(first + count - last):
        k = i if i < first else i - first + last
        column = source_index(x + k, width, code_x) if row >= 0 else -1
        line[at + k] = image[start + column] if column >= 0 else cval


@njit(cache=True, nogil=True)
def fill_stored(line, at, count, image, kind, height, width, y, x, code_y, code_x, cval):
    """The same of an image that is given as bytes: one loop over units then serves every dtype."""
    apart()
    if kind == 0:
        fill(line, at, count, image, height, width, y, x, code_y, code_x, cval)
    elif kind == 1:
        fill(line, at, count, image.view(np.int8), height, width, y, x, code_y, code_x, cval)
    elif kind == 2:
        fill(line, at, count, image.view(np.uint16), height, width, y, x, code_y, code_x, cval)
    else:
        fill(line, at, count, image.view(np.int16), height, width, y, x, code_y, code_x, cval)


@njit(cache=True, nogil=True)
def chained(columns, taps):
    """Columns of a chain, so that chains are nearly equal."""
    if columns * taps <= CHAIN:
        return columns  # without the divisions, which small masks would feel
    chains = (columns * taps + CHAIN - 1) // CHAIN
    return (columns + chains - 1) // chains


@njit(cache=True, nogil=True)
def line_blocks(image, at, weights, out, to, columns, work, edge):
    """Neighbouring blocks of outputs of a row; ``edge`` is where the last one goes that is not whole.

    Of many taps a group of chains goes by some blocks before the next ones do: what it takes to begin is not paid for every block.
    """
    apart()
    lanes, free = BYTES // image.itemsize, edge + STEP
    longest, block = CHAIN * LINE_GROUP - 1, LINE_ROWS * lanes
    turns, x = (weights.size + longest - 1) // longest, 0
    while x < columns:
        # What goes by once need not stay near.
        many = (columns - x) // block if turns == 1 else min(LINE_HELD, (columns - x) // block)
        sums, place, at_once = (out, to + x, many) if many > 0 else (work, edge, 1)
        first = 0
        for turn in range(turns):
            # The first sums are the totals themselves.
            target, goal, leap = (sums, place, block) if turn == 0 else (work, free, 2 * block)
            taps = weights.size if turns == 1 else (weights.size + turns - 1 - turn) // turns
            whole, more = taps // lanes, taps % lanes
            if whole > FEW_WHOLE:
                # Columns of a chain, all, a half or a third: short rows would feel it divided out.
                room = CHAIN * lanes * ((whole + LINE_TAPS - 1) // LINE_TAPS)
                pace = lanes if lanes * taps <= room else lanes // 2 if lanes // 2 * taps <= room else (lanes + 2) // 3
                line_sums(image, at + x + first, weights, first, whole, more, pace, target, goal, leap, at_once)
            elif whole == 2:
                few2(image, at + x, weights, more, target, goal, at_once)
            elif whole == 1:
                few1(image, at + x, weights, more, target, goal, at_once)
            else:
                few0(image, at + x, weights, more, target, goal, at_once)
            first += taps
            if turn > 0:
                row_total(work, free, sums, place, turn == 1, turn == turns - 1, at_once)
        if many == 0:
            for k in range(columns - x):
                out[to + x + k] = work[edge + k]
        x += max(many, 1) * block


@njit(cache=True, nogil=True)
def piece_of(out, unit, piece, columns, lanes):
    """Row, first column and columns, which may be none, of one of the `row_pieces` of a row of results.

    Of rows in several pieces all but the first piece begin where a vector does in memory: a store across two lines of the cache
    takes as long as two.
    """
    across = _row_pieces(columns, piece)
    if across == 1:
        return unit, 0, columns
    y, x = unit // across, unit % across * piece
    x -= (out.ctypes.data // out.itemsize + y * columns) % lanes
    return y, max(x, 0), min(x + piece, columns) - max(x, 0)


@njit(cache=True, nogil=True)
def line_units(image, weights, out, work, base, first, last, piece, shapes, y0, x0, code_y, code_x, cval):
    """Pieces of rows; neighbouring ones go by as one where the row lies, and blocks that reach beyond an end from copies."""
    apart()
    image_height, image_width, _, width, _, all_columns = shapes
    lanes, across, unit = BYTES // image.itemsize, _row_pieces(all_columns, piece), first
    block, edge = LINE_ROWS * lanes, base + piece + width - 1
    while unit < last:
        y, begin, end = unit, 0, all_columns
        left = (block - 1 - x0) // block * block if x0 < 0 else 0
        if across > 1:
            y, begin, _ = piece_of(out, unit, piece, all_columns, lanes)
            unit = min(last, y * across + across) - 1
            _, x, columns = piece_of(out, unit, piece, all_columns, lanes)
            end, left = x + columns, max(begin, -x0)
            # Where a vector begins in memory, as pieces do; a row in one piece has no more blocks than it needs.
            left += -(out.ctypes.data // out.itemsize + y * all_columns + left) % lanes
        right = min(end, image_width - width + 1 - x0) if 0 <= y + y0 < image_height else 0
        right -= (right - left) % block
        if right - left < min(LINE_DIRECT * block, end - begin):
            left = right = end
        x = begin
        while x < end:
            to = y * all_columns + x
            if x == left:
                line_blocks(image, (y + y0) * image_width + x + x0, weights, out, to, right - x, work, edge)
                x = right
            else:
                columns = min(piece, (left if x < left else end) - x)
                fill(work, base, columns + width - 1, image, image_height, image_width, y + y0, x + x0, code_y, code_x, cval)
                line_blocks(work, base, weights, out, to, columns, work, edge)
                x += columns
        unit += 1


@njit(cache=True, nogil=True)
def stored_line_units(image, kind, weights, out, work, base, first, last, piece, shapes, y0, x0, code_y, code_x, cval):
    """Pieces of rows, from a copy of each, converted and with the border."""
    apart()
    image_height, image_width, _, width, _, all_columns = shapes
    edge = base + piece + width - 1
    for unit in range(first, last):
        y, x, columns = piece_of(out, unit, piece, all_columns, BYTES // out.itemsize)
        if columns > 0:
            place = work, base, columns + width - 1, image, kind, image_height, image_width, y + y0, x + x0
            fill_stored(*place, code_y, code_x, cval)
            line_blocks(work, base, weights, out, y * all_columns + x, columns, work, edge)


@njit(cache=True, parallel=True, nogil=True)
def lines(image, weights, out, work, size, threads, units, piece, shapes, y0, x0, code_y, code_x, cval):
    """`line_units` in threads."""
    for t in prange(threads):
        first, last = units * t // threads, units * (t + 1) // threads
        line_units(image, weights, out, work, t * size, first, last, piece, shapes, y0, x0, code_y, code_x, cval)


@njit(cache=True, parallel=True, nogil=True)
def stored_lines(image, kind, weights, out, work, size, threads, units, piece, shapes, y0, x0, code_y, code_x, cval):
    """`stored_line_units` in threads."""
    for t in prange(threads):
        first, last = units * t // threads, units * (t + 1) // threads
        stored_line_units(image, kind, weights, out, work, t * size, first, last, piece, shapes, y0, x0, code_y, code_x, cval)
