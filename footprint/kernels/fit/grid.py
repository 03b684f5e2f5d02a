"""Gaussians on windows of pixels, four columns at a time: taken off, summed for normal equations, correlated as noise is.

Along a line a Gaussian's values have ratios that have one ratio, so that few exponentials give all pixels of a window.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

from footprint.kernels.common.vectors import Emit
from footprint.kernels.fit.contract import LANES

# Rows, and columns, that follow from one start, at most: and not more than so many standard deviations along the axis. What starts
# below e^-700 is 0, and nothing in all that follows from it.
SERIES, FAR = 32, 14.0
_MOST = 700.0
_LOG2E, _LOG2, _REST = 1 / math.log(2), 0.693145751953125, 1.42860682030941723212e-6
_ROUNDS = 1.5 * 2.0**52  # what is added to it has no fraction left
_TERMS = 11
_I32, _I64 = ir.IntType(32), ir.IntType(64)


class _Four(Emit):
    """Vectors of four float64 on all processors, so that all add up in one order."""

    def __init__(self, context: Any, builder: ir.IRBuilder, signature: Any, args: Sequence[ir.Value]) -> None:
        super().__init__(context, builder, signature, args)
        self.kind = ir.VectorType(ir.DoubleType(), LANES)
        self._kinds = {i: context.get_value_type(signature.args[i].dtype) for i in self._data}

    def all(self, one: Any) -> ir.Value:
        """A number in every lane."""
        if isinstance(one, float):
            return ir.Constant(self.kind, [one] * LANES)
        nothing = ir.Constant(self.kind, ir.Undefined)
        lanes = ir.Constant(ir.VectorType(_I32, LANES), [0] * LANES)
        return self.b.shuffle_vector(self.b.insert_element(nothing, one, ir.Constant(_I32, 0)), nothing, lanes)

    def columns(self, first: ir.Value, block: ir.Value) -> ir.Value:
        """Distances along x of a block's columns, of the first block's first column at ``first``."""
        start = self.b.fadd(first, self.b.sitofp(self.mul(block, LANES), ir.DoubleType()))
        return self.b.fadd(self.all(start), ir.Constant(self.kind, [float(i) for i in range(LANES)]))

    def every(self, one: ir.Value) -> ir.Value:
        """An integer in every lane."""
        kind = ir.VectorType(_I64, LANES)
        nothing, lanes = ir.Constant(kind, ir.Undefined), ir.Constant(ir.VectorType(_I32, LANES), [0] * LANES)
        return self.b.shuffle_vector(self.b.insert_element(nothing, one, ir.Constant(_I32, 0)), nothing, lanes)

    def element(self, array: int, at: ir.Value) -> ir.Value:
        """One element of an array of float32 or float64."""
        kind = self._kinds[array]
        value = self.b.load(self._at(array, at, kind))
        return value if kind == ir.DoubleType() else self.b.fpext(value, ir.DoubleType())

    def kept(self, value: ir.Value) -> Any:
        """A place that a loop changes."""
        return cgutils.alloca_once_value(self.b, value)

    def series(self, at: ir.Value, blocks: ir.Value, block: ir.Value) -> tuple[Any, Any]:
        """A block's values in the first row, and what they are multiplied with: see `seed`."""
        here = self.add(at, self.mul(block, LANES))
        return self.kept(self.load(0, here)), self.kept(self.load(0, self.add(here, self.mul(blocks, LANES))))

    def onward(self, value: Any, ratio: Any, change: ir.Value) -> None:
        """To the next row."""
        b, was = self.b, self.b.load(ratio)
        b.store(b.fmul(b.load(value), was), value)
        b.store(b.fmul(was, change), ratio)

    def gain(self, place: Any, x: ir.Value, y: ir.Value) -> None:
        """Add a product."""
        self.b.store(self.multiply_add(x, y, self.b.load(place)), place)

    def exp(self, x: ir.Value) -> ir.Value:
        """To 1e-14 of it: 0 from e^-700 down, and e^700 at most."""
        b, whole = self.b, ir.VectorType(_I64, LANES)
        nothing = b.fcmp_ordered("<", x, self.all(-_MOST))
        x = b.select(b.fcmp_ordered(">", x, self.all(_MOST)), self.all(_MOST), x)
        rounded = self.multiply_add(x, self.all(_LOG2E), self.all(_ROUNDS))
        twos = b.fsub(rounded, self.all(_ROUNDS))
        rest = self.multiply_add(twos, self.all(-_REST), self.multiply_add(twos, self.all(-_LOG2), x))
        terms = [self.all(1 / math.factorial(i)) for i in range(_TERMS + 1)]
        # By halves, which do not wait for each other.
        while len(terms) > 1:
            paired = [self.multiply_add(high, rest, low) for low, high in zip(terms[::2], terms[1::2])]
            terms = paired + terms[2 * len(paired) :]
            rest = b.fmul(rest, rest)
        value = terms[0]
        exponent = b.shl(b.bitcast(rounded, whole), ir.Constant(whole, [52] * LANES))
        value = b.bitcast(b.add(b.bitcast(value, whole), exponent), self.kind)
        return b.select(nothing, self.zero(), value)


