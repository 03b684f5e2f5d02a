"""Means of float32 over some dozen pixels a side on the CPU, in one pass: few additions a pixel, and nothing is taken off again.

Sums across are made of sums of 1, 2, 4, ... neighbours, each the sum of two of the ones before, up to a vector's length, and then
of whole vectors of these. Neighbouring rows of sums down share the sum of what lies under all their windows, made of sums of as
many rows; to that each adds its own rows before and after.
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


def _behind(e: Emit, vector: Any, right: Any, by: int) -> Any:
    """What begins ``by`` elements behind a vector, of which ``right`` is the next."""
    places = ir.Constant(ir.VectorType(ir.IntType(32), _LANES), list(range(by, by + _LANES)))
    return e.b.shuffle_vector(vector, right, places) if by else vector


def _near(e: Emit, rest: int, line: Any, beside: Any, count: Any) -> None:
    """Sums of as many neighbours as a vector has lanes, where the line's samples lay, and of ``rest`` of them ``beside``."""
    b, held = e.b, []
    for _ in range(_LANES.bit_length() - 1):
        held.append(cgutils.alloca_once_value(b, e.zero()))
    with cgutils.for_range(b, count) as vector:
        # From the right end on: what a vector needs of the next one is known.
        x = e.mul(b.sub(b.sub(count, vector.index), e.index(1)), _LANES)
        total, few_of, done = e.load(0, e.add(line, x)), None, 0
        for level, one in enumerate(held):
            right, size = b.load(one), 1 << level
            b.store(total, one)
            if rest & size:
                more = _behind(e, total, right, done)
                few_of, done = more if few_of is None else b.fadd(few_of, more), done + size
            total = b.fadd(total, _behind(e, total, right, size))
        e.store(total, 0, e.add(line, x))
        if few_of is not None:
            e.store(few_of, 0, e.add(beside, x))


@intrinsic
def _sums_near(typing_context, work, rest, line, beside, count):  # type: ignore[no-untyped-def]
    """See `_near`: of ``count`` vectors of a line of ``work``."""

    def code(context, builder, signature, args):  # type: ignore[no-untyped-def]
        def write(e: Emit) -> None:
            for rest in range(_LANES):
                with e.b.if_then(e.b.icmp_signed("==", e.args[1], e.index(rest))):
                    _near(e, rest, *e.args[2:])

        return own(context, builder, signature, args, write)

    n = types.int64
    return types.void(work, n, n, n, n), code


@intrinsic
def _sums_far(typing_context, work, whole, line, beside, to, count):  # type: ignore[no-untyped-def]
    """``count`` vectors, in groups of `_CHAINS`, of the sums of ``whole`` vectors of the line; those that lie ``beside`` are added.

    ``beside`` is less than 0 where there are none.
    """

    def code(context, builder, signature, args):  # type: ignore[no-untyped-def]
        def write(e: Emit) -> None:
            b, (whole, line, beside, to, count) = e.b, e.args[1:]
            held = [cgutils.alloca_once(b, e.kind) for _ in range(2 * _CHAINS)]
            some, twos = b.icmp_signed(">=", beside, e.index(0)), e.mul(b.sdiv(whole, e.index(2)), 2)
            with cgutils.for_range_slice(b, e.index(0), count, e.index(_CHAINS)) as (vector, _):
                at = e.add(line, e.mul(vector, _LANES))
                for chain in held:
                    b.store(e.zero(), chain)
                with b.if_then(some):
                    for i, chain in enumerate(held[:_CHAINS]):
                        b.store(e.load(0, e.add(e.add(beside, e.mul(e.add(vector, whole), _LANES)), i * _LANES)), chain)
                for half, low, high, step in ((2, e.index(0), twos, 2), (1, twos, whole, 1)):
                    with cgutils.for_range_slice(b, low, high, e.index(step)) as (t, _):
                        for i, chain in enumerate(held[: half * _CHAINS]):
                            value = e.load(0, e.add(at, e.mul(e.add(t, i // _CHAINS + i % _CHAINS), _LANES)))
                            b.store(b.fadd(b.load(chain), value), chain)
                for i in range(_CHAINS):
                    total = b.fadd(b.load(held[i]), b.load(held[_CHAINS + i]))
                    e.store(total, 0, e.add(e.add(to, e.mul(vector, _LANES)), i * _LANES))

        return own(context, builder, signature, args, write)

    n = types.int64
    return types.void(work, n, n, n, n, n), code


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
def _units(image, tall, wide, weight, out, work, base, first, last, strip, places, shapes, y0, x0, start, code_y, code_x):
    """Groups of `TALLY` rows, counted from the whole's first one, of strips of planes."""
    apart()
    (height, width, all_rows, all_columns), (line, beside, ring, sums, aside), many = shapes, places, tall // TALLY - 1
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
            _sums_near(work, wide % _LANES, base + line, base + beside, (need + _LANES - 1) // _LANES)
            rest = base + beside if wide % _LANES > 0 else -1
            _sums_far(work, wide // _LANES, base + line, rest, base + ring + (y + phase) % rows * pitch, count)
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
