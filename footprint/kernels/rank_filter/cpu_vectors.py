"""The inner loops of the rank filter: networks of comparisons on vectors, a lane for every pixel.

Height, width and rank of the window are lengths of tuples, so that they are part of the types: Numba compiles, and keeps on disk,
one function for each. A rank is two of them, its quotient and remainder by `MOST`, each with one more: no tuple is empty.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

from footprint.kernels.common.vectors import Emit, own
from footprint.kernels.rank_filter.contract import MOST, shift
from footprint.kernels.rank_filter.networks import Network, across, column, picked, ranks


def window_of(signature: Any, first: int) -> tuple[int, int, int]:
    """Height, width and rank of a window, by the lengths of the tuples from argument ``first`` on."""
    tall, wide, many, rest = (len(signature.args[first + i]) for i in range(4))
    return tall, wide, (many - 1) * MOST + rest - 1


def order_of(signature: Any) -> str:
    """By which minima and maxima the first argument's elements are compared, whole numbers all: see ``Emit.extreme``."""
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
        if e.itemsize == 8 and order != "f":
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


def _picked(e: Emit, signature: Any, window: tuple[int, int, int], values: Any, out: int, to: Any) -> None:
    """Find the rank among those of the columns, one rank after another, and write it to array ``out``."""
    _write(e, signature, run(e, order_of(signature), across(*window), values)[0], out, to)


def _write(e: Emit, signature: Any, found: Any, out: int, to: Any) -> None:
    if len(signature.args[-1]) > 1:
        found = _turned(e, e.b.add(found, _whole(e, shift(e.itemsize))))
    e.store(found, out, to)


def _nothing(context: Any, builder: Any) -> Any:
    return context.get_dummy_value()


@intrinsic
def columns(typing_context, lines, at, pitch, count, to, tall, wide, many, rest):  # type: ignore[no-untyped-def]
    """Sort ``count`` columns of the lines that start at ``at``, and keep their ranks in lines of the same array from ``to`` on."""

    def code(context, builder, signature, args):  # type: ignore[no-untyped-def]
        e, order = Emit(context, builder, signature, args), order_of(signature)
        window = window_of(signature, 5)
        with vectors_of(e, args[3]) as loop:
            x = e.mul(loop.index, e.kind.count)
            values = [e.load(0, e.add(e.add(args[1], x), e.mul(args[2], i))) for i in range(window[0])]
            for i, value in enumerate(run(e, order, column(*window), values)):
                e.store(value, 0, e.add(e.add(args[4], x), e.mul(args[2], i)))
        return _nothing(context, builder)

    n = types.int64
    return types.void(lines, n, n, n, n, tall, wide, many, rest), code


