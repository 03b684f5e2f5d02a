"""Direct correlation on the CPU: the image is read where it lies, but for the blocks that reach beyond an edge.

One kernel serves masks of every size: some tap rows at a time go by a block of outputs held in registers, and sums have the
levels that the contract speaks of. Blocks at an edge are computed
whole, from a copy with the border and into a copy, so that every output goes through the same sums wherever it lies.
An image of another dtype than the sums is read once: the rows a strip needs are converted as it goes down.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import prange

from footprint.kernels.common import borders
from footprint.kernels.common.few import few
from footprint.kernels.common.jit import njit
from footprint.kernels.common.vectors import BYTES, alone, apart
from footprint.kernels.convolve.contract import (
    CHAIN,
    GROUP,
    LINE_GROUP,
    LINE_ROWS,
    LINE_TAPS,
    ROWS,
    SPAN,
    STEP,
    STRIP,
    TAP_ROWS,
    TOGETHER,
    line_piece,
    stored_rows,
    stored_strip,
)
from footprint.kernels.convolve.cpu_sums import (
    VECTORS,
    image1,
    image2,
    image3,
    image4,
    image5,
    image_total,
    line1,
    line2,
    line3,
    line4,
    line_total,
)

source_index = njit(cache=True, nogil=True)(borders.source_index)
_stored_rows = njit(cache=True, nogil=True)(stored_rows)


@njit(cache=True, nogil=True)
def _cast(source, target):
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
    _cast(image[start + x + first : start + x + last], line[at + first : at + last])
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
def _chain(columns, taps):
    """Columns of a chain, so that chains are nearly equal."""
    if columns * taps <= CHAIN:
        return columns  # without the divisions, which small masks would feel
    chains = (columns * taps + CHAIN - 1) // CHAIN
    return (columns + chains - 1) // chains


@njit(cache=True, nogil=True)
def blocks(image, at, plane, pitch, weights, mask, first, last, start, stop, out, to, step, count, work, free):
    """Neighbouring blocks of outputs under planes ``first`` to ``last`` and tap columns ``start`` to ``stop`` of the mask.

    An image's mask is of one plane.
    """
    depth, height, width = mask
    parts, block = (height + TAP_ROWS - 1) // TAP_ROWS, VECTORS * BYTES // image.itemsize
    spans = (width + SPAN - 1) // SPAN
    turns = depth * spans * parts
    direct = turns <= GROUP
    target, pace = (out, step) if direct else (work, block)
    for x in range(0, count * block, block):
        goal = to + x if direct else free
        for k in range(first, last):
            turn = (k * spans + start // SPAN) * parts
            for j in range(start, stop, SPAN):
                i, n = 0, min(SPAN, stop - j)
                for part in range(parts):
                    taps, weight = (height + parts - 1 - part) // parts, (k * height + i) * width + j
                    source, fresh, chain = at + k * plane + i * pitch + x + j, turn % GROUP == 0, _chain(n, taps)
                    if taps == 5:
                        image5(image, source, pitch, weights, weight, width, n, chain, target, goal, pace, fresh)
                    elif taps == 4:
                        image4(image, source, pitch, weights, weight, width, n, chain, target, goal, pace, fresh)
                    elif taps == 3:
                        image3(image, source, pitch, weights, weight, width, n, chain, target, goal, pace, fresh)
                    elif taps == 2:
                        image2(image, source, pitch, weights, weight, width, n, chain, target, goal, pace, fresh)
                    else:
                        image1(image, source, pitch, weights, weight, width, n, chain, target, goal, pace, fresh)
                    i += taps
                    turn += 1
                    if not direct and (turn % GROUP == 0 or turn == turns):
                        image_total(work, free, out, to + x, step, turn <= GROUP, turn == turns)


@njit(cache=True, nogil=True)
def _image_edge(image, weights, out, work, base, y, x, rows, columns, shapes, y0, x0, code_y, code_x, cval):
    """One block that reaches beyond an edge, of the image or of the outputs."""
    apart()
    image_height, image_width, height, width, _, step = shapes
    block = VECTORS * BYTES // image.itemsize
    pitch = block + SPAN  # not a literal: Numba would compile what it is handed to once more
    to = base + (ROWS + height - 1) * pitch
    free = to + ROWS * block
    for j in range(0, width, SPAN):
        for r in range(rows + height - 1):
            place, n = (y + y0 + r, x + x0 + j), columns + min(SPAN, width - j) - 1
            fill(work, base + r * pitch, n, image, image_height, image_width, *place, code_y, code_x, cval)
        stop = min(j + SPAN, width)
        blocks(work, base - j, 0, pitch, weights, (1, height, width), 0, 1, j, stop, work, to, block, 1, work, free)
    for q in range(rows):
        start = (y + q) * step + x
        source, target = work[to + q * block : to + q * block + columns], out[start : start + columns]
        for k in range(source.size):
            target[k] = source[k]


@njit(cache=True, nogil=True)
def _image_units(image, weights, out, work, base, first, last, piece, shapes, y0, x0, code_y, code_x, cval):
    """Groups of ROWS rows, strip after strip."""
    apart()
    image_height, image_width, height, width, all_rows, all_columns = shapes
    groups, block = (all_rows + ROWS - 1) // ROWS, VECTORS * BYTES // image.itemsize
    free = base + (ROWS + height - 1) * (block + SPAN) + ROWS * block
    for unit in range(first, last):
        strip, y = unit // groups * piece, unit % groups * ROWS
        rows, stop = min(ROWS, all_rows - y), min(strip + piece, all_columns)
        inside = rows == ROWS and y + y0 >= 0 and y + y0 + ROWS + height - 1 <= image_height
        # The blocks that lie inside with all they need are neighbours.
        first_inside = max(strip, strip + (-x0 - strip + block - 1) // block * block)
        end = min(stop, image_width - width + 1 - x0)
        count = max(0, (end - first_inside) // block) if inside else 0
        if count > 0:
            at, to = (y + y0) * image_width + first_inside + x0, y * all_columns + first_inside
            args = weights, (1, height, width), 0, 1, 0, width, out, to, all_columns, count, work, free
            blocks(image, at, 0, image_width, *args)
        for x in range(strip, stop, block):
            if count == 0 or not first_inside <= x < first_inside + count * block:
                columns = min(block, stop - x)
                _image_edge(image, weights, out, work, base, y, x, rows, columns, shapes, y0, x0, code_y, code_x, cval)


@njit(cache=True, nogil=True)
def _stored_image_units(image, kind, weights, out, work, base, first, last, piece, shapes, y0, x0, code_y, code_x, cval):
    """Groups of ROWS rows, strip after strip, from a copy of the rows they need, converted and with the border."""
    apart()
    image_height, image_width, height, width, all_rows, all_columns = shapes
    groups, block = (all_rows + ROWS - 1) // ROWS, VECTORS * BYTES // work.itemsize
    held, pitch, mask = _stored_rows(height), piece + width - 1, (1, height, width)
    to = base + held * pitch
    free = to + ROWS * block
    before, top, filled = -1, 0, 0
    for unit in range(first, last):
        strip, y = unit // groups * piece, unit % groups * ROWS
        rows, columns, start = min(ROWS, all_rows - y), min(piece, all_columns - strip), y + y0
        if strip != before:
            before, top, filled = strip, start, 0
        if start + ROWS + height - 1 > top + held:
            # What the next rows need, too, goes to the front.
            _cast(work[base + (start - top) * pitch : base + filled * pitch], work[base : base + filled * pitch])
            top, filled = start, filled - (start - top)
        for r in range(filled, start - top + rows + height - 1):
            place = work, base + r * pitch, columns + width - 1, image, kind, image_height, image_width, top + r, strip + x0
            fill_stored(*place, code_y, code_x, cval)
        filled, at = start - top + rows + height - 1, base + (start - top) * pitch
        count = columns // block if rows == ROWS else 0
        if count > 0:
            goal = y * all_columns + strip
            blocks(work, at, 0, pitch, weights, mask, 0, 1, 0, width, out, goal, all_columns, count, work, free)
        for x in range(count * block, columns, block):
            blocks(work, at + x, 0, pitch, weights, mask, 0, 1, 0, width, work, to, block, 1, work, free)
            for q in range(rows):
                goal = (y + q) * all_columns + strip + x
                for k in range(min(block, columns - x)):
                    out[goal + k] = work[to + q * block + k]


@njit(cache=True, nogil=True)
def line_blocks(image, at, weights, out, to, columns, work, edge):
    """Neighbouring blocks of outputs of a row; ``edge`` is where the last one goes that is not whole.

    Of the taps, a vector's length apart, the first columns have one more than the others. Few taps go by some blocks before the
    next ones do: what it takes to begin is not paid for every block.
    """
    apart()
    lanes, free = BYTES // image.itemsize, edge + STEP
    whole, more, block = weights.size // lanes, weights.size % lanes, LINE_ROWS * lanes
    turns = ((whole + LINE_TAPS) // LINE_TAPS if more else 0) + (whole + LINE_TAPS - 1) // LINE_TAPS
    direct, x = turns <= LINE_GROUP, 0
    while x < columns:
        many = min(TOGETHER if direct else 1, (columns - x) // block)
        sums, place = (out, to + x) if many > 0 else (work, edge)
        turn, (target, goal) = 0, (sums, place) if direct else (work, free)
        for side in range(2):
            column, count, height = (more, lanes - more, whole) if side else (0, more, whole + 1)
            parts, i = (height + LINE_TAPS - 1) // LINE_TAPS if count > 0 else 0, 0
            for part in range(parts):
                taps, first = (height + parts - 1 - part) // parts, i * lanes + column
                how = first, count, _chain(count, taps), target, goal, turn % LINE_GROUP == 0, max(many, 1)
                if taps == 4:
                    line4(image, at + x + first, weights, *how)
                elif taps == 3:
                    line3(image, at + x + first, weights, *how)
                elif taps == 2:
                    line2(image, at + x + first, weights, *how)
                else:
                    line1(image, at + x + first, weights, *how)
                i += taps
                turn += 1
                if not direct and (turn % LINE_GROUP == 0 or turn == turns):
                    line_total(work, free, sums, place, lanes, turn <= LINE_GROUP, turn == turns)
        if many == 0:
            for k in range(columns - x):
                out[to + x + k] = work[edge + k]
        x += max(many, 1) * block


@njit(cache=True, nogil=True)
def _line_units(image, weights, out, work, base, first, last, piece, shapes, y0, x0, code_y, code_x, cval):
    """Pieces of rows."""
    apart()
    image_height, image_width, _, width, _, all_columns = shapes
    across, block, edge = (all_columns + piece - 1) // piece, LINE_ROWS * BYTES // image.itemsize, base + piece + width - 1
    for unit in range(first, last):
        y, x = unit // across, unit % across * piece
        columns, row, left, to = min(piece, all_columns - x), y + y0, x + x0, y * all_columns + x
        inside = 0 <= row < image_height and left >= 0 and left + columns + width - 1 <= image_width
        if inside and columns % block == 0:
            line_blocks(image, row * image_width + left, weights, out, to, columns, work, edge)
        else:
            fill(work, base, columns + width - 1, image, image_height, image_width, row, left, code_y, code_x, cval)
            line_blocks(work, base, weights, out, to, columns, work, edge)


@njit(cache=True, nogil=True)
def _stored_line_units(image, kind, weights, out, work, base, first, last, piece, shapes, y0, x0, code_y, code_x, cval):
    """Pieces of rows, from a copy of each, converted and with the border."""
    apart()
    image_height, image_width, _, width, _, all_columns = shapes
    across, edge = (all_columns + piece - 1) // piece, base + piece + width - 1
    for unit in range(first, last):
        y, x = unit // across, unit % across * piece
        columns = min(piece, all_columns - x)
        place = work, base, columns + width - 1, image, kind, image_height, image_width, y + y0, x + x0
        fill_stored(*place, code_y, code_x, cval)
        line_blocks(work, base, weights, out, y * all_columns + x, columns, work, edge)


@njit(cache=True, parallel=True, nogil=True)
def _images(image, weights, out, work, size, threads, units, piece, shapes, y0, x0, code_y, code_x, cval):
    for t in prange(threads):
        first, last = units * t // threads, units * (t + 1) // threads
        _image_units(image, weights, out, work, t * size, first, last, piece, shapes, y0, x0, code_y, code_x, cval)


@njit(cache=True, parallel=True, nogil=True)
def _lines(image, weights, out, work, size, threads, units, piece, shapes, y0, x0, code_y, code_x, cval):
    for t in prange(threads):
        first, last = units * t // threads, units * (t + 1) // threads
        _line_units(image, weights, out, work, t * size, first, last, piece, shapes, y0, x0, code_y, code_x, cval)


@njit(cache=True, parallel=True, nogil=True)
def _stored_images(image, kind, weights, out, work, size, threads, units, piece, shapes, y0, x0, code_y, code_x, cval):
    for t in prange(threads):
        first, last = units * t // threads, units * (t + 1) // threads
        _stored_image_units(image, kind, weights, out, work, t * size, first, last, piece, shapes, y0, x0, code_y, code_x, cval)


@njit(cache=True, parallel=True, nogil=True)
def _stored_lines(image, kind, weights, out, work, size, threads, units, piece, shapes, y0, x0, code_y, code_x, cval):
    for t in prange(threads):
        first, last = units * t // threads, units * (t + 1) // threads
        _stored_line_units(image, kind, weights, out, work, t * size, first, last, piece, shapes, y0, x0, code_y, code_x, cval)


# By which `fill_stored` knows what bytes are.
KINDS = {"bool": 0, "uint8": 0, "int8": 1, "uint16": 2, "int16": 3}
# By whether the image is read as it is stored, and whether the mask is a single row: alone, and in threads.
_LOOPS: dict[tuple[bool, bool], tuple[Any, Any]] = {
    (False, False): (_image_units, _images),
    (False, True): (_line_units, _lines),
    (True, False): (_stored_image_units, _stored_images),
    (True, True): (_stored_line_units, _stored_lines),
}


def convolve(
    image: np.ndarray,
    weights: np.ndarray,
    out: np.ndarray,
    work: np.ndarray,
    *,
    y0: int,
    x0: int,
    border_y: str,
    border_x: str,
    cval: float,
) -> None:
    """Correlate; see ``footprint.kernels.convolve.contract`` for what is computed."""
    shapes = (*image.shape, *weights.shape, *out.shape)
    rows, columns, (threads, size) = shapes[4], shapes[5], work.shape
    line, stored = shapes[2] == 1, image.dtype != out.dtype
    piece, tall = (line_piece(columns), 1) if line else (stored_strip(columns) if stored else STRIP, ROWS)
    units = -(-rows // tall) * -(-columns // piece)
    source = (image.reshape(-1).view(np.uint8), KINDS[image.dtype.name]) if stored else (image.reshape(-1),)
    flat = *source, weights.reshape(-1), out.reshape(-1), work.reshape(-1)
    numbers = piece, shapes, y0, x0, borders.CODES[border_y], borders.CODES[border_x], cval
    alone, together = _LOOPS[stored, line]
    if few(out.size * weights.size):
        alone(*flat, 0, 0, units, *numbers)
    else:
        together(*flat, size, threads, units, *numbers)
