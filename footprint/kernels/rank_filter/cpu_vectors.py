"""The inner loops of the rank filter: networks of comparisons on vectors, a lane for every pixel.

Height, width and rank of the window are lengths of tuples, so that they are part of the types: Numba compiles, and keeps on disk,
one function for each. A rank is two of them, its quotient and remainder by `MOST`, each with one more: no tuple is empty.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

from footprint.kernels.common.vectors import Emit
from footprint.kernels.rank_filter.contract import MOST, at_once
from footprint.kernels.rank_filter.networks import Network, across, column, ranks


def _window(signature: Any, first: int) -> tuple[int, int, int]:
    tall, wide, many, rest = (len(signature.args[first + i]) for i in range(4))
    return tall, wide, (many - 1) * MOST + rest - 1


def _run(e: Emit, signed: bool, network: Network, values: list[Any]) -> list[Any]:
    """The network's outputs from vectors of its inputs."""
    less = e.b.icmp_signed if signed else e.b.icmp_unsigned
    found = dict(enumerate(values))
    for a, b, low, high in network.pairs:
        first = less("<", found[a], found[b])
        if low >= 0:
            found[low] = e.b.select(first, found[a], found[b])
        if high >= 0:
            found[high] = e.b.select(first, found[b], found[a])
    return [found[i] for i in network.outputs]


def _vectors(e: Emit, count: Any) -> Any:
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


def _nothing(context: Any, builder: Any) -> Any:
    return context.get_dummy_value()


def _sorted(e: Emit, signed: bool, window: tuple[int, int, int], at: Any, pitch: Any) -> list[Any]:
    """The ranks of the columns of the lines that start at ``at``."""
    values = [e.load(0, e.add(at, e.mul(pitch, i))) for i in range(window[0])]
    return _run(e, signed, column(*window), values)


@intrinsic
def columns(typing_context, lines, at, pitch, count, to, tall, wide, many, rest):  # type: ignore[no-untyped-def]
    """Sort ``count`` columns of the lines that start at ``at``, and keep their ranks in lines of the same array from ``to`` on.

    Nothing where windows are sorted `at_once`.
    """

    def code(context, builder, signature, args):  # type: ignore[no-untyped-def]
        e, signed = Emit(context, builder, signature, args), signature.args[0].dtype.signed
        window = _window(signature, 5)
        if not at_once(*window[:2]):
            with _vectors(e, args[3]) as loop:
                x = e.mul(loop.index, e.kind.count)
                for i, value in enumerate(_sorted(e, signed, window, e.add(args[1], x), args[2])):
                    e.store(value, 0, e.add(e.add(args[4], x), e.mul(args[2], i)))
        return _nothing(context, builder)

    n = types.int64
    return types.void(lines, n, n, n, n, tall, wide, many, rest), code


def _shuffled(e: Emit, vectors: Any, j: int) -> Any:
    """The vector that begins at element ``j`` of neighbours."""
    lanes = e.kind.count
    one, shift = vectors[j // lanes], j % lanes
    if shift == 0:
        return one
    places = ir.Constant(ir.VectorType(ir.IntType(32), lanes), [shift + k for k in range(lanes)])
    return e.b.shuffle_vector(one, vectors[j // lanes + 1], places)


def _neighbours(e: Emit, signed: bool, window: tuple[int, int, int], at: Any, pitch: Any, count: Any) -> Any:
    """For every vector of windows where it begins, and the ranks of its columns, one rank after another.

    Columns are sorted as they are come to. Their ranks stay in registers, and what lies between two vectors is shuffled from both:
    most loads of it would cross a line of the cache.
    """
    b, lanes = e.b, e.kind.count
    ahead = -(-(window[1] - 1) // lanes)
    held = [[cgutils.alloca_once(b, e.kind) for _ in ranks(*window)] for _ in range(ahead)]
    for k, some in enumerate(held):
        for value, place in zip(_sorted(e, signed, window, e.add(at, k * lanes), pitch), some):
            b.store(value, place)
    with _vectors(e, count) as loop:
        x = e.mul(loop.index, lanes)
        found = [[b.load(place) for place in some] for some in held]
        found.append(_sorted(e, signed, window, e.add(at, e.add(x, ahead * lanes)), pitch))
        for some, values in zip(held, found[1:]):
            for value, place in zip(values, some):
                b.store(value, place)
        yield x, [_shuffled(e, vectors, j) for vectors in zip(*found) for j in range(window[1])]


def _loaded(e: Emit, window: tuple[int, int, int], at: Any, pitch: Any, count: Any) -> Any:
    """The same from the ranks that `columns` kept."""
    with _vectors(e, count) as loop:
        x = e.mul(loop.index, e.kind.count)
        starts = [e.add(e.add(at, x), e.mul(pitch, i)) for i in range(len(ranks(*window)))]
        yield x, [e.load(0, e.add(start, j)) for start in starts for j in range(window[1])]


@intrinsic
def windows(typing_context, lines, at, ranked, pitch, count, out, to, tall, wide, many, rest, real):  # type: ignore[no-untyped-def]
    """The rank of ``count`` windows, in whole vectors; as floats where ``real`` is two long.

    From the lines that start at ``at`` where windows are sorted `at_once`, else from the ranks of columns at ``ranked``.
    """

    def code(context, builder, signature, args):  # type: ignore[no-untyped-def]
        set.update(builder.function.attributes, ("noinline",))
        e, signed = Emit(context, builder, signature, args), signature.args[0].dtype.signed
        window, (at, kept, pitch, count) = _window(signature, 7), args[1:5]
        once = at_once(*window[:2])
        for x, values in _neighbours(e, signed, window, at, pitch, count) if once else _loaded(e, window, kept, pitch, count):
            found = _run(e, signed, across(*window), values)[0]
            e.store(_turned(e, found) if len(signature.args[11]) > 1 else found, 5, e.add(args[6], x))
        return _nothing(context, builder)

    n = types.int64
    return types.void(lines, n, n, n, n, out, n, tall, wide, many, rest, real), code


@intrinsic
def carry(typing_context, bits, at, lines, to, count, lowest):  # type: ignore[no-untyped-def]
    """Turn whole vectors of the bits of floats into integers of the same order: NaN, with a sign or none, is the largest."""

    def code(context, builder, signature, args):  # type: ignore[no-untyped-def]
        e = Emit(context, builder, signature, args)
        nothing, first = ir.Constant(e.kind, ir.Undefined), ir.Constant(ir.IntType(32), 0)
        lanes = ir.Constant(ir.VectorType(ir.IntType(32), e.kind.count), [0] * e.kind.count)
        least = builder.trunc(args[5], e.kind.element) if e.itemsize < 8 else args[5]
        least = builder.shuffle_vector(builder.insert_element(nothing, least, first), nothing, lanes)
        with _vectors(e, args[4]) as loop:
            x = e.mul(loop.index, e.kind.count)
            value = _turned(e, e.load(0, e.add(args[1], x)))
            below = builder.icmp_signed("<", value, least)
            e.store(builder.select(below, _whole(e, _most(e)), value), 2, e.add(args[3], x))
        return _nothing(context, builder)

    n = types.int64
    return types.void(bits, n, lines, n, n, n), code