def _shuffled(e: Emit, vectors: Any, j: int) -> Any:
    """The vector that begins at element ``j`` of neighbours."""
    lanes = vectors[0].type.count
    one, shift = vectors[j // lanes], j % lanes
    if shift == 0:
        return one
    places = ir.Constant(ir.VectorType(ir.IntType(32), lanes), [shift + k for k in range(lanes)])
    return e.b.shuffle_vector(one, vectors[j // lanes + 1], places)


def sweep(
    e: Emit, count: Any, wide: int, ordered: Callable[[Any], list[Any]], finish: Callable[[Any, list[list[Any]]], None]
) -> None:
    """Go along ``count`` windows, a vector or more.

    ``ordered(x)`` makes vectors of the columns from ``x`` on, ``finish(x, found)`` results of those of ``wide`` neighbours: the
    first vector of each, the second of each, and so on, the order in which they are used. They stay in registers, and what lies
    between two is shuffled from both: most loads of it would cross a line of the cache.
    """
    b, lanes = e.b, e.kind.count
    beyond = -(-(wide - 1) // lanes)
    zero = e.add(0, 0)
    whole = b.sub(b.sdiv(e.add(count, wide - 1), e.add(0, lanes)), e.add(0, beyond))
    some = b.icmp_signed(">", whole, zero)
    whole = b.select(some, whole, zero)
    with b.if_then(some):
        first, before = [ordered(e.add(0, k * lanes)) for k in range(beyond)], b.block
        body, after = b.append_basic_block("body"), b.append_basic_block("after")
        b.branch(body)
        b.position_at_end(body)
        # Values, not places: what goes on to the next vectors is not to go by way of memory.
        index, held = b.phi(zero.type), [[b.phi(one.type) for one in vectors] for vectors in first]
        x = e.mul(index, lanes)
        found = [*held, ordered(e.add(x, beyond * lanes))]
        finish(x, [[_shuffled(e, vectors, j) for j in range(wide)] for vectors in zip(*found)])
        following = e.add(index, 1)
        index.add_incoming(zero, before)
        index.add_incoming(following, body)
        for places, *both in zip(held, first, found[1:]):
            for place, start, then in zip(places, *both):
                place.add_incoming(start, before)
                place.add_incoming(then, body)
        b.cbranch(b.icmp_signed("<", following, whole), body, after)
        b.position_at_end(after)
    # The last vectors end where the row does.
    with cgutils.for_range_slice(b, e.mul(whole, lanes), count, e.add(0, lanes)) as (x, _):
        x = inside(e, x, count)
        finish(x, [list(same) for same in zip(*(ordered(e.add(x, j)) for j in range(wide)))])


@intrinsic
def windows(typing_context, lines, at, pitch, slot, source, begin, count, out, to, tall, wide, many, rest, real):  # type: ignore[no-untyped-def]
    """The rank of ``count`` windows, a vector or more, whose last row is that of ``source`` from ``begin`` on.

    The others are lines from ``at`` on, all but the one of number ``slot``, which becomes what the last row is compared as. Columns
    are sorted as they are come to.
    """

    def code(context, builder, signature, args):  # type: ignore[no-untyped-def]
        window = window_of(signature, 9)

        def write(e: Emit) -> None:
            args, b = e.args, e.b
            (at, pitch, slot), (begin, count), to = args[1:4], args[5:7], args[8]
            numbers = [ir.Constant(slot.type, i) for i in range(window[0] - 1)]
            rows = [e.add(i, b.zext(b.icmp_signed(">=", i, slot), slot.type)) for i in numbers]
            starts, latest = [e.add(at, e.mul(pitch, row)) for row in rows], e.add(at, e.mul(pitch, slot))

            def ordered(x: Any) -> list[Any]:
                new = _compared(e, e.load(4, e.add(begin, x)), len(signature.args[-1]) > 1)
                e.store(new, 0, e.add(latest, x))
                values = [*(e.load(0, e.add(start, x)) for start in starts), new]
                return run(e, order_of(signature), column(*window), values)

            def finish(x: Any, found: list[list[Any]]) -> None:
                _picked(e, signature, window, [one for same in found for one in same], 7, e.add(to, x))

            sweep(e, count, window[1], ordered, finish)

        return own(context, builder, signature, args, write)

    n = types.int64
    return types.void(lines, n, n, n, source, n, n, out, n, tall, wide, many, rest, real), code


@intrinsic
def merged(typing_context, ranked, at, pitch, count, out, to, tall, wide, many, rest, real):  # type: ignore[no-untyped-def]
    """The rank of ``count`` windows, in whole vectors, from the ranks that `columns` kept; as floats where ``real`` is two long."""

    def code(context, builder, signature, args):  # type: ignore[no-untyped-def]
        set.update(builder.function.attributes, ("noinline",))
        e, window = Emit(context, builder, signature, args), window_of(signature, 6)
        with vectors_of(e, args[3]) as loop:
            x = e.mul(loop.index, e.kind.count)
            starts = [e.add(e.add(args[1], x), e.mul(args[2], i)) for i in range(len(ranks(*window)))]
            values = [e.load(0, e.add(start, j)) for start in starts for j in range(window[1])]
            _picked(e, signature, window, values, 4, e.add(args[5], x))
        return _nothing(context, builder)

    n = types.int64
    return types.void(ranked, n, n, n, out, n, tall, wide, many, rest, real), code


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
def carry(typing_context, source, begin, lines, to, count, real):  # type: ignore[no-untyped-def]
    """Copy ``count`` elements, a vector or more, as what they are compared as; of floats where ``real`` is two long."""

    def code(context, builder, signature, args):  # type: ignore[no-untyped-def]
        e, (begin, to, count) = Emit(context, builder, signature, args), (args[1], args[3], args[4])
        lanes = e.add(0, e.kind.count)
        with cgutils.for_range_slice(builder, e.add(0, 0), count, lanes) as (x, _):
            x = inside(e, x, count)
            e.store(_compared(e, e.load(0, e.add(begin, x)), len(signature.args[5]) > 1), 2, e.add(to, x))
        return _nothing(context, builder)

    n = types.int64
    return types.void(source, n, lines, n, n, real), code
