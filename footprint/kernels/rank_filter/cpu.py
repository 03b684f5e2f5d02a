"""The rank filter on the CPU. Of floats the bits are compared, as integers.

Large windows, here: a ring of lines as tall as the window, whose columns are sorted as vectors. Lines are copied with their
borders, so that every pixel is found in the same way.
"""

from __future__ import annotations

import numpy as np
from numba import prange

from footprint.kernels.common import borders
from footprint.kernels.common.few import few
from footprint.kernels.common.jit import njit
from footprint.kernels.common.vectors import BYTES, apart
from footprint.kernels.rank_filter.contract import FEW_ROWS, MOST, ROWS, at_once, keys, lines, shift, strip
from footprint.kernels.rank_filter.cpu_small import key, small_all, small_units
from footprint.kernels.rank_filter.cpu_vectors import carry, columns, merged
from footprint.kernels.rank_filter.networks import operations

_source = njit(cache=True, nogil=True)(borders.source_index)


@njit(cache=True, nogil=True)
def _line(lines, at, count, image, start, height, width, y, x, border_y, border_x, cval, less, most, real):
    """``count`` elements of row ``y`` of a plane from column ``x`` on, both of which may lie outside."""
    row = _source(y, height, border_y)
    first = min(max(-x, 0), count) if row >= 0 else count
    last = max(first, min(width - x, count))
    begin = start + row * width + x
    if last - first >= BYTES // lines.itemsize:
        carry(image, begin + first, lines, at + first, last - first, real)
    else:
        for k in range(first, last):
            lines[at + k] = key(image[begin + k], less, most) if len(real) > 1 else image[begin + k]
    for i in range(first + count - last):
        k = i if i < first else i - first + last
        column = _source(x + k, width, border_x) if row >= 0 else -1
        bits = cval
        if column >= 0:
            bits = image[begin - x + column]
        lines[at + k] = key(bits, less, most) if len(real) > 1 else bits


@njit(cache=True, nogil=True)
def _units(image, out, work, base, step, unit, stop, shapes, rows, piece, y0, x0, filling, tall, wide, many, rest, real):
    """Bands of rows of strips of planes."""
    apart()
    height, width, out_height, out_width = shapes
    bands, strips = (out_height + rows - 1) // rows, (out_width + piece - 1) // piece
    kh, kw, lanes = len(tall), len(wide), BYTES // image.itemsize
    line = base + kh * step
    ranked = line + step
    while unit < stop:
        plane, left = unit // (bands * strips), unit // bands % strips * piece
        top = unit % bands * rows
        start, count = plane * height * width, min(piece, out_width - left)
        whole, need = count // lanes * lanes, count + kw - 1
        for r in range(kh - 1):
            place = (top + y0 + r, left + x0)
            _line(work, base + r * step, need, image, start, height, width, *place, *filling, real)
        for y in range(top, min(top + rows, out_height)):
            # The rows of a window need be in no order.
            place = (y + y0 + kh - 1, left + x0)
            _line(work, base + (y - top + kh - 1) % kh * step, need, image, start, height, width, *place, *filling, real)
            columns(work, base, step, need, ranked, tall, wide, many, rest)
            to = (plane * out_height + y) * out_width + left
            merged(work, ranked, step, whole, out, to, tall, wide, many, rest, real)
            if whole < count:
                merged(work, ranked + whole, step, count - whole, work, line, tall, wide, many, rest, real)
                source, target = work[line : line + count - whole], out[to + whole : to + count]
                for k in range(source.size):
                    target[k] = source[k]
        unit += 1


@njit(cache=True, parallel=True, nogil=True)
def _all(image, out, work, size, threads, units, step, shapes, rows, piece, y0, x0, filling, tall, wide, many, rest, real):
    for t in prange(threads):
        first, last = units * t // threads, units * (t + 1) // threads
        how = (shapes, rows, piece, y0, x0, filling, tall, wide, many, rest, real)
        _units(image, out, work, t * size, step, first, last, *how)


def rank_filter(
    image: np.ndarray,
    out: np.ndarray,
    work: np.ndarray,
    *,
    tall: int,
    wide: int,
    rank: int,
    y0: int,
    x0: int,
    border_y: str,
    border_x: str,
    cval: float,
) -> None:
    """Find ranks; see ``footprint.kernels.rank_filter.contract`` for what is computed."""
    if out.size == 0:
        return
    (threads, size), kind, across = work.shape, keys(image.dtype.str), strip(out.shape[2], image.itemsize)
    rows = max(min(FEW_ROWS if at_once(tall, wide) else ROWS, -(-out.shape[1] // threads)), 1)
    units = image.shape[0] * -(-out.shape[1] // rows) * -(-out.shape[2] // across)
    value, less = np.asarray(cval).astype(image.dtype).view(kind)[()], shift(image.itemsize) if image.dtype.kind == "f" else 0
    filling = borders.CODES[border_y], borders.CODES[border_x], value, less, int(np.iinfo(kind).max)
    window = *((0,) * n for n in (tall, wide, rank // MOST + 1, rank % MOST + 1)), (0,) * (1 + (image.dtype.kind == "f"))
    how = (*image.shape[1:], *out.shape[1:]), rows, across, y0, x0, filling, *window
    flat, step = (image.view(kind).reshape(-1), out.view(kind).reshape(-1), work.reshape(-1)), size // lines(tall, wide)
    alone, together = (small_units, small_all) if at_once(tall, wide) else (_units, _all)
    if few(operations(tall, wide, rank) * out.nbytes // 8):
        alone(*flat, 0, step, 0, units, *how)
    else:
        together(*flat, size, threads, units, step, *how)
