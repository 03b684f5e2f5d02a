"""Correlation of a volume by transforms of tiles on the CPU: plane by plane, then along what lies behind each other."""

from __future__ import annotations

import numpy as np
from numba import prange

from footprint.kernels.common import borders
from footprint.kernels.common.jit import njit
from footprint.kernels.common.vectors import BYTES, apart
from footprint.kernels.convolve.cpu import fill, source_index
from footprint.kernels.overlap_save.contract import GAP, TILES, blocks
from footprint.kernels.overlap_save.cpu_lines import (
    backward_turned,
    columns_back,
    columns_forward,
    forward,
    forward_turned,
    middle,
    rows_back,
    rows_forward,
)
from footprint.kernels.overlap_save.cpu_odd import cleared, spoil, surveyed
from footprint.kernels.overlap_save.cpu_tile import copied, finish_mask, multiply, prepare_roots, scale, settle, store
from footprint.kernels.overlap_volume.contract import plane_pitch, units

_plane_pitch = njit(cache=True, nogil=True)(plane_pitch)


@njit(cache=True, nogil=True, error_model="numpy")
def _plane(image, work, at, tile, sizes, z, y, x, window, codes, cval, free):
    """A plane of a tile, 0 beyond what is needed of it."""
    apart()
    depth, height, width = sizes
    (rows, columns), pitch, row = window, tile + GAP, source_index(z, depth, codes[0])
    if row >= 0 and columns >= BYTES // work.itemsize and y >= 0 and x >= 0 and y + rows <= height and x + columns <= width:
        copied(image, (row * height + y) * width + x, width, work, at, pitch, rows, columns, tile, free)
        return
    there = image[max(row, 0) * height * width : (max(row, 0) + 1) * height * width]
    for r in range(tile):
        line, count = at + r * pitch, columns if r < rows else 0
        if count > 0:
            # Beyond a constant border every row is.
            place, code = (y + r, codes[1]) if row >= 0 else (-1, 0)
            fill(work, line, count, there, height, width, place, x, code, codes[2], cval)
        work[line + count : line + tile] = 0


@njit(cache=True, nogil=True, error_model="numpy")
def _size(image, work, at, tile, sizes, z, y, x, deep, window, codes, cval, free):
    """The exponent of a tile's size, and whether something in it is not finite."""
    apart()
    pitch, largest, any_odd = tile + GAP, work.dtype.type(0), False
    for k in range(deep):
        _plane(image, work, at, tile, sizes, z + k, y, x, window, codes, cval, free)
        most, odd = surveyed(work, at, pitch, window[0], tile, at + 2 * tile * pitch)
        if odd:
            most = cleared(work, at, pitch, window[0], window[1])
        largest, any_odd = max(largest, most), any_odd or odd
    return scale(largest, work.itemsize), any_odd


