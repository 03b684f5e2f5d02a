"""Correlation by transforms of tiles on the CPU: two tiles stay in a core's cache from their pixels to their results."""

from __future__ import annotations

import numpy as np
from numba import prange

from footprint.kernels.common import borders
from footprint.kernels.common.few import few
from footprint.kernels.common.jit import njit
from footprint.kernels.common.vectors import BYTES, apart
from footprint.kernels.convolve.cpu import KINDS
from footprint.kernels.convolve.cpu_lines import fill
from footprint.kernels.overlap_save.contract import TILES, blocks, pairs
from footprint.kernels.overlap_save.cpu_lines import columns_back, columns_forward, kept, rows_forward, strip_of, through
from footprint.kernels.overlap_save.cpu_odd import spoil
from footprint.kernels.overlap_save.cpu_tile import (
    exponents,
    prepare_roots,
    scale,
    settle,
    store,
    surveyed,
    unsurveyed,
    weigh,
    weigh_both,
    window_in,
)

_WORK = 200
"""Multiply-adds of direct sums that take as long as a sample of two tiles."""


@njit(cache=True, nogil=True, error_model="numpy")
def _units(
    image, stored, kind, weights, out, lost, work, base, shared, first, last, shapes, g, y0, x0, code_y, code_x, cval, sized
):
    """Pairs of tiles, each through one block of the mask."""
    height, width, rows, columns = shapes
    tile, n1, n2, down, across, i0, j0, taps, wide, taps_x = g
    lanes, strip, roots, zero = BYTES // work.itemsize, strip_of(work, tile), 2 * tile * tile, work.dtype.type(0)
    pairs, free = (columns + 2 * across - 1) // (2 * across), base + tile // lanes * strip
    for unit in range(first, last):
        y, left = unit // pairs * down, unit % pairs * 2 * across
        tall = min(down, rows - y)
        counts = (min(across, columns - left), min(across, columns - left - across))
        most, odds = (zero, zero), (False, False)
        for h in range(2):
            at = base + h * lanes
            unsurveyed(work, free)
            window = (tall + taps - 1, counts[h] + wide - 1) if counts[h] > 0 else (0, 0)
            place = y + y0 + i0, left + h * across + x0 + j0
            window_in(image, stored, kind, work, at, tile, window, (height, width), *place, code_y, code_x, cval, free)
            size, odd = surveyed(work, at, tile, free)
            most, odds = ((size, most[1]), (odd, False)) if h == 0 else ((most[0], size), (odds[0], odd))
        sizes = exponents(most, work.itemsize)
        weigh_both(work, base, tile, sizes)
        columns_forward(work, base, tile // lanes, shared, roots, tile, n1, n2)
        for t in range(tile // lanes):
            at = base + t * 2 * lanes * lanes
            through(work, at, 2 * lanes, strip, shared, roots, t * tile * 2 * lanes, n1, n2)
        columns_back(work, base, (across + lanes - 1) // lanes, shared, roots, tile, n1, n2)
        for h in range(2):
            if counts[h] > 0:
                to, add = y * columns + left + h * across, i0 > 0 or j0 > 0
                store(work, base + h * lanes, out, to, columns, tile, tall, counts[h], sizes[h] + sized, add, lost, free)
        for h in range(2):
            if odds[h]:
                # Tiles have been stored: what they lie in is free for rows of the image.
                window, to = (tall + taps - 1, counts[h] + wide - 1), y * columns + left + h * across
                for r in range(window[0]):
                    row = y + y0 + i0 + r, left + h * across + x0 + j0
                    fill(work, base + r * tile, window[1], image, height, width, *row, code_y, code_x, cval)
                numbers = (i0 * taps_x + j0, taps_x, taps, wide)
                spoil(work, base, tile, window, weights, numbers, out, to, columns, tall, counts[h], free)


@njit(cache=True, nogil=True, error_model="numpy")
def _prepare(weights, work, shared, g):
    """Roots of unity, and the conjugate of the transform of a block of the mask; returns the exponent of its size."""
    apart()
    tile, n1, n2, _, _, i0, j0, taps, wide, taps_x = g
    lanes, strip, roots, most = BYTES // work.itemsize, strip_of(work, tile), 2 * tile * tile, work.dtype.type(0)
    prepare_roots(shared, roots, tile, n1, n2)
    work[: tile // lanes * strip] = 0
    for i in range(taps):
        for j in range(wide):
            work[j // lanes * strip + 2 * lanes * i + j % lanes] = weights[(i0 + i) * taps_x + j0 + j]
            most = max(most, abs(weights[(i0 + i) * taps_x + j0 + j]))
    exponent = scale(most, work.itemsize)
    weigh(work, 0, tile, exponent)
    columns_forward(work, 0, tile // lanes, shared, roots, tile, n1, n2)
    rows_forward(work, 0, shared, roots, tile, n1, n2)
    factor = work.dtype.type(1.0 / (tile * tile))
    for t in range(tile // lanes):
        kept(work, t * 2 * lanes * lanes, 2 * lanes, strip, tile, shared, t * tile * 2 * lanes, factor)
    return exponent


@njit(cache=True, parallel=True, nogil=True, error_model="numpy")
def _all(
    image, stored, kind, weights, out, lost, work, size, threads, shared, units, shapes, g, y0, x0, code_y, code_x, cval, sized
):
    for t in prange(threads):
        first, last = units * t // threads, units * (t + 1) // threads
        args = (shared, first, last, shapes, g, y0, x0, code_y, code_x, cval, sized)
        _units(image, stored, kind, weights, out, lost, work, t * size, *args)


def source_of(image: np.ndarray, out: np.ndarray) -> tuple[np.ndarray, np.ndarray | None, int]:
    """An image as `window_in` takes it: in the sums' dtype, the bytes of another, and what they are."""
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
    flat = *source_of(image, out), weights.reshape(-1), out.reshape(-1), lost.reshape(-1), work.reshape(-1)
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
            # One thread alone is not handed to a team, which would have to wake for it.
            if threads == 1 or few(units * tile * tile * _WORK):
                _units(*flat, 0, shared, 0, *numbers)
            else:
                _all(*flat, size, threads, shared, *numbers)
    settle(flat[4], flat[5])
