"""Loops of wide Gaussians on the CPU: coarse rows, coarse columns, and results, each of whole vectors."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

from footprint.kernels.coarse.strips import BESIDE, PLACES, ROWS, TALL
from footprint.kernels.common.vectors import BYTES, REGISTERS, Emit, own

LANES = BYTES // 4
FOUND = 2 * ROWS
"""Where among a thread's places a loop leaves what it found."""
SURE = 2
TOGETHER = 4
"""Rows of results that are made at once."""
AHEAD = 256
"""Bytes of a row that are on their way."""


def _put(e: Emit, value: ir.Value, array: int, at: Any) -> None:
    """Write one element of an array of 64-bit integers."""
    e.b.store(value, e._at(array, at, ir.IntType(64)))


def _any(e: Emit, vector: ir.Value) -> ir.Value:
    """Whether any lane is not 0, or no number."""
    b = e.b
    lanes = b.fcmp_unordered("!=", vector, e.zero())
    bits = b.bitcast(lanes, ir.IntType(e.kind.count))
    return b.icmp_unsigned("!=", bits, ir.Constant(bits.type, 0))


def _gathers(taps: int, listed: bool) -> Any:
    """The intrinsic that adds rows of a step to coarse rows that are the sum of so many steps; ``listed`` rows lie anywhere."""
    # What is in registers together.
    half = -(-taps // 2)
    shares = ((0, taps),) if REGISTERS >= 2 * taps - 2 or taps < REGISTERS - 4 else ((0, half), (half, taps))

    @intrinsic
    def gather(typing_context, image, x, pitch, places, n, weights, first, coarse, to, leap, lo, hi, fresh, many):  # type: ignore[no-untyped-def]
        """Add ``n`` rows to coarse rows ``lo`` to ``hi``, ``leap`` apart and each above the one before, of ``many`` vectors.

        They begin with ``x``. Rows of weights begin with ``first``, and rows are ``pitch`` apart, or ``places`` have both. Row 0 is
        written, where it is ``fresh``. At FOUND is left how many vectors were done: one whose sums are not finite is the caller's,
        who adds SURE to ``fresh`` where all that is summed is finite.
        """

        def code(context, builder, signature, args):  # type: ignore[no-untyped-def]
            def write(e: Emit) -> None:
                b, (_, x, pitch, _, n, _, first, _, to, leap, lo, hi, fresh, many) = e.b, e.args
                done = cgutils.alloca_once_value(b, many)
                with cgutils.for_range(b, many) as block:
                    here = e.mul(block.index, LANES)
                    for begin, end in shares:
                        held = [cgutils.alloca_once(b, e.kind) for _ in range(begin, end)]
                        for one in held:
                            b.store(e.zero(), one)
                        with cgutils.for_range(b, n) as row:
                            if listed:
                                start, weight = e.number(3, row.index), e.number(3, e.add(row.index, ROWS))
                            else:
                                start, weight = e.mul(row.index, pitch), e.mul(e.add(row.index, first), taps)
                            at = e.add(e.add(start, x), here)
                            if listed and begin == 0:
                                e.expect(0, e.add(at, pitch), level=2)
                            value = e.load(0, at)
                            for k, one in enumerate(held):
                                b.store(e.multiply_add(value, e.splat(5, e.add(weight, begin + k)), b.load(one)), one)
                        found = [b.load(one) for one in held]
                        if begin == 0:
                            wild = found[0]
                            for one in found[1:]:
                                wild = b.fadd(wild, one)
                            wild, unsure = b.fmul(wild, e.zero()), b.icmp_signed("<", fresh, e.index(SURE))
                            with b.if_then(b.and_(unsure, _any(e, wild)), likely=False):
                                b.store(block.index, done)
                                block.do_break()
                        for k, one in enumerate(found, begin):
                            wanted = b.and_(b.icmp_signed("<=", lo, e.index(k)), b.icmp_signed("<=", e.index(k), hi))
                            with b.if_then(wanted, likely=True):
                                goal = e.add(b.sub(to, e.mul(leap, k)), here)
                                before = e.load(7, goal)
                                if k == 0:
                                    before = b.select(b.trunc(fresh, ir.IntType(1)), e.zero(), before)
                                e.store(b.fadd(before, one), 7, goal)
                _put(e, b.load(done), 3, e.index(FOUND))

            return own(context, builder, signature, args, write)

        i = types.int64
        return types.void(image, i, i, places, i, weights, i, coarse, i, i, i, i, i, i), code

    return gather


gather_rows, gather_columns = _gathers(TALL, True), _gathers(BESIDE, False)


@intrinsic
def turn(typing_context, image, at, pitch, lines, to, many):  # type: ignore[no-untyped-def]
    """Lay ``many`` blocks of as many rows and columns as a vector has lanes so that a column's rows are side by side."""

    def code(context, builder, signature, args):  # type: ignore[no-untyped-def]
        def write(e: Emit) -> None:
            b, (_, at, pitch, _, to, many), half = e.b, e.args, LANES // 2
            pick = lambda first: ir.Constant(
                ir.VectorType(ir.IntType(32), LANES), [first + i // 2 + i % 2 * LANES for i in range(LANES)]
            )
            with cgutils.for_range(b, many) as block:
                here = e.add(at, e.mul(block.index, LANES))
                vectors = [e.load(0, e.add(here, e.mul(pitch, r))) for r in range(LANES)]
                for r in range(LANES):
                    e.expect(0, e.add(e.add(here, e.mul(pitch, r)), AHEAD // 4))
                for _ in range(LANES.bit_length() - 1):
                    pairs = list(zip(vectors[:half], vectors[half:]))
                    vectors = [b.shuffle_vector(one, other, pick(first)) for one, other in pairs for first in (0, half)]
                for k, vector in enumerate(vectors):
                    e.store(vector, 3, e.add(e.add(to, e.mul(block.index, LANES * LANES)), k * LANES))

        return own(context, builder, signature, args, write)

    n = types.int64
    return types.void(image, n, n, lines, n, n), code


def _results(taps: int) -> Any:
    """The intrinsic of results that come from so many coarse columns."""

    @intrinsic
    def results(typing_context, coarse, at, pitch, rise, first, rows, less, columns, leap, places, out, to, step, many, some):  # type: ignore[no-untyped-def]
        """Of coarse rows from ``at`` on ``rows`` results of ``many`` vectors, of which the last has ``some`` lanes.

        Weights are those from row ``first`` of ``rise`` on, and ``less`` those of coarse columns. These are ``leap`` apart, and a
        vector's first is one of ``places``; the first of all has the first result's row at ``columns``.
        """

        def code(context, builder, signature, args):  # type: ignore[no-untyped-def]
            def write(e: Emit) -> None:
                b, (_, at, pitch, _, first, rows, _, columns, leap, _, _, to, step, many, some) = e.b, e.args
                with cgutils.for_range(b, many) as block:
                    here, last = e.mul(block.index, LANES), b.icmp_signed("==", block.index, e.add(many, -1))
                    values = [e.load(0, e.add(e.add(at, e.mul(pitch, k)), here)) for k in range(TALL)]
                    shares = [e.load(6, e.mul(e.add(e.mul(block.index, taps), k), LANES)) for k in range(taps)]
                    near = e.add(columns, e.mul(e.number(9, block.index), leap))

                    def made(row: Any, count: int) -> None:
                        sums = [e.zero()] * count
                        for k, share in enumerate(shares):
                            for r in range(count):
                                place = e.add(e.add(near, e.mul(leap, k)), e.add(row, r))
                                sums[r] = e.multiply_add(share, e.splat(0, place), sums[r])
                        for k, value in enumerate(values):
                            for r in range(count):
                                weight = e.splat(3, e.add(e.mul(e.add(e.add(first, row), r), TALL), k))
                                sums[r] = e.multiply_add(value, weight, sums[r])
                        for r in range(count):
                            goal = e.add(e.add(to, e.mul(step, e.add(row, r))), here)
                            with b.if_else(last) as (partly, wholly):
                                with partly:
                                    e.store_some(sums[r], 10, goal, some)
                                with wholly:
                                    e.store(sums[r], 10, goal)

                    whole = e.mul(b.sdiv(rows, e.index(TOGETHER)), TOGETHER)
                    with cgutils.for_range_slice(b, e.index(0), whole, e.index(TOGETHER)) as (row, _):
                        made(row, TOGETHER)
                    with cgutils.for_range_slice(b, whole, rows, e.index(1)) as (row, _):
                        made(row, 1)

            return own(context, builder, signature, args, write)

        n = types.int64
        return types.void(coarse, n, n, rise, n, n, less, n, n, places, out, n, n, n, n), code

    return results


one_over, two_over = _results(PLACES + 1), _results(PLACES + 2)