@njit(cache=True, nogil=True, error_model="numpy")
def _plane_forward(work, base, strip, spectrum, shared, roots, tile, n1, n2, lanes):
    """The transform of a plane of two tiles."""
    apart()
    for s in range(tile // lanes):
        columns_forward(work, base, s, strip, spectrum, shared, roots, tile, n1, n2, lanes)
    for t in range(tile // lanes):
        rows_forward(work, spectrum, t, work, spectrum, shared, roots, tile, n1, n2, lanes)


@njit(cache=True, nogil=True, error_model="numpy")
def _through(work, strip, spectrum, shared, roots, tile, n1, n2, lanes):
    """What lies behind each other: transformed, multiplied by the mask's, and back."""
    apart()
    pair, step = 2 * lanes, _plane_pitch(tile)
    for v in range(tile * tile // lanes):
        at = spectrum + v * pair
        forward_turned(n1, n2, work, at, step, n2 * step, lanes, work, strip, pair, n2 * pair, lanes, shared, roots)
        middle(n2, n1, work, strip, shared, v * tile * pair, pair)
        backward_turned(n1, n2, work, strip, pair, n2 * pair, lanes, work, at, step, n2 * step, lanes, shared, roots)


@njit(cache=True, nogil=True, error_model="numpy")
def _spoil(image, weights, out, work, at, place, g, sizes, wanted, to, tall, count, codes, cval):
    """Add what is not finite in a tile to the outputs it reaches, plane by plane of the mask."""
    apart()
    (z, y, x), (_, rows, columns), pitch = place, wanted, g[0] + GAP
    k0, i0, j0, deep, high, wide, taps_y, taps_x = g[6:]
    window, free = (tall[1] + high - 1, count + wide - 1), at + 2 * g[0] * pitch
    for k in range(tall[0] + deep - 1):
        _plane(image, work, at, g[0], sizes, z + k, y, x, window, codes, cval, free)
        _, odd = surveyed(work, at, pitch, window[0], g[0], free)
        for q in range(max(0, k - deep + 1), min(k + 1, tall[0])) if odd else range(0):
            numbers = ((k0 + k - q) * taps_y + i0) * taps_x + j0, taps_x, high, wide
            spoil(work, at, pitch, window, weights, numbers, out, to + q * rows * columns, columns, tall[1], count, free)


@njit(cache=True, nogil=True, error_model="numpy")
def _units(image, weights, out, lost, work, base, shared, first, last, sizes, wanted, g, start, codes, cval, sized):
    """Pairs of tiles, each through one block of the mask."""
    planes, rows, columns = wanted
    tile, n1, n2, behind, down, across, k0, i0, j0, deep, high, wide = g[:12]
    pitch, lanes, step, roots = tile + GAP, BYTES // work.itemsize, _plane_pitch(tile), 2 * tile * tile * tile
    plane = tile * pitch
    strip = base + 2 * plane
    spectrum = strip + 2 * lanes * tile
    pairs, floors = (columns + 2 * across - 1) // (2 * across), (rows + down - 1) // down
    add = k0 > 0 or i0 > 0 or j0 > 0
    for unit in range(first, last):
        z, y, left = unit // (pairs * floors) * behind, unit // pairs % floors * down, unit % pairs * 2 * across
        tall = min(behind, planes - z), min(down, rows - y)
        counts = (min(across, columns - left), min(across, columns - left - across))
        top, row, column = z + start[0] + k0, y + start[1] + i0, left + start[2] + j0
        exponents, odds = (0, 0), (False, False)
        for h in range(2):
            if counts[h] > 0:
                window = (tall[1] + high - 1, counts[h] + wide - 1)
                x, thick = column + h * across, tall[0] + deep - 1
                size, odd = _size(image, work, base + h * plane, tile, sizes, top, row, x, thick, window, codes, cval, strip)
                exponents, odds = ((size, 0), (odd, False)) if h == 0 else ((exponents[0], size), (odds[0], odd))
        for k in range(tile):
            if k >= tall[0] + deep - 1:
                work[spectrum + k * step : spectrum + (k + 1) * step] = 0
                continue
            for h in range(2):
                at = base + h * plane
                if counts[h] > 0:
                    window = (tall[1] + high - 1, counts[h] + wide - 1)
                    _plane(image, work, at, tile, sizes, top + k, row, column + h * across, window, codes, cval, strip)
                    if odds[h]:
                        cleared(work, at, pitch, window[0], window[1])
                    multiply(work, at, pitch, window[0], tile, exponents[h])
                else:
                    work[at : at + plane] = 0
            _plane_forward(work, base, strip, spectrum + k * step, shared, roots, tile, n1, n2, lanes)
        _through(work, strip, spectrum, shared, roots, tile, n1, n2, lanes)
        to = (z * rows + y) * columns + left
        for k in range(tall[0]):
            for t in range(tile // lanes):
                rows_back(work, spectrum + k * step, t, shared, roots, tile, n1, n2, lanes)
            for s in range((across + lanes - 1) // lanes):
                columns_back(work, base, s, strip, spectrum + k * step, shared, roots, tile, n1, n2, lanes)
            for h in range(2):
                if counts[h] > 0:
                    goal = to + k * rows * columns + h * across
                    args = out, goal, columns, tall[1], counts[h], exponents[h] + sized, add, lost, strip
                    store(work, base + h * plane, pitch, *args)
        for h in range(2):
            if counts[h] > 0 and odds[h]:
                place, at = (top, row, column + h * across), base + h * plane
                _spoil(image, weights, out, work, at, place, g, sizes, wanted, to + h * across, tall, counts[h], codes, cval)


@njit(cache=True, nogil=True, error_model="numpy")
def _prepare(weights, work, shared, g):
    """Roots of unity, and the conjugate of the transform of a block of the mask; returns the exponent of its size."""
    apart()
    tile, n1, n2 = g[:3]
    k0, i0, j0, deep, high, wide, taps_y, taps_x = g[6:]
    pitch, lanes, step, roots = tile + GAP, BYTES // work.itemsize, _plane_pitch(tile), 2 * tile * tile * tile
    prepare_roots(shared, roots, tile, n1, n2)
    pair, strip = 2 * lanes, 2 * tile * pitch
    spectrum, most = strip + pair * tile, work.dtype.type(0)
    for k in range(deep):
        for i in range(high):
            for j in range(wide):
                most = max(most, abs(weights[((k0 + k) * taps_y + i0 + i) * taps_x + j0 + j]))
    exponent = scale(most, work.itemsize)
    work[:strip] = 0
    for k in range(tile):
        if k >= deep:
            work[spectrum + k * step : spectrum + (k + 1) * step] = 0
            continue
        # One by one: an assignment of slices takes Numba seconds to compile.
        for i in range(high):
            for j in range(wide):
                work[i * pitch + j] = weights[((k0 + k) * taps_y + i0 + i) * taps_x + j0 + j]
        multiply(work, 0, pitch, high, wide, exponent)
        _plane_forward(work, 0, strip, spectrum + k * step, shared, roots, tile, n1, n2, lanes)
    for v in range(tile * tile // lanes):
        at = spectrum + v * pair
        forward_turned(n1, n2, work, at, step, n2 * step, lanes, work, strip, pair, n2 * pair, lanes, shared, roots)
        forward(n2, n1, work, strip, shared, v * tile * pair, pair, lanes)
    finish_mask(shared, roots, lanes, work.dtype.type(1.0 / (tile * tile * tile)))
    return exponent


@njit(cache=True, parallel=True, nogil=True, error_model="numpy")
def _all(image, weights, out, lost, work, size, threads, shared, number, sizes, wanted, g, start, codes, cval, sized):
    for t in prange(threads):
        first, last = number * t // threads, number * (t + 1) // threads
        _units(image, weights, out, lost, work, t * size, shared, first, last, sizes, wanted, g, start, codes, cval, sized)


def overlap_volume(
    image: np.ndarray,
    weights: np.ndarray,
    out: np.ndarray,
    work: np.ndarray,
    shared: np.ndarray,
    lost: np.ndarray,
    *,
    z0: int,
    y0: int,
    x0: int,
    border_z: str,
    border_y: str,
    border_x: str,
    cval: float,
    tile: int,
    block: tuple[int, int, int],
) -> None:
    """Correlate; see ``footprint.kernels.overlap_volume.contract`` for what is computed."""
    threads, size = work.shape
    flat = image.reshape(-1), weights.reshape(-1), out.reshape(-1), lost.reshape(-1), work.reshape(-1)
    codes = borders.CODES[border_z], borders.CODES[border_y], borders.CODES[border_x]
    # Of every block, so that they all add to the same tiles.
    grid = tuple(tile + 1 - n for n in block)
    lost[...] = 0
    for number in np.ndindex(*map(blocks, weights.shape, block)):
        first = tuple(int(n) * b for n, b in zip(number, block))
        sizes = (min(b, n - a) for a, b, n in zip(first, block, weights.shape))
        g = (tile, *TILES[tile], *grid, *first, *sizes, *weights.shape[1:])
        sized = _prepare(flat[1], flat[4], shared, g)
        wanted = units(out.shape, tile, block), image.shape, out.shape, g, (z0, y0, x0), codes, out.dtype.type(cval), sized
        _all(*flat, size, threads, shared, *wanted)
    settle(flat[2], flat[3])
