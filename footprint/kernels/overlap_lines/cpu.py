"""Correlation of signals by transforms of segments on the CPU: two of them stay in a core's cache from samples to results."""

from __future__ import annotations

import cmath
import math

import numpy as np
from numba import prange

from footprint.kernels.common import borders
from footprint.kernels.common.few import few
from footprint.kernels.common.jit import njit
from footprint.kernels.common.vectors import BYTES, apart, await_rows
from footprint.kernels.convolve.cpu_lines import fill
from footprint.kernels.overlap_lines.contract import pairs
from footprint.kernels.overlap_save.contract import TILES, blocks
from footprint.kernels.overlap_save.cpu import source_of
from footprint.kernels.overlap_save.cpu_dft import times
from footprint.kernels.overlap_save.cpu_lines import columns_back, columns_forward, kept, rows_forward, strip_of, through_beside
from footprint.kernels.overlap_save.cpu_odd import spoil
from footprint.kernels.overlap_save.cpu_tile import (
    exponents,
    line_in,
    prepare_roots,
    rows_in,
    scale,
    settle,
    store,
    surveyed,
    unsurveyed,
    weigh,
    weigh_both,
)

_WORK = 200
"""Multiply-adds of direct sums that take as long as a sample of two segments."""
_AGAIN = 16
"""Roots of unity that are products of the one before, until one is computed anew."""


@njit(cache=True, nogil=True, error_model="numpy")
def _segment_in(image, stored, kind, work, to, tile, needed, sizes, y, x, code_y, code_x, cval, free):
    """What is needed of a segment to one part of a tile, row by row, and 0 behind it."""
    apart()
    (height, width), lanes, whole = sizes, BYTES // work.itemsize, needed // tile
    first, line = 0, free + BYTES // work.itemsize
    if kind < 0 and 0 <= y < height and x >= 0 and x + whole * tile <= width:
        first = whole
        rows_in(image, y * width + x, tile, work, to, (tile, tile, 1), whole, whole, free)
    for r in range(first, tile):
        count = min(max(needed - r * tile, 0), tile)
        if count > 0:
            line_in(image, stored, kind, work, line, count, height, width, y, x + r * tile, code_y, code_x, cval)
            work[line + count : line + tile] = 0
        rows_in(work, line, 0, work, to + 2 * lanes * r, (tile, tile, 1), min(count, 1), 1, free)


