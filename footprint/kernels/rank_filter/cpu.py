"""The rank filter on the CPU. Of floats the bits are compared, as integers.

Large windows, here: a ring of lines as tall as the window, whose columns are sorted as vectors. Lines are copied with their
borders, so that every pixel is found in the same way.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import prange

from footprint.kernels.common import borders
from footprint.kernels.common.few import few
from footprint.kernels.common.jit import njit
from footprint.kernels.common.vectors import BYTES, apart
from footprint.kernels.rank_filter.contract import FEW_ROWS, MOST, ROWS, at_once, keys, lines, shift, strip
from footprint.kernels.rank_filter.cpu_chosen import chosen_all, chosen_units
from footprint.kernels.rank_filter.cpu_lines import line
from footprint.kernels.rank_filter.cpu_small import small_all, small_units
from footprint.kernels.rank_filter.cpu_vectors import columns, merged
from footprint.kernels.rank_filter.networks import operations, picked


@njit(cache=True, nogil=True)
def _units(image, out, work, base, step, unit, stop, shapes, rows, piece, y0, x0, filling, tall, wide, many, rest, real):
    """Bands of rows of strips of planes."""
    apart()
    height, width, out_height, out_width = shapes
    bands, strips = (out_height + rows - 1) // rows, (out_width + piece - 1) // piece
    kh, kw, lanes = len(tall), len(wide), BYTES // image.itemsize
    last = base + kh * step
    ranked = last + step
    while unit < stop:
        plane, left = unit // (bands * strips), unit // bands % strips * piece
        top = unit % bands * rows
        start, count = plane * height * width, min(piece, out_width - left)
        whole, need = count // lanes * lanes, count + kw - 1
        for r in range(kh - 1):
            place = (top + y0 + r, left + x0)
            line(work, base + r * step, need, image, start, height, width, *place, *filling, real)
        for y in range(top, min(top + rows, out_height)):
            # The rows of a window need be in no order.
            place = (y + y0 + kh - 1, left + x0)
            line(work, base + (y - top + kh - 1) % kh * step, need, image, start, height, width, *place, *filling, real)
            columns(work, base, step, need, ranked, tall, wide, many, rest)
            to = (plane * out_height + y) * out_width + left
            merged(work, ranked, step, whole, out, to, tall, wide, many, rest, real)
            if whole < count:
                merged(work, ranked + whole, step, count - whole, work, last, tall, wide, many, rest, real)
                source, target = work[last : last + count - whole], out[to + whole : to + count]
                for k in range(source.size):
                    target[k] = source[k]
        unit += 1


@njit(cache=True, parallel=True, nogil=True)
def _all(image, out, work, size, threads, units, step, shapes, rows, piece, y0, x0, filling, tall, wide, many, rest, real):
    for t in prange(threads):
        first, last = units * t // threads, units * (t + 1) // threads
        how = (shapes, rows, piece, y0, x0, filling, tall, wide, many, rest, real)
        _units(image, out, work, t * size, step, first, last, *how)


def _number(number: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """A number as part of the types, so that Numba makes a function for each: the lengths of two tuples, neither empty."""
    return (0,) * (number // MOST + 1), (0,) * (number % MOST + 1)


def _filling(dtype: np.dtype, border_y: str, border_x: str, cval: float) -> tuple[Any, ...]:
    """What lies outside, the constant as it is stored, and how floats become what they are compared as."""
    kind = np.dtype(keys(dtype.str))
    value, less = np.asarray(cval).astype(dtype).view(kind)[()], shift(dtype.itemsize) if dtype.kind == "f" else 0
    return borders.CODES[border_y], borders.CODES[border_x], value, less, (1 << 8 * kind.itemsize - (kind.kind == "i")) - 1


def _blocks(out: np.ndarray, threads: int, most: int) -> tuple[int, int, int]:
    """Rows and columns of a block, so many rows at most, and how many blocks there are."""
    planes, height, width = out.shape
    rows, across = max(min(most, -(-height // threads)), 1), strip(width, out.itemsize)
    return rows, across, planes * -(-height // rows) * -(-width // across)


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
    (threads, size), kind = work.shape, keys(image.dtype.str)
    rows, across, units = _blocks(out, threads, FEW_ROWS if at_once(tall, wide) else ROWS)
    filling = _filling(image.dtype, border_y, border_x, cval)
    window = (0,) * tall, (0,) * wide, *_number(rank), (0,) * (1 + (image.dtype.kind == "f"))
    how = (*image.shape[1:], *out.shape[1:]), rows, across, y0, x0, filling, *window
    flat, step = (image.view(kind).reshape(-1), out.view(kind).reshape(-1), work.reshape(-1)), size // lines(tall, wide)
    alone, together = (small_units, small_all) if at_once(tall, wide) else (_units, _all)
    if few(operations(tall, wide, rank) * out.nbytes // 8):
        alone(*flat, 0, step, 0, units, *how)
    else:
        together(*flat, size, threads, units, step, *how)


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
    rows, across, units = _blocks(out, threads, ROWS)
    shapes = *image.shape[1:], *out.shape[1:], tall, wide, y0, x0
    how = shapes, rows, across, _filling(image.dtype, border_y, border_x, cval), *_number(count), *_number(rank)
    real = (0,) * (1 + (image.dtype.kind == "f"))
    flat = image.view(kind).reshape(-1), places.reshape(-1), out.view(kind).reshape(-1), work.reshape(-1)
    step = size // (2 * tall + 1)
    if few(picked(count, rank).operations * out.nbytes // 8):
        chosen_units(*flat, 0, step, 0, units, *how, real)
    else:
        chosen_all(*flat, size, threads, units, step, *how, real)