def _code(write: Callable[..., None]) -> Callable[..., Any]:
    def code(context, builder, signature, args):  # type: ignore[no-untyped-def]
        write(_Four(context, builder, signature, args), *args[1:])
        return context.get_dummy_value()

    return code


@intrinsic
def seed(typing_context, w, at, blocks, y, x, height, yy, yx, xx):  # type: ignore[no-untyped-def]
    """Start the series of a Gaussian so far from its place, of this inverse covariance, at ``w[at]``.

    First come the values of the columns, then their ratios to those of the next row; what these ratios are multiplied with is left
    in ``w[at - 1]``.
    """

    def write(e, at, blocks, y, x, height, yy, yx, xx):  # type: ignore[no-untyped-def]
        b, f64 = e.b, ir.DoubleType()

        def times(factor, *values):  # type: ignore[no-untyped-def]
            product = ir.Constant(f64, factor)
            for value in values:
                product = b.fmul(product, value)
            return product

        dx = e.columns(x, ir.Constant(_I64, 0))
        across, down = times(-1.0, yx, y), times(-1.0, yy, b.fadd(y, ir.Constant(f64, 0.5)))
        inner = e.multiply_add(e.all(times(-0.5, xx)), dx, e.all(across))
        value = b.fmul(e.all(height), e.exp(e.multiply_add(inner, dx, e.all(times(-0.5, yy, y, y)))))
        ratio = e.exp(e.multiply_add(e.all(times(-1.0, yx)), dx, e.all(down)))
        wide = float(LANES)
        onward = e.exp(e.multiply_add(e.all(times(-wide, xx)), b.fadd(dx, e.all(wide / 2)), e.all(times(wide, across))))
        ones = ir.Constant(e.kind, ir.Undefined)
        for i, one in enumerate((times(-1.0, yy), times(-wide * wide, xx), times(-wide, yx), ir.Constant(f64, 0.0))):
            ones = b.insert_element(ones, one, ir.Constant(_I32, i))
        ones = e.exp(ones)
        change, bend, lean = (b.extract_element(ones, ir.Constant(_I32, i)) for i in range(3))
        b.store(change, e._at(0, e.add(at, -1), f64))
        # Where there is nothing, ratios are finite.
        ratio = b.select(b.fcmp_ordered("==", value, e.zero()), e.zero(), ratio)
        value, ratio, onward = e.kept(value), e.kept(ratio), e.kept(onward)
        with cgutils.for_range(b, blocks) as loop:
            here = e.add(at, e.mul(loop.index, LANES))
            e.store(b.load(value), 0, here)
            e.store(b.load(ratio), 0, e.add(here, e.mul(blocks, LANES)))
            e.onward(value, onward, e.all(bend))
            b.store(b.fmul(b.load(ratio), e.all(lean)), ratio)

    n, f = types.int64, types.float64
    return types.void(w, n, n, f, f, f, f, f, f), _code(write)


@intrinsic
def lay(typing_context, w, stamps, start, first, last, most, background, to, mask, count):  # type: ignore[no-untyped-def]
    """Put pixels of a row of ``stamps``, less the background, to ``w[to]``, 1 to ``w[mask]`` for each; count them, `LANES` counts.

    Of those from ``start`` to ``start + most`` these are the finite ones from the ``first`` and before the ``last``; others are 0.
    """

    def write(e, stamps, start, first, last, most, background, to, mask, count):  # type: ignore[no-untyped-def]
        b, numbers = e.b, ir.VectorType(_I64, LANES)
        where, counted = ir.Constant(numbers, list(range(LANES))), e.kept(e.load(0, count))
        with cgutils.for_range(b, b.sdiv(e.add(most, LANES), ir.Constant(_I64, LANES))) as block:
            begin, values = e.mul(block.index, LANES), ir.Constant(e.kind, ir.Undefined)
            for i in range(LANES):
                at = e.add(begin, i)
                at = b.select(b.icmp_signed(">", at, most), most, at)
                value = e.element(1, e.add(start, at))
                values = b.insert_element(values, value, ir.Constant(_I32, i))
            columns = b.add(e.every(begin), where)
            inside = b.and_(b.icmp_signed(">=", columns, e.every(first)), b.icmp_signed("<", columns, e.every(last)))
            known = b.and_(inside, b.fcmp_ordered("==", b.fsub(values, values), e.zero()))
            e.store(b.select(known, b.fsub(values, e.all(background)), e.zero()), 0, e.add(to, begin))
            there = b.select(known, e.all(1.0), e.zero())
            e.store(there, 0, e.add(mask, begin))
            b.store(b.fadd(b.load(counted), there), counted)
        e.store(b.load(counted), 0, count)

    n, f = types.int64, types.float64
    return types.void(w, stamps, n, n, n, n, f, n, n, n), _code(write)


