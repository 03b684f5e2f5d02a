"""The two loops of a scan: what lies in the bulks is counted and summed, and what else is left is put aside.

Where vectors are of 64 bytes a processor counts flags in one instruction, and moves what is wanted of a vector together: both loops
then take a third to a half of the time.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import prange
from numba.core import cgutils, types
from numba.extending import intrinsic

from footprint.kernels.common.jit import njit
from footprint.kernels.common.vectors import BYTES, PLAIN, SHIFTS, Emit

_SMALL, _INT = ir.IntType(32), ir.IntType(64)
_VECTORS = SHIFTS and not PLAIN
_SUMS = {"reassoc", "nsz", "contract"}


def _splat(e: Emit, value: ir.Value, kind: ir.VectorType | None = None) -> ir.Value:
    kind = kind or e.kind
    nothing, lanes = ir.Constant(kind, ir.Undefined), ir.VectorType(_SMALL, kind.count)([0] * kind.count)
    return e.b.shuffle_vector(e.b.insert_element(nothing, value, _SMALL(0)), nothing, lanes)


def _flags(e: Emit, x: ir.Value, edges: list[ir.Value]) -> tuple[ir.Value, ir.Value, ir.Value]:
    """Which lanes lie in the first pair of edges, in either of the first two, and in the last."""
    b = e.b

    def between(low: tuple[str, ir.Value], high: tuple[str, ir.Value]) -> ir.Value:
        return b.and_(b.fcmp_ordered(low[0], x, low[1]), b.fcmp_ordered(high[0], x, high[1]))

    bulk_lo, window_lo, window_hi, bulk_hi, lowest, highest = edges
    left = between((">=", bulk_lo), ("<", window_lo))
    bulk = b.or_(left, between((">", window_hi), ("<=", bulk_hi)))
    return left, bulk, between((">=", lowest), ("<=", highest))


def _counted(e: Emit, flags: ir.Value) -> ir.Value:
    return e.b.zext(e.b.ctpop(e.b.bitcast(flags, ir.IntType(flags.type.count))), _INT)


@intrinsic
def _sum_vectors(typing_context, row, whole, edges, center):  # type: ignore[no-untyped-def]
    """Of the first ``whole`` pixels of a row, vectors of them: left and in both bulks, within the last edges; sums and squares."""

    def code(context, builder, signature, args):  # type: ignore[no-untyped-def]
        e, b = Emit(context, builder, signature, args), builder
        wide = ir.VectorType(ir.DoubleType(), BYTES // 8)
        parts, middle = e.kind.count // wide.count, _splat(e, args[3], wide)
        zero = ir.Constant(wide, [0.0] * wide.count)
        given = [_splat(e, one) for one in cgutils.unpack_tuple(b, args[2])]
        counts = [cgutils.alloca_once_value(b, _INT(0)) for _ in range(3)]
        sums = [cgutils.alloca_once_value(b, zero) for _ in range(2 * parts)]
        with cgutils.for_range_slice(b, _INT(0), args[1], _INT(e.kind.count)) as (at, _):
            x = e.load(0, at)
            flags = _flags(e, x, given)
            for count, some in zip(counts, flags):
                b.store(b.add(b.load(count), _counted(e, some)), count)
            for part in range(parts):
                lanes = ir.VectorType(_SMALL, wide.count)(list(range(part * wide.count, (part + 1) * wide.count)))
                here = x if parts == 1 else b.fpext(b.shuffle_vector(x, x, lanes), wide)
                bulk = flags[1] if parts == 1 else b.shuffle_vector(flags[1], flags[1], lanes)
                d = b.select(bulk, b.fsub(here, middle), zero)
                total, squares = sums[2 * part : 2 * part + 2]
                b.store(b.fadd(b.load(total), d), total)
                b.store(e.multiply_add(d, d, b.load(squares)), squares)
        found = [b.load(count) for count in counts]
        for which in range(2):
            vector = b.load(sums[which])
            for part in range(1, parts):
                vector = b.fadd(vector, b.load(sums[2 * part + which]))
            total = b.extract_element(vector, _SMALL(0))
            for lane in range(1, wide.count):
                total = b.fadd(total, b.extract_element(vector, _SMALL(lane)))
            found.append(total)
        return context.make_tuple(b, signature.return_type, found)

    n = types.int64
    return types.Tuple((n, n, n, types.float64, types.float64))(row, n, edges, types.float64), code


@intrinsic
def _keep_vector(typing_context, row, at, kept, k, safe, edges):  # type: ignore[no-untyped-def]
    """Write what is wanted of the vector at ``row[at]`` from ``kept[k]`` on; where the next goes.

    Up to place ``safe`` what follows is the strip's own, and the vector is written whole; behind it, no more than is wanted.
    """

    def code(context, builder, signature, args):  # type: ignore[no-untyped-def]
        e, b = Emit(context, builder, signature, args), builder
        x, start, lanes = e.load(0, args[1]), args[3], e.kind.count
        _, bulk, left = _flags(e, x, [_splat(e, one) for one in cgutils.unpack_tuple(b, args[5])])
        flags = b.and_(left, b.not_(bulk))
        # Without a branch, which nobody could foretell.
        count, kind = _counted(e, flags), ir.FunctionType(e.kind, [e.kind, e.kind, flags.type])
        name = f"llvm.x86.avx512.mask.compress.v{lanes}f{8 * e.itemsize}"
        together = b.call(cgutils.get_or_insert_function(b.module, kind, name), [x, x, flags])
        with b.if_else(b.icmp_signed("<=", start, args[4]), likely=True) as (within, near_the_end):
            with within:
                e.store(together, 2, start)
            with near_the_end:
                e.store_some(together, 2, start, count)
        return b.add(start, count)

    n = types.int64
    return n(row, n, kept, n, n, edges), code


@njit(cache=True, parallel=True, nogil=True)
def sum_by_vectors(flat, strip, center, bulk_lo, window_lo, window_hi, bulk_hi, lowest, highest, sums):
    """See `sum_strips`: by vectors of 64 bytes."""
    edges, lanes = (bulk_lo, window_lo, window_hi, bulk_hi, lowest, highest), BYTES // flat.itemsize
    for s in prange(-(-flat.size // strip)):
        row = flat[s * strip : min(flat.size, (s + 1) * strip)]
        whole = row.size // lanes * lanes
        left, bulk, finite, total, squares = _sum_vectors(row, whole, edges, center)
        for x in row[whole:]:
            in_left = (x >= bulk_lo) & (x < window_lo)
            in_bulk = in_left | ((x > window_hi) & (x <= bulk_hi))
            d = np.float64(x) - center if in_bulk else 0.0
            left, bulk, finite = left + in_left, bulk + in_bulk, finite + ((x >= lowest) & (x <= highest))
            total, squares = total + d, squares + d * d
        sums[s, 0], sums[s, 1], sums[s, 2], sums[s, 3], sums[s, 4] = finite - bulk, left, bulk, total, squares


# Loops run over slices from 0: an index that might be negative would cost a test a pixel and all vector instructions.
@njit(cache=True, parallel=True, nogil=True, error_model="numpy", fastmath=_SUMS)
def sum_by_parts(flat, strip, center, bulk_lo, window_lo, window_hi, bulk_hi, lowest, highest, sums):
    """See `sum_strips`: in loops that the compiler makes vectors of."""
    nothing = flat.dtype.type(center)
    one, zero = np.int32(1), np.int32(0)
    for s in prange(-(-flat.size // strip)):
        finite, left, bulk, total, squares = 0, 0, 0, 0.0, 0.0
        row = flat[s * strip : min(flat.size, (s + 1) * strip)]
        for start in range(0, row.size, 2048):
            part = row[start : start + 2048]
            n, a, b = zero, zero, zero
            for i in range(part.size):
                x = part[i]
                in_left = (x >= bulk_lo) & (x < window_lo)
                in_bulk = in_left | ((x > window_hi) & (x <= bulk_hi))
                a += one if in_left else zero
                b += one if in_bulk else zero
                n += one if (x >= lowest) & (x <= highest) else zero
                d = np.float64(x if in_bulk else nothing) - center
                total += d
                squares += d * d
            finite, left, bulk = finite + n, left + a, bulk + b
        sums[s, 0], sums[s, 1], sums[s, 2], sums[s, 3], sums[s, 4] = finite - bulk, left, bulk, total, squares


@njit(cache=True, parallel=True, nogil=True)
def keep_by_vectors(flat, strip, bulk_lo, window_lo, window_hi, bulk_hi, lowest, highest, sums, kept):
    """See `keep_strips`: what is wanted of a vector moves together, and is written behind what was before."""
    edges, lanes = (bulk_lo, window_lo, window_hi, bulk_hi, lowest, highest), BYTES // flat.itemsize
    for s in prange(-(-flat.size // strip)):
        k = np.int64(sums[s, 5])
        row = flat[s * strip : min(flat.size, (s + 1) * strip)]
        whole, safe = row.size // lanes * lanes, k + np.int64(sums[s, 0]) - lanes
        for i in range(0, whole, lanes):
            k = _keep_vector(row, i, kept, k, safe, edges)
        for x in row[whole:]:
            in_bulk = ((x >= bulk_lo) & (x < window_lo)) | ((x > window_hi) & (x <= bulk_hi))
            if (x >= lowest) & (x <= highest) & (not in_bulk):
                kept[k] = x
                k += 1


@njit(cache=True, parallel=True, nogil=True)
def keep_by_eights(flat, strip, bulk_lo, window_lo, window_hi, bulk_hi, lowest, highest, sums, kept):
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


def sum_strips(*args: Any) -> None:
    """Per strip: pixels to keep, left and both bulks, sums and squares of the bulks about the center."""
    (sum_by_vectors if _VECTORS else sum_by_parts)(*args)


def keep_strips(*args: Any) -> None:
    """Write each strip's pixels to keep from where ``sums[:, 5]`` says."""
    (keep_by_vectors if _VECTORS else keep_by_eights)(*args)
