"""The inner loop of the direct sums: a block of outputs stays in registers while all columns of some tap rows go by.

Each vector that is loaded serves all the tap rows it meets. A signal is such a block too: its vectors of outputs are the rows,
one vector's length apart, and taps a vector's length apart are the tap rows.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

from footprint.kernels.common.vectors import REGISTERS, Emit
from footprint.kernels.convolve.contract import PITCH, ROWS

VECTORS = 2 if REGISTERS >= 32 else 1
"""Vectors of a row of outputs held at once."""


def _sums(e: Emit, rows: int, vectors: int, pitch: int) -> None:
    """``out[to + q step + x] (+)= sum over t < rows, j < count of weights[first + t stride + j] tile[at + (q + t) pitch + j + x]``.

    For ``q < ROWS`` and ``x`` in ``vectors`` vectors; the sum starts at 0 and is added to what is there unless ``fresh``.
    """
    b, lanes = e.b, e.kind.count
    at, first, stride, count, to, step, fresh = (e.args[i] for i in (1, 3, 4, 5, 7, 8, 9))
    block = [(q, c) for q in range(ROWS) for c in range(vectors)]
    held = {place: cgutils.alloca_once_value(b, e.zero()) for place in block}
    with cgutils.for_range(b, count) as loop:
        weights = [e.splat(2, e.add(e.add(first, e.mul(stride, t)), loop.index)) for t in range(rows)]
        sums = {place: b.load(held[place]) for place in block}
        start = e.add(at, loop.index)
        for r in range(ROWS + rows - 1):
            for c in range(vectors):
                values = e.load(0, e.add(start, r * pitch + c * lanes))
                for q in range(max(0, r - rows + 1), min(ROWS, r + 1)):
                    sums[q, c] = e.multiply_add(values, weights[r - q], sums[q, c])
        for place in block:
            b.store(sums[place], held[place])
    with b.if_else(b.trunc(fresh, ir.IntType(1))) as (new, more):
        for case, adds in ((new, False), (more, True)):
            with case:
                for q, c in block:
                    place, total = e.add(to, e.add(e.mul(step, q), c * lanes)), b.load(held[q, c])
                    e.store(b.fadd(e.load(6, place), total) if adds else total, 6, place)


def _maker(rows: int, line: bool) -> Any:
    """The intrinsic for so many tap rows."""

    @intrinsic
    def sums(typing_context, tile, at, weights, first, stride, count, out, to, step, fresh):  # type: ignore[no-untyped-def]
        def code(context, builder, signature, args):  # type: ignore[no-untyped-def]
            e = Emit(context, builder, signature, args)
            set.update(builder.function.attributes, ("noinline", "optsize"))
            _sums(e, rows, 1 if line else VECTORS, e.kind.count if line else PITCH)
            return context.get_dummy_value()

        whole = types.int64
        return types.void(tile, whole, weights, whole, whole, whole, out, whole, whole, types.uint8), code

    return sums


image2, image3, image4, image5 = (_maker(rows, line=False) for rows in (2, 3, 4, 5))
line1, line2, line3, line4 = (_maker(rows, line=True) for rows in (1, 2, 3, 4))
