"""Short sums of many small planes on the CPU: as many planes at once as a vector has lanes, each in a lane of its own.

Lines of a few pixels fill no vector, and their borders cost more than their sums. Here a pixel's neighbours are vectors, at an edge
as inside, and where each lies is looked up once for all planes. Sums are formed in the order of `cpu_short`, to the same bits.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import prange
from numba.core import cgutils, types
from numba.extending import intrinsic

from footprint.kernels.common.jit import njit
from footprint.kernels.common.vectors import BYTES, Emit, apart, own
from footprint.kernels.convolve.cpu_lines import source_index
from footprint.kernels.overlap_save.cpu_dft import transpose
from footprint.kernels.separable.contract import CROWD_SIDE, FUSED
from footprint.kernels.separable.cpu_short import chains_of

_ABREAST = 4
"""Vectors that are summed at once."""


@intrinsic
def _sums(typing_context, work, at, gap, places, first, weights, taps, chain, to, leap, many):  # type: ignore[no-untyped-def]
    """``many`` times ``_ABREAST`` vectors at ``to``, ``leap`` apart: sums over t of weights[t] and those at places[first + t].

    The latter are counted from ``at`` and ``gap`` apart; a place below 0 lies outside, where there is nothing but 0.
    """

    def code(context, builder, signature, args):  # type: ignore[no-untyped-def]
        def write(e: Emit) -> None:
            b, (at, gap, first, taps, chain, to, leap, many) = e.b, (e.args[i] for i in (1, 2, 4, 6, 7, 8, 9, 10))
            with cgutils.for_range(b, many) as block:
                start, goal = (e.add(x, e.mul(block.index, e.mul(y, _ABREAST))) for x, y in ((at, gap), (to, leap)))

                def add(begin: Any, end: Any, sums: list[Any]) -> None:
                    with cgutils.for_range_slice(b, begin, end, e.add(0, 1)) as (t, _):
                        place = e.number(3, e.add(first, t))
                        with b.if_then(b.icmp_signed(">=", place, e.add(0, 0))):
                            weight, near = e.splat(5, t), e.add(start, place)
                            for q, one in enumerate(sums):
                                value = e.load(0, e.add(near, e.mul(gap, q)))
                                b.store(e.multiply_add(value, weight, b.load(one)), one)

                for q, total in enumerate(chains_of(e, taps, chain, _ABREAST, add)):
                    e.store(total, 0, e.add(goal, e.mul(leap, q)))

        return own(context, builder, signature, args, write)

    n = types.int64
    return types.void(work, n, n, types.Array(n, 1, "C"), n, weights, n, n, n, n, n), code


@njit(cache=True, nogil=True)
def _rounds(work, at, gap, places, first, weights, chain, to, leap, count):
    """The same of ``count`` vectors, at least `_ABREAST`; the last ones again, to the same bits, where that does not divide."""
    apart()
    many = count // _ABREAST
    _sums(work, at, gap, places, first, weights, weights.size, chain, to, leap, many)
    back = count - _ABREAST
    if many * _ABREAST < count:
        _sums(work, at + back * gap, gap, places, first, weights, weights.size, chain, to + back * leap, leap, min(many, 1))


@njit(cache=True, nogil=True)
def _turn(source, at, step, target, to, pace, count, lanes, one, other):
    """Squares of ``count`` vectors, at least as many as a vector has lanes: rows for columns; ``one`` and ``other`` go on by."""
    apart()
    for k in range(0, count, lanes):
        k = min(k, count - lanes)
        transpose(source, at + k * one, step, target, to + k * other, pace)


@njit(cache=True, nogil=True)
def crowd_units(image, tall, wide, out, work, base, first, last, chains, shapes, y0, x0, code_y, code_x):
    """Groups of planes; the last one begins where it ends with the last plane."""
    apart()
    height, width, rows, columns = shapes
    lanes, made = BYTES // work.itemsize, rows * columns
    size, between = height * width, base + max(height * width, made) * lanes
    down, aside = np.empty(CROWD_SIDE + FUSED, np.int64), np.empty(CROWD_SIDE + FUSED, np.int64)
    for i in range(rows + tall.size - 1):
        row = source_index(y0 + i, height, code_y)
        down[i] = row * columns * lanes if row >= 0 else -1
    for j in range(columns + wide.size - 1):
        column = source_index(x0 + j, width, code_x)
        aside[j] = column * lanes if column >= 0 else -1
    for unit in range(first, last):
        plane = min(unit * lanes, out.size // made - lanes)
        _turn(image, plane * size, size, work, base, lanes, size, lanes, 1, lanes)
        for x in range(columns):
            _rounds(work, base, width * lanes, aside, x, wide, chains[1], between + x * lanes, columns * lanes, height)
        for y in range(rows):
            _rounds(work, between, lanes, down, y, tall, chains[0], base + y * columns * lanes, lanes, columns)
        _turn(work, base, lanes, out, plane * made, made, made, lanes, lanes, 1)


@njit(cache=True, parallel=True, nogil=True)
def crowd_all(image, tall, wide, out, work, size, threads, units, chains, shapes, y0, x0, code_y, code_x):
    """The same in threads."""
    for t in prange(threads):
        first, last = units * t // threads, units * (t + 1) // threads
        crowd_units(image, tall, wide, out, work, t * size, first, last, chains, shapes, y0, x0, code_y, code_x)
