"""The inner loops of extremes: maxima of vectors. What a box measures, and how values become what is compared, are data.

A key is an integer of a value's size, of which the largest is wanted: ``((bits ^ (sign & turn)) - less) ^ flip``, where ``sign`` is
all ones if the value is below 0. It is the order of `footprint.kernels.rank_filter`, for minima with every bit turned over.
Where a loop's last vector would reach beyond its end it begins earlier: what is done twice is the same, as maxima are.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

from footprint.kernels.common.vectors import Emit, own
from footprint.kernels.rank_filter.cpu_vectors import inside, vectors_of

_ABREAST = 4
"""Vectors side by side that go up lines together: what lies beside what is read is near."""


def _same(e: Emit, number: Any) -> Any:
    """A 64-bit number in every lane, cut to their size."""
    lane, lanes = e.kind.element, e.kind.count
    one = e.b.trunc(number, lane) if lane.width < 64 else number
    none, first = ir.Constant(e.kind, ir.Undefined), ir.Constant(ir.IntType(32), 0)
    return e.b.shuffle_vector(
        e.b.insert_element(none, one, first), none, ir.Constant(ir.VectorType(first.type, lanes), [0] * lanes)
    )


class _Order:
    """How vectors become keys, and keys vectors; of fewer than 4 bytes there are no floats."""

    def __init__(self, e: Emit, flip: Any, less: Any, turn: Any) -> None:
        self.e, self.flip, self.real = e, _same(e, flip), e.itemsize >= 4
        if self.real:
            self.less, self.turn = _same(e, less), _same(e, turn)
            self.last = ir.Constant(e.kind, [8 * e.itemsize - 1] * e.kind.count)

    def _turned(self, value: Any) -> Any:
        b = self.e.b
        return b.xor(value, b.and_(b.ashr(value, self.last), self.turn))

    def key(self, value: Any) -> Any:
        if self.real:
            value = self.e.b.sub(self._turned(value), self.less)
        return self.e.b.xor(value, self.flip)

    def value(self, key: Any) -> Any:
        found = self.e.b.xor(key, self.flip)
        return self._turned(self.e.b.add(found, self.less)) if self.real else found


def _largest(e: Emit, one: Any, other: Any) -> Any:
    return e.extreme("smax", one, other)


def _loop(context: Any, builder: Any, signature: Any, args: Any, count: int, make: Callable[[Emit], Callable[[Any], None]]) -> Any:
    """A function of its own: what ``make`` returns, for the place of every vector of so many elements as argument ``count`` is."""

    def write(e: Emit) -> None:
        each = make(e)
        with vectors_of(e, e.args[count]) as loop:
            each(inside(e, e.mul(loop.index, e.kind.count), e.args[count]))

    return own(context, builder, signature, args, write)


def _carrier(back: bool) -> Any:
    """Elements of an image from ``at`` on as keys, up or down."""

    @intrinsic
    def carry(typing_context, image, at, work, to, count, ahead, flip, less, turn):  # type: ignore[no-untyped-def]
        def code(context, builder, signature, args):  # type: ignore[no-untyped-def]
            def make(e: Emit) -> Callable[[Any], None]:
                at, to, ahead, order, lanes = e.args[1], e.args[3], e.args[5], _Order(e, *e.args[6:9]), e.kind.count
                turned = ir.Constant(ir.VectorType(ir.IntType(32), lanes), list(range(lanes))[::-1])

                def each(x: Any) -> None:
                    if back:
                        value = e.load(0, e.add(e.b.sub(at, x), 1 - lanes))
                        value = e.b.shuffle_vector(value, value, turned)
                    else:
                        e.expect(0, e.add(at, e.add(ahead, x)), level=2)
                        value = e.load(0, e.add(at, x))
                    e.store(order.key(value), 2, e.add(to, x))

                return each

            return _loop(context, builder, signature, args, 4, make)

        n = types.int64
        return types.void(image, n, work, n, n, n, n, n, n), code

    return carry


carry, carry_back = _carrier(False), _carrier(True)


@intrinsic
def fill(typing_context, work, to, count, key):  # type: ignore[no-untyped-def]
    """``count`` times a key, in whole vectors."""

    def code(context, builder, signature, args):  # type: ignore[no-untyped-def]
        def write(e: Emit) -> None:
            value = _same(e, e.args[3])
            with vectors_of(e, e.args[2]) as loop:
                e.store(value, 0, e.add(e.args[1], e.mul(loop.index, e.kind.count)))

        return own(context, builder, signature, args, write)

    n = types.int64
    return types.void(work, n, n, n), code


@intrinsic
def doubled_within(typing_context, work, at, count, times):  # type: ignore[no-untyped-def]
    """Of ``count`` elements of a line the largest of each and those behind it, 2^times in all, no more than a vector holds.

    Every level is a vector behind the one before it: what it is made of stays in registers. So many vectors before the line are
    written, and behind it read, in vain.
    """

    def code(context, builder, signature, args):  # type: ignore[no-untyped-def]
        def write(e: Emit) -> None:
            (_, at, count, times), b, lanes = e.args, e.b, e.kind.count
            vectors = b.udiv(e.add(count, lanes - 1), e.index(lanes))
            for levels in range(1, lanes.bit_length()):
                with b.if_then(b.icmp_signed("==", times, e.index(levels))):
                    held = [cgutils.alloca_once(b, e.kind) for _ in range(levels)]
                    for one in held:
                        b.store(ir.Constant(e.kind, [0] * lanes), one)
                    with cgutils.for_range(b, e.add(vectors, levels)) as loop:
                        place = e.add(at, e.mul(loop.index, lanes))
                        value = e.load(0, place)
                        for level, one in enumerate(held):
                            before, by = b.load(one), 1 << level
                            b.store(value, one)
                            lane = ir.Constant(ir.VectorType(ir.IntType(32), lanes), [by + k for k in range(lanes)])
                            value = _largest(e, before, b.shuffle_vector(before, value, lane))
                        e.store(value, 0, e.add(place, -levels * lanes))

        return own(context, builder, signature, args, write)

    n = types.int64
    return types.void(work, n, n, n), code


@intrinsic
def doubled(typing_context, work, at, count, by):  # type: ignore[no-untyped-def]
    """Of ``count`` elements of a line, in whole vectors, the larger of each and of the one that lies ``by`` behind it."""

    def code(context, builder, signature, args):  # type: ignore[no-untyped-def]
        def write(e: Emit) -> None:
            with vectors_of(e, e.args[2]) as loop:
                place = e.add(e.args[1], e.mul(loop.index, e.kind.count))
                e.store(_largest(e, e.load(0, place), e.load(0, e.add(place, e.args[3]))), 0, place)

        return own(context, builder, signature, args, write)

    n = types.int64
    return types.void(work, n, n, n), code


@intrinsic
def kept(typing_context, work, at, by, beside, to, count):  # type: ignore[no-untyped-def]
    """A line's boxes, two that lie ``by`` apart making one, and what lies ``beside``, kept from ``to`` on."""

    def code(context, builder, signature, args):  # type: ignore[no-untyped-def]
        def make(e: Emit) -> Callable[[Any], None]:
            _, at, by, beside, to, _ = e.args

            def each(x: Any) -> None:
                here = e.add(at, x)
                found = _largest(e, e.load(0, here), e.load(0, e.add(here, by)))
                e.store(_largest(e, found, e.load(0, e.add(beside, x))), 0, e.add(to, x))

            return each

        return _loop(context, builder, signature, args, 5, make)

    n = types.int64
    return types.void(work, n, n, n, n, n), code


