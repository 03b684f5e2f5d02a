"""Short sums across and down in one pass on the CPU: what was summed across stays near, in a ring as tall as the column.

Every row of the image is read once and where it lies, but for the blocks that reach beyond an edge; no sum goes by way of memory
before it is whole.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba import prange
from numba.core import cgutils, types
from numba.extending import intrinsic

from footprint.kernels.common.jit import njit
from footprint.kernels.common.vectors import BYTES, Emit, apart, own
from footprint.kernels.convolve.contract import LINE_ROWS, ROWS
from footprint.kernels.convolve.cpu_lines import fill, source_index
from footprint.kernels.convolve.cpu_sums import two_by_two
from footprint.kernels.separable.contract import chained

LINE = 64
"""Bytes that come near at once."""
TWO = 2
"""Rows that are summed down at once: a vector that is loaded serves both."""
HALF = LINE_ROWS // TWO
"""Vectors of each."""

_chained = njit(cache=True, nogil=True)(chained)


def chains_of(e: Emit, taps: Any, chain: Any, count: int, add: Callable[[Any, Any, list[Any]], None]) -> list[Any]:
    """``count`` vectors of sums: ``add(begin, end, sums)`` adds the products of some taps, at most a chain."""
    b, (sums, totals) = e.b, ([cgutils.alloca_once(e.b, e.kind) for _ in range(count)] for _ in range(2))
    with cgutils.for_range_slice(b, e.add(0, 0), taps, chain) as (begin, _):
        for one in sums:
            b.store(e.zero(), one)
        end = e.add(begin, chain)
        add(begin, b.select(b.icmp_signed("<", end, taps), end, taps), sums)
        with b.if_else(b.icmp_signed("==", begin, e.add(0, 0))) as (first, later):
            for case, adds in ((first, False), (later, True)):
                with case:
                    for one, total in zip(sums, totals):
                        value = b.load(one)
                        b.store(b.fadd(b.load(total), value) if adds else value, total)
    return [b.load(total) for total in totals]


def _add(e: Emit, values: list[Any], weight: Any, sums: list[Any]) -> None:
    for value, one in zip(values, sums):
        e.b.store(e.multiply_add(value, weight, e.b.load(one)), one)


def _vectors(e: Emit, at: Any, count: int) -> list[Any]:
    """Neighbouring vectors of array 0."""
    return [e.load(0, e.add(at, c * e.kind.count)) for c in range(count)]


@intrinsic
def _across(typing_context, image, at, pitch, weights, taps, chain, out, to, many):  # type: ignore[no-untyped-def]
    """Sums across, of ``many`` neighbouring blocks; what lies below them, ``pitch`` elements on, is brought near."""

    def code(context, builder, signature, args):  # type: ignore[no-untyped-def]
        def write(e: Emit) -> None:
            args, b = e.args, e.b
            with cgutils.for_range(b, args[8]) as block:
                x = e.mul(block.index, LINE_ROWS * e.kind.count)
                start, to = e.add(args[1], x), e.add(args[7], x)
                for c in range(0, LINE_ROWS * BYTES, LINE):
                    e.expect(0, e.add(e.add(start, args[2]), c // e.itemsize))

                def add(begin: Any, end: Any, sums: list[Any]) -> None:
                    rest = two_by_two(e, start, e.add(0, 0), (begin, end), sums, (0, 3))
                    with cgutils.for_range_slice(b, rest, end, e.add(0, 1)) as (t, _):
                        # Loaded one by one, where they are used: registers are for the sums.
                        weight = e.splat(3, t)
                        for c, one in enumerate(sums):
                            _add(e, [e.load(0, e.add(e.add(start, t), c * e.kind.count))], weight, [one])

                for c, total in enumerate(chains_of(e, args[4], args[5], LINE_ROWS, add)):
                    e.store(total, 6, e.add(to, c * e.kind.count))

        return own(context, builder, signature, args, write)

    n = types.int64
    return types.void(image, n, n, weights, n, n, out, n, n), code


@intrinsic
def _down(typing_context, ring, at, pitch, slot, weights, taps, chain, out, to, step, many):  # type: ignore[no-untyped-def]
    """Sums down of `TWO` rows of ``many`` neighbouring blocks: the ring has a row more than taps, and begins with row ``slot``."""

    def code(context, builder, signature, args):  # type: ignore[no-untyped-def]
        def write(e: Emit) -> None:
            args, b, one = e.args, e.b, e.add(0, 1)
            (at, pitch, slot), taps = args[1:4], args[5]
            with cgutils.for_range(b, args[10]) as block:
                x = e.mul(block.index, HALF * e.kind.count)

                def row(t: Any) -> list[Any]:
                    r = e.add(slot, t)
                    r = b.select(b.icmp_signed("<=", r, taps), r, b.sub(b.sub(r, taps), one))
                    return _vectors(e, e.add(e.add(at, x), e.mul(r, pitch)), HALF)

                def add(begin: Any, end: Any, sums: list[Any]) -> None:
                    _add(e, row(begin), e.splat(4, begin), sums[:HALF])
                    with cgutils.for_range_slice(b, e.add(begin, 1), end, one) as (t, _):
                        values = row(t)
                        _add(e, values, e.splat(4, t), sums[:HALF])
                        _add(e, values, e.splat(4, b.sub(t, one)), sums[HALF:])
                    _add(e, row(end), e.splat(4, b.sub(end, one)), sums[HALF:])

                # Where the next two rows go is brought near meanwhile: writing waits for it as reading does.
                for c in range(TWO * HALF):
                    ahead = e.add(e.add(args[8], x), e.mul(args[9], TWO + c // HALF))
                    e.expect(7, e.add(ahead, c % HALF * e.kind.count), write=True)
                for c, total in enumerate(chains_of(e, taps, args[6], TWO * HALF, add)):
                    goal = e.add(e.add(args[8], x), e.mul(args[9], c // HALF))
                    e.store(total, 7, e.add(goal, c % HALF * e.kind.count))

        return own(context, builder, signature, args, write)

    n = types.int64
    return types.void(ring, n, n, n, weights, n, n, out, n, n, n), code


@njit(cache=True, nogil=True)
def _row(image, wide, work, edge, to, start, y, x, columns, height, width, code_y, code_x, cval):
    """Sums across of row ``y`` of a plane, wherever it lies, from column ``x`` on."""
    apart()
    block, row, chain = LINE_ROWS * BYTES // work.itemsize, source_index(y, height, code_y), _chained(wide.size)
    many = (columns + block - 1) // block
    # Blocks that lie inside with all they need are neighbours.
    skip = (max(-x, 0) + block - 1) // block
    count = max(0, min(many, (width - x - wide.size + 1) // block) - skip) if row >= 0 else 0
    if count > 0:
        _across(image, start + row * width + x + skip * block, width, wide, wide.size, chain, work, to + skip * block, count)
    plane, one = image[start : start + height * width], min(many, 1)
    for k in range(many):
        if count == 0 or not skip <= k < skip + count:
            need = min(block, columns - k * block) + wide.size - 1
            fill(work, edge, need, plane, height, width, y, x + k * block, code_y, code_x, cval)
            _across(work, edge, block, wide, wide.size, chain, work, to + k * block, one)


@njit(cache=True, nogil=True)
def short_units(image, tall, wide, out, work, base, first, last, strip, edge, shapes, y0, x0, code_y, code_x, cval):
    """Groups of ROWS rows of strips of planes; the ring goes on from group to group."""
    apart()
    height, width, all_rows, all_columns = shapes
    groups, strips = (all_rows + ROWS - 1) // ROWS, (all_columns + strip - 1) // strip
    block, edge, before, ready = HALF * BYTES // work.itemsize, base + edge, -1, 0
    taps, chain = tall.size, _chained(tall.size)
    for unit in range(first, last):
        plane, left, top = unit // (groups * strips), unit // groups % strips * strip, unit % groups * ROWS
        columns, start = min(strip, all_columns - left), plane * height * width
        if unit // groups != before:
            before, ready = unit // groups, top
        for y in range(top, min(top + ROWS, all_rows), TWO):
            rows = min(TWO, all_rows - y)
            while ready < y + taps + rows - 1:
                place = start, ready + y0, left + x0, columns, height, width
                _row(image, wide, work, edge, base + ready % (taps + 1) * strip, *place, code_y, code_x, cval)
                ready += 1
            to, whole = (plane * all_rows + y) * all_columns + left, columns // block if rows == TWO else 0
            _down(work, base, strip, y % (taps + 1), tall, taps, chain, out, to, all_columns, whole)
            for x in range(whole * block, columns, block):
                _down(work, base + x, strip, y % (taps + 1), tall, taps, chain, work, edge, block, min(rows, 1))
                for q in range(rows):
                    for k in range(min(block, columns - x)):
                        out[to + q * all_columns + x + k] = work[edge + q * block + k]


@njit(cache=True, parallel=True, nogil=True)
def short_all(image, tall, wide, out, work, size, threads, units, strip, edge, shapes, y0, x0, code_y, code_x, cval):
    """The same in threads."""
    for t in prange(threads):
        first, last = units * t // threads, units * (t + 1) // threads
        short_units(image, tall, wide, out, work, t * size, first, last, strip, edge, shapes, y0, x0, code_y, code_x, cval)
