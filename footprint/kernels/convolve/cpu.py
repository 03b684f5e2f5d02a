"""Direct correlation on the CPU: the image is read where it lies, but for the blocks that reach beyond an edge.

One kernel serves masks of every size: some tap rows at a time go by a block of outputs held in registers, and sums have the
levels that the contract speaks of. Blocks at an edge are computed whole, from a copy with the border and into a copy, so that
every output goes through the same sums wherever it lies; of many rows those few columns lie side by side in one block.
An image of another dtype than the sums is read once: the rows a strip needs are converted as it goes down.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import prange

from footprint.kernels.common import borders
from footprint.kernels.common.few import few
from footprint.kernels.common.jit import njit
from footprint.kernels.common.vectors import BYTES, apart
from footprint.kernels.convolve import cpu_sums
from footprint.kernels.convolve.contract import (
    GROUP,
    SPAN,
    STRIP,
    TAP_ROWS,
    TOGETHER,
    in_strips,
    line_piece,
    row_pieces,
    stored_rows,
    stored_strip,
    unit_rows,
)
from footprint.kernels.convolve.cpu_lines import (
    cast,
    chained,
    fill,
    fill_stored,
    line_units,
    lines,
    source_index,
    stored_line_units,
    stored_lines,
)
from footprint.kernels.convolve.cpu_sums import (
    FLAT_ROWS,
    flat1,
    flat2,
    flat3,
    flat4,
    flat5,
    flat_total,
    image2,
    image3,
    image4,
    image5,
    image_total,
)
from footprint.kernels.convolve.cpu_tall import tall_sums
from footprint.kernels.convolve.cpu_thin import DOWN, IMAGE, OWN, ROW, goes_thin, thin_for

_stored_rows = njit(cache=True, nogil=True)(stored_rows)
_unit_rows = njit(cache=True, nogil=True)(unit_rows)
held = njit(cache=True, nogil=True)(cpu_sums.held)


@njit(cache=True, nogil=True)
def blocks(image, at, plane, pitch, weights, mask, first, last, start, stop, out, to, step, count, work, free):
    """Neighbouring blocks of outputs under planes ``first`` to ``last`` and tap columns ``start`` to ``stop`` of the mask.

    An image's mask is of one plane.
    """
    apart()
    depth, height, width = mask
    parts, (rows, vectors) = (height + TAP_ROWS - 1) // TAP_ROWS, held(height, width)
    flat, block = rows == FLAT_ROWS, vectors * BYTES // image.itemsize
    spans = (width + SPAN - 1) // SPAN
    turns = depth * spans * parts
    direct, x = turns <= GROUP, 0
    target, pace, leap = (out, step, block) if direct else (work, block, 2 * rows * block)
    while x < count:
        # What goes by once need not stay near.
        many = count if turns == 1 else min(TOGETHER, count - x)
        goal = to + x * block if direct else free
        for k in range(first, last):
            turn = (k * spans + start // SPAN) * parts
            for j in range(start, stop, SPAN):
                i, n = 0, min(SPAN, stop - j)
                for part in range(parts):
                    taps, weight = (height + parts - 1 - part) // parts, (k * height + i) * width + j
                    source, fresh, chain = at + k * plane + i * pitch + x * block + j, turn % GROUP == 0, chained(n, taps)
                    how = (weights, weight, width, n, chain, target, goal, pace, leap, fresh, many)
                    if flat and taps == 5:
                        flat5(image, source, pitch, *how)
                    elif taps == 5:
                        image5(image, source, pitch, *how)
                    elif flat and taps == 4:
                        flat4(image, source, pitch, *how)
                    elif taps == 4:
                        image4(image, source, pitch, *how)
                    elif flat and taps == 3:
                        flat3(image, source, pitch, *how)
                    elif taps == 3:
                        image3(image, source, pitch, *how)
                    elif flat and taps == 2:
                        flat2(image, source, pitch, *how)
                    elif taps == 2:
                        image2(image, source, pitch, *how)
                    else:
                        flat1(image, source, pitch, *how)
                    i += taps
                    turn += 1
                    if not direct and (turn % GROUP == 0 or turn == turns):
                        end = step, turn <= GROUP, turn == turns, many
                        if flat:
                            flat_total(work, free, out, to + x * block, *end)
                        else:
                            image_total(work, free, out, to + x * block, *end)
        x += many


@njit(cache=True, nogil=True)
def _image_edge(image, weights, out, work, base, y, x, rows, columns, shapes, y0, x0, code_y, code_x, cval):
    """One block that reaches beyond an edge, of the image or of the outputs."""
    apart()
    image_height, image_width, height, width, _, step = shapes
    most, vectors = held(height, width)
    block = vectors * BYTES // image.itemsize
    pitch = block + SPAN  # not a literal: Numba would compile what it is handed to once more
    to = base + (most + height - 1) * pitch
    free = to + most * block
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
def _image_sides(image, weights, out, work, base, y, x, rows, columns, shapes, y0, x0, code_y, code_x, cval):
    """Some columns of many rows: what they need is put side by side as if it were one group's."""
    apart()
    image_height, image_width, height, width, _, step = shapes
    most, vectors = held(height, width)
    block = vectors * BYTES // image.itemsize
    pitch, slot = block + SPAN, columns + width - 1
    to = base + (most + height - 1) * pitch
    free, many = to + most * block, block // slot
    for top in range(y, y + rows, many * most):
        left = rows + y - top
        for r in range(most + height - 2, -1, -1):
            at, count = base + r * pitch, min(many, (left + height - 2 - r) // most + 1)
            # All groups but the first have the row of the group before, which lies further down.
            known = count - 1 if r < height - 1 else 0
            cast(work[at + most * pitch : at + most * pitch + known * slot], work[at + slot : at + slot + known * slot])
            for k in range(1 if known > 0 else count):
                row, to_k = source_index(top + k * most + r + y0, image_height, code_y), at + k * slot
                for i in range(slot):
                    column = source_index(x + x0 + i, image_width, code_x) if row >= 0 else -1
                    work[to_k + i] = image[row * image_width + column] if column >= 0 else cval
        blocks(work, base, 0, pitch, weights, (1, height, width), 0, 1, 0, width, work, to, block, 1, work, free)
        for q in range(min(left, many * most)):
            at, goal = to + q % most * block + q // most * slot, (top + q) * step + x
            for i in range(columns):
                out[goal + i] = work[at + i]


@njit(cache=True, nogil=True)
def _image_units(image, weights, out, work, base, first, last, piece, shapes, y0, x0, code_y, code_x, cval):
    """Some rows of a strip each, in groups."""
    apart()
    image_height, image_width, height, width, all_rows, all_columns = shapes
    most, vectors = held(height, width)
    block = vectors * BYTES // image.itemsize
    tall = _unit_rows(all_columns, width, most, block)
    units = (all_rows + tall - 1) // tall
    free = base + (most + height - 1) * (block + SPAN) + most * block
    border = y0, x0, code_y, code_x, cval
    for unit in range(first, last):
        strip, top = unit // units * piece, unit % units * tall
        stop, bottom = min(strip + piece, all_columns), min(top + tall, all_rows)
        if 0 < all_columns <= min(block + 1 - width, block - 1):
            # A block of its own for each few of such short rows would be mostly empty.
            rows = bottom - top
            _image_sides(image, weights, out, work, base, top, 0, rows, all_columns, shapes, y0, x0, code_y, code_x, cval)
            continue
        # Columns from `left` to `right` have all they need inside, and so have rows from `upper` to `lower`.
        left = max(strip, -x0)
        right = min(stop, image_width - width + 1 - x0)
        lower = upper = top
        for y in range(top, bottom, most):
            rows, start = min(most, bottom - y), y + y0
            inside = rows == most and start >= 0 and start + most + height - 1 <= image_height and right - left >= block
            if inside:
                args = weights, (1, height, width), 0, 1, 0, width, out
                at, to, count = start * image_width + x0, y * all_columns, (right - left) // block
                blocks(image, at + left, 0, image_width, *args, to + left, all_columns, count, work, free)
                if left + count * block < right:
                    # Again, where the last block reaches back: to the same bits. For a literal 1 Numba would compile anew.
                    at, to, once = at + right - block, to + right - block, min(count, 1)
                    blocks(image, at, 0, image_width, *args, to, all_columns, once, work, free)
                upper, lower = (y if lower == upper else upper), y + most
            else:
                for x in range(strip, stop, block):
                    _image_edge(image, weights, out, work, base, y, x, rows, min(block, stop - x), shapes, *border)
        for side in range(2 if lower > upper else 0):
            begin, end = (right, stop) if side else (strip, left)
            if 0 < end - begin <= block + 1 - width:
                _image_sides(image, weights, out, work, base, upper, begin, lower - upper, end - begin, shapes, *border)
            elif begin < end:
                for y in range(upper, lower, most):
                    for x in range(begin, end, block):
                        _image_edge(image, weights, out, work, base, y, x, most, min(block, end - x), shapes, *border)


@njit(cache=True, nogil=True)
def _stored_image_units(image, kind, weights, out, work, base, first, last, piece, shapes, y0, x0, code_y, code_x, cval):
    """Groups of rows, strip after strip, from a copy of the rows they need, converted and with the border."""
    apart()
    image_height, image_width, height, width, all_rows, all_columns = shapes
    most, vectors = held(height, width)
    groups, block = (all_rows + most - 1) // most, vectors * BYTES // work.itemsize
    room, pitch, mask = _stored_rows(height), piece + width - 1, (1, height, width)
    to = base + room * pitch
    free = to + most * block
    before, top, filled = -1, 0, 0
    for unit in range(first, last):
        strip, y = unit // groups * piece, unit % groups * most
        rows, columns, start = min(most, all_rows - y), min(piece, all_columns - strip), y + y0
        if strip != before:
            before, top, filled = strip, start, 0
        if start + most + height - 1 > top + room:
            # What the next rows need, too, goes to the front.
            cast(work[base + (start - top) * pitch : base + filled * pitch], work[base : base + filled * pitch])
            top, filled = start, filled - (start - top)
        for r in range(filled, start - top + rows + height - 1):
            place = work, base + r * pitch, columns + width - 1, image, kind, image_height, image_width, top + r, strip + x0
            fill_stored(*place, code_y, code_x, cval)
        filled, at = start - top + rows + height - 1, base + (start - top) * pitch
        count = columns // block if rows == most else 0
        if count > 0:
            goal = y * all_columns + strip
            blocks(work, at, 0, pitch, weights, mask, 0, 1, 0, width, out, goal, all_columns, count, work, free)
        for x in range(count * block, columns, block):
            blocks(work, at + x, 0, pitch, weights, mask, 0, 1, 0, width, work, to, block, 1, work, free)
            for q in range(rows):
                goal = (y + q) * all_columns + strip + x
                for k in range(min(block, columns - x)):
                    out[goal + k] = work[to + q * block + k]


@njit(cache=True, parallel=True, nogil=True)
def _images(image, weights, out, work, size, threads, units, piece, shapes, y0, x0, code_y, code_x, cval):
    for t in prange(threads):
        first, last = units * t // threads, units * (t + 1) // threads
        _image_units(image, weights, out, work, t * size, first, last, piece, shapes, y0, x0, code_y, code_x, cval)


@njit(cache=True, parallel=True, nogil=True)
def _stored_images(image, kind, weights, out, work, size, threads, units, piece, shapes, y0, x0, code_y, code_x, cval):
    for t in prange(threads):
        first, last = units * t // threads, units * (t + 1) // threads
        _stored_image_units(image, kind, weights, out, work, t * size, first, last, piece, shapes, y0, x0, code_y, code_x, cval)


# By which `fill_stored` knows what bytes are, by dtypes' characters: NumPy takes microseconds to tell a dtype's name.
KINDS = {"?": 0, "B": 0, "b": 1, "H": 2, "h": 3}
# By whether the image is read as it is stored, and whether the mask is a single row: alone, and in threads.
_LOOPS: dict[tuple[bool, bool], tuple[Any, Any]] = {
    (False, False): (_image_units, _images),
    (False, True): (line_units, lines),
    (True, False): (_stored_image_units, _stored_images),
    (True, True): (stored_line_units, stored_lines),
}


def convolve(image: np.ndarray, weights: np.ndarray, out: np.ndarray, work: np.ndarray, **numbers: Any) -> None:
    """Correlate; see ``footprint.kernels.convolve.contract`` for what is computed."""
    convolve_for(image, weights, out, **numbers)(image, weights, out, work)


def convolve_for(
    image: Any, weights: Any, out: Any, *, y0: int, x0: int, border_y: str, border_x: str, cval: float
) -> Callable[..., None]:
    """The same for arrays that have the shapes and dtypes of these: small calls feel what follows from those alone."""
    shapes = (*image.shape, *weights.shape, *out.shape)
    rows, columns = shapes[4:]
    kinds = np.dtype(image.dtype), np.dtype(out.dtype)
    line, stored = shapes[2] == 1, kinds[0] != kinds[1]
    kind = KINDS[kinds[0].char] if stored else OWN
    strips = in_strips(kinds[0].str, kinds[1].str, weights.shape)
    order, taps, made = ROW if line else DOWN if strips else IMAGE, (1, *weights.shape), (1, rows, columns)
    if goes_thin(taps, made, order, kinds[1].itemsize):
        codes = borders.CODES[borders.NONE], borders.CODES[border_y], borders.CODES[border_x]
        return thin_for((1, *image.shape), taps, made, (0, y0, x0), codes, cval, order, kind)
    if strips:
        how: dict[str, Any] = {"y0": y0, "x0": x0, "border_y": border_y, "border_x": border_x, "cval": cval}
        return lambda image, weights, out, work: tall_sums(image[None], weights, out[None], work, **how)
    if line:
        piece, tall = line_piece(columns), 1
    elif stored:
        piece, tall = stored_strip(columns), cpu_sums.held(*weights.shape)[0]
    else:
        piece, (most, vectors) = STRIP, cpu_sums.held(*weights.shape)
        tall = unit_rows(columns, weights.shape[1], most, vectors * BYTES // kinds[1].itemsize)
    units = -(-rows // tall) * (row_pieces(columns, piece) if line else -(-columns // piece))
    numbers = piece, shapes, y0, x0, borders.CODES[border_y], borders.CODES[border_x], cval
    alone, together = _LOOPS[stored, line]
    operations = rows * columns * weights.shape[0] * weights.shape[1]

    def launch(image: np.ndarray, weights: np.ndarray, out: np.ndarray, work: np.ndarray) -> None:
        source = (image.reshape(-1).view(np.uint8), kind) if stored else (image.reshape(-1),)
        flat = *source, weights.reshape(-1), out.reshape(-1), work.reshape(-1)
        if few(operations):
            alone(*flat, 0, 0, units, *numbers)
        else:
            threads, size = work.shape
            together(*flat, size, threads, units, *numbers)

    return launch
