"""Means of float32 over some dozen pixels a side on the CPU, in one pass: few additions a pixel, and nothing is taken off again.

Sums across are made of sums of 1, 2, 4, ... neighbours, each of which is the sum of two of the ones before. Neighbouring rows of
sums down share the sum of what lies under all their windows; to that each adds its own rows before and after.
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
from footprint.kernels.convolve.cpu_lines import fill
from footprint.kernels.separable.contract import TALLY, means_places

_LANES = BYTES // 4


@intrinsic
def _added(typing_context, line, at, more, to, fresh, count):  # type: ignore[no-untyped-def]
    """``count`` vectors at ``to`` become those at ``at`` and those at ``more``; or where they are ``fresh`` the latter alone."""

    def code(context, builder, signature, args):  # type: ignore[no-untyped-def]
        def write(e: Emit) -> None:
            b, (at, more, to, fresh, count) = e.b, e.args[1:]
            with b.if_else(b.trunc(fresh, ir.IntType(1))) as (new, old):
                with new, cgutils.for_range(b, count) as vector:
                    x = e.mul(vector.index, _LANES)
                    e.store(e.load(0, e.add(more, x)), 0, e.add(to, x))
                with old, cgutils.for_range(b, count) as vector:
                    x = e.mul(vector.index, _LANES)
                    e.store(b.fadd(e.load(0, e.add(at, x)), e.load(0, e.add(more, x))), 0, e.add(to, x))

        return own(context, builder, signature, args, write)

    n = types.int64
    return types.void(line, n, n, n, types.uint8, n), code


@intrinsic
def _down(typing_context, ring, at, pitch, slot, rows, taps, weight, out, to, step, ahead, count):  # type: ignore[no-untyped-def]
    """`TALLY` rows of ``count`` vectors of sums down ``taps`` of the ring's ``rows``, the first of which is row ``slot``.

    Where the next results go, ``ahead`` of these, is brought near meanwhile.
    """

    def code(context, builder, signature, args):  # type: ignore[no-untyped-def]
        def write(e: Emit) -> None:
            b, (at, pitch, slot, rows, taps, weight), (to, step, ahead, count) = e.b, e.args[1:7], e.args[8:]
            nothing, first = ir.Constant(e.kind, ir.Undefined), ir.Constant(ir.IntType(32), 0)
            same = ir.Constant(ir.VectorType(ir.IntType(32), _LANES), [0] * _LANES)
            weights = b.shuffle_vector(b.insert_element(nothing, weight, first), nothing, same)
            sums = [cgutils.alloca_once(b, e.kind) for _ in range(TALLY)]
            inner = b.sub(taps, e.add(0, TALLY - 1))
            rest = e.mul(b.sdiv(inner, e.add(0, TALLY)), TALLY)
            with cgutils.for_range(b, count) as vector:
                x = e.mul(vector.index, _LANES)

                def row(t: Any) -> Any:
                    r = e.add(slot, t)
                    r = b.select(b.icmp_signed("<", r, rows), r, b.sub(r, rows))
                    return e.load(0, e.add(e.add(at, x), e.mul(r, pitch)))

                for one in sums:
                    b.store(e.zero(), one)
                with cgutils.for_range_slice(b, e.add(0, 0), rest, e.add(0, TALLY)) as (t, _):
                    for i, one in enumerate(sums):
                        b.store(b.fadd(b.load(one), row(e.add(t, TALLY - 1 + i))), one)
                with cgutils.for_range_slice(b, rest, inner, e.add(0, 1)) as (t, _):
                    b.store(b.fadd(b.load(sums[0]), row(e.add(t, TALLY - 1))), sums[0])
                tree = [b.load(one) for one in sums]
                while len(tree) > 1:
                    tree = [b.fadd(tree[i], tree[i + 1]) for i in range(0, len(tree), 2)]
                found, before, after = [tree[0]] * TALLY, None, None
                for i in range(TALLY - 2, -1, -1):
                    before = row(i) if before is None else b.fadd(before, row(i))
                    found[i] = b.fadd(before, tree[0])
                for i in range(1, TALLY):
                    value = row(e.add(taps, i - 1))
                    after = value if after is None else b.fadd(after, value)
                    found[i] = b.fadd(found[i], after)
                for i, one in enumerate(found):
                    goal = e.add(e.add(to, x), e.mul(step, i))
                    e.store(b.fmul(one, weights), 7, goal)
                    e.expect(7, e.add(goal, ahead), write=True)

        return own(context, builder, signature, args, write)

    n = types.int64
    return types.void(ring, n, n, n, n, n, types.float32, out, n, n, n, n), code


@njit(cache=True, nogil=True)
def _across(work, line, to, taps, count, need):
    """Sums across ``taps`` of what lies in the line, which is used up."""
    apart()
    size, done, left = 1, 0, taps
    while left > 0:
        if left % 2 == 1:
            _added(work, to, line + done, to, done == 0, count)
            done += size
        left //= 2
        if left > 0:
            _added(work, line, line + size, line, False, need)
            size *= 2


@njit(cache=True, nogil=True)
def _units(image, tall, wide, weight, out, work, base, first, last, strip, places, shapes, y0, x0, start, code_y, code_x):
    """Groups of `TALLY` rows, counted from the whole's first one, of strips of planes."""
    apart()
    (height, width, all_rows, all_columns), (line, ring, aside) = shapes, places
    phase, strips, before, ready = start % TALLY, (all_columns + strip - 1) // strip, -1, 0
    # Rows whole pages apart would all want one place of the cache.
    pitch = strip + _LANES
    groups, rows, none = (phase + all_rows + TALLY - 1) // TALLY, tall + TALLY - 1, image[:0]
    for unit in range(first, last):
        plane, left, top = unit // (groups * strips), unit // groups % strips * strip, unit % groups * TALLY - phase
        columns = min(strip, all_columns - left)
        lo, hi = max(-top, 0), min(TALLY, all_rows - top)
        if unit // groups != before:
            before, ready = unit // groups, top + lo
        pixels, count = image[plane * height * width : (plane + 1) * height * width], (columns + _LANES - 1) // _LANES
        need = columns + wide - 1
        for y in range(ready, top + hi + tall - 1):
            fill(work, base + line, need, pixels, height, width, y + y0, left + x0, code_y, code_x, none.dtype.type(0))
            _across(work, base + line, base + ring + (y + phase) % rows * pitch, wide, count, (need + _LANES - 1) // _LANES)
        ready = top + hi + tall - 1
        goal, slot, whole = (
            (plane * all_rows + top) * all_columns + left,
            (top + phase) % rows,
            columns // _LANES if hi - lo == TALLY else 0,
        )
        if whole > 0:
            ahead = TALLY * all_columns
            _down(work, base + ring, pitch, slot, rows, tall, weight, out, goal, all_columns, ahead, whole)
        if whole < count:
            x = whole * _LANES
            _down(work, base + ring + x, pitch, slot, rows, tall, weight, work, base + aside + x, strip, 0, count - whole)
            for q in range(lo, hi):
                for k in range(x, columns):
                    out[goal + q * all_columns + k] = work[base + aside + q * strip + k]


@njit(cache=True, parallel=True, nogil=True)
def _all(image, tall, wide, weight, out, work, size, threads, units, strip, places, shapes, y0, x0, start, code_y, code_x):
    for t in prange(threads):
        first, last = units * t // threads, units * (t + 1) // threads
        _units(image, tall, wide, weight, out, work, t * size, first, last, strip, places, shapes, y0, x0, start, code_y, code_x)


def means(
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
    start: int,
) -> None:
    """Sum down and across; see ``footprint.kernels.separable.contract`` for what is computed."""
    if out.size == 0:
        return
    threads, size = work.shape
    strip, *places, _ = means_places(tall.size, wide.size, out.shape[2])
    units = out.shape[0] * -(-(start % TALLY + out.shape[1]) // TALLY) * -(-out.shape[2] // strip)
    shapes, codes = (*image.shape[1:], *out.shape[1:]), (borders.CODES[border_y], borders.CODES[border_x])
    ready = image.reshape(-1), tall.size, wide.size, np.float32(float(tall[0]) * float(wide[0])), out.reshape(-1), work.reshape(-1)
    numbers = strip, tuple(places), shapes, y0, x0, start, *codes
    if few(out.size * TOUCH):
        _units(*ready, 0, 0, units, *numbers)
    else:
        _all(*ready, size, threads, units, *numbers)
