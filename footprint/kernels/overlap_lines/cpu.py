"""Correlation of signals by transforms of segments on the CPU: two of them stay in a core's cache from samples to results."""

from __future__ import annotations

import cmath
import math

import numpy as np
from numba import prange

from footprint.kernels.common import borders
from footprint.kernels.common.few import few
from footprint.kernels.common.jit import njit
from footprint.kernels.common.vectors import BYTES, apart
from footprint.kernels.convolve.cpu import fill
from footprint.kernels.overlap_lines.contract import pairs
from footprint.kernels.overlap_save.contract import GAP, TILES, blocks
from footprint.kernels.overlap_save.cpu_dft import times, times_conjugate
from footprint.kernels.overlap_save.cpu_lines import columns_back, columns_forward, rows_forward, rows_through
from footprint.kernels.overlap_save.cpu_odd import spoil
from footprint.kernels.overlap_save.cpu_tile import brought, copied, finish_mask, prepare_roots, settle, store

_WORK = 200
"""Multiply-adds of direct sums that take as long as a sample of two segments."""
_AGAIN = 16
"""Roots of unity that are products of the one before, until one is computed anew."""


@njit(cache=True, nogil=True, error_model="numpy")
def _load(image, work, at, tile, place, needed, y, x, code_y, code_x, cval, free):
    """A segment, 0 beyond what is needed of it; returns its exponent, and whether something was not finite."""
    apart()
    pitch, (height, width), whole = tile + GAP, place, needed // tile
    inside = 0 <= y < height and x >= 0 and x + whole * tile <= width
    if inside:
        copied(image, y * width + x, tile, work, at, pitch, whole, tile, tile, free)
    for r in range(whole if inside else 0, tile):
        line, count = at + r * pitch, min(max(needed - r * tile, 0), tile)
        if count > 0:
            fill(work, line, count, image, height, width, y, x + r * tile, code_y, code_x, cval)
        work[line + count : line + tile] = 0
    return brought(work, at, pitch, tile, tile, tile)


@njit(cache=True, nogil=True, error_model="numpy")
def _turn(work, at, shared, twiddles, count, conjugate):
    """Between the transforms of columns and of rows."""
    apart()
    if conjugate:
        times_conjugate(work, at, shared, twiddles, count)
    else:
        times(work, at, shared, twiddles, count)


