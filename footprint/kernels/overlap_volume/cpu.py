"""Correlation of a volume by transforms of tiles on the CPU: plane by plane, then along what lies behind each other."""

from __future__ import annotations

import math
from typing import Unpack

import numpy as np
from numba import prange

from footprint.kernels.common.jit import njit
from footprint.kernels.common.vectors import BYTES, apart
from footprint.kernels.convolve.cpu_lines import fill, source_index
from footprint.kernels.overlap_save.contract import TILES, blocks
from footprint.kernels.overlap_save.cpu import source_of
from footprint.kernels.overlap_save.cpu_lines import (
    columns_back,
    columns_forward,
    kept,
    plain_forward,
    rows_back,
    rows_forward,
    strip_of,
    through,
    turned_forward,
)
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
from footprint.kernels.overlap_volume.contract import units
from footprint.kernels.volume import contract as volume


@njit(cache=True, nogil=True, error_model="numpy")
def _pitch_of(work, tile):
    """Elements from a plane of a pair of tiles to the next, as in the contract or, for narrower vectors, fewer."""
    lanes = BYTES // work.itemsize
    return tile // lanes * strip_of(work, tile) + 2 * lanes


@njit(cache=True, nogil=True, error_model="numpy")
def _plane_in(image, stored, kind, work, to, tile, window, sizes, z, y, x, codes, cval, free):
    """A plane of a window to one part of a tile, 0 to what is beyond."""
    apart()
    depth, height, width = sizes
    size, plane = height * width, source_index(z, depth, codes[0])
    there = image[max(plane, 0) * size : (max(plane, 0) + 1) * size]
    if stored is not None:  # not joined with what follows: Numba leaves out what it asks this of alone
        if kind >= 0:
            size *= 1 if kind < 2 else 2
            there, stored = image, stored[max(plane, 0) * size : (max(plane, 0) + 1) * size]
    # Beyond a constant border every row is.
    y, code = (y, codes[1]) if plane >= 0 else (-1 - tile, 0)
    window_in(there, stored, kind, work, to, (tile, tile, 1), window, (height, width), y, x, code, codes[2], cval, free)


