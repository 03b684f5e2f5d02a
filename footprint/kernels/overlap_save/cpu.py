"""Correlation by transforms of tiles on the CPU: two tiles stay in a core's cache from their pixels to their results."""

from __future__ import annotations

import numpy as np
from numba import prange

from footprint.kernels.common import borders
from footprint.kernels.common.few import few
from footprint.kernels.common.jit import njit
from footprint.kernels.common.vectors import BYTES, apart
from footprint.kernels.convolve.cpu import KINDS, fill, fill_stored
from footprint.kernels.overlap_save.contract import GAP, TILES, blocks, pairs
from footprint.kernels.overlap_save.cpu_lines import columns_back, columns_forward, rows_forward, rows_through
from footprint.kernels.overlap_save.cpu_odd import spoil, surveyed
from footprint.kernels.overlap_save.cpu_tile import brought, copied, finish_mask, multiply, prepare_roots, scale, settle, store

_WORK = 200
"""Multiply-adds of direct sums that take as long as a sample of two tiles."""


@njit(cache=True, nogil=True, error_model="numpy")
def _load(image, stored, kind, work, at, tile, place, window, y, x, code_y, code_x, cval, free):
    """A tile of the image, 0 beyond what is needed of it; returns its exponent, and whether something was not finite.

    Of an image that is read as it is stored, ``kind`` is 0 or more, and ``stored`` are its bytes; so one loop over units serves
    every dtype. Beside float64, whose images come as such, it is None, for which Numba leaves them out.
    """
    apart()
    pitch, lanes, (rows, columns), (height, width) = tile + GAP, BYTES // work.itemsize, window, place
    if stored is not None:  # not joined with what follows: Numba leaves out what it asks this of alone
        if kind >= 0:
            for r in range(tile):
                line, count = at + r * pitch, columns if r < rows else 0
                if count > 0:
                    fill_stored(work, line, count, stored, kind, height, width, y + r, x, code_y, code_x, cval)
                work[line + count : line + tile] = 0
            return brought(work, at, pitch, rows, columns, tile)
    if columns >= lanes and y >= 0 and x >= 0 and y + rows <= height and x + columns <= width:
        copied(image, y * width + x, width, work, at, pitch, rows, columns, tile, free)
        return brought(work, at, pitch, rows, columns, tile)
    for r in range(tile):
        line = at + r * pitch
        if r < rows:
            fill(work, line, columns, image, height, width, y + r, x, code_y, code_x, cval)
            work[line + columns : line + tile] = 0
        else:
            work[line : line + tile] = 0
    return brought(work, at, pitch, rows, columns, tile)


