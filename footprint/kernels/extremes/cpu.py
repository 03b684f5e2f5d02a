"""Extremes of boxes on the CPU: a few operations a pixel, however large they are.

Along a line the largest of twice as many is that of two neighbours, and a box is two of a power of two, which may overlap. Down,
lines lie in blocks as tall as the box. A result is what one block has from where the box begins to its end, found once from there
back, and what the next one has up to where the box ends (van Herk's scheme). Lines of a strip are kept until the block behind them
has come so far, and no more of them than a thread has rows.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numba import prange

from footprint.kernels.common import borders
from footprint.kernels.common.few import few
from footprint.kernels.common.jit import njit
from footprint.kernels.common.vectors import BYTES, apart
from footprint.kernels.extremes.contract import SLACK, blocks, line, operations, pitch, strip
from footprint.kernels.extremes.cpu_vectors import carry, carry_back, doubled, doubled_within, fill, gathered, joined, kept, written
from footprint.kernels.rank_filter.contract import VECTOR, shift

_source_index = njit(cache=True, nogil=True)(borders.source_index)
_NEAREST = borders.CODES["nearest"]


@njit(cache=True, nogil=True)
def _stretch(i, count, n, border):
    """Where a column lies that may be beyond an end, how far the next one lies on, and for how many of them that is so."""
    at = _source_index(i, n, border)
    if 0 <= i < n:
        return at, 1, min(count, n - i)
    if at < 0 or border == _NEAREST:
        return at, 0, min(count, -i) if i < 0 else count
    step = _source_index(i + 1, n, border) - at
    return at, step, min(count, n - at if step == 1 else at + 1 if step == -1 else 1)


@njit(cache=True, nogil=True)
def _key(bits, order):
    """What a value's bits are compared as, where it is written to an array of their size."""
    (flip, less, turn), bits = order, np.int64(bits)
    return ((bits ^ (turn if bits < 0 else 0)) - less) ^ flip


@njit(cache=True, nogil=True)
def _fill(work, to, count, image, begin, ahead, x, width, border, outside, order):
    """Keys of a row from column ``x`` on, wherever that is; ``outside`` is the constant's.

    Vectors may reach beyond a stretch, into what is filled next, or behind the line, as far as there is an image to read.
    """
    apart()
    (flip, less, turn), lanes, done = order, BYTES // work.itemsize, 0
    while done < count:
        at, step, many = _stretch(x + done, count - done, width, border)
        source, target, whole = begin + at, to + done, max(many, lanes)
        if at < 0 or step == 0:
            fill(work, target, many, outside if at < 0 else _key(image[source], order))
        elif step == 1 and source + whole <= image.size:
            carry(image, source, work, target, whole, ahead, flip, less, turn)
        elif step == -1 and source + 1 >= whole:
            carry_back(image, source, work, target, whole, ahead, flip, less, turn)
        else:
            for k in range(many):
                work[target + k] = _key(image[source + k * step], order)
        done += many


@njit(cache=True, nogil=True)
def _along(work, at, count, wide):
    """Make of a line's elements the largest of each and those behind it; return of how many: as many as double into a box."""
    lanes, size, times = BYTES // work.itemsize, 1, 0
    while 2 * size <= min(wide, lanes):
        size, times = 2 * size, times + 1
    if times > 0:
        doubled_within(work, at, count + wide - size, times)
    while 2 * size <= wide:
        doubled(work, at, count + wide - 2 * size, size)
        size *= 2
    return size


@njit(cache=True, nogil=True)
def _block(image, out, work, base, room, pitch, at, rows, columns, window, places, filling, order):
    """Results of some rows and columns; a line has so much ``room``, and those that are kept lie ``pitch`` apart."""
    apart()
    (start, height, width, to, out_pitch), (tall, wide), (y, x) = at, window, places
    (border_y, border_x, outside), (flip, less, turn), lanes = filling, order, BYTES // work.itemsize
    # Narrower than a vector, results are made apart, where what is before a line is written in vain.
    count, narrow = max(columns, lanes), columns < lanes
    here, since = base + SLACK * lanes, base + room
    ring, lines, known, by = since + pitch, min(tall, rows), -2, 0
    for r in range(rows + tall - 1):
        row = _source_index(y + r, height, border_y)
        if row != known:
            across = border_x if row >= 0 else -1
            begin = start + row * width
            _fill(work, here, count + wide - 1, image, begin, 2 * width, x, width if row >= 0 else 0, across, outside, order)
            by, known = wide - _along(work, here, count, wide), row
        i, done = r % tall, r - tall + 1
        goal = to + done * out_pitch
        target, place = (work, base) if narrow else (out, goal)
        slot = ring + min(i, lines - 1) * pitch
        if tall == 1:
            written(work, here, by, target, place, count, out_pitch, flip, less, turn)
        elif i < tall - 1 and r >= tall:
            before, rest = here if i == 0 else since, ring + (i + 1) * pitch
            joined(work, here, by, before, since, rest, slot, target, place, count, out_pitch, flip, less, turn)
        else:
            # Of the first box, what is behind a thread's rows needs no lines of its own.
            kept(work, here, by, slot if i >= lines else here, slot, count)
            if i == tall - 1:
                gathered(work, ring, pitch, lines, target, place, count, flip, less, turn)
        if narrow and done >= 0:
            for k in range(columns):
                out[goal + k] = work[base + k]