@njit(cache=True, nogil=True, error_model="numpy")
def _through(work, base, shared, roots, tile, n1, n2):
    """What lies behind each other: transformed, multiplied by the mask's, and back."""
    apart()
    lanes, pitch = BYTES // work.itemsize, _pitch_of(work, tile)
    for s in range(tile // lanes):
        for i in range(tile):
            at, there = base + s * strip_of(work, tile) + 2 * lanes * i, (s * tile + i) * tile * 2 * lanes
            through(work, at, pitch, lanes * pitch, shared, roots, there, n1, n2)


@njit(cache=True, nogil=True, error_model="numpy")
def _spoil(image, weights, out, work, base, place, g, sizes, wanted, to, tall, count, codes, cval, free):
    """Add what is not finite in a tile to the outputs it reaches, plane by plane of the mask."""
    apart()
    (z, y, x), (_, rows, columns), (depth, height, width), tile = place, wanted, sizes, g[0]
    k0, i0, j0, deep, high, wide, taps_y, taps_x = g[6:]
    window = (tall[1] + high - 1, count + wide - 1)
    for k in range(tall[0] + deep - 1):
        plane, odd = source_index(z + k, depth, codes[0]), False
        there = image[max(plane, 0) * height * width : (max(plane, 0) + 1) * height * width]
        for r in range(window[0]):
            row, code = (y + r, codes[1]) if plane >= 0 else (-1, 0)
            fill(work, base + r * tile, window[1], there, height, width, row, x, code, codes[2], cval)
            for c in range(window[1]):
                odd |= not math.isfinite(work[base + r * tile + c])
        for q in range(max(0, k - deep + 1), min(k + 1, tall[0])) if odd else range(0):
            numbers = ((k0 + k - q) * taps_y + i0) * taps_x + j0, taps_x, high, wide
            goal = to + q * rows * columns
            spoil(work, base, tile, window, window, weights, numbers, out, goal, columns, tall[1], count, free)


@njit(cache=True, nogil=True, error_model="numpy")
def _units(image, stored, kind, weights, out, lost, work, base, shared, first, last, sizes, wanted, g, start, codes, cval, sized):
    """Pairs of tiles, each through one block of the mask."""
    planes, rows, columns = wanted
    tile, n1, n2, behind, down, across, k0, i0, j0, deep, high, wide = g[:12]
    lanes, pitch, roots = BYTES // work.itemsize, _pitch_of(work, tile), 2 * tile * tile * tile
    free, zero = base + tile * pitch, work.dtype.type(0)
    pairs, floors = (columns + 2 * across - 1) // (2 * across), (rows + down - 1) // down
    add = k0 > 0 or i0 > 0 or j0 > 0
    for unit in range(first, last):
        z, y, left = unit // (pairs * floors) * behind, unit // pairs % floors * down, unit % pairs * 2 * across
        tall = min(behind, planes - z), min(down, rows - y)
        counts = (min(across, columns - left), min(across, columns - left - across))
        top, row, column = z + start[0] + k0, y + start[1] + i0, left + start[2] + j0
        most, odds = (zero, zero), (False, False)
        for h in range(2):
            at, size, odd = base + h * lanes, zero, False
            for k in range(tile):
                there = k < tall[0] + deep - 1 and counts[h] > 0
                window, place = (tall[1] + high - 1, counts[h] + wide - 1) if there else (0, 0), (row, column + h * across)
                unsurveyed(work, free)
                to = at + k * pitch
                _plane_in(image, stored, kind, work, to, tile, window, sizes, top + k, *place, codes, cval, free)
                found, any_odd = surveyed(work, to, (tile, tile, 1), free)
                size, odd = max(size, found), odd or any_odd
            most, odds = ((size, most[1]), (odd, False)) if h == 0 else ((most[0], size), (odds[0], odd))
        found = exponents(most, work.itemsize)
        for k in range(tile):
            weigh_both(work, base + k * pitch, (tile, tile, 1), found)
            if k < tall[0] + deep - 1:
                columns_forward(work, base + k * pitch, tile // lanes, shared, roots, tile, n1, n2)
                rows_forward(work, base + k * pitch, shared, roots, tile, n1, n2)
        _through(work, base, shared, roots, tile, n1, n2)
        to = (z * rows + y) * columns + left
        for k in range(tall[0]):
            rows_back(work, base + k * pitch, shared, roots, tile, n1, n2)
            columns_back(work, base + k * pitch, (across + lanes - 1) // lanes, shared, roots, tile, n1, n2)
            for h in range(2):
                if counts[h] > 0:
                    goal, at = to + k * rows * columns + h * across, base + k * pitch + h * lanes
                    store(work, at, out, goal, columns, (tile, tile, 1), tall[1], counts[h], found[h] + sized, add, lost, free)
        for h in range(2):
            if odds[h]:
                # Tiles have been stored: what they lie in is free for rows of the image.
                place, goal = (top, row, column + h * across), to + h * across
                _spoil(image, weights, out, work, base, place, g, sizes, wanted, goal, tall, counts[h], codes, cval, free)


@njit(cache=True, nogil=True, error_model="numpy")
def _prepare(weights, work, shared, g):
    """Roots of unity, and the conjugate of the transform of a block of the mask; returns the exponent of its size."""
    apart()
    tile, n1, n2 = g[:3]
    k0, i0, j0, deep, high, wide, taps_y, taps_x = g[6:]
    lanes, pitch, roots = BYTES // work.itemsize, _pitch_of(work, tile), 2 * tile * tile * tile
    prepare_roots(shared, roots, tile, n1, n2)
    strip, most = strip_of(work, tile), work.dtype.type(0)
    work[: tile * pitch] = 0
    for k in range(deep):
        for i in range(high):
            for j in range(wide):
                weight = weights[((k0 + k) * taps_y + i0 + i) * taps_x + j0 + j]
                work[k * pitch + j // lanes * strip + 2 * lanes * i + j % lanes] = weight
                most = max(most, abs(weight))
    exponent = scale(most, work.itemsize)
    for k in range(deep):
        weigh(work, k * pitch, (tile, tile, 1), exponent)
        columns_forward(work, k * pitch, tile // lanes, shared, roots, tile, n1, n2)
        rows_forward(work, k * pitch, shared, roots, tile, n1, n2)
    factor = work.dtype.type(1.0 / (tile * tile * tile))
    for s in range(tile // lanes):
        for i in range(tile):
            at = s * strip + 2 * lanes * i
            turned_forward(work, at, pitch, lanes * pitch, shared, roots, n1, n2)
            plain_forward(work, at, pitch, lanes * pitch, n1, n2)
            kept(work, at, pitch, lanes * pitch, tile, shared, (s * tile + i) * tile * 2 * lanes, factor)
    return exponent


@njit(cache=True, parallel=True, nogil=True, error_model="numpy")
def _all(image, stored, kind, weights, out, lost, work, size, threads, shared, number, sizes, wanted, g, start, codes, cval, sized):
    for t in prange(threads):
        first, last = number * t // threads, number * (t + 1) // threads
        args = (shared, first, last, sizes, wanted, g, start, codes, cval, sized)
        _units(image, stored, kind, weights, out, lost, work, t * size, *args)


def overlap_volume(
    image: np.ndarray,
    weights: np.ndarray,
    out: np.ndarray,
    work: np.ndarray,
    shared: np.ndarray,
    lost: np.ndarray,
    *,
    tile: int,
    block: tuple[int, int, int],
    **lies: Unpack[volume.Lies],
) -> None:
    """Correlate; see ``footprint.kernels.overlap_volume.contract`` for what is computed."""
    threads, size = work.shape
    flat = *source_of(image, out), weights.reshape(-1), out.reshape(-1), lost.reshape(-1), work.reshape(-1)
    place = volume.start(lies), volume.codes(lies), out.dtype.type(lies["cval"])
    # Of every block, so that they all add to the same tiles.
    grid = tuple(tile + 1 - n for n in block)
    lost[...] = 0
    for number in np.ndindex(*map(blocks, weights.shape, block)):
        first = tuple(int(n) * b for n, b in zip(number, block))
        sizes = (min(b, n - a) for a, b, n in zip(first, block, weights.shape))
        g = (tile, *TILES[tile], *grid, *first, *sizes, *weights.shape[1:])
        sized = _prepare(flat[3], flat[6], shared, g)
        wanted = units(out.shape, tile, block), image.shape, out.shape, g, *place, sized
        _all(*flat, size, threads, shared, *wanted)
    settle(flat[4], flat[5])