@njit(cache=True, nogil=True, error_model="numpy")
def _units(
    image, stored, kind, weights, out, lost, work, base, shared, first, last, shapes, g, y0, x0, code_y, code_x, cval, sized
):
    """Pairs of tiles, each through one block of the mask."""
    height, width, rows, columns = shapes
    tile, n1, n2, down, across, i0, j0, taps, wide, taps_x = g
    pitch, lanes = tile + GAP, BYTES // work.itemsize
    pairs = (columns + 2 * across - 1) // (2 * across)
    plane = tile * pitch
    strip = base + 2 * plane
    spectrum = strip + 2 * lanes * tile
    roots = 2 * tile * tile
    for unit in range(first, last):
        y, left = unit // pairs * down, unit % pairs * 2 * across
        tall = min(down, rows - y)
        counts = (min(across, columns - left), min(across, columns - left - across))
        sizes, odds = (0, 0), (False, False)
        for h in range(2):
            at = base + h * plane
            if counts[h] > 0:
                window = (tall + taps - 1, counts[h] + wide - 1)
                place = y + y0 + i0, left + h * across + x0 + j0
                size, odd = _load(image, stored, kind, work, at, tile, (height, width), window, *place, code_y, code_x, cval, strip)
                sizes, odds = ((size, 0), (odd, False)) if h == 0 else ((sizes[0], size), (odds[0], odd))
            else:
                work[at : at + plane] = 0
        for s in range(tile // lanes):
            columns_forward(work, base, s, strip, spectrum, shared, roots, tile, n1, n2, lanes)
        for t in range(tile // lanes):
            rows_through(work, spectrum, t, shared, roots, tile, n1, n2, lanes)
        for s in range((across + lanes - 1) // lanes):
            columns_back(work, base, s, strip, spectrum, shared, roots, tile, n1, n2, lanes)
        for h in range(2):
            if counts[h] > 0:
                to, at = y * columns + left + h * across, base + h * plane
                add = i0 > 0 or j0 > 0
                store(work, at, pitch, out, to, columns, tall, counts[h], sizes[h] + sized, add, lost, strip)
                if odds[h]:
                    window = (tall + taps - 1, counts[h] + wide - 1)
                    for r in range(window[0]):
                        row = y + y0 + i0 + r, left + h * across + x0 + j0
                        fill(work, at + r * pitch, window[1], image, height, width, *row, code_y, code_x, cval)
                    numbers = (i0 * taps_x + j0, taps_x, taps, wide)
                    spoil(work, at, pitch, window, weights, numbers, out, to, columns, tall, counts[h], strip)


@njit(cache=True, nogil=True, error_model="numpy")
def _prepare(weights, work, shared, g):
    """Roots of unity, and the conjugate of the transform of a block of the mask; returns the exponent of its size."""
    apart()
    tile, n1, n2, _, _, i0, j0, taps, wide, taps_x = g
    pitch, lanes, roots = tile + GAP, BYTES // work.itemsize, 2 * tile * tile
    prepare_roots(shared, roots, tile, n1, n2)
    plane = tile * pitch
    work[: 2 * plane] = 0
    for i in range(taps):
        # One by one: an assignment of slices takes Numba seconds to compile.
        for j in range(wide):
            work[i * pitch + j] = weights[(i0 + i) * taps_x + j0 + j]
    strip = 2 * plane
    spectrum = strip + 2 * lanes * tile
    most, _ = surveyed(work, 0, pitch, taps, tile, strip)
    exponent = scale(most, work.itemsize)
    multiply(work, 0, pitch, taps, wide, exponent)
    for s in range(tile // lanes):
        columns_forward(work, 0, s, strip, spectrum, shared, roots, tile, n1, n2, lanes)
    for t in range(tile // lanes):
        rows_forward(work, spectrum, t, shared, 0, shared, roots, tile, n1, n2, lanes)
    finish_mask(shared, 2 * tile * tile, lanes, work.dtype.type(1.0 / (tile * tile)))
    return exponent


@njit(cache=True, parallel=True, nogil=True, error_model="numpy")
def _all(
    image, stored, kind, weights, out, lost, work, size, threads, shared, units, shapes, g, y0, x0, code_y, code_x, cval, sized
):
    for t in prange(threads):
        first, last = units * t // threads, units * (t + 1) // threads
        args = (shared, first, last, shapes, g, y0, x0, code_y, code_x, cval, sized)
        _units(image, stored, kind, weights, out, lost, work, t * size, *args)


def _source(image: np.ndarray, out: np.ndarray) -> tuple[np.ndarray, np.ndarray | None, int]:
    """An image as `_load` takes it: in the sums' dtype, the bytes of another, and what they are."""
    flat, none = image.reshape(-1), out.reshape(-1)[:0]
    if image.dtype != out.dtype:
        return none, flat.view(np.uint8), KINDS[image.dtype.name]
    return flat, none.view(np.uint8) if out.itemsize == 4 else None, -1


def overlap_save(
    image: np.ndarray,
    weights: np.ndarray,
    out: np.ndarray,
    work: np.ndarray,
    shared: np.ndarray,
    lost: np.ndarray,
    *,
    y0: int,
    x0: int,
    border_y: str,
    border_x: str,
    cval: float,
    tile: int,
    block: tuple[int, int],
) -> None:
    """Correlate; see ``footprint.kernels.overlap_save.contract`` for what is computed."""
    (taps_y, taps_x), (threads, size) = weights.shape, work.shape
    flat = *_source(image, out), weights.reshape(-1), out.reshape(-1), lost.reshape(-1), work.reshape(-1)
    shapes, codes = (*image.shape, *out.shape), (borders.CODES[border_y], borders.CODES[border_x])
    # Of every block, so that they all add to the same tiles.
    down, across = (tile + 1 - n for n in block)
    lost[...] = 0
    for i in range(blocks(taps_y, block[0])):
        for j in range(blocks(taps_x, block[1])):
            i0, j0 = i * block[0], j * block[1]
            taps, wide = min(block[0], taps_y - i0), min(block[1], taps_x - j0)
            g = (tile, *TILES[tile], down, across, i0, j0, taps, wide, taps_x)
            sized = _prepare(flat[3], flat[6], shared, g)
            units = pairs(out.shape, tile, block)
            numbers = units, shapes, g, y0, x0, *codes, out.dtype.type(cval), sized
            if few(units * tile * tile * _WORK):
                _units(*flat, 0, shared, 0, *numbers)
            else:
                _all(*flat, size, threads, shared, *numbers)
    settle(flat[4], flat[5])
