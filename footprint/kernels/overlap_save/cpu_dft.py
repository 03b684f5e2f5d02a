"""Transforms of vectors of complex numbers held in registers: as many at once as a vector has lanes."""

from __future__ import annotations

import cmath
from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

from footprint.kernels.common.vectors import Emit

Complex = tuple[ir.Value, ir.Value]
# Products and sums may be rounded once; nothing else is left to the compiler.
_FLAGS = ("contract",)


class _Numbers(Emit):
    """Complex numbers, each a vector of real and one of imaginary parts, ``gap`` elements apart in memory."""

    def plus(self, x: Complex, y: Complex) -> Complex:
        return self.b.fadd(x[0], y[0], flags=_FLAGS), self.b.fadd(x[1], y[1], flags=_FLAGS)

    def minus(self, x: Complex, y: Complex) -> Complex:
        return self.b.fsub(x[0], y[0], flags=_FLAGS), self.b.fsub(x[1], y[1], flags=_FLAGS)

    def times(self, z: Complex, w: Complex, conjugate: bool = False) -> Complex:
        """``z w``, or ``z`` and the conjugate of ``w``."""
        one, other = (self.b.fadd, self.b.fsub) if conjugate else (self.b.fsub, self.b.fadd)
        real = one(self._product(z[0], w[0]), self._product(z[1], w[1]), flags=_FLAGS)
        return real, other(self._product(z[1], w[0]), self._product(z[0], w[1]), flags=_FLAGS)

    def _product(self, x: ir.Value, y: ir.Value) -> ir.Value:
        return self.b.fmul(x, y, flags=_FLAGS)

    def constant(self, value: float) -> ir.Constant:
        return ir.Constant(self.kind, [value] * self.kind.count)

    def turned(self, z: Complex, k: int, n: int) -> Complex:
        """``z`` times e to the 2 pi i k / n."""
        eighths, rest = divmod(8 * k % (8 * n), n)
        if rest:
            w = cmath.exp(2j * cmath.pi * k / n)
            return self.times(z, (self.constant(w.real), self.constant(w.imag)))
        if eighths % 2:
            both = self.b.fsub(z[0], z[1], flags=_FLAGS), self.b.fadd(z[0], z[1], flags=_FLAGS)
            z = self._product(self.constant(0.5**0.5), both[0]), self._product(self.constant(0.5**0.5), both[1])
        for _ in range(eighths // 2):
            z = self.b.fneg(z[1]), z[0]
        return z

    def sized(self, z: Complex, factor: float) -> Complex:
        """``z`` times a real number."""
        return self._product(z[0], self.constant(factor)), self._product(z[1], self.constant(factor))

    def get(self, array: int, at: ir.Value, gap: Any) -> Complex:
        return self.load(array, at), self.load(array, self.add(at, gap))

    def put(self, z: Complex, array: int, at: ir.Value, gap: Any) -> None:
        self.store(z[0], array, at)
        self.store(z[1], array, self.add(at, gap))

    def shuffled(self, x: ir.Value, y: ir.Value, lanes: list[int]) -> ir.Value:
        return self.b.shuffle_vector(x, y, ir.Constant(ir.VectorType(ir.IntType(32), len(lanes)), lanes))


def _dft(e: _Numbers, x: list[Complex], sign: int) -> list[Complex]:
    """Sums over j of x[j] e to the sign 2 pi i j k / n, for a power of two, or an odd number, n."""
    n = len(x)
    if n == 1:
        return x
    if n % 2:
        return _odd(e, x, sign)
    if n == 2:
        return [e.plus(x[0], x[1]), e.minus(x[0], x[1])]
    parts = 4 if n % 16 == 0 or n == 4 else 2
    found = [_dft(e, x[r::parts], sign) for r in range(parts)]
    out = list(x)
    for k in range(n // parts):
        z = [e.turned(found[r][k], sign * r * k, n) for r in range(parts)]
        if parts == 4:
            (even, odd), (left, right) = _dft(e, z[::2], sign), _dft(e, z[1::2], sign)
            right = e.turned(right, sign, 4)
            z = [e.plus(even, left), e.plus(odd, right), e.minus(even, left), e.minus(odd, right)]
        else:
            z = _dft(e, z, sign)
        for j in range(parts):
            out[k + n // parts * j] = z[j]
    return out


def _odd(e: _Numbers, x: list[Complex], sign: int) -> list[Complex]:
    """The same for an odd n: numbers k and n - k come from what is even and what is odd in j."""
    n, first = len(x), x[0]
    ends = [(e.plus(x[j], x[n - j]), e.minus(x[j], x[n - j])) for j in range(1, (n + 1) // 2)]
    out = list(x)
    for even, _ in ends:
        out[0] = e.plus(out[0], even)
    for k in range(1, (n + 1) // 2):
        same, turned = first, None
        for j, (even, odd) in enumerate(ends, 1):
            w = cmath.exp(2j * cmath.pi * (j * k % n) / n)
            same = e.plus(same, e.sized(even, w.real))
            # i times the sine's share.
            share = e.sized((e.b.fneg(odd[1]), odd[0]), sign * w.imag)
            turned = share if turned is None else e.plus(turned, share)
        assert turned is not None
        out[k], out[n - k] = e.plus(same, turned), e.minus(same, turned)
    return out


RADICES = (8, 16, 32)
"""Of the lines of tiles."""
ALL = (2, 3, 4, 5, 7, *RADICES)


def _cases(e: _Numbers, radix: ir.Value, emit: Callable[[int], None], radices: tuple[int, ...]) -> None:
    """The code of every radix, of which a call takes its own."""
    for one in radices:
        with e.b.if_then(e.b.icmp_signed("==", radix, ir.Constant(radix.type, one))):
            emit(one)


def stage(sign: int, turns: bool) -> Any:
    """An intrinsic that takes ``radix`` vectors through a transform: from (src, at, step, gap) to (dst, to, pace, hole).

    With ``turns`` number k is multiplied by the root of unity ``w[t + 2 k]``: after a transform forward, its conjugate before one
    backward.
    """

    def emit(e: _Numbers, radix: int) -> None:
        at, step, gap, to, pace, hole, t = (e.args[i] for i in (1, 2, 3, 5, 6, 7, 9))
        x = [e.get(0, e.add(at, e.mul(step, r)), gap) for r in range(radix)]
        roots = [(e.splat(8, e.add(t, 2 * k)), e.splat(8, e.add(t, 2 * k + 1))) for k in range(radix if turns else 0)]
        if turns and sign > 0:
            x[1:] = [e.times(z, w, conjugate=True) for z, w in zip(x[1:], roots[1:])]
        x = _dft(e, x, sign)
        if turns and sign < 0:
            x[1:] = [e.times(z, w) for z, w in zip(x[1:], roots[1:])]
        for k, z in enumerate(x):
            e.put(z, 4, e.add(to, e.mul(pace, k)), hole)

    @intrinsic
    def run(typing_context, src, at, step, gap, dst, to, pace, hole, w, t, radix):  # type: ignore[no-untyped-def]
        def code(context, builder, signature, args):  # type: ignore[no-untyped-def]
            e = _Numbers(context, builder, signature, args)
            _cases(e, args[10], lambda one: emit(e, one), ALL)
            return context.get_dummy_value()

        n = types.int64
        return types.void(src, n, n, n, dst, n, n, n, w, n, n), code

    return run


def _middle(e: _Numbers, radix: int) -> None:
    lanes = e.kind.count
    place = lambda i, r: e.add(e.args[i], 2 * lanes * r)
    x = _dft(e, [e.get(0, place(1, r), lanes) for r in range(radix)], -1)
    x = [e.times(z, e.get(2, place(3, r), lanes)) for r, z in enumerate(x)]
    for r, z in enumerate(_dft(e, x, 1)):
        e.put(z, 0, place(1, r), lanes)


@intrinsic
def middle(typing_context, x, at, mask, there, radix):  # type: ignore[no-untyped-def]
    """Vectors (x, at) that lie together are transformed, multiplied by the mask's (mask, there), and turned back."""

    def code(context, builder, signature, args):  # type: ignore[no-untyped-def]
        e = _Numbers(context, builder, signature, args)
        _cases(e, args[4], lambda one: _middle(e, one), RADICES)
        return context.get_dummy_value()

    return types.void(x, types.int64, mask, types.int64, types.int64), code


def product(conjugate: bool) -> Any:
    """An intrinsic that multiplies ``count`` vectors (x, at) by those of (w, there), or by their conjugates."""

    def emit(e: _Numbers) -> None:
        lanes, (at, there, count) = e.kind.count, (e.args[i] for i in (1, 3, 4))
        with cgutils.for_range(e.b, count) as loop:
            here, step = e.add(at, e.mul(loop.index, 2 * lanes)), e.mul(loop.index, 2 * lanes)
            e.put(e.times(e.get(0, here, lanes), e.get(2, e.add(there, step), lanes), conjugate), 0, here, lanes)

    @intrinsic
    def run(typing_context, x, at, w, there, count):  # type: ignore[no-untyped-def]
        def code(context, builder, signature, args):  # type: ignore[no-untyped-def]
            emit(_Numbers(context, builder, signature, args))
            return context.get_dummy_value()

        n = types.int64
        return types.void(x, n, w, n, n), code

    return run


def _transpose(e: _Numbers) -> None:
    """As many rows as a vector has lanes, from ``at`` with ``step``, become columns: rows at ``to`` with ``pace``."""
    lanes, (at, step, to, pace) = e.kind.count, (e.args[i] for i in (1, 2, 4, 5))
    x = [e.load(0, e.add(at, e.mul(step, r))) for r in range(lanes)]
    s = 1
    while s < lanes:
        # Blocks of s x s off the diagonal change places.
        low = [lanes + c - s if c & s else c for c in range(lanes)]
        high = [lanes + c if c & s else c + s for c in range(lanes)]
        for r in range(lanes):
            if not r & s:
                x[r], x[r + s] = e.shuffled(x[r], x[r + s], low), e.shuffled(x[r], x[r + s], high)
        s *= 2
    for r, row in enumerate(x):
        e.store(row, 3, e.add(to, e.mul(pace, r)))


@intrinsic
def transpose(typing_context, x, at, step, y, to, pace):  # type: ignore[no-untyped-def]
    """See `_transpose`."""

    def code(context, builder, signature, args):  # type: ignore[no-untyped-def]
        _transpose(_Numbers(context, builder, signature, args))
        return context.get_dummy_value()

    n = types.int64
    return types.void(x, n, n, y, n, n), code


def _survey(e: _Numbers) -> None:
    """Largest |x| of every lane to ``to``, and behind it 0, or NaN where a value was not finite."""
    b, lanes = e.b, e.kind.count
    at, pitch, rows, vectors, to = e.args[1:6]
    most, odd = (cgutils.alloca_once_value(b, e.zero()) for _ in range(2))
    with cgutils.for_range(b, rows) as row:
        with cgutils.for_range(b, vectors) as column:
            x = e.load(0, e.add(e.add(at, e.mul(pitch, row.index)), e.mul(column.index, lanes)))
            size = b.select(b.fcmp_ordered("<", x, e.zero()), b.fneg(x), x)
            held = b.load(most)
            b.store(b.select(b.fcmp_ordered(">", size, held), size, held), most)
            b.store(b.fadd(b.load(odd), b.fsub(x, x)), odd)
    e.store(b.load(most), 0, to)
    e.store(b.load(odd), 0, e.add(to, lanes))


@intrinsic
def survey(typing_context, x, at, pitch, rows, vectors, to):  # type: ignore[no-untyped-def]
    """See `_survey`."""

    def code(context, builder, signature, args):  # type: ignore[no-untyped-def]
        _survey(_Numbers(context, builder, signature, args))
        return context.get_dummy_value()

    n = types.int64
    return types.void(x, n, n, n, n, n), code


def _carry(e: _Numbers) -> None:
    """``rows`` of ``count`` elements, a vector or more, times both factors at ``factor``; the last vectors of a row may overlap."""
    b, lanes = e.b, e.kind.count
    at, pitch, to, pace, rows, count, factor = (e.args[i] for i in (1, 2, 4, 5, 6, 7, 9))
    one, other, last = e.splat(8, factor), e.splat(8, e.add(factor, 1)), e.add(count, -lanes)
    with cgutils.for_range(b, rows) as row:
        source, target = e.add(at, e.mul(pitch, row.index)), e.add(to, e.mul(pace, row.index))
        with cgutils.for_range(b, b.sdiv(e.add(count, lanes - 1), e.add(lanes, 0))) as column:
            k = e.mul(column.index, lanes)
            k = b.select(b.icmp_signed("<", k, last), k, last)
            x = e.load(0, e.add(source, k))
            e.store(b.fmul(b.fmul(x, one), other), 3, e.add(target, k))


@intrinsic
def carry(typing_context, src, at, pitch, dst, to, pace, rows, count, w, factor):  # type: ignore[no-untyped-def]
    """See `_carry`: from (src, at, pitch) to (dst, to, pace), times w[factor] and then w[factor + 1]."""

    def code(context, builder, signature, args):  # type: ignore[no-untyped-def]
        _carry(_Numbers(context, builder, signature, args))
        return context.get_dummy_value()

    n = types.int64
    return types.void(src, n, n, dst, n, n, n, n, w, n), code


forward, backward = stage(-1, False), stage(1, False)
forward_turned, backward_turned = stage(-1, True), stage(1, True)
times, times_conjugate = product(False), product(True)
