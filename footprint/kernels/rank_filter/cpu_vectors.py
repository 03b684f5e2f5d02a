"""The inner loops of the rank filter: networks of comparisons on vectors, a lane for every pixel.

Height, width and rank of the window are lengths of tuples, so that they are part of the types: Numba compiles, and keeps on disk,
one function for each. A rank is two of them, its quotient and remainder by `MOST`, each with one more: no tuple is empty.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

from footprint.kernels.common.vectors import Emit, own
from footprint.kernels.rank_filter.contract import AT_ONCE, MOST, shift
from footprint.kernels.rank_filter.networks import Network, alone, kept, of_column, picked, rows_in, shared


def window_of(signature: Any, first: int) -> tuple[int, int, int]:
    """Height, width and rank of a window, by the lengths of the tuples from argument ``first`` on."""
    tall, wide, many, rest = (len(signature.args[first + i]) for i in range(4))
    return tall, wide, (many - 1) * MOST + rest - 1


def order_of(signature: Any) -> str:
    """By which minima and maxima the first argument's elements are compared: see ``Emit.extreme``."""
    return "s" if signature.args[0].dtype.signed else "u"


def run(e: Emit, order: str, network: Network, values: list[Any]) -> list[Any]:
    """The network's outputs from vectors of its inputs."""
    return _lazily(e, order, network, values.__getitem__)


def _lazily(e: Emit, order: str, network: Network, load: Callable[[int], Any]) -> list[Any]:
    """The same, every input loaded where it is first needed, so that few live at once."""
    found: dict[int, Any] = {}

    def value(i: int) -> Any:
        if i not in found:
            found[i] = load(i)
        return found[i]

    for a, b, low, high in network.pairs:
        if e.itemsize == 8:
            # Not every processor has minima of these: then both ends share a comparison.
            first = (e.b.icmp_signed if order == "s" else e.b.icmp_unsigned)("<", value(a), value(b))
            for to, one, other in ((low, a, b), (high, b, a)):
                if to >= 0:
                    found[to] = e.b.select(first, found[one], found[other])
            continue
        for which, to in (("min", low), ("max", high)):
            if to >= 0:
                found[to] = e.extreme(order + which, value(a), value(b))
    return [value(i) for i in network.outputs]


def vectors_of(e: Emit, count: Any) -> Any:
    """A loop over the vectors that hold ``count`` elements."""
    return cgutils.for_range(e.b, e.b.udiv(e.add(count, e.kind.count - 1), e.add(0, e.kind.count)))


def _most(e: Emit) -> int:
    return (1 << (8 * e.itemsize - 1)) - 1


def _whole(e: Emit, number: int) -> ir.Constant:
    return ir.Constant(e.kind, [number] * e.kind.count)


def _turned(e: Emit, value: Any) -> Any:
    """The order of negative floats is that of their bits backwards."""
    signs = e.b.ashr(value, _whole(e, 8 * e.itemsize - 1))
    return e.b.xor(value, e.b.and_(signs, _whole(e, _most(e))))


def _compared(e: Emit, value: Any, real: bool) -> Any:
    """What bits of floats are compared as: integers of the same order, of which minus infinity is the least.

    NaN with a sign comes round to the largest. To subtract takes none of the units that compare.
    """
    return e.b.sub(_turned(e, value), _whole(e, shift(e.itemsize))) if real else value


def inside(e: Emit, x: Any, count: Any) -> Any:
    """Where the vector at ``x`` begins, moved back where it would reach beyond ``count`` elements."""
    last = e.b.sub(count, e.add(0, e.kind.count))
    return e.b.select(e.b.icmp_signed("<", x, last), x, last)


def _write(e: Emit, signature: Any, found: Any, out: int, to: Any) -> None:
    if len(signature.args[-1]) > 1:
        found = _turned(e, e.b.add(found, _whole(e, shift(e.itemsize))))
    e.store(found, out, to)


def _nothing(context: Any, builder: Any) -> Any:
    return context.get_dummy_value()


@intrinsic
def ranked(typing_context, source, at, count, ahead, lines, to, tall, wide, many, rest):  # type: ignore[no-untyped-def]
    """Sort every ``wide`` neighbours from ``at`` on, ``count`` times, a vector or more, and keep what is looked at: see `kept`.

    Those vectors lie side by side, from ``to`` on. What is ``ahead`` of the source is brought near meanwhile.
    """

    def code(context, builder, signature, args):  # type: ignore[no-untyped-def]
        tall, wide, rank = window_of(signature, 6)
        wanted = kept(wide, tall, rank)

        def write(e: Emit) -> None:
            at, count, ahead, to = (e.args[i] for i in (1, 2, 3, 5))
            with vectors_of(e, count) as loop:
                begin = e.add(at, inside(e, e.mul(loop.index, e.kind.count), count))
                e.expect(0, e.add(begin, ahead))
                found = run(e, order_of(signature), of_column(wide, wanted), [e.load(0, e.add(begin, j)) for j in range(wide)])
                goal = e.add(to, e.mul(loop.index, len(wanted) * e.kind.count))
                for i, value in enumerate(found):
                    e.store(value, 4, e.add(goal, i * e.kind.count))

        return own(context, builder, signature, args, write)

    n = types.int64
    return types.void(source, n, n, n, lines, n, tall, wide, many, rest), code