@intrinsic
def written(typing_context, work, at, by, out, to, count, ahead, flip, less, turn):  # type: ignore[no-untyped-def]
    """A line's boxes as results."""

    def code(context, builder, signature, args):  # type: ignore[no-untyped-def]
        def make(e: Emit) -> Callable[[Any], None]:
            _, at, by, _, to, _, ahead, *how = e.args
            order = _Order(e, *how)

            def each(x: Any) -> None:
                here = e.add(at, x)
                e.expect(3, e.add(e.add(to, ahead), x), level=2)
                e.store(order.value(_largest(e, e.load(0, here), e.load(0, e.add(here, by)))), 3, e.add(to, x))

            return each

        return _loop(context, builder, signature, args, 5, make)

    n = types.int64
    return types.void(work, n, n, out, n, n, n, n, n, n), code


@intrinsic
def joined(typing_context, work, at, by, since, found, rest, keep, out, to, count, ahead, flip, less, turn):  # type: ignore[no-untyped-def]
    """Results of a row: what a block has from its ``rest`` on, and the next one before this line and of it.

    The latter, which lies from ``since`` on, is left at ``found``, and the line's own boxes at ``keep``.
    """

    def code(context, builder, signature, args):  # type: ignore[no-untyped-def]
        def make(e: Emit) -> Callable[[Any], None]:
            _, at, by, since, found, rest, keep, _, to, _, ahead, *how = e.args
            order = _Order(e, *how)

            def each(x: Any) -> None:
                here = e.add(at, x)
                e.expect(7, e.add(e.add(to, ahead), x), level=2)
                own = _largest(e, e.load(0, here), e.load(0, e.add(here, by)))
                both = _largest(e, own, e.load(0, e.add(since, x)))
                last = e.load(0, e.add(rest, x))
                e.store(both, 0, e.add(found, x))
                e.store(own, 0, e.add(keep, x))
                e.store(order.value(_largest(e, both, last)), 7, e.add(to, x))

            return each

        return _loop(context, builder, signature, args, 9, make)

    n = types.int64
    return types.void(work, n, n, n, n, n, n, out, n, n, n, n, n, n), code


