"""Putting pixels aside by vectors: those wanted of each move together, and are written behind those before."""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import prange
from numba.core import cgutils, types
from numba.extending import intrinsic

from footprint.kernels.common.jit import njit
from footprint.kernels.common.vectors import BYTES, SHIFTS, Emit

_SMALL = ir.IntType(32)


def _wanted(e: Emit, x: ir.Value, edges: list[ir.Value]) -> ir.Value:
    """Which lanes lie in the last pair of edges and in neither of the first two."""
    b = e.b

    def between(low: tuple[str, ir.Value], high: tuple[str, ir.Value]) -> ir.Value:
        return b.and_(b.fcmp_ordered(low[0], x, low[1]), b.fcmp_ordered(high[0], x, high[1]))

    bulk_lo, window_lo, window_hi, bulk_hi, lowest, highest = edges
    bulk = b.or_(between((">=", bulk_lo), ("<", window_lo)), between((">", window_hi), ("<=", bulk_hi)))
    return b.and_(between((">=", lowest), ("<=", highest)), b.not_(bulk))


def _splat(e: Emit, value: ir.Value) -> ir.Value:
    nothing, first = ir.Constant(e.kind, ir.Undefined), ir.Constant(_SMALL, 0)
    lanes = ir.VectorType(_SMALL, e.kind.count)([0] * e.kind.count)
    return e.b.shuffle_vector(e.b.insert_element(nothing, value, first), nothing, lanes)


@intrinsic
def _keep_vector(typing_context, row, at, kept, k, edges):  # type: ignore[no-untyped-def]
    """Write what is wanted of the vector at ``row[at]`` from ``kept[k]`` on, and nothing behind it; where the next goes."""

    def code(context, builder, signature, args):  # type: ignore[no-untyped-def]
        e, b = Emit(context, builder, signature, args), builder
        x, start, lanes = e.load(0, args[1]), args[3], e.kind.count
        flags = _wanted(e, x, [_splat(e, one) for one in cgutils.unpack_tuple(b, args[4])])
        some = b.bitcast(flags, ir.IntType(lanes))
        end = cgutils.alloca_once_value(b, start)
        with b.if_then(b.icmp_unsigned("!=", some, some.type(0))):
            count, kind = b.zext(b.ctpop(some), start.type), ir.FunctionType(e.kind, [e.kind, e.kind, flags.type])
            name = f"llvm.x86.avx512.mask.compress.v{lanes}f{8 * e.itemsize}"
            together = b.call(cgutils.get_or_insert_function(b.module, kind, name), [x, x, flags])
            e.store_some(together, 2, start, count)
            b.store(b.add(start, count), end)
        return b.load(end)

    n = types.int64
    return n(row, n, kept, n, edges), code


@njit(cache=True, parallel=True, nogil=True)
def by_vectors(flat, strip, bulk_lo, window_lo, window_hi, bulk_hi, lowest, highest, sums, kept):
    """See `keep_strips`: in half the time, where the processor moves what is wanted of a vector together."""
    edges, lanes = (bulk_lo, window_lo, window_hi, bulk_hi, lowest, highest), BYTES // flat.itemsize
    for s in prange(-(-flat.size // strip)):
        k = np.int64(sums[s, 5])
        row = flat[s * strip : min(flat.size, (s + 1) * strip)]
        whole = row.size // lanes * lanes
        for i in range(0, whole, lanes):
            k = _keep_vector(row, i, kept, k, edges)
        for x in row[whole:]:
            in_bulk = ((x >= bulk_lo) & (x < window_lo)) | ((x > window_hi) & (x <= bulk_hi))
            if (x >= lowest) & (x <= highest) & (not in_bulk):
                kept[k] = x
                k += 1


@njit(cache=True, parallel=True, nogil=True)
def by_eights(flat, strip, bulk_lo, window_lo, window_hi, bulk_hi, lowest, highest, sums, kept):
    """See `keep_strips`: eight flags at a time are asked for whether there is any."""
    for s in prange(-(-flat.size // strip)):
        k = np.int64(sums[s, 5])
        safe = k + np.int64(sums[s, 0]) - 8
        row = flat[s * strip : min(flat.size, (s + 1) * strip)]
        flags = np.zeros(1024, np.uint8)
        eights = flags.view(np.uint64)
        for start in range(0, row.size, 1024):
            part = row[start : start + 1024]
            if part.size < 1024:
                flags[:] = 0
            for i in range(part.size):
                x = part[i]
                in_bulk = ((x >= bulk_lo) & (x < window_lo)) | ((x > window_hi) & (x <= bulk_hi))
                flags[i] = (x >= lowest) & (x <= highest) & (not in_bulk)
            for j in range(128):
                if not eights[j]:
                    continue
                # Storing always and counting the flag avoids a branch nobody can foretell; near the end of the strip's share
                # it would touch the neighbour's.
                if k <= safe:
                    for i in range(8 * j, min(8 * j + 8, part.size)):
                        kept[k] = part[i]
                        k += flags[i]
                else:
                    for i in range(8 * j, min(8 * j + 8, part.size)):
                        if flags[i]:
                            kept[k] = part[i]
                            k += 1


def keep_strips(*args: Any) -> None:
    """Write each strip's pixels to keep from where ``sums[:, 5]`` says."""
    (by_vectors if SHIFTS else by_eights)(*args)