@intrinsic
def paired(typing_context, lines, at, pitch, oldest, count, out, to, step, tall, wide, many, rest, real):  # type: ignore[no-untyped-def]
    """The rank of ``count`` windows, a vector or more, of a row and of the next one, which goes ``step`` behind it.

    `ranked` has kept lines of one row more than a window has, ``pitch`` apart from ``at`` on. Line ``oldest`` is only the first
    window's, and the line before it, which may be the last, only the other's. Floats where ``real`` is two long.
    """

    def code(context, builder, signature, args):  # type: ignore[no-untyped-def]
        tall, wide, rank = window_of(signature, 8)
        order, wanted = order_of(signature), kept(wide, tall, rank)

        def write(e: Emit) -> None:
            (at, pitch, oldest, count), (to, step) = e.args[1:5], e.args[6:8]
            b, lanes, starts = e.b, e.kind.count, []
            for i in range(tall + 1):
                row = e.add(oldest, i)
                row = b.select(b.icmp_signed(">", row, e.index(tall)), e.add(row, -tall - 1), row)
                starts.append(e.add(at, e.mul(pitch, row)))
            with vectors_of(e, count) as loop:
                place = e.mul(loop.index, len(wanted) * lanes)
                rows = [e.add(start, place) for start in starts]
                load = lambda row, rank: e.load(0, e.add(rows[row], wanted.index(rank) * lanes))
                goal = e.add(to, inside(e, e.mul(loop.index, lanes), count))
                # The second is first: where there is no second row it is the first one's place.
                put = lambda n, value: _write(e, signature, value, 5, e.add(goal, e.mul(step, n)))
                _pair(e, order, (tall, wide, rank), load, put)

        return own(context, builder, signature, args, write)

    n = types.int64
    return types.void(lines, n, n, n, n, out, n, n, tall, wide, many, rest, real), code


