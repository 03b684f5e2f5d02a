"""The inner loop of the direct sums: a block of outputs stays in registers while all columns of some tap rows go by.

Each vector that is loaded serves all the tap rows it meets. A signal makes such a block, too: its vectors of outputs are the
rows, a vector's length apart, and the taps a vector's length apart are the tap rows.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

from footprint.kernels.common.vectors import REGISTERS, Emit
from footprint.kernels.convolve.contract import LINE_ROWS, ROWS

VECTORS = 4 if REGISTERS >= 32 else 2
"""Vectors of a row of outputs held at once."""


def _sums(e: Emit, taps: int, rows: int, vectors: int) -> None:
    """``out[to + q step + x] (+)= sum of weights[first + t stride + j] image[at + (q + t) pitch + j + x]``, t < taps, j < count.

    For ``q < rows`` and ``x`` in ``vectors`` vectors; the sum starts at 0 and is added to what is there unless ``fresh``.
    """
    b, lanes = e.b, e.kind.count
    at, pitch, first, stride, count, to, step, fresh = (e.args[i] for i in (1, 2, 4, 5, 6, 8, 9, 10))
    block = [(q, c) for q in range(rows) for c in range(vectors)]
    held = {place: cgutils.alloca_once_value(b, e.zero()) for place in block}
    starts = [e.add(at, e.mul(pitch, r)) for r in range(rows + taps - 1)]
    with cgutils.for_range(b, count) as loop:
        weights = [e.splat(3, e.add(e.add(first, e.mul(stride, t)), loop.index)) for t in range(taps)]
        sums = {place: b.load(held[place]) for place in block}
        for r, start in enumerate(starts):
            for c in range(vectors):
                values = e.load(0, e.add(e.add(start, loop.index), c * lanes))
                for q in range(max(0, r - taps + 1), min(rows, r + 1)):
                    sums[q, c] = e.multiply_add(values, weights[r - q], sums[q, c])
        for place in block:
            b.store(sums[place], held[place])
    with b.if_else(b.trunc(fresh, ir.IntType(1))) as (new, more):
        for case, adds in ((new, False), (more, True)):
            with case:
                for q, c in block:
                    place, total = e.add(to, e.add(e.mul(step, q), c * lanes)), b.load(held[q, c])
                    e.store(b.fadd(e.load(7, place), total) if adds else total, 7, place)


def _maker(taps: int, rows: int, vectors: int) -> Any:
    """The intrinsic for so many tap rows."""

    @intrinsic
    def sums(typing_context, image, at, pitch, weights, first, stride, count, out, to, step, fresh):  # type: ignore[no-untyped-def]
        def code(context, builder, signature, args):  # type: ignore[no-untyped-def]
            # The compiler would unroll it and copy it to wherever it is called: nothing gained, and slow to compile.
            set.update(builder.function.attributes, ("noinline", "optsize"))
            _sums(Emit(context, builder, signature, args), taps, rows, vectors)
            return context.get_dummy_value()

        n = types.int64
        return types.void(image, n, n, weights, n, n, n, out, n, n, types.uint8), code

    return sums


image2, image3, image4, image5 = (_maker(taps, ROWS, VECTORS) for taps in (2, 3, 4, 5))
line1, line2, line3, line4 = (_maker(taps, LINE_ROWS, 1) for taps in (1, 2, 3, 4))
