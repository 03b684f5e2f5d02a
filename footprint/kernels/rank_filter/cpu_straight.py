"""Small windows that lie inside the image, two rows of them at once: rows are read where they lie, and none is kept.

Two windows on top of each other share all rows but one of each, which are sorted once for both. Floats are compared as they are
where no NaN and no zero with a sign is among them: their order is then that of numbers, and bits come back as they went in.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

from footprint.kernels.common.vectors import Emit, own
from footprint.kernels.rank_filter.contract import TWICE, key_of
from footprint.kernels.rank_filter.cpu_vectors import inside, order_of, run, sweep, vectors_of, window_of
from footprint.kernels.rank_filter.networks import across, of_column, ranks

TWO = 2
"""Rows that are made at once."""


def _floats(e: Emit) -> ir.VectorType:
    return ir.VectorType(ir.FloatType() if e.itemsize == 4 else ir.DoubleType(), e.kind.count)


def _columns(e: Emit, order: str, window: tuple[int, int, int], values: list[Any]) -> list[Any]:
    """The `ranks` of two columns among neighbouring values, one more than a column has."""
    both, found = run(e, order, of_column(window[0] - 1, tuple(range(window[0] - 1))), values[1:-1]), []
    for left in (values[0], values[-1]):
        ordered = []
        for value in both:
            # What nobody asks for the compiler leaves out.
            ordered.append(e.extreme(f"{order}min", left, value))
            left = e.extreme(f"{order}max", left, value)
        found += [[*ordered, left][i] for i in ranks(*window)]
    return found


class _Survey:
    """The least bits, and the largest without their sign, lane by lane: -0.0 has the least of all, and NaN more than infinity.

    They are kept in two vectors of the array that is argument ``array`` of an intrinsic, from ``at`` on.
    """

    def __init__(self, e: Emit, array: int, at: Any) -> None:
        self.e, self.array, self.places = e, array, (at, e.add(at, e.kind.count))
        self.kept = [cgutils.alloca_once_value(e.b, e.load(array, place)) for place in self.places]

    def see(self, bits: Any) -> None:
        b, (least, most) = self.e.b, self.kept
        b.store(self.e.extreme("smin", b.load(least), bits), least)
        b.store(self.e.extreme("umax", b.load(most), b.add(bits, bits)), most)

    def done(self) -> None:
        for place, one in zip(self.places, self.kept):
            self.e.store(self.e.b.load(one), self.array, place)


def _limits(e: Emit) -> tuple[ir.Constant, ir.Constant, ir.Constant]:
    """What a survey begins with, of its largest; the bits of -0.0; and the largest there may be."""
    numbers = 0, -(1 << 8 * e.itemsize - 1), 2 * key_of(float("inf"), f"f{e.itemsize}")
    return tuple(ir.Constant(e.kind, [number] * e.kind.count) for number in numbers)  # type: ignore[return-value]


@intrinsic
def straight(typing_context, image, at, pitch, count, out, to, out_pitch, work, free, tall, wide, many, rest, real):  # type: ignore[no-untyped-def]
    """The rank of `TWO` rows of ``count`` windows, a vector or more, the first of which begins at ``at``.

    Floats, where ``real`` is two long, have to be `ordinary`; those of the last rows are surveyed, to ``work`` from ``free`` on.
    """

    def code(context, builder, signature, args):  # type: ignore[no-untyped-def]
        window, real = window_of(signature, 9), len(signature.args[-1]) > 1
        if window[0] * window[1] > TWICE:
            return context.get_dummy_value()  # nobody asks for them
        order, kept = "f" if real else order_of(signature), len(ranks(*window))

        def write(e: Emit) -> None:
            (at, pitch, count), (to, out_pitch) = e.args[1:4], e.args[5:7]
            starts = [e.add(at, e.mul(pitch, i)) for i in range(window[0] + TWO - 1)]
            goals = [e.add(to, e.mul(out_pitch, i)) for i in range(TWO)]
            survey = _Survey(e, 7, e.args[8]) if real else None

            def ordered(x: Any) -> list[Any]:
                values = [e.load(0, e.add(start, x)) for start in starts]
                if survey is not None:
                    for bits in values[-TWO:]:
                        survey.see(bits)
                    values = [e.b.bitcast(bits, _floats(e)) for bits in values]
                return _columns(e, order, window, values)

            def finish(x: Any, found: list[list[Any]]) -> None:
                # The rows that come next are on their way while these are made.
                for i in range(1, TWO + 1):
                    e.expect(0, e.add(e.add(starts[-1], e.mul(pitch, i)), x))
                for i, goal in enumerate(goals):
                    values = [one for same in found[i * kept : (i + 1) * kept] for one in same]
                    e.store(e.b.bitcast(run(e, order, across(*window), values)[0], e.kind), 4, e.add(goal, x))

            sweep(e, count, window[1], ordered, finish)
            if survey is not None:
                survey.done()

        return own(context, builder, signature, args, write)

    n = types.int64
    return types.void(image, n, n, n, out, n, n, work, n, tall, wide, many, rest, real), code


@intrinsic
def look(typing_context, image, at, pitch, rows, count, work, free, real):  # type: ignore[no-untyped-def]
    """Begin a survey with ``count`` elements, a vector or more, of each of some rows of floats."""

    def code(context, builder, signature, args):  # type: ignore[no-untyped-def]
        if len(signature.args[-1]) == 1:
            return context.get_dummy_value()
        e = Emit(context, builder, signature, args)
        for i in range(2):
            e.store(_limits(e)[0], 5, e.add(args[6], i * e.kind.count))
        survey = _Survey(e, 5, args[6])
        with cgutils.for_range(builder, args[3]) as row:
            start = e.add(args[1], e.mul(args[2], row.index))
            with vectors_of(e, args[4]) as loop:
                survey.see(e.load(0, e.add(start, inside(e, e.mul(loop.index, e.kind.count), args[4]))))
        survey.done()
        return context.get_dummy_value()

    n = types.int64
    return types.void(image, n, n, n, n, work, n, real), code


@intrinsic
def ordinary(typing_context, work, free, real):  # type: ignore[no-untyped-def]
    """Whether a survey found neither NaN nor -0.0; whole numbers, where ``real`` is one long, are ordinary."""

    def code(context, builder, signature, args):  # type: ignore[no-untyped-def]
        if len(signature.args[-1]) == 1:
            return ir.Constant(ir.IntType(1), 1)
        e, b = Emit(context, builder, signature, args), builder
        (_, lowest, highest), every = _limits(e), ir.IntType(e.kind.count)
        least, most = (e.load(0, e.add(args[1], i * e.kind.count)) for i in range(2))
        fine = b.and_(b.icmp_signed("!=", least, lowest), b.icmp_unsigned("<=", most, highest))
        return b.icmp_unsigned("==", b.bitcast(fine, every), ir.Constant(every, -1))

    return types.boolean(work, types.int64, real), code