@njit(cache=True, nogil=True, error_model="numpy")
def _turn(work, at, tile, shared, twiddles):
    """Between the transforms of columns and of rows: a line of vectors."""
    apart()
    lanes, strip = BYTES // work.itemsize, strip_of(work, tile)
    for s in range(tile // lanes):
        times(work, at + s * strip, shared, twiddles + s * 2 * lanes * lanes, lanes)


@njit(cache=True, nogil=True, error_model="numpy")
def _await(image, following, last, each, shapes, g, y0, x0, r, count):
    """Have samples from ``r`` on of what the following pair is made of brought while this one is transformed."""
    apart()
    (height, width, _), across, j0 = shapes, g[3], g[4]
    y, x = following // each + y0, following % each * 2 * across + x0 + j0 + r
    some = min(x + count, width) - max(x, 0)
    if following < last and 0 <= y < height and some > 0 and image.size > 0:
        await_rows(image, y * width + max(x, 0), 0, 1, some)


@njit(cache=True, nogil=True, error_model="numpy")
def _units(
    image, stored, kind, weights, out, lost, work, base, shared, first, last, shapes, g, y0, x0, code_y, code_x, cval, sized
):
    """Pairs of segments, each through one block of the mask."""
    height, width, columns = shapes
    tile, n1, n2, across, j0, wide = g
    lanes, strip, zero = BYTES // work.itemsize, strip_of(work, tile), work.dtype.type(0)
    each, free, line = (columns + 2 * across - 1) // (2 * across), base + tile // lanes * strip, 2 * lanes * tile
    roots, twiddles = 2 * tile * tile, 2 * tile * tile + 2 * tile
    for unit in range(first, last):
        y, left = unit // each, unit % each * 2 * across
        counts = (min(across, columns - left), min(across, columns - left - across))
        most, odds = (zero, zero), (False, False)
        for h in range(2):
            at, needed = base + h * lanes, counts[h] + wide - 1 if counts[h] > 0 else 0
            unsurveyed(work, free)
            place = y + y0, left + h * across + x0 + j0
            _segment_in(image, stored, kind, work, at, tile, needed, (height, width), *place, code_y, code_x, cval, free)
            size, odd = surveyed(work, at, (tile, tile, 1), free)
            most, odds = ((size, most[1]), (odd, False)) if h == 0 else ((most[0], size), (odds[0], odd))
        sizes = exponents(most, work.itemsize)
        weigh_both(work, base, (tile, tile, 1), sizes)
        many = tile // lanes
        share = (2 * tile * tile + 3 * many - 1) // (3 * many)
        for turn in range(3 * many):
            _await(image, unit + 1, last, each, shapes, g, y0, x0, turn * share, share)
            t = turn % many
            at = base + t * 2 * lanes * lanes
            if turn < many:
                columns_forward(work, base + t * strip, 1, shared, roots, tile, n1, n2)
            elif turn < 2 * many:
                through_beside(work, at, 2 * lanes, strip, shared, roots, t * line, n1, n2, twiddles + t * line)
            else:
                columns_back(work, base + t * strip, 1, shared, roots, tile, n1, n2)
        for h in range(2):
            if counts[h] > 0:
                to, at, whole = y * columns + left + h * across, base + h * lanes, counts[h] // tile
                exponent, add, rest = sizes[h] + sized, j0 > 0, counts[h] - counts[h] // tile * tile
                store(work, at, out, to, tile, (tile, tile, 1), whole, tile, exponent, add, lost, free)
                at, to = at + 2 * lanes * whole, to + whole * tile
                store(work, at, out, to, tile, (tile, tile, 1), min(rest, 1), rest, exponent, add, lost, free)
        for h in range(2):
            if odds[h]:
                # Segments have been stored: what they lie in is free for the signal, and for what it reaches.
                needed, to = counts[h] + wide - 1, y * columns + left + h * across
                fill(work, base, needed, image, height, width, y + y0, left + h * across + x0 + j0, code_y, code_x, cval)
                numbers = (j0, 0, 1, wide)
                spoil(work, base, 0, (1, needed), (1, needed), weights, numbers, out, to, columns, 1, counts[h], base + tile * tile)


@njit(cache=True, nogil=True, error_model="numpy")
def _prepare(weights, work, shared, g):
    """Roots of unity, and the conjugate of the transform of a block of the mask; returns the exponent of its size."""
    apart()
    tile, n1, n2, _, j0, wide = g
    lanes, strip, size, most = BYTES // work.itemsize, strip_of(work, tile), 2 * tile * tile, work.dtype.type(0)
    roots, twiddles, line = size, size + 2 * tile, 2 * lanes * tile
    prepare_roots(shared, roots, tile, n1, n2)
    for p in range(tile):
        # Frequencies lie in the order that two factors leave them in.
        angle = -2 * math.pi * (p // n2 + p % n2 * n1) / (tile * tile)
        at, step, root = twiddles + p // lanes * line + p % lanes, cmath.rect(1.0, angle), 1 + 0j
        for c in range(tile):
            root = cmath.rect(1.0, angle * c) if c % _AGAIN == 0 else root * step
            shared[at + 2 * lanes * c], shared[at + 2 * lanes * c + lanes] = root.real, root.imag
    work[: tile // lanes * strip] = 0
    for j in range(wide):
        row, column = j // tile, j % tile
        work[column // lanes * strip + 2 * lanes * row + column % lanes] = weights[j0 + j]
        most = max(most, abs(weights[j0 + j]))
    exponent = scale(most, work.itemsize)
    weigh(work, 0, (tile, tile, 1), exponent)
    columns_forward(work, 0, tile // lanes, shared, roots, tile, n1, n2)
    for t in range(tile // lanes):
        _turn(work, t * 2 * lanes * lanes, tile, shared, twiddles + t * line)
    rows_forward(work, 0, shared, roots, tile, n1, n2)
    factor = work.dtype.type(1.0 / (tile * tile))
    for t in range(tile // lanes):
        kept(work, t * 2 * lanes * lanes, 2 * lanes, strip, tile, shared, t * line, factor)
    return exponent


@njit(cache=True, parallel=True, nogil=True, error_model="numpy")
def _all(
    image, stored, kind, weights, out, lost, work, size, threads, shared, units, shapes, g, y0, x0, code_y, code_x, cval, sized
):
    for t in prange(threads):
        first, last = units * t // threads, units * (t + 1) // threads
        args = (shared, first, last, shapes, g, y0, x0, code_y, code_x, cval, sized)
        _units(image, stored, kind, weights, out, lost, work, t * size, *args)


def overlap_lines(
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
    block: tuple[int],
) -> None:
    """Correlate; see ``footprint.kernels.overlap_lines.contract`` for what is computed."""
    taps, (rows, columns), (threads, size), across = weights.size, out.shape, work.shape, tile * tile + 1 - block[0]
    flat = *source_of(image, out), weights.reshape(-1), out.reshape(-1), lost.reshape(-1), work.reshape(-1)
    codes = borders.CODES[border_y], borders.CODES[border_x]
    lost[...] = 0
    units = rows * pairs(columns, tile, block[0])
    for j in range(blocks(taps, block[0])):
        j0 = j * block[0]
        g = (tile, *TILES[tile], across, j0, min(block[0], taps - j0))
        sized = _prepare(flat[3], flat[6], shared, g)
        numbers = units, (*image.shape, columns), g, y0, x0, *codes, out.dtype.type(cval), sized
        if few(units * tile * tile * _WORK):
            _units(*flat, 0, shared, 0, *numbers)
        else:
            _all(*flat, size, threads, shared, *numbers)
    settle(flat[4], flat[5])
