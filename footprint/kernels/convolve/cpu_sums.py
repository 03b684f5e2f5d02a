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

LINE_ABREAST = 2 if REGISTERS >= 32 else 1
"""Neighbouring blocks of a row's outputs that are held at once where there are so many."""
LINE_TAPS = 7 if REGISTERS >= 32 else 4
"""Most taps a vector apart whose weights are held at once under a mask of a single row, but for one more at the end."""
FEW_WHOLE = 2
"""Most whole vectors of a row's taps that have loops of their own: what is asked about more would take longer than their sums."""


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


def _columns(e: Emit, taps: int, first: Any, at: Any, columns: tuple[Any, Any], held: list[Any]) -> None:
    """Add the products of columns of a row's taps to ``held``: of each column so many taps, a vector apart."""
    b, lanes = e.b, e.kind.count
    with cgutils.for_range_slice(b, *columns, e.index(1)) as (column, _):
        place, tap = e.add(at, column), e.add(first, column)
        weights, sums = [e.splat(2, e.add(tap, t * lanes)) for t in range(taps)], [b.load(one) for one in held]
        for r in range(len(held) + taps - 1):
            values = e.load(0, e.add(place, r * lanes))
            for q in range(max(0, r - taps + 1), min(len(held), r + 1)):
                sums[q] = e.multiply_add(values, weights[r - q], sums[q])
        for one, total in zip(held, sums):
            b.store(total, one)


def _few_maker(whole: int) -> Any:
    """The intrinsic for a row of few taps, ``whole`` vectors and ``more``, all in one chain, and ``many`` neighbouring blocks."""

    @intrinsic
    def sums(typing_context, image, at, weights, more, out, to, many):  # type: ignore[no-untyped-def]
        def code(context, builder, signature, args):  # type: ignore[no-untyped-def]
            def write(e: Emit) -> None:
                b, (_, at, _, more, _, to, many) = e.b, e.args
                first, lanes = e.index(0), e.kind.count
                held = [cgutils.alloca_once(b, e.kind) for _ in range(LINE_ROWS)]
                with cgutils.for_range(b, many) as block:
                    start = e.mul(block.index, LINE_ROWS * lanes)
                    for one in held:
                        b.store(e.zero(), one)
                    # The first columns have a tap more than the others.
                    for taps, begin, end in (whole + 1, first, more), (whole, more, e.index(lanes)):
                        here = e.add(at, start)
                        begin = two_by_two(e, here, first, (begin, end), held, (0, 2)) if taps == 1 else begin
                        if taps > 0:
                            _columns(e, taps, first, here, (begin, end), held)
                    for q, one in enumerate(held):
                        e.store(b.load(one), 4, e.add(e.add(to, start), q * lanes))

            return own(context, builder, signature, args, write)

        n = types.int64
        return types.void(image, n, weights, n, out, n, n), code

    return sums


class _Row(NamedTuple):
    """Taps of a row from ``first`` on: ``whole`` vectors and ``more``; of those held at once every ``pace`` columns are a chain."""

    first: Any
    whole: Any
    more: Any
    pace: Any


