"""Rows of an image to those of a tile, and back: vectors side by side in memory lie in strips there."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

from footprint.kernels.common.vectors import Emit


@contextmanager
def _every(e: Emit, parts: ir.Value, vectors: ir.Value, at: ir.Value, skip: ir.Value) -> Iterator[tuple[ir.Value, ir.Value]]:
    """Inside loops over a row of a tile: the number of a vector, and where it lies, of so many ``vectors`` of each of its parts."""
    with cgutils.for_range(e.b, parts) as part:
        start, number = e.add(at, e.mul(part.index, e.kind.count)), e.mul(part.index, vectors)
        with cgutils.for_range(e.b, vectors) as column:
            yield e.add(number, column.index), e.add(start, e.mul(skip, column.index))


def _spread(e: Emit) -> None:
    """Rows of vectors to a tile and 0 to those behind them, and the largest bits but the sign's of every lane."""
    b, lanes = e.b, e.kind.count
    at, pitch, to, skip, rows, vectors, parts, total, free = (e.args[i] for i in (1, 2, 4, 5, 6, 7, 8, 9, 10))
    whole = ir.VectorType(ir.IntType(8 * e.itemsize), lanes)
    size = ir.Constant(whole, [(1 << (8 * e.itemsize - 1)) - 1] * lanes)
    most = cgutils.alloca_once_value(b, b.bitcast(e.load(3, free), whole))
    with cgutils.for_range(b, rows) as row:
        source, target = e.add(at, e.mul(pitch, row.index)), e.add(to, e.mul(row.index, 2 * lanes))
        with _every(e, parts, vectors, target, skip) as (number, place):
            x = e.load(0, e.add(source, e.mul(number, lanes)))
            e.store(x, 3, place)
            bits, held = b.and_(b.bitcast(x, whole), size), b.load(most)
            b.store(b.select(b.icmp_unsigned(">", bits, held), bits, held), most)
    with cgutils.for_range_slice(b, rows, total, ir.Constant(rows.type, 1)) as (row, _):
        with _every(e, parts, vectors, e.add(to, e.mul(row, 2 * lanes)), skip) as (_, place):
            e.store(e.zero(), 3, place)
    e.store(b.bitcast(b.load(most), e.kind), 3, free)


@intrinsic
def spread(typing_context, src, at, pitch, x, to, skip, rows, vectors, parts, total, free):  # type: ignore[no-untyped-def]
    """See `_spread`: from (src, at, pitch) to a tile (x, to), where so many ``vectors`` of a row, ``skip`` apart, are in each part.

    Of ``total`` rows those from ``rows`` on are 0. ``x[free]`` and on holds the largest |x| of every lane so far; what is not
    finite is larger than all that is.
    """

    def code(context, builder, signature, args):  # type: ignore[no-untyped-def]
        _spread(Emit(context, builder, signature, args))
        return context.get_dummy_value()

    n = types.int64
    return types.void(src, n, n, x, n, n, n, n, n, n, n), code


def _gather(e: Emit) -> None:
    b, lanes = e.b, e.kind.count
    at, skip, to, pitch, rows, vectors, count, factor = (e.args[i] for i in (1, 2, 4, 5, 6, 7, 8, 10))
    one, other = e.splat(9, factor), e.splat(9, e.add(factor, 1))
    whole, rest = b.udiv(count, e.index(lanes)), b.urem(count, e.index(lanes))
    least = lambda x, y: b.select(b.icmp_signed("<", x, y), x, y)
    first, second = least(whole, vectors), b.sub(whole, least(whole, vectors))
    behind = b.icmp_signed("<", whole, vectors)
    last = b.select(behind, e.mul(whole, skip), e.add(e.mul(second, skip), lanes))
    with cgutils.for_range(b, rows) as row:
        source, target = e.add(at, e.mul(row.index, 2 * lanes)), e.add(to, e.mul(pitch, row.index))
        for start, begin, many in ((source, target, first), (e.add(source, lanes), e.add(target, e.mul(first, lanes)), second)):
            with cgutils.for_range(b, many) as column:
                x = e.load(0, e.add(start, e.mul(skip, column.index)))
                e.store(b.fmul(b.fmul(x, one), other), 3, e.add(begin, e.mul(column.index, lanes)))
        with b.if_then(b.icmp_signed(">", rest, e.index(0))):
            x = e.load(0, e.add(source, last))
            e.store_some(b.fmul(b.fmul(x, one), other), 3, e.add(target, e.mul(whole, lanes)), rest)


@intrinsic
def gather(typing_context, x, at, skip, dst, to, pitch, rows, vectors, count, w, factor):  # type: ignore[no-untyped-def]
    """``count`` elements of every row of a tile (x, at, skip) to (dst, to, pitch), times w[factor] and then w[factor + 1].

    ``vectors`` of them are in its first part, and the others in its second.
    """

    def code(context, builder, signature, args):  # type: ignore[no-untyped-def]
        _gather(Emit(context, builder, signature, args))
        return context.get_dummy_value()

    n = types.int64
    return types.void(x, n, n, dst, n, n, n, n, n, w, n), code
