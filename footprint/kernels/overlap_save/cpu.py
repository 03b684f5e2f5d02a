"""Correlation by transforms of tiles on the CPU: a tile stays in a core's cache from its pixels to its results."""

from __future__ import annotations

import math

import numpy as np
from numba import prange

from footprint.kernels.common import borders
from footprint.kernels.common.few import few
from footprint.kernels.common.jit import njit
from footprint.kernels.common.vectors import BYTES, apart, await_rows
from footprint.kernels.convolve.cpu import KINDS
from footprint.kernels.convolve.cpu_lines import fill
from footprint.kernels.overlap_save.contract import TILES, Lay, blocks
from footprint.kernels.overlap_save.cpu_lines import halves_back, halves_forward, kept, rows_forward, strip_of, through
from footprint.kernels.overlap_save.cpu_odd import spoil
from footprint.kernels.overlap_save.cpu_tile import (
    BLANK,
    exponents,
    prepare_roots,
    settle,
    store,
    surveyed,
    unsurveyed,
    weigh,
    window_in,
)

_WORK = 200
"""Multiply-adds of direct sums that take as long as a complex number of a tile."""


@njit(cache=True, nogil=True, error_model="numpy")
def _await(image, stored, kind, out, unit, last, each, shapes, g, y0, x0, r, rows):
    """Have rows from ``r`` on of where a tile's results go, and of what the next is made of, brought while it is transformed."""
    apart()
    height, width, tall, columns = shapes
    across, down, right, i0, j0 = g[1], g[6], g[7], g[8], g[9]
    y, x = unit // each * down, unit % each * right
    if min(down, tall - y) > r:
        await_rows(out, (y + r) * columns + x, columns, min(rows, min(down, tall - y) - r), min(right, columns - x))
    if unit + 1 < last:
        y, x = (unit + 1) // each * down + y0 + i0 + r, (unit + 1) % each * right + x0 + j0
        top, left = max(y, 0), max(x, 0)
        some, count = min(y + rows, height) - top, min(x + 2 * across, width) - left
        if some > 0 and count > 0:
            if stored is not None:  # not joined with what follows: Numba leaves out what it asks this of alone
                if kind >= 0:
                    size = 1 if kind < 2 else 2
                    await_rows(stored, (top * width + left) * size, width * size, some, count * size)
                    return
            await_rows(image, top * width + left, width, some, count)