@njit(cache=True, nogil=True, error_model="numpy")
def _units(image, weights, out, lost, work, base, shared, first, last, shapes, g, y0, x0, code_y, code_x, cval, sized):
    """Pairs of segments, each through one block of the mask."""
    height, width, columns = shapes
    tile, n1, n2, across, j0, wide = g
    pitch, lanes = tile + GAP, BYTES // work.itemsize
    each = (columns + 2 * across - 1) // (2 * across)
    plane, through = tile * pitch, 2 * lanes * tile
    strip = base + 2 * plane
    spectrum = strip + through
    roots, twiddles = 2 * tile * tile, 2 * tile * tile + 2 * tile
    for unit in range(first, last):
        y, left = unit // each, unit % each * 2 * across
        counts = (min(across, columns - left), min(across, columns - left - across))
        sizes, odds = (0, 0), (False, False)
        for h in range(2):
            at = base + h * plane
            if counts[h] > 0:
                place = y + y0, left + h * across + x0 + j0
                needed = counts[h] + wide - 1
                size, odd = _load(image, work, at, tile, (height, width), needed, *place, code_y, code_x, cval, strip)
                sizes, odds = ((size, 0), (odd, False)) if h == 0 else ((sizes[0], size), (odds[0], odd))
            else:
                work[at : at + plane] = 0
        for s in range(tile // lanes):
            columns_forward(work, base, s, strip, spectrum, shared, roots, tile, n1, n2, lanes)
        for t in range(tile // lanes):
            _turn(work, spectrum + t * through, shared, twiddles + t * through, tile, False)
            rows_through(work, spectrum, t, shared, roots, tile, n1, n2, lanes)
            _turn(work, spectrum + t * through, shared, twiddles + t * through, tile, True)
        for s in range(tile // lanes):
            columns_back(work, base, s, strip, spectrum, shared, roots, tile, n1, n2, lanes)
        for h in range(2):
            if counts[h] > 0:
                to, at, whole = y * columns + left + h * across, base + h * plane, counts[h] // tile
                exponent, add = sizes[h] + sized, j0 > 0
                store(work, at, pitch, out, to, tile, whole, tile, exponent, add, lost, strip)
                rest = at + whole * pitch, pitch, out, to + whole * tile, tile, 1, counts[h] - whole * tile
                store(work, *rest, exponent, add, lost, strip)
                if odds[h]:
                    needed = counts[h] + wide - 1
                    fill(work, at, needed, image, height, width, y + y0, left + h * across + x0 + j0, code_y, code_x, cval)
                    numbers = (j0, 0, 1, wide)
                    spoil(work, at, 0, (1, needed), weights, numbers, out, to, columns, 1, counts[h], spectrum)


@njit(cache=True, nogil=True, error_model="numpy")
def _prepare(weights, work, shared, g):
    """Roots of unity, and the conjugate of the transform of a block of the mask; returns the exponent of its size."""
    apart()
    tile, n1, n2, _, j0, wide = g
    pitch, lanes, size = tile + GAP, BYTES // work.itemsize, 2 * tile * tile
    roots, twiddles = size, size + 2 * tile
    prepare_roots(shared, roots, tile, n1, n2)
    for p in range(tile):
        # Frequencies lie in the order that two factors leave them in.
        angle = -2 * math.pi * (p // n2 + p % n2 * n1) / (tile * tile)
        at, step, root = twiddles + p // lanes * 2 * lanes * tile + p % lanes, cmath.rect(1.0, angle), 1 + 0j
        for c in range(tile):
            root = cmath.rect(1.0, angle * c) if c % _AGAIN == 0 else root * step
            shared[at + 2 * lanes * c], shared[at + 2 * lanes * c + lanes] = root.real, root.imag
    plane = tile * pitch
    work[: 2 * plane] = 0
    for j in range(wide):
        work[j // tile * pitch + j % tile] = weights[j0 + j]
    strip = 2 * plane
    spectrum = strip + 2 * lanes * tile
    exponent, _ = brought(work, 0, pitch, tile, tile, tile)
    for s in range(tile // lanes):
        columns_forward(work, 0, s, strip, spectrum, shared, roots, tile, n1, n2, lanes)
    for t in range(tile // lanes):
        _turn(work, spectrum + t * 2 * lanes * tile, shared, twiddles + t * 2 * lanes * tile, tile, False)
        rows_forward(work, spectrum, t, shared, 0, shared, roots, tile, n1, n2, lanes)
    finish_mask(shared, size, lanes, work.dtype.type(1.0 / (tile * tile)))
    return exponent


@njit(cache=True, parallel=True, nogil=True, error_model="numpy")
def _all(image, weights, out, lost, work, size, threads, shared, units, shapes, g, y0, x0, code_y, code_x, cval, sized):
    for t in prange(threads):
        first, last = units * t // threads, units * (t + 1) // threads
        args = (shared, first, last, shapes, g, y0, x0, code_y, code_x, cval, sized)
        _units(image, weights, out, lost, work, t * size, *args)


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
    flat = image.reshape(-1), weights.reshape(-1), out.reshape(-1), lost.reshape(-1), work.reshape(-1)
    codes = borders.CODES[border_y], borders.CODES[border_x]
    lost[...] = 0
    units = rows * pairs(columns, tile, block[0])
    for j in range(blocks(taps, block[0])):
        j0 = j * block[0]
        g = (tile, *TILES[tile], across, j0, min(block[0], taps - j0))
        sized = _prepare(flat[1], flat[4], shared, g)
        numbers = units, (*image.shape, columns), g, y0, x0, *codes, out.dtype.type(cval), sized
        if few(units * tile * tile * _WORK):
            _units(*flat, 0, shared, 0, *numbers)
        else:
            _all(*flat, size, threads, shared, *numbers)
    settle(flat[2], flat[3])
