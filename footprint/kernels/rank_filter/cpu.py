"""The rank filter on the CPU. Of floats the bits are compared, as integers.

In every row the part of each window is sorted; windows on top of each other share what the rows they have in common leave possible.
Small windows inside the image read its rows where they lie, and what the vectors at both sides need is copied with the borders.
Elsewhere, and for large windows, what is sorted is kept in a ring that has one row more than a window.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import prange

from footprint.kernels.common import borders
from footprint.kernels.common.few import few
from footprint.kernels.common.jit import njit
from footprint.kernels.common.vectors import BYTES, alone, apart
from footprint.kernels.rank_filter.contract import AT_ONCE, MOST, ROWS, SMALL, VECTOR, keys, ring_bytes, shift, side_pitch, strip
from footprint.kernels.rank_filter.cpu_chosen import chosen_all, chosen_units
from footprint.kernels.rank_filter.cpu_lines import line, source_index
from footprint.kernels.rank_filter.cpu_vectors import paired, ranked, straight
from footprint.kernels.rank_filter.networks import kept, operations, picked

_side_pitch = njit(cache=True, nogil=True)(side_pitch)


@njit(cache=True, nogil=True)
def _ring(image, out, work, base, held, at, top, bottom, left, right, filling, tall, wide, many, rest, real):
    """Windows of some rows and columns, wherever they reach: every row is sorted once, and makes results of two rows at a time."""
    apart()
    (start, to, pitch, height, width, y0, x0), (size, piece) = at, held
    kh, kw, lanes = len(tall), len(wide), BYTES // image.itemsize
    raw, rows = base + (kh + 1) * size, bottom - top
    for begin in range(left, right, piece):
        columns, x = min(piece, right - begin), begin + x0
        # Narrower than a vector, results are made apart.
        count, narrow = max(columns, lanes), columns < lanes
        for r in range(rows + kh - 1):
            row = source_index(top + r + y0, height, filling[0])
            source, place = work, raw
            if len(real) == 1 and row >= 0 and x >= 0 and x + count + kw - 1 <= width:
                source, place = image, start + row * width + x
            else:
                line(work, raw, columns + kw - 1, image, start, height, width, top + r + y0, x, *filling, real)
            ranked(source, place, count, 2 * width, work, base + r % (kh + 1) * size, tall, wide, many, rest)
            y, single = r - kh, r == rows + kh - 2 and rows % 2 == 1
            if single or (y >= 0 and y % 2 == 0):
                y += single
                goal = to + (top + y) * pitch + begin
                target, place, step = (work, raw, lanes) if narrow else (out, goal, 0 if single else pitch)
                paired(work, base, size, y % (kh + 1), count, target, place, step, tall, wide, many, rest, real)
                for q in range(2 - single if narrow else 0):
                    for k in range(columns):
                        out[goal + q * pitch + k] = work[raw + q * lanes + k]


@njit(cache=True, nogil=True)
def _inside(image, begin, pitch, vectors, rows, out, to, out_pitch, tall, wide, many, rest, real):
    """Windows inside the image, of `AT_ONCE` rows or more: the last group of rows overlaps the one before it."""
    apart()
    for turn in range(1 if rows % AT_ONCE == 0 else 2):
        first, groups = (rows - AT_ONCE, 1) if turn else (0, rows // AT_ONCE)
        place, goal = begin + first * pitch, to + first * out_pitch
        straight(image, place, pitch, vectors, groups, out, goal, out_pitch, tall, wide, many, rest, real)


@njit(cache=True, nogil=True)
def _side(image, work, base, pitch, begin, width, rows, x, need, border, cval):
    """``need`` elements from column ``x`` on of some rows, the first of which begins at ``begin``, with what lies outside."""
    alone()
    first = min(max(-x, 0), need)
    last = max(first, min(width - x, need))
    for r in range(rows):
        source, target = image[begin + r * width + x + first : begin + r * width + x + last], work[base + r * pitch + first :]
        for k in range(source.size):
            target[k] = source[k]
    for i in range(first + need - last):
        k = i if i < first else i - first + last
        column = source_index(x + k, width, border)
        for r in range(rows):
            work[base + r * pitch + k] = image[begin + r * width + column] if column >= 0 else cval


@njit(cache=True, nogil=True)
def _straight(image, out, work, base, at, top, bottom, left, right, filling, tall, wide, many, rest, real):
    """Windows of a strip, of rows whose windows lie inside."""
    apart()
    start, to, pitch, _, width, y0, x0 = at
    kh, kw, lanes = len(tall), len(wide), BYTES // image.itemsize
    begin, goal, rows = start + (top + y0) * width, to + top * pitch, bottom - top
    window, narrow = (tall, wide, many, rest, real), _side_pitch(kw, image.itemsize)
    more = (kw + lanes - 2) // lanes
    # Vectors whose windows begin before the first column; what one vector more needs has to lie inside.
    before = (max(-left - x0, 0) + lanes - 1) // lanes
    some = left + before * lanes
    vectors = max(min((right - some) // lanes, (width - some - x0) // lanes - more), 0)
    _inside(image, begin + some + x0, width, vectors, rows, out, goal + some, pitch, *window)
    # Of few numbers, vectors on either side are as many as it takes: a window may reach over several.
    done = some + vectors * lanes
    for turn in range(before + (max(right - done, 0) + lanes - 1) // lanes):
        x = min(left + turn * lanes if turn < before else done + (turn - before) * lanes, right - lanes)
        _side(image, work, base, narrow, begin, width, rows + kh - 1, x + x0, lanes + kw - 1, filling[1], filling[2])
        _inside(work, base, narrow, 1, rows, out, goal + x, pitch, *window)


@njit(cache=True, nogil=True)
def _units(image, out, work, base, held, unit, stop, shapes, rows, piece, y0, x0, filling, small, tall, wide, many, rest, real):
    """Bands of rows of strips of planes; what is ``held`` of a row in a ring are so many elements for so many results."""
    apart()
    height, width, out_height, out_width = shapes
    bands, strips = (out_height + rows - 1) // rows, (out_width + piece - 1) // piece
    kh, window = len(tall), (tall, wide, many, rest, real)
    while unit < stop:
        plane, left = unit // (bands * strips), unit // bands % strips * piece
        top = unit % bands * rows
        bottom, right = min(top + rows, out_height), min(left + piece, out_width)
        at = plane * height * width, plane * out_height * out_width, out_width, height, width, y0, x0
        first, last = top, top
        if small is not None:  # alone: Numba leaves out what it asks this of
            # As wide as there is room for what reaches beyond a side, whatever vectors this processor has.
            if right - left >= VECTOR // image.itemsize:
                # Rows from `first` to `last` have windows that lie inside.
                first = min(max(top, -y0), bottom)
                last = max(first, min(bottom, height - kh + 1 - y0))
                if last - first >= AT_ONCE:
                    _straight(image, out, work, base, at, first, last, left, right, filling, *window)
                else:
                    first, last = top, top
        for begin, end in ((top, first), (last, bottom)):
            _ring(image, out, work, base, held, at, begin, end, left, right, filling, *window)
        unit += 1


@njit(cache=True, parallel=True, nogil=True)
def _all(image, out, work, each, held, threads, units, shapes, rows, piece, y0, x0, filling, small, tall, wide, many, rest, real):
    for t in prange(threads):
        first, last = units * t // threads, units * (t + 1) // threads
        how = shapes, rows, piece, y0, x0, filling, small, tall, wide, many, rest, real
        _units(image, out, work, t * each, held, first, last, *how)


def _number(number: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """A number as part of the types, so that Numba makes a function for each: the lengths of two tuples, neither empty."""
    return (0,) * (number // MOST + 1), (0,) * (number % MOST + 1)


def _filling(dtype: np.dtype, border_y: str, border_x: str, cval: float) -> tuple[Any, ...]:
    """What lies outside, the constant as it is stored, and how floats become what they are compared as."""
    kind = np.dtype(keys(dtype.str))
    value, less = np.asarray(cval).astype(dtype).view(kind)[()], shift(dtype.itemsize) if dtype.kind == "f" else 0
    return borders.CODES[border_y], borders.CODES[border_x], value, less, (1 << 8 * kind.itemsize - (kind.kind == "i")) - 1


def _blocks(shape: tuple[int, ...], itemsize: int, threads: int) -> tuple[int, int, int]:
    """Rows and columns of a block of such a result, and how many blocks there are."""
    planes, height, width = shape
    rows, across = min(ROWS, -(-height // threads // AT_ONCE) * AT_ONCE), strip(width, itemsize)
    return rows, across, planes * -(-height // rows) * -(-width // across)


def rank_filter(image: np.ndarray, out: np.ndarray, work: np.ndarray, **numbers: Any) -> None:
    """Find ranks; see ``footprint.kernels.rank_filter.contract`` for what is computed."""
    rank_filter_for(image, out, **numbers)(image, out, work)


def rank_filter_for(
    image: Any, out: Any, *, tall: int, wide: int, rank: int, y0: int, x0: int, border_y: str, border_x: str, cval: float
) -> Callable[..., None]:
    """The same for arrays that have the shapes and dtypes of these."""
    dtype = np.dtype(image.dtype)
    kind, itemsize, shape = keys(dtype.str), np.dtype(out.dtype).itemsize, out.shape
    window = (0,) * tall, (0,) * wide, *_number(rank), (0,) * (1 + (dtype.kind == "f"))
    piece = strip(shape[2], itemsize, ring_bytes(tall, wide, rank))
    held = piece * len(kept(wide, tall, rank)), piece
    small = 1 if tall * wide <= SMALL else None
    shapes, how = (*image.shape[1:], *shape[1:]), (y0, x0, _filling(dtype, border_y, border_x, cval), small, *window)
    work_of_all = operations(tall, wide, rank) * out.size * itemsize // 8
    blocks: dict[int, tuple[int, int, int]] = {}

    def launch(image: np.ndarray, out: np.ndarray, work: np.ndarray) -> None:
        threads, each = work.shape
        if threads not in blocks:
            blocks[threads] = _blocks(shape, itemsize, threads)
        rows, across, units = blocks[threads]
        flat = image.view(kind).reshape(-1), out.view(kind).reshape(-1), work.reshape(-1)
        if few(work_of_all):
            _units(*flat, 0, held, 0, units, shapes, rows, across, *how)
        else:
            _all(*flat, each, held, threads, units, shapes, rows, across, *how)

    return launch if out.size else lambda image, out, work: None


def chosen(
    image: np.ndarray,
    places: np.ndarray,
    out: np.ndarray,
    work: np.ndarray,
    *,
    tall: int,
    wide: int,
    count: int,
    rank: int,
    y0: int,
    x0: int,
    border_y: str,
    border_x: str,
    cval: float,
) -> None:
    """Find ranks of some places; see the contract."""
    if out.size == 0:
        return
    (threads, size), kind = work.shape, keys(image.dtype.str)
    rows, across, units = _blocks(out.shape, out.itemsize, threads)
    shapes = *image.shape[1:], *out.shape[1:], tall, wide, y0, x0
    how = shapes, rows, across, _filling(image.dtype, border_y, border_x, cval), *_number(count), *_number(rank)
    real = (0,) * (1 + (image.dtype.kind == "f"))
    flat = image.view(kind).reshape(-1), places.reshape(-1), out.view(kind).reshape(-1), work.reshape(-1)
    step = size // (2 * tall + 1)
    if few(picked(count, rank).operations * out.nbytes // 8):
        chosen_units(*flat, 0, step, 0, units, *how, real)
    else:
        chosen_all(*flat, size, threads, units, step, *how, real)