@intrinsic
def less(typing_context, w, at, blocks, to, pitch, rows):  # type: ignore[no-untyped-def]
    """Take a series off ``rows`` rows from ``w[to]`` on."""

    def write(e, at, blocks, to, pitch, rows):  # type: ignore[no-untyped-def]
        change = e.splat(0, e.add(at, -1))
        with cgutils.for_range(e.b, blocks) as block:
            value, ratio = e.series(at, blocks, block.index)
            start = e.add(to, e.mul(block.index, LANES))
            with cgutils.for_range(e.b, rows) as row:
                here = e.add(start, e.mul(row.index, pitch))
                e.store(e.b.fsub(e.load(0, here), e.b.load(value)), 0, here)
                e.onward(value, ratio, change)

    n = types.int64
    return types.void(w, n, n, n, n, n), _code(write)


def powers(most: int) -> list[tuple[int, int]]:
    """Of distances along y and x, in the order of their sums."""
    return [(p, q) for p in range(most + 1) for q in range(most + 1 - p)]


def _summed(shaped: bool) -> Any:
    """The intrinsic for fits with shapes of their own, or of places alone."""
    squares, products = (4, 2) if shaped else (2, 1)

    def write(e, at, blocks, values, mask, pitch, rows, y, x, height, out):  # type: ignore[no-untyped-def]
        b, change, height, one = e.b, e.splat(0, e.add(at, -1)), e.all(height), e.all(1.0)
        with cgutils.for_range(b, blocks) as block:
            value, ratio = e.series(at, blocks, block.index)
            dy, left = e.kept(e.all(y)), e.kept(e.zero())
            found = [[e.kept(e.zero()) for _ in range(most + 1)] for most in (squares, products)]
            start = e.mul(block.index, LANES)
            with cgutils.for_range(b, rows) as row:
                here = e.add(start, e.mul(row.index, pitch))
                there, bell = e.load(0, e.add(mask, here)), b.load(value)
                rest = b.fmul(b.fsub(e.load(0, e.add(values, here)), b.fmul(height, bell)), there)
                bell = b.fmul(bell, there)
                e.gain(left, rest, rest)
                for sums, term in zip(found, (b.fmul(bell, bell), b.fmul(bell, rest))):
                    b.store(b.fadd(b.load(sums[0]), term), sums[0])
                    for i, place in enumerate(sums[1:]):
                        e.gain(place, term, b.load(dy))
                        term = b.fmul(term, b.load(dy)) if i + 2 < len(sums) else term
                b.store(b.fadd(b.load(dy), one), dy)
                e.onward(value, ratio, change)
            dx, to = e.columns(x, block.index), out
            for sums, most in zip(found, (squares, products)):
                for p, q in powers(most):
                    term = b.load(sums[p])
                    for _ in range(q):
                        term = b.fmul(term, dx)
                    e.store(b.fadd(e.load(0, to), term), 0, to)
                    to = e.add(to, LANES)
            e.store(b.fadd(e.load(0, to), b.load(left)), 0, to)

    @intrinsic
    def summed(typing_context, w, at, blocks, values, mask, pitch, rows, y, x, height, out):  # type: ignore[no-untyped-def]
        n, f = types.int64, types.float64
        return types.void(w, n, n, n, n, n, n, f, f, f, n), _code(write)

    return summed


# Of rows ``y``, ``y`` + 1, ... and columns from ``x`` on, a series' sums, `LANES` of each from ``w[out]`` on: of its squares times
# `powers` of y and x, then of its products with what it leaves of the values, then of the squares of that. Where the mask is 0
# there is nothing.
points, shapes = _summed(False), _summed(True)


