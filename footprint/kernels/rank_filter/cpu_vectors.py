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
from footprint.kernels.rank_filter.contract import MOST
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


@intrinsic
def columns(typing_context, lines, at, pitch, count, to, tall, wide, many, rest):  # type: ignore[no-untyped-def]
    """Sort ``count`` columns of the lines that start at ``at``, and keep their ranks in lines of the same array from ``to`` on."""

    def code(context, builder, signature, args):  # type: ignore[no-untyped-def]
        set.update(builder.function.attributes, ("noinline",))
        e, signed = Emit(context, builder, signature, args), signature.args[0].dtype.signed
        window = _window(signature, 5)
        with _vectors(e, args[3]) as loop:
            x = e.mul(loop.index, e.kind.count)
            values = [e.load(0, e.add(e.add(args[1], x), e.mul(args[2], i))) for i in range(window[0])]
            for i, value in enumerate(_run(e, signed, column(*window), values)):
                e.store(value, 0, e.add(e.add(args[4], x), e.mul(args[2], i)))
        return _nothing(context, builder)

    n = types.int64
    return types.void(lines, n, n, n, n, tall, wide, many, rest), code


@intrinsic
def windows(typing_context, lines, at, pitch, count, out, to, tall, wide, many, rest, real):  # type: ignore[no-untyped-def]
    """From the ranks of columns to those of ``count`` windows, in whole vectors; as floats where ``real`` is two long."""

    def code(context, builder, signature, args):  # type: ignore[no-untyped-def]
        set.update(builder.function.attributes, ("noinline",))
        e, signed = Emit(context, builder, signature, args), signature.args[0].dtype.signed
        window = _window(signature, 6)
        with _vectors(e, args[3]) as loop:
            x = e.mul(loop.index, e.kind.count)
            starts = [e.add(e.add(args[1], x), e.mul(args[2], i)) for i in range(len(ranks(*window)))]
            values = [e.load(0, e.add(start, j)) for start in starts for j in range(window[1])]
            found = _run(e, signed, across(*window), values)[0]
            e.store(_turned(e, found) if len(signature.args[10]) > 1 else found, 4, e.add(args[5], x))
        return _nothing(context, builder)

    n = types.int64
    return types.void(lines, n, n, n, out, n, tall, wide, many, rest, real), code


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