def _pair(
    e: Emit, order: str, window: tuple[int, int, int], load: Callable[[int, int], Any], put: Callable[[int, Any], None]
) -> None:
    """The rank of two windows on top of each other, ``put`` by number; ``load(row, rank)`` has what of a row is kept."""
    tall, wide, rank = window
    both, lone = rows_in(wide, tall, rank)
    middle = tall - 1
    some = _lazily(e, order, shared(wide, tall, rank), lambda i: load(1 + i % middle, both[i // middle]))
    for number, row in ((1, tall), (0, 0)):
        values = lambda i, row=row: some[i] if i < len(some) else load(row, lone[i - len(some)])
        put(number, _lazily(e, order, alone(wide, tall, rank), values)[0])


def _shuffled(e: Emit, vectors: Any, j: int) -> Any:
    """The vector that begins at element ``j`` of neighbours."""
    lanes = vectors[0].type.count
    one, shift = vectors[j // lanes], j % lanes
    if shift == 0:
        return one
    places = ir.Constant(ir.VectorType(ir.IntType(32), lanes), [shift + k for k in range(lanes)])
    return e.b.shuffle_vector(one, vectors[j // lanes + 1], places)


def _along(e: Emit, count: Any, wide: int, rows: list[Any], load: Callable[[Any], Any], finish: Callable[[Any, Any], None]) -> None:
    """Go along ``count`` vectors of windows in ``rows`` that begin at such places.

    ``load(place)`` makes a vector, and ``finish(x, near)`` results: ``near(row)`` has the vectors that begin at each of ``wide``
    neighbours. What is loaded stays in registers, and what lies between two vectors is shuffled from both: where rows lie whole
    pages apart a cache holds few lines of them, and a load that crosses lines would take two.
    """
    b, lanes = e.b, e.kind.count
    beyond, zero = -(-(wide - 1) // lanes), e.add(0, 0)
    with b.if_then(b.icmp_signed(">", count, zero)):
        first, before = [[load(e.add(row, k * lanes)) for k in range(beyond)] for row in rows], b.block
        body, after = b.append_basic_block("body"), b.append_basic_block("after")
        b.branch(body)
        b.position_at_end(body)
        # Values, not places: what goes on to the next vectors is not to go by way of memory.
        index, held = b.phi(zero.type), [[b.phi(one.type) for one in vectors] for vectors in first]
        x = e.mul(index, lanes)
        found = [[*vectors, load(e.add(e.add(row, x), beyond * lanes))] for vectors, row in zip(held, rows)]
        finish(x, lambda row: [_shuffled(e, found[row], j) for j in range(wide)])
        following = e.add(index, 1)
        index.add_incoming(zero, before)
        index.add_incoming(following, body)
        for places, start, then in zip(held, first, found):
            for place, one, other in zip(places, start, then[1:]):
                place.add_incoming(one, before)
                place.add_incoming(other, body)
        b.cbranch(b.icmp_signed("<", following, count), body, after)
        b.position_at_end(after)


@intrinsic
def straight(typing_context, image, at, pitch, vectors, groups, out, to, out_pitch, tall, wide, many, rest, real):  # type: ignore[no-untyped-def]
    """The rank of so many vectors of windows, of ``groups`` of `AT_ONCE` rows each, from ``at`` on.

    One vector more is read of every row than its windows need.
    """

    def code(context, builder, signature, args):  # type: ignore[no-untyped-def]
        tall, wide, rank = window = window_of(signature, 8)
        order, wanted, real = order_of(signature), kept(wide, tall, rank), len(signature.args[-1]) > 1

        def write(e: Emit) -> None:
            (at, pitch, vectors, groups), (to, out_pitch) = e.args[1:5], e.args[6:8]
            with cgutils.for_range(e.b, groups) as group:
                rows = e.mul(group.index, AT_ONCE)
                starts = [e.add(at, e.mul(pitch, e.add(rows, i))) for i in range(tall + 2 * AT_ONCE - 1)]
                goals = [e.add(to, e.mul(out_pitch, e.add(rows, i))) for i in range(AT_ONCE)]

                def keep(first: int, x: Any, number: int, value: Any) -> None:
                    _write(e, signature, value, 5, e.add(goals[first + number], x))

                def finish(x: Any, near: Callable[[int], list[Any]]) -> None:
                    found: dict[int, dict[int, Any]] = {}

                    def load(first: int, row: int, rank: int) -> Any:
                        if first + row not in found:
                            found[first + row] = dict(zip(wanted, run(e, order, of_column(wide, wanted), near(first + row))))
                        return found[first + row][rank]

                    # Rows that come next, and where their results go, are on their way while these are made.
                    for start, end in zip(starts[tall + AT_ONCE - 1 :], goals):
                        e.expect(0, e.add(start, x), level=2)
                        e.expect(5, e.add(e.add(end, e.mul(out_pitch, AT_ONCE)), x), level=2)
                    for i in range(0, AT_ONCE, 2):
                        _pair(e, order, window, partial(load, i), partial(keep, i, x))

                # The vectors at both sides are made when all rows are through.
                for beside in (e.index(-e.kind.count), e.mul(vectors, e.kind.count)):
                    for start, end in zip(starts[tall - 1 :], goals):
                        e.expect(0, e.add(start, beside), level=2)
                        e.expect(5, e.add(end, beside), level=2)
                compared = lambda place: _compared(e, e.load(0, place), real)
                _along(e, vectors, wide, starts[: tall + AT_ONCE - 1], compared, finish)

        return own(context, builder, signature, args, write)

    n = types.int64
    return types.void(image, n, n, n, n, out, n, n, tall, wide, many, rest, real), code


@intrinsic
def chosen(typing_context, lines, at, pitch, places, count, out, to, many, rest, more, left_over, real):  # type: ignore[no-untyped-def]
    """The rank of ``count`` windows, in whole vectors, among some places: pairs of a line, from ``at`` on, and a column."""

    def code(context, builder, signature, args):  # type: ignore[no-untyped-def]
        set.update(builder.function.attributes, ("noinline",))
        e, lengths = Emit(context, builder, signature, args), [len(kind) for kind in signature.args[7:11]]
        inputs, rank = ((a - 1) * MOST + b - 1 for a, b in (lengths[:2], lengths[2:]))
        with vectors_of(e, args[4]) as loop:
            x = e.add(args[1], e.mul(loop.index, e.kind.count))

            def load(i: int) -> Any:
                line, column = (e.number(3, 2 * i + k) for k in range(2))
                return e.load(0, e.add(x, e.add(e.mul(line, args[2]), column)))

            found = _lazily(e, order_of(signature), picked(inputs, rank), load)[0]
            _write(e, signature, found, 5, e.add(args[6], e.mul(loop.index, e.kind.count)))
        return _nothing(context, builder)

    n = types.int64
    return types.void(lines, n, n, places, n, out, n, many, rest, more, left_over, real), code


@intrinsic
def carry(typing_context, source, begin, lines, to, count, ahead, real):  # type: ignore[no-untyped-def]
    """Copy ``count`` elements, a vector or more, as what they are compared as; of floats where ``real`` is two long."""

    def code(context, builder, signature, args):  # type: ignore[no-untyped-def]
        e, (begin, to, count, ahead) = Emit(context, builder, signature, args), (args[1], args[3], args[4], args[5])
        lanes = e.add(0, e.kind.count)
        with cgutils.for_range_slice(builder, e.add(0, 0), count, lanes) as (x, _):
            x = inside(e, x, count)
            e.expect(0, e.add(begin, e.add(ahead, x)))
            e.store(_compared(e, e.load(0, e.add(begin, x)), len(signature.args[6]) > 1), 2, e.add(to, x))
        return _nothing(context, builder)

    n = types.int64
    return types.void(source, n, lines, n, n, n, real), code
