"""Direct correlation on the CPU: tiles are copied with their halo, so borders cost nothing in the sums.

One kernel serves masks of every size: some tap rows at a time go by a block of outputs held in registers, and each such part
is summed on its own before it is added, so that float32 keeps its digits under large masks. All outputs of a block are
computed, the useless ones too, so that every output goes through the same sums wherever it lies.
"""

from __future__ import annotations

import numpy as np
from numba import njit, prange

from footprint.kernels.common import borders
from footprint.kernels.common.few import few
from footprint.kernels.common.vectors import BYTES, apart
from footprint.kernels.convolve.contract import GROUPS, LINE_ROWS, PITCH, ROWS, SPAN, TAP_ROWS, WIDTH, line_piece
from footprint.kernels.convolve.cpu_sums import VECTORS, image2, image3, image4, image5, line1, line2, line3, line4

TALL = ROWS * GROUPS
_source = njit(cache=True, nogil=True)(borders.source_index)


@njit(cache=True, nogil=True)
def _fill(line, at, count, image, height, width, y, x, code_y, code_x, cval):
    """Copy ``count`` elements of row ``y`` from column ``x`` on, both of which may lie outside."""
    apart()
    row = _source(y, height, code_y)
    first = min(max(-x, 0), count) if row >= 0 else count
    last = max(first, min(width - x, count))
    start, shift = row * width, x - at
    for k in range(at + first, at + last):
        line[k] = image[start + shift + k]
    for i in range(first + count - last):
        k = i if i < first else i - first + last
        column = _source(x + k, width, code_x) if row >= 0 else -1
        line[at + k] = image[start + column] if column >= 0 else cval


@njit(cache=True, nogil=True)
def _image_part(rows, tile, at, weights, first, width, count, out, to, step, fresh):
    if rows == 5:
        image5(tile, at, weights, first, width, count, out, to, step, fresh)
    elif rows == 4:
        image4(tile, at, weights, first, width, count, out, to, step, fresh)
    elif rows == 3:
        image3(tile, at, weights, first, width, count, out, to, step, fresh)
    else:
        image2(tile, at, weights, first, width, count, out, to, step, fresh)


@njit(cache=True, nogil=True)
def _image_block(tile, at, weights, width, height, j, count, out, to, step):
    """One block of outputs, under the tap columns from ``j`` on."""
    apart()
    parts = (height + TAP_ROWS - 1) // TAP_ROWS
    i = 0
    for part in range(parts):
        rows = (height + parts - 1 - part) // parts
        _image_part(rows, tile, at + i * PITCH, weights, i * width + j, width, count, out, to, step, i + j == 0)
        i += rows


