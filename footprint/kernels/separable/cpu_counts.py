"""Sums of equal weights over integers on the CPU: exact, so that a window may move on by what enters it and what leaves it.

Each column of a strip is summed over as many rows as the mask has; from row to row one row comes and one goes. Sums across are then
differences of running sums modulo 2^32: a window's own sum is below that. A pixel costs the same under any number of weights.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import prange
from numba.core import cgutils, types
from numba.extending import intrinsic

from footprint.kernels.common import borders
from footprint.kernels.common.few import TOUCH, few
from footprint.kernels.common.jit import njit
from footprint.kernels.common.vectors import BYTES, Emit, apart, own
from footprint.kernels.convolve.cpu_lines import source_index
from footprint.kernels.separable.contract import counted_places

_LANES = BYTES // 4
_NUMBERS = ir.VectorType(ir.IntType(32), _LANES)


def _stored(e: Emit, kind: Any, at: Any) -> Any:
    """As many pixels of array 0 as a vector has numbers of 32 bits."""
    found = e.some(0, at, _LANES)
    return e.b.sext(found, _NUMBERS) if kind.signed else e.b.zext(found, _NUMBERS)


@intrinsic
def _moved(typing_context, image, more, less, sums, to, count, comes, goes):  # type: ignore[no-untyped-def]
    """``count`` vectors of sums: pixels from ``more`` on are added where they are to come, those from ``less`` on taken off."""

    def code(context, builder, signature, args):  # type: ignore[no-untyped-def]
        def write(e: Emit) -> None:
            b, kind, flag = e.b, signature.args[0].dtype, ir.IntType(1)
            more, less, to, count, comes, goes = (e.args[i] for i in (1, 2, 4, 5, 6, 7))
            with b.if_else(b.and_(b.trunc(comes, flag), b.trunc(goes, flag))) as (both, one):
                with both, cgutils.for_range(b, count) as vector:
                    x = e.mul(vector.index, _LANES)
                    change = b.sub(_stored(e, kind, e.add(more, x)), _stored(e, kind, e.add(less, x)))
                    e.store(b.add(e.load(3, e.add(to, x)), change), 3, e.add(to, x))
                with one:
                    with b.if_then(b.trunc(comes, flag)), cgutils.for_range(b, count) as vector:
                        x = e.mul(vector.index, _LANES)
                        e.store(b.add(e.load(3, e.add(to, x)), _stored(e, kind, e.add(more, x))), 3, e.add(to, x))
                    with b.if_then(b.trunc(goes, flag)), cgutils.for_range(b, count) as vector:
                        x = e.mul(vector.index, _LANES)
                        e.store(b.sub(e.load(3, e.add(to, x)), _stored(e, kind, e.add(less, x))), 3, e.add(to, x))

        return own(context, builder, signature, args, write, of=3)

    n, truth = types.int64, types.uint8
    return types.void(image, n, n, sums, n, n, truth, truth), code


@intrinsic
def _running(typing_context, sums, at, to, count, out, goal):  # type: ignore[no-untyped-def]
    """From ``to`` on the sums of ``count`` vectors up to each number, itself included.

    Where results go next, from ``goal`` on, is brought near meanwhile.
    """

    def code(context, builder, signature, args):  # type: ignore[no-untyped-def]
        def write(e: Emit) -> None:
            b, (at, to, count), goal = e.b, e.args[1:4], e.args[5]
            number, none = ir.IntType(32), ir.Constant(_NUMBERS, [0] * _LANES)
            last = ir.Constant(_NUMBERS, [_LANES - 1] * _LANES)
            before = cgutils.alloca_once_value(b, none)
            with cgutils.for_range(b, count) as vector:
                x, step = e.mul(vector.index, _LANES), 1
                e.expect(4, e.add(goal, x), write=True)
                value = e.load(0, e.add(at, x))
                while step < _LANES:
                    order = [i if i < step else _LANES + i - step for i in range(_LANES)]
                    value = b.add(value, b.shuffle_vector(none, value, ir.Constant(ir.VectorType(number, _LANES), order)))
                    step *= 2
                e.store(b.add(value, b.load(before)), 0, e.add(to, x))
                b.store(b.add(b.load(before), b.shuffle_vector(value, none, last)), before)

        return own(context, builder, signature, args, write)

    n = types.int64
    return types.void(sums, n, n, n, out, n), code


@intrinsic
def _scaled(typing_context, sums, at, apart, weight, out, to, count):  # type: ignore[no-untyped-def]
    """``count`` vectors of results: differences of running sums that lie ``apart``, times the weight."""

    def code(context, builder, signature, args):  # type: ignore[no-untyped-def]
        def write(e: Emit) -> None:
            b, (at, apart, weight) = e.b, e.args[1:4]
            kind = ir.VectorType(ir.FloatType(), _LANES)
            same = ir.Constant(_NUMBERS, [0] * _LANES)
            nothing = ir.Constant(kind, ir.Undefined)
            weights = b.shuffle_vector(b.insert_element(nothing, weight, ir.Constant(ir.IntType(32), 0)), nothing, same)
            with cgutils.for_range(b, e.args[6]) as vector:
                x = e.mul(vector.index, _LANES)
                place = e.add(at, x)
                under = b.sub(e.load(0, e.add(place, apart)), e.load(0, place))
                e.keep(b.fmul(b.sitofp(under, kind), weights), 4, e.add(e.args[5], x))

        return own(context, builder, signature, args, write)

    n = types.int64
    return types.void(sums, n, n, types.float32, out, n, n), code


@njit(cache=True, nogil=True)
def _move(image, start, new, old, x, sums, at, table, lo, hi, need, width):
    """One row comes, or none where it is below 0, and another goes: for all columns, those beyond an edge by the table."""
    apart()
    comes, goes, more, less = new >= 0, old >= 0, start + new * width, start + old * width
    vectors = (hi - lo) // _LANES
    _moved(image, more + x + lo, less + x + lo, sums, at + lo, vectors, comes, goes)
    for k in range(lo + vectors * _LANES, hi):
        sums[at + k] += (image[more + x + k] if comes else 0) - (image[less + x + k] if goes else 0)
    some, beyond = sums[at : at + need], sums[table : table + need]
    for i in range(lo + need - hi):
        k = i if i < lo else i - lo + hi
        place = beyond[k]
        if place >= 0:
            some[k] = some[place]
        elif place < -1:
            column = -2 - place
            some[k] += (image[more + column] if comes else 0) - (image[less + column] if goes else 0)


@njit(cache=True, nogil=True)
def _units(image, weight, out, sums, base, first, last, strip, places, taps, shapes, y0, x0, code_y, code_x):
    """Rows of strips of planes, one after another."""
    apart()
    (height, width, rows, columns), (tall, wide) = shapes, taps
    strips, before, at, running, table = (columns + strip - 1) // strip, -1, base, base + places[0], base + places[1]
    lo = hi = 0
    for unit in range(first, last):
        plane, left, y = unit // (rows * strips), unit // rows % strips * strip, unit % rows
        start, some, x = plane * height * width, min(strip, columns - left), left + x0
        need = some + wide - 1
        if unit // rows != before:
            before = unit // rows
            # Columns from `lo` to `hi` lie inside.
            lo = min(max(-x, 0), need)
            hi = max(lo, min(need, width - x))
            for k in range(need):
                sums[at + k] = 0
                if not lo <= k < hi:
                    # Of a column that is summed here the place; of another, one that is told apart from nothing, -1.
                    column = source_index(x + k, width, code_x)
                    sums[table + k] = column - x if lo <= column - x < hi else -1 if column < 0 else -2 - column
            for i in range(tall):
                _move(image, start, source_index(y + y0 + i, height, code_y), -1, x, sums, at, table, lo, hi, need, width)
        else:
            new, old = source_index(y + y0 + tall - 1, height, code_y), source_index(y + y0 - 1, height, code_y)
            _move(image, start, new, old, x, sums, at, table, lo, hi, need, width)
        # Before the first there is 0.
        vectors, to = some // _LANES, (plane * rows + y) * columns + left
        _running(sums, at, running, (need + _LANES - 1) // _LANES, out, to)
        _scaled(sums, running - 1, wide, weight, out, to, vectors)
        for k in range(vectors * _LANES, some):
            out[to + k] = np.float32(np.int32(sums[running - 1 + k + wide] - sums[running - 1 + k])) * weight


@njit(cache=True, parallel=True, nogil=True)
def _all(image, weight, out, sums, size, threads, units, strip, places, taps, shapes, y0, x0, code_y, code_x):
    for t in prange(threads):
        first, last = units * t // threads, units * (t + 1) // threads
        _units(image, weight, out, sums, t * size, first, last, strip, places, taps, shapes, y0, x0, code_y, code_x)


def counts(
    image: np.ndarray,
    tall: np.ndarray,
    wide: np.ndarray,
    out: np.ndarray,
    work: np.ndarray,
    *,
    y0: int,
    x0: int,
    border_y: str,
    border_x: str,
) -> None:
    """Sum down and across; see ``footprint.kernels.separable.contract`` for what is computed."""
    if out.size == 0:
        return
    threads, size = work.shape
    strip, *places = counted_places(wide.size, out.shape[2])
    flat = image.reshape(-1).view(np.uint8) if image.dtype == np.bool_ else image.reshape(-1)
    work[:, places[0] - 1] = 0
    units = out.shape[0] * out.shape[1] * -(-out.shape[2] // strip)
    shapes, codes = (*image.shape[1:], *out.shape[1:]), (borders.CODES[border_y], borders.CODES[border_x])
    numbers = strip, tuple(places), (tall.size, wide.size), shapes, y0, x0, *codes
    ready = flat, np.float32(float(tall[0]) * float(wide[0])), out.reshape(-1), work.reshape(-1)
    if few(out.size * TOUCH):
        _units(*ready, 0, 0, units, *numbers)
    else:
        _all(*ready, size, threads, units, *numbers)
