"""The inner loop of the direct sums: a block of outputs stays in registers while all columns of some tap rows go by.

Each vector that is loaded serves all the tap rows it meets. A signal makes such a block, too: its vectors of outputs are the
rows, a vector's length apart, and the taps a vector's length apart are the tap rows.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

from footprint.kernels.common.vectors import REGISTERS, SHIFTS, Emit, own
from footprint.kernels.convolve.contract import LINE_ROWS

ROWS, VECTORS = (4, 4) if REGISTERS >= 32 else (4, 2)
"""Rows of outputs held at once, and vectors of each."""
FLAT_ROWS, FLAT_VECTORS = (4, 4) if REGISTERS >= 32 else (2, 4)
"""The same of an image, where rows of the result are written beside those that are read: where they lie whole pages apart, as those
of 2048 columns do, one place of each is all that a cache of 8 ways holds."""

LINE_WHOLE = 6 if REGISTERS >= 32 else 3
"""Most whole vectors of taps that go by together under a mask of a single row, and some of the next one with them."""


def held(height: int, width: int) -> tuple[int, int]:
    """Rows of outputs that are held at once under a mask, and vectors of each. Sums down a column alone take more rows."""
    return (FLAT_ROWS, FLAT_VECTORS) if height == 1 or width > 1 else (ROWS, VECTORS)


class _Place(NamedTuple):
    """Where sums are taken from and go, and in which order they are formed: values, or numbers known beforehand."""

    at: Any
    pitch: Any
    first: Any
    stride: Any
    count: Any
    chain: Any
    to: Any
    step: Any
    fresh: Any


def _sums(e: Emit, taps: int, rows: int, vectors: int, place: _Place, arrays: tuple[int, int, int]) -> None:
    """``out[to + q step + x] (+)= sum of weights[first + t stride + j] image[at + (q + t) pitch + j + x]``, t < taps, j < count.

    For ``q < rows`` and ``x`` in ``vectors`` vectors; the sum of every ``chain`` columns starts at 0 and is added to what is
    there, unless it is ``fresh`` and the first. ``arrays`` are the arguments that image, weights and out are.
    """
    b, lanes, (image, mask, out) = e.b, e.kind.count, arrays
    at, pitch, first, stride, count, chain, to, step, fresh = place
    block = [(q, c) for q in range(rows) for c in range(vectors)]
    held = {one: cgutils.alloca_once(b, e.kind) for one in block}
    starts = [e.add(at, e.mul(pitch, r)) for r in range(rows + taps - 1)]
    with cgutils.for_range_slice(b, ir.Constant(count.type, 0), count, chain) as (begin, _):
        for one in block:
            b.store(e.zero(), held[one])
        end = b.add(begin, chain)
        end = b.select(b.icmp_signed("<", end, count), end, count)
        with cgutils.for_range_slice(b, begin, end, ir.Constant(count.type, 1)) as (column, _):
            weights = [e.splat(mask, e.add(e.add(first, e.mul(stride, t)), column)) for t in range(taps)]
            sums = {one: b.load(held[one]) for one in block}
            for r, start in enumerate(starts):
                for c in range(vectors):
                    values = e.load(image, e.add(e.add(start, column), c * lanes))
                    for q in range(max(0, r - taps + 1), min(rows, r + 1)):
                        sums[q, c] = e.multiply_add(values, weights[r - q], sums[q, c])
            for one in block:
                b.store(sums[one], held[one])
        starting = b.icmp_signed("==", begin, ir.Constant(count.type, 0))
        with b.if_else(b.and_(b.trunc(fresh, ir.IntType(1)), starting)) as (new, more):
            for case, adds in ((new, False), (more, True)):
                with case:
                    for q, c in block:
                        goal, total = e.add(to, e.add(e.mul(step, q), c * lanes)), b.load(held[q, c])
                        e.store(b.fadd(e.load(out, goal), total) if adds else total, out, goal)


def two_by_two(e: Emit, at: Any, first: Any, columns: tuple[Any, Any], sums: list[Any], arrays: tuple[int, int]) -> Any:
    """Add products of taps ``first + j`` and neighbouring vectors from ``at + j`` on to ``sums``, two ``j`` at a time.

    The result is where the one that may be left is. A vector across two lines of the cache takes longer to load than two products
    to add: of a pair's only one is loaded, and the other is made of its neighbours.
    """
    b, lanes, (image, mask), (begin, end) = e.b, e.kind.count, arrays, columns
    if not SHIFTS:
        return begin
    whole = e.add(begin, e.mul(b.sdiv(b.sub(end, begin), e.add(0, 2)), 2))
    with cgutils.for_range_slice(b, begin, whole, e.add(0, 2)) as (column, _):
        start, tap = e.add(at, column), e.add(first, column)
        values = [e.load(image, e.add(start, c * lanes)) for c in range(len(sums))]
        following = e.nexts(values, e.splat(image, e.add(start, len(sums) * lanes)))
        one, two = e.splat(mask, tap), e.splat(mask, e.add(tap, 1))
        for total, value, other in zip(sums, values, following):
            b.store(e.multiply_add(other, two, e.multiply_add(value, one, b.load(total))), total)
    return whole


def _maker(taps: int, rows: int, vectors: int) -> Any:
    """The intrinsic for so many tap rows, and ``many`` neighbouring blocks, whose sums begin ``leap`` elements apart."""

    @intrinsic
    def sums(typing_context, image, at, pitch, weights, first, stride, count, chain, out, to, step, leap, fresh, many):  # type: ignore[no-untyped-def]
        def code(context, builder, signature, args):  # type: ignore[no-untyped-def]
            def write(e: Emit) -> None:
                args = e.args
                with cgutils.for_range(e.b, args[13]) as block:
                    at = e.add(args[1], e.mul(block.index, vectors * e.kind.count))
                    goal = e.add(args[9], e.mul(block.index, args[11]))
                    place = _Place(at, args[2], args[4], args[5], args[6], args[7], goal, args[10], args[12])
                    _sums(e, taps, rows, vectors, place, (0, 3, 8))

            return own(context, builder, signature, args, write)

        n = types.int64
        return types.void(image, n, n, weights, n, n, n, n, out, n, n, n, types.uint8, n), code

    return sums


def _line_sums(e: Emit, whole: int, at: Any, first: Any, more: Any, pace: Any, arrays: tuple[int, int]) -> list[Any]:
    """The sums of a row's taps from ``first`` on: ``whole`` vectors of taps and ``more`` of the next one.

    Taps a vector apart go by together: the first columns have one more of them than the others. Every ``pace`` columns are a chain.
    """
    b, lanes, (image, mask) = e.b, e.kind.count, arrays
    held, found = ([cgutils.alloca_once(b, e.kind) for _ in range(LINE_ROWS)] for _ in range(2))
    least = lambda i, j: b.select(b.icmp_signed("<", i, j), i, j)
    for one in found:
        b.store(e.zero(), one)
    with cgutils.for_range_slice(b, e.index(0), e.index(lanes), pace) as (start, _):
        for one in held:
            b.store(e.zero(), one)
        stop = least(e.add(start, pace), e.index(lanes))
        middle = least(b.select(b.icmp_signed("<", start, more), more, start), stop)
        for taps, begin, end in (whole + 1, start, middle), (whole, middle, stop):
            if taps == 0:
                break
            rest = two_by_two(e, at, first, (begin, end), held, arrays) if taps == 1 else begin
            with cgutils.for_range_slice(b, rest, end, e.index(1)) as (column, _):
                place, tap = e.add(at, column), e.add(first, column)
                weights = [e.splat(mask, e.add(tap, t * lanes)) for t in range(taps)]
                sums = [b.load(one) for one in held]
                for r in range(LINE_ROWS + taps - 1):
                    values = e.load(image, e.add(place, r * lanes))
                    for q in range(max(0, r - taps + 1), min(LINE_ROWS, r + 1)):
                        sums[q] = e.multiply_add(values, weights[r - q], sums[q])
                for one, total in zip(held, sums):
                    b.store(total, one)
        for one, total in zip(held, found):
            b.store(b.fadd(b.load(total), b.load(one)), total)
    return [b.load(one) for one in found]


def _line_maker(whole: int) -> Any:
    """The intrinsic for the rows that a signal makes, of ``many`` neighbouring blocks; sums are added unless ``fresh``."""

    @intrinsic
    def sums(typing_context, image, at, weights, first, more, pace, out, to, fresh, many):  # type: ignore[no-untyped-def]
        def code(context, builder, signature, args):  # type: ignore[no-untyped-def]
            def write(e: Emit) -> None:
                b, args, lanes = e.b, e.args, e.kind.count
                with cgutils.for_range(b, args[9]) as block:
                    start = e.mul(block.index, LINE_ROWS * lanes)
                    goal = e.add(args[7], start)
                    sums = _line_sums(e, whole, e.add(args[1], start), args[3], args[4], args[5], (0, 2))
                    with b.if_else(b.trunc(args[8], ir.IntType(1))) as (new, old):
                        for case, adds in ((new, False), (old, True)):
                            with case:
                                for q, total in enumerate(sums):
                                    place = e.add(goal, q * lanes)
                                    e.store(b.fadd(e.load(6, place), total) if adds else total, 6, place)

            return own(context, builder, signature, args, write)

        n = types.int64
        return types.void(image, n, weights, n, n, n, out, n, types.uint8, n), code

    return sums


def totals(e: Emit, values: list[Any], losses: tuple[int, list[Any]], goals: tuple[int, list[Any]], new: Any, end: Any) -> None:
    """Add sums to the totals at ``goals``; what is rounded away is kept at ``losses``, and added at the ``end``.

    Both are an array's number and where its vectors begin. The first sums, ``new`` ones, are the totals themselves. What is lost in
    adding two numbers is a number (Knuth).
    """
    b, truth, (beside, kept), (out, to) = e.b, ir.IntType(1), losses, goals
    with b.if_else(b.trunc(new, truth)) as (first, later):
        with first:
            for value, total, lost in zip(values, to, kept):
                e.store(value, out, total)
                e.store(e.zero(), beside, lost)
        with later:
            for more, total, place in zip(values, to, kept):
                old, lost = e.load(out, total), e.load(beside, place)
                both = b.fadd(old, more)
                got = b.fsub(both, old)
                e.store(both, out, total)
                left = b.fadd(b.fsub(old, b.fsub(both, got)), b.fsub(more, got))
                e.store(b.fadd(lost, left), beside, place)
    with b.if_then(b.trunc(end, truth)):
        for total, place in zip(to, kept):
            lost = e.load(beside, place)
            # Where sums are infinite, what they lost is no number.
            e.store(b.fadd(e.load(out, total), b.select(b.fcmp_ordered("ord", lost, lost), lost, e.zero())), out, total)


def _totals(e: Emit, rows: int, vectors: int, free: Any, to: Any) -> None:
    """Add a group's sums, from ``free`` on, to the outputs; what is rounded away is kept behind them."""
    lanes, (step, new, end), many = e.kind.count, e.args[4:7], rows * vectors
    groups = [e.add(free, n * lanes) for n in range(many)]
    goals = [e.add(e.add(to, e.mul(step, n // vectors)), n % vectors * lanes) for n in range(many)]
    losses = [e.add(group, many * lanes) for group in groups]
    totals(e, [e.load(0, group) for group in groups], (0, losses), (2, goals), new, end)


def _total_maker(rows: int, vectors: int) -> Any:
    @intrinsic
    def total(typing_context, work, free, out, to, step, new, end, many):  # type: ignore[no-untyped-def]
        def code(context, builder, signature, args):  # type: ignore[no-untyped-def]
            def write(e: Emit) -> None:
                with cgutils.for_range(e.b, e.args[7]) as block:
                    free = e.add(e.args[1], e.mul(block.index, 2 * rows * vectors * e.kind.count))
                    _totals(e, rows, vectors, free, e.add(e.args[3], e.mul(block.index, vectors * e.kind.count)))

            return own(context, builder, signature, args, write)

        n = types.int64
        return types.void(work, n, out, n, n, types.uint8, types.uint8, n), code

    return total


image2, image3, image4, image5 = (_maker(taps, ROWS, VECTORS) for taps in (2, 3, 4, 5))
flat1, flat2, flat3, flat4, flat5 = (_maker(taps, FLAT_ROWS, FLAT_VECTORS) for taps in (1, 2, 3, 4, 5))
line0, line1, line2, line3, line4, line5, line6 = (_line_maker(whole) for whole in range(7))
image_total, line_total = _total_maker(ROWS, VECTORS), _total_maker(LINE_ROWS, 1)
flat_total = _total_maker(FLAT_ROWS, FLAT_VECTORS)