@njit(cache=True, nogil=True)
def _image_tile(image, weights, out, work, base, y, x, piece, shapes, y0, x0, code_y, code_x, cval):
    apart()
    image_height, image_width, height, width, all_rows, all_columns = shapes
    rows, columns = min(TALL, all_rows - y), min(piece, all_columns - x)
    block = VECTORS * BYTES // image.itemsize
    edge = base + (TALL + height - 1) * PITCH
    for j in range(0, width, SPAN):
        count, filled = min(SPAN, width - j), 0
        for top in range(0, rows, ROWS):
            # Row by row as they are needed, so that they are still near.
            for r in range(filled, min(top + ROWS, rows) + height - 1):
                place, n = (y + y0 + r, x + x0 + j), columns + count - 1
                _fill(work, base + r * PITCH, n, image, image_height, image_width, *place, code_y, code_x, cval)
            filled = min(top + ROWS, rows) + height - 1
            for left in range(0, columns, block):
                at, to = base + top * PITCH + left, (y + top) * all_columns + x + left
                if top + ROWS <= rows and left + block <= columns:
                    _image_block(work, at, weights, width, height, j, count, out, to, all_columns)
                    continue
                n, m = min(ROWS, rows - top), min(block, columns - left)
                if j > 0:
                    for k in range(n * m):
                        work[edge + k // m * block + k % m] = out[to + k // m * all_columns + k % m]
                _image_block(work, at, weights, width, height, j, count, work, edge, block)
                for k in range(n * m):
                    out[to + k // m * all_columns + k % m] = work[edge + k // m * block + k % m]


@njit(cache=True, nogil=True)
def _line_part(rows, tile, at, weights, first, stride, count, out, to, fresh):
    if rows == 4:
        line4(tile, at, weights, first, stride, count, out, to, stride, fresh)
    elif rows == 3:
        line3(tile, at, weights, first, stride, count, out, to, stride, fresh)
    elif rows == 2:
        line2(tile, at, weights, first, stride, count, out, to, stride, fresh)
    else:
        line1(tile, at, weights, first, stride, count, out, to, stride, fresh)


@njit(cache=True, nogil=True)
def _line_block(tile, at, weights, out, to):
    """One block of outputs: the first columns of taps have one row more than the others."""
    apart()
    lanes = BYTES // tile.itemsize
    whole, more = weights.size // lanes, weights.size % lanes
    fresh = True
    for side in range(2):
        column, count, height = (more, lanes - more, whole) if side else (0, more, whole + 1)
        parts = (height + LINE_ROWS - 1) // LINE_ROWS if count > 0 else 0
        i = 0
        for part in range(parts):
            rows, first = (height + parts - 1 - part) // parts, i * lanes + column
            _line_part(rows, tile, at + first, weights, first, lanes, count, out, to, fresh)
            i += rows
            fresh = False


@njit(cache=True, nogil=True)
def _line_piece(image, weights, out, work, base, y, x, piece, shapes, y0, x0, code_y, code_x, cval):
    apart()
    image_height, image_width, _, width, _, all_columns = shapes
    columns, block, row, start = min(piece, all_columns - x), ROWS * BYTES // image.itemsize, y + y0, x + x0
    inside = 0 <= row < image_height and start >= 0 and start + columns + width - 1 <= image_width
    source, first = work, base
    if inside and columns % block == 0:
        source, first = image, row * image_width + start
    else:
        _fill(work, base, columns + width - 1, image, image_height, image_width, row, start, code_y, code_x, cval)
    edge, to = base + piece + width - 1, y * all_columns + x
    for left in range(0, columns, block):
        if left + block <= columns:
            _line_block(source, first + left, weights, out, to + left)
        else:
            _line_block(source, first + left, weights, work, edge)
            for k in range(columns - left):
                out[to + left + k] = work[edge + k]


@njit(cache=True, parallel=True, nogil=True)
def _images(image, weights, out, work, size, threads, piece, units, shapes, y0, x0, code_y, code_x, cval):
    across = (shapes[5] + piece - 1) // piece
    for t in prange(threads):
        for unit in range(units * t // threads, units * (t + 1) // threads):
            y, x = unit // across * TALL, unit % across * piece
            _image_tile(image, weights, out, work, t * size, y, x, piece, shapes, y0, x0, code_y, code_x, cval)


@njit(cache=True, parallel=True, nogil=True)
def _lines(image, weights, out, work, size, threads, piece, units, shapes, y0, x0, code_y, code_x, cval):
    across = (shapes[5] + piece - 1) // piece
    for t in prange(threads):
        for unit in range(units * t // threads, units * (t + 1) // threads):
            y, x = unit // across, unit % across * piece
            _line_piece(image, weights, out, work, t * size, y, x, piece, shapes, y0, x0, code_y, code_x, cval)


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
    numbers = shapes, y0, x0, borders.CODES[border_y], borders.CODES[border_x], cval
    flat = image.reshape(-1), weights.reshape(-1), out.reshape(-1), work.reshape(-1)
    line = shapes[2] == 1
    piece, tall = (line_piece(columns), 1) if line else (WIDTH, TALL)
    if not few(out.size * weights.size):
        units = -(-rows // tall) * -(-columns // piece)
        (_lines if line else _images)(*flat, size, threads, piece, units, *numbers)
        return
    one = _line_piece if line else _image_tile
    for y in range(0, rows, tall):
        for x in range(0, columns, piece):
            one(*flat, 0, y, x, piece, *numbers)