@njit(cache=True, nogil=True)
def _units(image, out, work, base, unit, stop, shapes, cuts, window, places, filling, order):
    """Blocks of rows of strips of planes."""
    apart()
    (height, width, out_height, out_width), (piece, across, down, pitch, room), (y0, x0) = shapes, cuts, places
    while unit < stop:
        plane, left, band = unit // (down * across), unit // down % across * piece, unit % down
        top, bottom = out_height * band // down, out_height * (band + 1) // down
        at = plane * height * width, height, width, (plane * out_height + top) * out_width + left, out_width
        columns, here = min(piece, out_width - left), (y0 + top, x0 + left)
        _block(image, out, work, base, room, pitch, at, bottom - top, columns, window, here, filling, order)
        unit += 1


@njit(cache=True, parallel=True, nogil=True)
def _all(image, out, work, each, threads, units, shapes, cuts, window, places, filling, order):
    for t in prange(threads):
        first, last = units * t // threads, units * (t + 1) // threads
        _units(image, out, work, t * each, first, last, shapes, cuts, window, places, filling, order)


def _order(dtype: np.dtype, largest: bool) -> tuple[int, int, int]:
    """How values become keys, of which the largest is wanted: see ``cpu_vectors``."""
    bits = 8 * dtype.itemsize
    flip = 0 if largest else -1
    if dtype.kind == "f":
        return flip, shift(dtype.itemsize), (1 << bits - 1) - 1
    return flip if dtype.kind == "i" else flip ^ -(1 << bits - 1), 0, 0


def _outside(cval: float, dtype: np.dtype, order: tuple[int, int, int]) -> int:
    """The constant's key."""
    kind = f"i{dtype.itemsize}"
    with np.errstate(over="ignore"):
        # Beyond the dtype's range it is infinite there.
        bits = int(np.asarray(cval).astype(dtype).view(kind))
    flip, less, turn = order
    key = ((bits ^ (turn if bits < 0 else 0)) - less) ^ flip
    return int(np.array(key & (1 << 8 * dtype.itemsize) - 1, f"u{dtype.itemsize}").view(kind))


def _down(shape: tuple[int, ...], tall: int, across: int, least: int, threads: int) -> int:
    """Blocks down: as many as have threads end soonest, each of which goes over lines of a box more than it has results."""
    rounds = lambda down: -(-shape[0] * across * down // threads) * (-(-shape[1] // down) + tall - 1)
    return min(range(least, min(least + 2 * threads, max(shape[1], least)) + 1), key=rounds)


def extremes(image: np.ndarray, out: np.ndarray, work: np.ndarray, **numbers: Any) -> None:
    """Find extremes; see ``footprint.kernels.extremes.contract`` for what is computed."""
    extremes_for(image, out, **numbers)(image, out, work)


def extremes_for(
    image: Any, out: Any, *, tall: int, wide: int, largest: bool, y0: int, x0: int, border_y: str, border_x: str, cval: float
) -> Callable[..., None]:
    """The same for arrays that have the shapes and dtypes of these."""
    dtype = np.dtype(image.dtype)
    itemsize, shape, order = dtype.itemsize, out.shape, _order(dtype, largest)
    filling = borders.CODES[border_y], borders.CODES[border_x], _outside(cval, dtype, order)
    how, shapes, kind = ((tall, wide), (y0, x0), filling, order), (*image.shape[1:], *shape[1:]), f"i{itemsize}"
    work_of_all = operations(tall, wide) * out.size * itemsize // 8
    most = strip(shape[2], wide, itemsize)
    cuts: dict[int, tuple[int, ...]] = {}

    def cut(threads: int) -> tuple[int, ...]:
        _, across, least = blocks(shape, wide, itemsize, threads)
        lanes = VECTOR // itemsize
        piece = -(-shape[2] // across // lanes) * lanes
        down = _down(shape, tall, across, least, threads)
        return piece, across, down, pitch(most, itemsize), line(most, wide, itemsize)

    def launch(image: np.ndarray, out: np.ndarray, work: np.ndarray) -> None:
        (threads, each), small = work.shape, few(work_of_all)
        # One thread has all threads' memory, enough for all rows.
        at_once = 1 if small else threads
        if at_once not in cuts:
            cuts[at_once] = cut(at_once)
        flat, units = (image.view(kind).reshape(-1), out.view(kind).reshape(-1), work.reshape(-1)), math.prod(cuts[at_once][1:3])
        if small:
            _units(*flat, 0, 0, units * shape[0], shapes, cuts[1], *how)
        else:
            _all(*flat, each, threads, units * shape[0], shapes, cuts[threads], *how)

    return launch if out.size else lambda image, out, work: None
