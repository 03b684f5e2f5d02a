"""Transforms of vectors of complex numbers held in registers: as many at once as a vector has lanes."""

from __future__ import annotations

import cmath
from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

from footprint.kernels.common.vectors import BYTES, Emit

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

    def both(self, x: Complex, y: Complex, k: int, n: int) -> tuple[Complex, Complex]:
        """``x`` plus and minus ``y`` times e to the 2 pi i k / n."""
        eighths, rest = divmod(8 * k % (8 * n), n)
        if rest:
            w = cmath.exp(2j * cmath.pi * k / n)
            y = self.times(y, (self.constant(w.real), self.constant(w.imag)))
            return self.plus(x, y), self.minus(x, y)
        for _ in range(eighths // 2):
            y = self.b.fneg(y[1]), y[0]
        if eighths % 2 == 0:
            return self.plus(x, y), self.minus(x, y)
        # Sums are what most of a transform is: of these half are left to what multiplies and adds at once, beside what only adds.
        y = self.b.fsub(y[0], y[1], flags=_FLAGS), self.b.fadd(y[0], y[1], flags=_FLAGS)
        half = self.constant(0.5**0.5)
        more = tuple(self.multiply_add(part, half, whole) for whole, part in zip(x, y))
        less = tuple(self.multiply_add(self.b.fneg(part), half, whole) for whole, part in zip(x, y))
        return (more[0], more[1]), (less[0], less[1])

    def sized(self, z: Complex, factor: float) -> Complex:
        """``z`` times a real number."""
        return self._product(z[0], self.constant(factor)), self._product(z[1], self.constant(factor))

    def get(self, array: int, at: ir.Value, gap: Any) -> Complex:
        return self.load(array, at), self.load(array, self.add(at, gap))

    def put(self, z: Complex, array: int, at: ir.Value, gap: Any) -> None:
        self.store(z[0], array, at)
        self.store(z[1], array, self.add(at, gap))

    def room(self, count: int) -> ir.Value:
        """Memory for so many numbers."""
        pointer = cgutils.alloca_once(self.b, self.kind, size=self.index(2 * count))
        pointer.align = BYTES
        return pointer

    def hold(self, z: Complex, room: ir.Value, k: int) -> None:
        for part in range(2):
            self.b.store(z[part], self.b.gep(room, [self.index(2 * k + part)]), align=BYTES)

    def held(self, room: ir.Value, k: int) -> Complex:
        one, other = (self.b.load(self.b.gep(room, [self.index(2 * k + part)]), align=BYTES) for part in range(2))
        return one, other

    def fence(self, room: ir.Value) -> None:
        """Loads and stores stay on their side of this place, and what is held stays in its room.

        The compiler would load everything at first, and have no registers left for what comes of it.
        """
        self.b.asm(ir.FunctionType(ir.VoidType(), [room.type]), "", "r,~{memory}", [room], True)

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
    found, out = [_dft(e, x[r::parts], sign) for r in range(parts)], list(x)
    for k in range(n // parts):
        out[k :: n // parts] = _joined(e, [part[k] for part in found], sign, k, n)
    return out


def _joined(e: _Numbers, x: list[Complex], sign: int, k: int, n: int) -> list[Complex]:
    """Numbers k, k + n / 2 or / 4, ... of a transform from number k of each of its parts, which are two or four."""
    if len(x) == 2:
        return list(e.both(x[0], x[1], sign * k, n))
    (even, odd), (left, right) = e.both(x[0], x[2], 2 * sign * k, n), e.both(x[1], x[3], 2 * sign * k, n)
    (first, third), (second, fourth) = e.both(even, left, sign * k, n), e.both(odd, right, sign * (k + n // 4), n)
    return [first, second, third, fourth]


def _in_turn(e: _Numbers, n: int, get: Callable[[int], Complex], put: Callable[[int, Complex], None], sign: int) -> None:
    """`_dft` of numbers that ``get`` has, to where ``put`` puts them, each when it is due: the compiler keeps to this order."""
    if n < 16:
        for k, z in enumerate(_dft(e, [get(j) for j in range(n)], sign)):
            put(k, z)
        return
    parts = [_dft(e, [get(j) for j in range(r, n, 4)], sign) for r in range(4)]
    for k in range(n // 4):
        for j, z in enumerate(_joined(e, [part[k] for part in parts], sign, k, n)):
            put(k + n // 4 * j, z)


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


FIRST, SECOND = (2, 4, 8, 16, 32), (16, 32)
"""What `TILES` are made of."""
ALL = (2, 3, 4, 5, 7, 8, 16, 32)


def _cases(e: _Numbers, radix: ir.Value, radices: tuple[int, ...], emit: Callable[[int], None]) -> None:
    """The code of every radix, of which a call takes its own."""
    for one in radices:
        with e.b.if_then(e.b.icmp_signed("==", radix, ir.Constant(radix.type, one))):
            emit(one)


def _places(e: _Numbers, radix: int) -> list[ir.Value]:
    """Of the vectors of a line from ``at`` on: ``hop`` apart, and groups of as many as a vector has lanes ``skip`` apart."""
    at, hop, skip = e.args[1:4]
    groups = [e.add(at, e.mul(skip, g)) for g in range(-(-radix // e.kind.count))]
    return [e.add(groups[r // e.kind.count], e.mul(hop, r % e.kind.count)) for r in range(radix)]


def turned(sign: int, radices: tuple[int, ...] = FIRST, beside: bool = False) -> Any:
    """An intrinsic that takes ``radix`` vectors of (x, at), ``step`` apart, through a transform where they lie.

    Number k is multiplied by the root of unity ``w[t + 2 k]``: after a transform forward, its conjugate before one backward.
    With ``beside`` vectors are multiplied, at the other end, by those of (w, there), ``pace`` apart, or by their conjugates.
    """

    def emit(e: _Numbers, radix: int) -> None:
        (at, step), t, lanes = e.args[1:3], e.args[4], e.kind.count
        places = [e.add(at, e.mul(step, r)) for r in range(radix)]
        root = lambda k: (e.splat(3, e.add(t, 2 * k)), e.splat(3, e.add(t, 2 * k + 1)))
        own = lambda k: e.get(3, e.add(e.args[6], e.mul(e.args[7], k)), lanes)

        def get(k: int) -> Complex:
            z = e.get(0, places[k], lanes)
            if sign > 0:
                return e.times(z, root(k), conjugate=True) if k else z
            return e.times(z, own(k)) if beside else z

        def put(k: int, z: Complex) -> None:
            if sign < 0:
                z = e.times(z, root(k)) if k else z
            elif beside:
                z = e.times(z, own(k), conjugate=True)
            e.put(z, 0, places[k], lanes)

        _in_turn(e, radix, get, put, sign)

    @intrinsic
    def run(typing_context, x, at, step, w, t, radix, there, pace):  # type: ignore[no-untyped-def]
        def code(context, builder, signature, args):  # type: ignore[no-untyped-def]
            e = _Numbers(context, builder, signature, args)
            _cases(e, args[5], radices, lambda one: emit(e, one))
            return context.get_dummy_value()

        n = types.int64
        return types.void(x, n, n, w, n, n, n, n), code

    return run


def plain(sign: int, across: bool, radices: tuple[int, ...] = SECOND, twisted: bool = False) -> Any:
    """An intrinsic that takes ``radix`` vectors of a line through a transform where they lie (`_places`).

    With ``across`` they are columns of blocks that are as wide as a vector: forward these become rows, and backward were such.
    ``twisted`` takes more, (w, t), where each column's number lies that it is multiplied by, or backward by its conjugate.
    """

    def emit(e: _Numbers, radix: int) -> None:
        lanes, places = e.kind.count, _places(e, radix)
        turn = e.get(5, e.args[6], lanes) if twisted else None
        get = lambda k: e.get(0, places[k], lanes)
        put = lambda k, z: e.put(z, 0, places[k], lanes)
        if not across:
            _in_turn(e, radix, get, put, sign)
        elif sign < 0:
            held: dict[int, Complex] = {}
            _in_turn(e, radix, get, lambda k, z: held.update({k: z if turn is None else e.times(z, turn)}), sign)
            for first, part in _squares(radix, lanes):
                for k, row in enumerate(_transposed(e, [held[first + r][part] for r in range(lanes)])):
                    e.store(row, 0, e.add(places[first + k], part * lanes))
        else:
            parts: tuple[list[ir.Value], list[ir.Value]] = ([], [])
            for first, part in _squares(radix, lanes):
                square = [e.load(0, e.add(places[first + r], part * lanes)) for r in range(lanes)]
                parts[part].extend(_transposed(e, square))
            x = list(zip(*parts))
            _in_turn(e, radix, lambda k: x[k] if turn is None else e.times(x[k], turn, conjugate=True), put, sign)

    if twisted:

        @intrinsic
        def run_twisted(typing_context, x, at, hop, skip, radix, w, t):  # type: ignore[no-untyped-def]
            def code(context, builder, signature, args):  # type: ignore[no-untyped-def]
                e = _Numbers(context, builder, signature, args)
                _cases(e, args[4], radices, lambda one: emit(e, one))
                return context.get_dummy_value()

            n = types.int64
            return types.void(x, n, n, n, n, w, n), code

        return run_twisted

    @intrinsic
    def run(typing_context, x, at, hop, skip, radix):  # type: ignore[no-untyped-def]
        def code(context, builder, signature, args):  # type: ignore[no-untyped-def]
            e = _Numbers(context, builder, signature, args)
            _cases(e, args[4], radices, lambda one: emit(e, one))
            return context.get_dummy_value()

        n = types.int64
        return types.void(x, n, n, n, n), code

    return run


def _squares(radix: int, lanes: int) -> list[tuple[int, int]]:
    """Of a line the first vector of every block of as many as they have lanes, and which part of its numbers."""
    return [(first, part) for first in range(0, radix, lanes) for part in range(2)]


def _exchanges(lanes: int, inner: int) -> list[tuple[list[int], list[int]]]:
    """Places of two vectors that two new ones are made of, for every bit of a row's number; ``inner`` elements are 16 bytes.

    Within 16 bytes, and of whole 16 bytes, a shuffle needs no table of places in a register.
    """
    found, width = [], 1
    while width < inner:
        half = [
            [g + k + w + part for k in range(0, inner // 2, width) for part in (0, lanes) for w in range(width)]
            for g in range(0, lanes, inner)
        ]
        low = [place for group in half for place in group]
        found.append((low, [place + inner // 2 for place in low]))
        width *= 2
    of = lambda groups: [inner * g + k for g in groups for k in range(inner)]
    if lanes // inner == 4:
        found += [(of((0, 1, 4, 5)), of((2, 3, 6, 7))), (of((0, 2, 4, 6)), of((1, 3, 5, 7)))]
    elif lanes // inner == 2:
        found.append((of((0, 2)), of((1, 3))))
    return found


def _transposed(e: _Numbers, x: list[ir.Value]) -> list[ir.Value]:
    """Rows for columns of a square."""
    lanes, x, columns = e.kind.count, list(x), [list(range(e.kind.count)) for _ in x]
    for bit, places in enumerate(_exchanges(lanes, max(16 // e.itemsize, 1))):
        for r in range(lanes):
            if not r >> bit & 1:
                pair, both = (x[r], x[r + (1 << bit)]), columns[r] + columns[r + (1 << bit)]
                for to, some in zip((r, r + (1 << bit)), places):
                    x[to], columns[to] = e.shuffled(*pair, some), [both[place] for place in some]
    found = {column[0]: vector for column, vector in zip(columns, x)}
    return [found[r] for r in range(lanes)]


@intrinsic
def transpose(typing_context, x, at, step, y, to, pace):  # type: ignore[no-untyped-def]
    """As many rows as a vector has lanes, from (x, at) with ``step``, become columns: rows at (y, to) with ``pace``."""

    def code(context, builder, signature, args):  # type: ignore[no-untyped-def]
        e = _Numbers(context, builder, signature, args)
        rows = [e.load(0, e.add(args[1], e.mul(args[2], r))) for r in range(e.kind.count)]
        for r, row in enumerate(_transposed(e, rows)):
            e.store(row, 3, e.add(args[4], e.mul(args[5], r)))
        return context.get_dummy_value()

    n = types.int64
    return types.void(x, n, n, y, n, n), code


def _middle(e: _Numbers, radix: int) -> None:
    """What comes out of a transform at a time is what goes into the one back at a time.

    In between four or eight numbers lie in memory, and not wherever the compiler has no registers left for them.
    """
    lanes, places, four, room = e.kind.count, _places(e, radix), radix // 4, e.room(radix)
    weight = lambda k: e.get(4, e.add(e.args[5], 2 * lanes * k), lanes)
    # Parts of the transform back take the rooms of the numbers that they are made of.
    there = lambda r, k: 4 * r + k % 4 + 16 * (k // 4)
    for r in range(4):
        for k, z in enumerate(_dft(e, [e.get(0, place, lanes) for place in places[r::4]], -1)):
            e.hold(z, room, 4 * k + r)
        e.fence(room)
    for r in range(4):
        x: dict[int, Complex] = {}
        for k in range(r, four, 4):
            for j, z in enumerate(_joined(e, [e.held(room, 4 * k + part) for part in range(4)], -1, k, radix)):
                x[k + four * j] = e.times(z, weight(k + four * j))
        for k, z in enumerate(_dft(e, [x[k] for k in range(r, radix, 4)], 1)):
            e.hold(z, room, there(r, k))
        e.fence(room)
    for k in range(four):
        for j, z in enumerate(_joined(e, [e.held(room, there(r, k)) for r in range(4)], 1, k, radix)):
            e.put(z, 0, places[k + four * j], lanes)
        e.fence(room)


@intrinsic
def middle(typing_context, x, at, hop, skip, mask, there, radix):  # type: ignore[no-untyped-def]
    """Vectors of a line (`_places`) are transformed, multiplied by the mask's (mask, there), and turned back."""

    def code(context, builder, signature, args):  # type: ignore[no-untyped-def]
        e = _Numbers(context, builder, signature, args)
        _cases(e, args[6], SECOND, lambda one: _middle(e, one))
        return context.get_dummy_value()

    n = types.int64
    return types.void(x, n, n, n, mask, n, n), code


@intrinsic
def conjugates(typing_context, x, at, hop, y, to, factor):  # type: ignore[no-untyped-def]
    """As many vectors as they have lanes, ``hop`` apart, to (y, to) one behind the other: their conjugates times y[factor]."""

    def code(context, builder, signature, args):  # type: ignore[no-untyped-def]
        e = _Numbers(context, builder, signature, args)
        lanes, (at, hop, to), factor = e.kind.count, (args[1], args[2], args[4]), e.splat(3, args[5])
        for r in range(lanes):
            z = e.get(0, e.add(at, e.mul(hop, r)), lanes)
            e.put((builder.fmul(z[0], factor), builder.fneg(builder.fmul(z[1], factor))), 3, e.add(to, 2 * lanes * r), lanes)
        return context.get_dummy_value()

    n = types.int64
    return types.void(x, n, n, y, n, n), code


@intrinsic
def times(typing_context, x, at, w, there, count):  # type: ignore[no-untyped-def]
    """Multiply ``count`` vectors (x, at) by those of (w, there)."""

    def code(context, builder, signature, args):  # type: ignore[no-untyped-def]
        e = _Numbers(context, builder, signature, args)
        lanes, (at, there, count) = e.kind.count, (args[i] for i in (1, 3, 4))
        with cgutils.for_range(builder, count) as loop:
            step = e.mul(loop.index, 2 * lanes)
            here = e.add(at, step)
            e.put(e.times(e.get(0, here, lanes), e.get(2, e.add(there, step), lanes)), 0, here, lanes)
        return context.get_dummy_value()

    n = types.int64
    return types.void(x, n, w, n, n), code


forward_turned, backward_turned = turned(-1), turned(1)
forward_beside, backward_beside = turned(-1, beside=True), turned(1, beside=True)
forward, backward = plain(-1, False), plain(1, False)
forward_across, backward_across = plain(-1, True), plain(1, True)
forward_twisted, backward_twisted = plain(-1, True, twisted=True), plain(1, True, twisted=True)