def _line_sums(e: Emit, row: _Row, at: Any, goals: list[Any]) -> None:
    """The sums of a row's taps for vectors that lie side by side from ``at`` on.

    The code for each number of taps is there once, and is jumped to while sums stay in registers: a loop for every length of mask
    would take seconds to compile.
    """
    b, lanes, (first, whole, more, pace) = e.b, e.index(e.kind.count), row
    held, skipped = [cgutils.alloca_once(b, e.kind) for _ in goals], cgutils.alloca_once_value(b, e.index(0))
    either = lambda condition, i, j: b.select(condition, e.index(i), e.index(j))
    least = lambda i, j: either(b.icmp_signed("<", i, j), i, j)
    most = lambda i, j: either(b.icmp_signed("<", i, j), j, i)
    # As few parts as are held at once, of nearly as many taps each; the last one has the tap more of the first columns.
    parts = b.udiv(e.add(whole, LINE_TAPS - 1), e.index(LINE_TAPS))
    with cgutils.for_range(b, parts) as part:
        taps, skip = b.udiv(e.add(whole, part.index), parts), b.load(skipped)
        longer = b.select(b.icmp_signed("==", e.add(part.index, 1), parts), more, e.index(0))
        with cgutils.for_range_slice(b, e.index(0), lanes, pace) as (start, _):
            for one in held:
                b.store(e.zero(), one)
            stop = least(e.add(start, pace), lanes)
            middle = least(most(start, longer), stop)
            with cgutils.for_range(b, e.index(2)) as turn:
                shorter = b.icmp_signed("!=", turn.index, e.index(0))
                columns = either(shorter, middle, start), either(shorter, stop, middle)
                done = b.append_basic_block()
                asked = b.switch(b.add(taps, either(shorter, 0, 1)), done)
                for known in range(min(FEW_WHOLE + 1, (LINE_TAPS + 1) // 2), LINE_TAPS + 2):
                    case = b.append_basic_block()
                    asked.add_case(e.index(known), case)
                    b.position_at_end(case)
                    _columns(e, known, e.add(first, skip), e.add(at, skip), columns, held)
                    b.branch(done)
                b.position_at_end(done)
            with b.if_else(b.icmp_signed("==", b.or_(start, part.index), e.index(0))) as (new, old):
                for case, adds in ((new, False), (old, True)):
                    with case:
                        for goal, one in zip(goals, held):
                            total = b.load(one)
                            e.store(b.fadd(e.load(7, goal), total) if adds else total, 7, goal)
        b.store(e.add(skip, e.mul(taps, lanes)), skipped)


@intrinsic
def line_sums(typing_context, image, at, weights, first, whole, more, pace, out, to, leap, many):  # type: ignore[no-untyped-def]
    """The sums of many taps of a row, see `_Row`, for ``many`` neighbouring blocks; these go to places ``leap`` elements apart.

    Taps a vector apart go by together: ``whole`` of them, and one more in the first ``more`` columns. Twice as many outputs are
    held where there are two blocks: half as often a vector is loaded for them.
    """

    def code(context, builder, signature, args):  # type: ignore[no-untyped-def]
        def write(e: Emit) -> None:
            b, (_, at, _, first, whole, more, pace, _, to, leap, many) = e.b, e.args
            row, lanes = _Row(first, whole, more, pace), e.kind.count
            together = e.mul(b.sdiv(many, e.index(LINE_ABREAST)), LINE_ABREAST)
            for abreast, begin, end in (LINE_ABREAST, e.index(0), together), (1, together, many):
                with cgutils.for_range_slice(b, begin, end, e.index(abreast)) as (block, _):
                    starts = [e.add(to, e.mul(leap, e.add(block, k))) for k in range(abreast)]
                    goals = [e.add(start, q * lanes) for start in starts for q in range(LINE_ROWS)]
                    _line_sums(e, row, e.add(at, e.mul(block, LINE_ROWS * lanes)), goals)
                if LINE_ABREAST == 1:
                    break

        return own(context, builder, signature, args, write)

    n = types.int64
    return types.void(image, n, weights, n, n, n, n, out, n, n, n), code


def _both(b: ir.IRBuilder, old: Any, more: Any) -> tuple[Any, Any]:
    """The sum of two vectors, and what is lost in rounding it, which is a number (Knuth)."""
    both = b.fadd(old, more)
    got = b.fsub(both, old)
    return both, b.fadd(b.fsub(old, b.fsub(both, got)), b.fsub(more, got))


def _number(b: ir.IRBuilder, lost: Any, zero: Any) -> Any:
    """What was lost, or 0: where sums are infinite, it is no number."""
    return b.select(b.fcmp_ordered("ord", lost, lost), lost, zero)


def totals(e: Emit, values: list[Any], losses: tuple[int, list[Any]], goals: tuple[int, list[Any]], new: Any, end: Any) -> None:
    """Add sums to the totals at ``goals``; what is rounded away is kept at ``losses``, and added at the ``end``.

    Both are an array's number and where its vectors begin. The first sums, ``new`` ones, are the totals themselves.
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
                both, left = _both(b, old, more)
                e.store(both, out, total)
                e.store(b.fadd(lost, left), beside, place)
    with b.if_then(b.trunc(end, truth)):
        for total, place in zip(to, kept):
            lost = e.load(beside, place)
            e.store(b.fadd(e.load(out, total), _number(b, lost, e.zero())), out, total)


def _totals(e: Emit, rows: int, vectors: int, free: Any, to: Any) -> None:
    """Add a group's sums, from ``free`` on, to the outputs; what is rounded away is kept behind them."""
    lanes, (step, new, end), many = e.kind.count, e.args[4:7], rows * vectors
    groups = [e.add(free, n * lanes) for n in range(many)]
    goals = [e.add(e.add(to, e.mul(step, n // vectors)), n % vectors * lanes) for n in range(many)]
    losses = [e.add(group, many * lanes) for group in groups]
    totals(e, [e.load(0, group) for group in groups], (0, losses), (2, goals), new, end)


@intrinsic
def row_total(typing_context, work, free, out, to, second, end, many):  # type: ignore[no-untyped-def]
    """Add sums of later taps of a row to those of the first, for ``many`` blocks; see `totals`.

    Those of the first lie where the totals do, and of the ``second`` what is lost is the first that is.
    """

    def code(context, builder, signature, args):  # type: ignore[no-untyped-def]
        def write(e: Emit) -> None:
            b, lanes, (_, free, _, to, second, end, many) = e.b, e.kind.count, e.args
            second, end = (b.trunc(flag, ir.IntType(1)) for flag in (second, end))
            with cgutils.for_range(b, e.mul(many, LINE_ROWS)) as vector:
                inside = e.mul(b.and_(vector.index, e.index(LINE_ROWS - 1)), lanes)
                group = e.add(free, b.sub(e.mul(vector.index, 2 * lanes), inside))
                goal, place = e.add(to, e.mul(vector.index, lanes)), e.add(group, LINE_ROWS * lanes)
                old, more = e.load(2, goal), e.load(0, group)
                with b.if_else(b.and_(second, end)) as (only, several):
                    with only:
                        # What a single sum loses, its rounding loses again.
                        e.store(b.fadd(old, more), 2, goal)
                    with several:
                        both, left = _both(b, old, more)
                        lost = b.fadd(b.select(second, e.zero(), e.load(0, place)), left)
                        with b.if_else(end) as (last, other):
                            with last:
                                e.store(b.fadd(both, _number(b, lost, e.zero())), 2, goal)
                            with other:
                                e.store(both, 2, goal)
                                e.store(lost, 0, place)

        return own(context, builder, signature, args, write)

    n = types.int64
    return types.void(work, n, out, n, types.uint8, types.uint8, n), code


def _total_maker(rows: int, vectors: int, leap: int) -> Any:
    """The intrinsic for the totals of ``many`` blocks, ``leap`` vectors apart."""

    @intrinsic
    def total(typing_context, work, free, out, to, step, new, end, many):  # type: ignore[no-untyped-def]
        def code(context, builder, signature, args):  # type: ignore[no-untyped-def]
            def write(e: Emit) -> None:
                with cgutils.for_range(e.b, e.args[7]) as block:
                    free = e.add(e.args[1], e.mul(block.index, 2 * rows * vectors * e.kind.count))
                    _totals(e, rows, vectors, free, e.add(e.args[3], e.mul(block.index, leap * e.kind.count)))

            return own(context, builder, signature, args, write)

        n = types.int64
        return types.void(work, n, out, n, n, types.uint8, types.uint8, n), code

    return total


image2, image3, image4, image5 = (_maker(taps, ROWS, VECTORS) for taps in (2, 3, 4, 5))
flat1, flat2, flat3, flat4, flat5 = (_maker(taps, FLAT_ROWS, FLAT_VECTORS) for taps in (1, 2, 3, 4, 5))
few0, few1, few2 = (_few_maker(whole) for whole in range(FEW_WHOLE + 1))
image_total, line_total = _total_maker(ROWS, VECTORS, VECTORS), _total_maker(LINE_ROWS, 1, LINE_ROWS)
flat_total = _total_maker(FLAT_ROWS, FLAT_VECTORS, FLAT_VECTORS)