def _fielded(shaped: bool) -> Any:
    def write(e, at, blocks, mask, to, room, pitch, rows, y, x):  # type: ignore[no-untyped-def]
        b, change, one = e.b, e.splat(0, e.add(at, -1)), e.all(1.0)
        with cgutils.for_range(b, blocks) as block:
            value, ratio = e.series(at, blocks, block.index)
            down, dx, start = e.kept(e.all(y)), e.columns(x, block.index), e.mul(block.index, LANES)
            with cgutils.for_range(b, rows) as row:
                here = e.add(start, e.mul(row.index, pitch))
                bell, dy = b.fmul(b.load(value), e.load(0, e.add(mask, here))), b.load(down)
                fields = [bell, b.fmul(bell, dy), b.fmul(bell, dx)]
                if shaped:
                    fields += [b.fmul(fields[1], dy), b.fmul(fields[1], dx), b.fmul(fields[2], dx)]
                for i, field in enumerate(fields):
                    e.store(field, 0, e.add(e.add(to, here), e.mul(room, i)))
                b.store(b.fadd(dy, one), down)
                e.onward(value, ratio, change)

    @intrinsic
    def fields(typing_context, w, at, blocks, mask, to, room, pitch, rows, y, x):  # type: ignore[no-untyped-def]
        n, f = types.int64, types.float64
        return types.void(w, n, n, n, n, n, n, n, f, f), _code(write)

    return fields


# A series times its mask, times y, x, and for shapes y^2, y x, x^2: each ``room`` elements behind the one before.
point_fields, shape_fields = _fielded(False), _fielded(True)


def _correlated(shaped: bool) -> Any:
    many = 6 if shaped else 3

    def write(e, rho, middle, spans, wide, fields, room, pitch, blocks, side, out):  # type: ignore[no-untyped-def]
        b, one, f64 = e.b, ir.Constant(_I64, 1), ir.DoubleType()

        def staying(i, row):  # type: ignore[no-untyped-def]
            # Of what a row has so far, how much stays: pairs are looked at once, and those within a row twice.
            value = b.select(b.icmp_signed("==", i, row), ir.Constant(f64, 0.5), ir.Constant(f64, 1.0))
            return e.all(b.select(b.icmp_signed("<", i, row), ir.Constant(f64, 0.0), value))

        # Two rows at a time share what is read of others; the last may have no fellow.
        with cgutils.for_range(b, b.sdiv(e.add(side, 1), ir.Constant(_I64, 2))) as half, cgutils.for_range(b, blocks) as block:
            rows = [e.mul(half.index, 2), e.add(e.mul(half.index, 2), 1)]
            column = e.mul(block.index, LANES)
            sums = [[e.kept(e.zero()) for _ in range(many)] for _ in rows]
            with cgutils.for_range_slice(b, rows[0], side, one, inc=True) as (other, _):
                taps = e.add(e.add(middle, column), e.mul(b.sub(rows[0], other), wide))
                line = e.add(fields, e.mul(other, pitch))
                first, last = (e.number(3, e.add(e.mul(other, 2), i)) for i in range(2))
                with cgutils.for_range_slice(b, first, last, one, inc=True) as (i, _):
                    near = [e.load(1, b.sub(taps, i)), e.load(1, b.sub(e.add(taps, wide), i))]
                    for f in range(many):
                        field = e.splat(0, e.add(e.add(line, i), e.mul(room, f)))
                        for of_row, tap in zip(sums, near):
                            e.gain(of_row[f], tap, field)
                for of_row, row in zip(sums, rows):
                    stays = staying(other, row)
                    for place in of_row:
                        b.store(b.fmul(b.load(place), stays), place)
            for of_row, row in zip(sums, rows):
                there = b.icmp_signed("<", row, side)
                with b.if_then(there):
                    here = e.add(fields, e.add(column, e.mul(row, pitch)))
                    mine, to = [e.load(0, e.add(here, e.mul(room, f))) for f in range(many)], out
                    for i in range(many):
                        for j in range(i + 1):
                            both = e.multiply_add(b.load(of_row[i]), mine[j], b.fmul(b.load(of_row[j]), mine[i]))
                            e.store(b.fadd(e.load(0, to), both), 0, to)
                            to = e.add(to, LANES)

    @intrinsic
    def correlated(typing_context, w, rho, middle, spans, wide, fields, room, pitch, blocks, side, out):  # type: ignore[no-untyped-def]
        n = types.int64
        return types.void(w, rho, n, spans, n, n, n, n, n, n, n), _code(write)

    return correlated


# Sums of products of fields and of fields that are correlated by a table, whose rows are ``wide``, from its ``middle``; of pairs of
# fields, the later first, `LANES` of each from ``w[out]`` on. ``spans``: where columns of a row begin and end.
point_noise, shape_noise = _correlated(False), _correlated(True)