@njit(cache=True, nogil=True, error_model="numpy")
def _units(
    image, stored, kind, weights, out, lost, work, base, shared, first, last, shapes, g, y0, x0, code_y, code_x, cval, sized
):
    """Tiles, each through one block of the mask."""
    height, width, rows, columns = shapes
    tile, across, m1, m2, n1, n2, down, right, i0, j0, taps, wide, taps_x, add = g
    lanes, strip, sides = BYTES // work.itemsize, strip_of(work, tile), (tile, across, 2)
    each, free = (columns + right - 1) // right, base + across // lanes * strip
    roots_y, roots_x, halves = 2 * tile * across, 2 * tile * (across + 1), 2 * tile * (across + 1) + 2 * across
    for unit in range(first, last):
        y, left = unit // each * down, unit % each * right
        tall, count = min(down, rows - y), min(right, columns - left)
        # What a tile has no room for is 0.
        window = tall + taps - 1, count + wide - 1
        held = min(window[0], tile), min(window[1], 2 * across)
        top, begin, to = y + y0 + i0, left + x0 + j0, y * columns + left
        unsurveyed(work, free)
        window_in(image, stored, kind, work, base, sides, held, (height, width), top, begin, code_y, code_x, cval, free)
        most, odd = surveyed(work, base, sides, free)
        size = exponents((most, most), work.itemsize)[0]
        if size != BLANK or math.isnan(shared[0]):
            if size != 0:
                weigh(work, base, sides, size)
            some, others = (min(held[1], across) + lanes - 1) // lanes, (min(count, across) + lanes - 1) // lanes
            # In so many turns as this has, a few rows each: more at once would have to wait for each other.
            turns, r = some + tile // lanes + others, 0
            for turn in range(turns):
                _await(image, stored, kind, out, unit, last, each, shapes, g, y0, x0, r, (tile + turns - 1) // turns)
                r += (tile + turns - 1) // turns
                if turn < some:
                    halves_forward(work, base + turn * strip, 1, shared, roots_y, halves + 2 * lanes * turn, tile, m1, m2)
                elif turn < some + tile // lanes:
                    t = turn - some
                    at, there = base + t * 2 * lanes * lanes, t * across * 2 * lanes
                    through(work, at, 2 * lanes, strip, shared, roots_x, there, n1, n2)
                else:
                    s = turn - some - tile // lanes
                    halves_back(work, base + s * strip, 1, shared, roots_y, halves + 2 * lanes * s, tile, m1, m2)
        store(work, base, out, to, columns, sides, tall, count, size + sized, add, lost, free)
        if odd:
            # The tile has been stored: what it lies in is free for rows of the image.
            for r in range(held[0]):
                fill(work, base + r * 2 * across, held[1], image, height, width, top + r, begin, code_y, code_x, cval)
            numbers = (i0 * taps_x + j0, taps_x, taps, wide)
            spoil(work, base, 2 * across, held, window, weights, numbers, out, to, columns, tall, count, free)


@njit(cache=True, nogil=True, error_model="numpy")
def _prepare(weights, work, shared, g):
    """Roots of unity, and the conjugate of the transform of a block of the mask; returns the exponent of its size."""
    apart()
    tile, across, m1, m2, n1, n2, _, _, i0, j0, taps, wide, taps_x, add = g
    lanes, strip = BYTES // work.itemsize, strip_of(work, tile)
    roots_y, roots_x, turns = 2 * tile * across, 2 * tile * (across + 1), 2 * tile * (across + 1) + 2 * across
    if not add:
        prepare_roots(shared, roots_y, tile, m1, m2)
        prepare_roots(shared, roots_x, across, n1, n2)
        for c in range(across):
            angle, at = math.pi * c / (2 * across), turns + c // lanes * 2 * lanes + c % lanes
            shared[at], shared[at + lanes] = math.cos(angle), math.sin(angle)
    sides, whole, free = (tile, across, 2), (weights.size // taps_x, taps_x), across // lanes * strip
    unsurveyed(work, free)
    window_in(weights, None, -1, work, 0, sides, (taps, wide), whole, i0, j0, 0, 0, work.dtype.type(0), free)
    most, odd = surveyed(work, 0, sides, free)
    exponent = exponents((most, most), work.itemsize)[0]
    if exponent != 0 and exponent != BLANK:
        weigh(work, 0, sides, exponent)
    halves_forward(work, 0, (min(wide, across) + lanes - 1) // lanes, shared, roots_y, turns, tile, m1, m2)
    rows_forward(work, 0, shared, roots_x, tile, n1, n2)
    # Of a weight that is not finite nothing is.
    factor = work.dtype.type(math.nan if odd else 1.0 / (tile * across))
    for t in range(tile // lanes):
        kept(work, t * 2 * lanes * lanes, 2 * lanes, strip, across, shared, t * across * 2 * lanes, factor)
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
        return none, flat.view(np.uint8), KINDS[image.dtype.char]
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
    columns: int,
    steps: tuple[int, int],
    first: tuple[int, int],
    taken: tuple[int, int],
) -> None:
    """Correlate; see ``footprint.kernels.overlap_save.contract`` for what is computed."""
    (threads, size), units = work.shape, Lay(tile, columns, steps).tiles(out.shape)
    flat = *source_of(image, out), weights.reshape(-1), out.reshape(-1), lost.reshape(-1), work.reshape(-1)
    shapes, codes = (*image.shape, *out.shape), (borders.CODES[border_y], borders.CODES[border_x])
    lost[...] = 0
    for number in np.ndindex(*map(blocks, taken, block)):
        done = tuple(int(n) * b for n, b in zip(number, block))
        taps = (min(b, n - d) for b, n, d in zip(block, taken, done))
        places = (a + d for a, d in zip(first, done))
        # Steps are of every block, so that they all add to the same tiles; flat, as what is handed to threads has to be.
        g = tile, columns, *TILES[tile], *TILES[columns], *steps, *places, *taps, weights.shape[1], any(number)
        sized = _prepare(flat[3], flat[6], shared, g)
        numbers = units, shapes, g, y0, x0, *codes, out.dtype.type(cval), sized
        # One thread alone is not handed to a team, which would have to wake for it.
        if threads == 1 or few(units * tile * columns * _WORK):
            _units(*flat, 0, shared, 0, *numbers)
        else:
            _all(*flat, size, threads, shared, *numbers)
    settle(flat[4], flat[5])
