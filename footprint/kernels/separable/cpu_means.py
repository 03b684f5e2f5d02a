"""Means of float32 over some dozen pixels a side on the CPU, in one pass: few additions a pixel, and nothing is taken off again.

Sums across are made of sums of 1, 2, 4, ... neighbours, each of which is the sum of two of the ones before. Neighbouring rows of
sums down share the sum of what lies under all their windows, made of sums of as many rows; to that each adds its own rows before
and after.
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
_CHAINS = 4
"""Sums that go side by side: each waits for its own last one."""


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


def _next(e: Emit, slot: Any, t: Any, rows: Any) -> Any:
    """The row of a ring of ``rows`` that lies ``t`` behind ``slot``."""
    r = e.add(slot, t)
    return e.b.select(e.b.icmp_signed("<", r, rows), r, e.b.sub(r, rows))


def _tree(b: ir.IRBuilder, values: list[Any]) -> Any:
    """The sum of as many vectors as a power of two, by pairs."""
    while len(values) > 1:
        values = [b.fadd(values[i], values[i + 1]) for i in range(0, len(values), 2)]
    return values[0]


@intrinsic
def _together(typing_context, ring, at, pitch, slot, rows, to, count):  # type: ignore[no-untyped-def]
    """The sum of `TALLY` of the ring's ``rows``, the first of which is row ``slot``: ``count`` vectors."""

    def code(context, builder, signature, args):  # type: ignore[no-untyped-def]
        def write(e: Emit) -> None:
            at, pitch, slot, rows, to, count = e.args[1:]
            with cgutils.for_range(e.b, count) as vector:
                x = e.mul(vector.index, _LANES)
                places = [e.mul(_next(e, slot, t, rows), pitch) for t in range(TALLY)]
                e.store(_tree(e.b, [e.load(0, e.add(e.add(at, x), place)) for place in places]), 0, e.add(to, x))

        return own(context, builder, signature, args, write)

    n = types.int64
    return types.void(ring, n, n, n, n, n, n), code


@intrinsic
def _down(typing_context, ring, at, pitch, slot, rows, taps, weight, out, to, step, ahead, count, sums, first):  # type: ignore[no-untyped-def]
    """`TALLY` rows of ``count`` vectors of sums down ``taps`` of the ring's ``rows``, the first of which is row ``slot``.

    The sums of `TALLY` rows each that follow the first so many lie in a ring at ``sums``, from row ``first`` on. Where the next
    results go, ``ahead`` of these, is brought near meanwhile.
    """

    def code(context, builder, signature, args):  # type: ignore[no-untyped-def]
        def write(e: Emit) -> None:
            b, (at, pitch, slot, rows, taps, weight), (to, step, ahead, count, sums, begin) = e.b, e.args[1:7], e.args[8:]
            nothing, first = ir.Constant(e.kind, ir.Undefined), ir.Constant(ir.IntType(32), 0)
            same = ir.Constant(ir.VectorType(ir.IntType(32), _LANES), [0] * _LANES)
            weights = b.shuffle_vector(b.insert_element(nothing, weight, first), nothing, same)
            held, one = [cgutils.alloca_once(b, e.kind) for _ in range(_CHAINS)], e.index(1)
            many = b.sub(b.sdiv(taps, e.index(TALLY)), one)
            rest = e.mul(e.add(many, 1), TALLY)
            with cgutils.for_range(b, count) as vector:
                x = e.mul(vector.index, _LANES)

                def row(t: Any) -> Any:
                    return e.load(0, e.add(e.add(at, x), e.mul(_next(e, slot, t, rows), pitch)))

                def group(g: Any) -> Any:
                    return e.load(0, e.add(e.add(sums, x), e.mul(_next(e, begin, g, many), pitch)))

                for i, chain in enumerate(held):
                    b.store(row(TALLY - 1) if i == 0 else e.zero(), chain)
                for get, low, high in ((group, e.index(0), many), (row, rest, taps)):
                    whole = e.add(low, e.mul(b.sdiv(b.sub(high, low), e.index(_CHAINS)), _CHAINS))
                    with cgutils.for_range_slice(b, low, whole, e.index(_CHAINS)) as (t, _):
                        for i, chain in enumerate(held):
                            b.store(b.fadd(b.load(chain), get(e.add(t, i))), chain)
                    with cgutils.for_range_slice(b, whole, high, one) as (t, _):
                        b.store(b.fadd(b.load(held[0]), get(t)), held[0])
                tree = [_tree(b, [b.load(chain) for chain in held])]
                found, before, after = [tree[0]] * TALLY, None, None
                for i in range(TALLY - 2, -1, -1):
                    before = row(i) if before is None else b.fadd(before, row(i))
                    found[i] = b.fadd(before, tree[0])
                for i in range(1, TALLY):
                    value = row(e.add(taps, i - 1))
                    after = value if after is None else b.fadd(after, value)
                    found[i] = b.fadd(found[i], after)
                for i, total in enumerate(found):
                    goal = e.add(e.add(to, x), e.mul(step, i))
                    e.store(b.fmul(total, weights), 7, goal)
                    e.expect(7, e.add(goal, ahead), write=True)

        return own(context, builder, signature, args, write)

    n = types.int64
    return types.void(ring, n, n, n, n, n, types.float32, out, n, n, n, n, n, n), code


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
    (height, width, all_rows, all_columns), (line, ring, sums, aside), many = shapes, places, tall // TALLY - 1
    phase, strips, before, ready, summed = start % TALLY, (all_columns + strip - 1) // strip, -1, 0, 0
    # Rows whole pages apart would all want one place of the cache.
    pitch = strip + _LANES
    groups, rows, none = (phase + all_rows + TALLY - 1) // TALLY, tall + TALLY - 1, image[:0]
    for unit in range(first, last):
        plane, left, top = unit // (groups * strips), unit // groups % strips * strip, unit % groups * TALLY - phase
        columns = min(strip, all_columns - left)
        lo, hi = max(-top, 0), min(TALLY, all_rows - top)
        if unit // groups != before:
            before, ready, summed = unit // groups, top + lo, unit % groups + 1
        pixels, count = image[plane * height * width : (plane + 1) * height * width], (columns + _LANES - 1) // _LANES
        need = columns + wide - 1
        for y in range(ready, top + hi + tall - 1):
            fill(work, base + line, need, pixels, height, width, y + y0, left + x0, code_y, code_x, none.dtype.type(0))
            _across(work, base + line, base + ring + (y + phase) % rows * pitch, wide, count, (need + _LANES - 1) // _LANES)
        ready = top + hi + tall - 1
        while many > 0 and summed <= unit % groups + many:
            place = base + sums + summed % many * pitch
            _together(work, base + ring, pitch, summed * TALLY % rows, rows, place, count)
            summed += 1
        goal, slot, whole = (
            (plane * all_rows + top) * all_columns + left,
            (top + phase) % rows,
            columns // _LANES if hi - lo == TALLY else 0,
        )
        if whole > 0:
            ahead = TALLY * all_columns
            shared = base + sums, (unit % groups + 1) % max(many, 1)
            _down(work, base + ring, pitch, slot, rows, tall, weight, out, goal, all_columns, ahead, whole, *shared)
        if whole < count:
            x = whole * _LANES
            shared = base + sums + x, (unit % groups + 1) % max(many, 1)
            to = base + aside + x
            _down(work, base + ring + x, pitch, slot, rows, tall, weight, work, to, strip, 0, count - whole, *shared)
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