@intrinsic
def gathered(typing_context, work, at, pitch, lines, out, to, count, flip, less, turn):  # type: ignore[no-untyped-def]
    """Of so many lines from ``at`` on each becomes the largest of it and those behind it: the first is a result."""

    def code(context, builder, signature, args):  # type: ignore[no-untyped-def]
        def write(e: Emit) -> None:
            _, at, pitch, lines, _, to, count, *how = e.args
            order, b, lanes = _Order(e, *how), e.b, e.kind.count
            last = e.add(lines, -1)

            def columns(vectors: int) -> None:
                held = [cgutils.alloca_once(b, e.kind) for _ in range(vectors)]
                with cgutils.for_range_slice(b, e.index(0), count, e.index(vectors * lanes)) as (x, _):
                    end = e.add(count, -vectors * lanes)
                    x = b.select(b.icmp_signed("<", x, end), x, end)
                    place, goal = e.add(at, x), e.add(to, x)
                    for i, one in enumerate(held):
                        b.store(e.load(0, e.add(place, e.add(e.mul(pitch, last), i * lanes))), one)
                    with cgutils.for_range(b, last) as loop:
                        here = e.add(place, e.mul(pitch, b.sub(e.add(last, -1), loop.index)))
                        for i, one in enumerate(held):
                            found = _largest(e, b.load(one), e.load(0, e.add(here, i * lanes)))
                            b.store(found, one)
                            e.store(found, 0, e.add(here, i * lanes))
                    for i, one in enumerate(held):
                        e.store(order.value(b.load(one)), 4, e.add(goal, i * lanes))

            with b.if_else(b.icmp_signed("<", count, e.index(_ABREAST * lanes))) as (few, many):
                with few:
                    columns(1)
                with many:
                    columns(_ABREAST)

        return own(context, builder, signature, args, write)

    n = types.int64
    return types.void(work, n, n, n, out, n, n, n, n, n), code
