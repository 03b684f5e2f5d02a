"""Backprojection on the CPU: tiles of pixels, a few angles at a time, row segments staged with their weight.

Sixteen neighbouring pixels of a row see at most 17 neighbouring samples, because a step of one pixel moves the position by
|cos t| <= 1. So with AVX-512 two registers of the staged segment hold all they need, and a two-source permutation replaces the
gather, whose cost would be sixteen loads. Elsewhere the same sixteen pixels are a plain loop.
"""

from __future__ import annotations

import llvmlite.binding as llvm
import numpy as np
from llvmlite import ir
from numba import njit, prange, types
from numba.core import cgutils
from numba.extending import intrinsic

from footprint.kernels.backproject import ANGLES, SEGMENT, SLICES, TILE_X, TILE_Y

_LANES = 16
_PIXELS = TILE_X * TILE_Y


def backproject(
    rows: np.ndarray, table: np.ndarray, out: np.ndarray, work: np.ndarray, *, accumulate: bool = False
) -> None:
    """Sum the rows ``(n_z, n_angles, n_x)`` into the slices ``(n_z, n_y, n_x')``; see `footprint.kernels.backproject`."""
    slices = SLICES if work.shape[1] >= SLICES * _PIXELS else 1
    _backproject(rows, table, out, work, accumulate, slices)


def _vector_sweep(slices: int):
    """Make the function that adds ANGLES rows to sixteen pixels of each of ``slices`` tiles."""

    @intrinsic
    def sweep(typingctx, acc, pixel, x, segments, base, step):
        def codegen(context, builder, signature, args):
            f32, i32 = ir.FloatType(), ir.IntType(32)
            vf, vi = ir.VectorType(f32, _LANES), ir.VectorType(i32, _LANES)
            arrays = [(t, v) for t, v in zip(signature.args, args) if isinstance(t, types.Array)]
            data = [context.make_array(t)(context, builder, v).data for t, v in arrays]
            accs, segs, bases, steps = data
            at, x = args[1], builder.sitofp(args[2], f32)
            declare = cgutils.get_or_insert_function
            kind = ir.FunctionType(vf, [vf, vi, vf])
            permute = declare(builder.module, kind, "llvm.x86.avx512.vpermi2var.ps.512")
            fma = declare(builder.module, ir.FunctionType(vf, [vf, vf, vf]), "llvm.fma.v16f32")

            def offset(pointer, index):
                return builder.gep(pointer, [index])

            def const(n):
                return ir.Constant(ir.IntType(64), n)

            def load(pointer, index):
                return builder.load(builder.bitcast(offset(pointer, index), vf.as_pointer()), align=4)

            def splat(scalar, vector):
                one = builder.insert_element(ir.Constant(vector, ir.Undefined), scalar, ir.Constant(i32, 0))
                return builder.shuffle_vector(one, ir.Constant(vector, ir.Undefined), ir.Constant(vi, [0] * _LANES))

            lanes = ir.Constant(vf, [float(i) for i in range(_LANES)])
            places = [builder.add(at, const(z * _PIXELS)) for z in range(slices)]
            sums = [load(accs, p) for p in places]
            for k in range(ANGLES):
                s = builder.load(offset(steps, const(k)))
                first = builder.fadd(builder.load(offset(bases, const(k))), builder.fmul(x, s))
                last = builder.fadd(first, builder.fmul(s, ir.Constant(f32, float(_LANES - 1))))
                lowest = builder.select(builder.fcmp_ordered("<", first, last), first, last)
                # One below, as rounding may put a lane under the scalar's floor; 19 of the 32 samples are in reach.
                low = builder.sub(builder.fptosi(lowest, i32), ir.Constant(i32, 1))
                t = builder.call(fma, [lanes, splat(s, vf), splat(first, vf)])
                index = builder.fptosi(t, vi)
                f = builder.fsub(t, builder.sitofp(index, vf))
                left = builder.sub(index, splat(low, vi))
                right = builder.add(left, ir.Constant(vi, [1] * _LANES))
                low = builder.sext(low, ir.IntType(64))
                for z in range(slices):
                    start = builder.add(low, const((z * ANGLES + k) * SEGMENT))
                    a, b = load(segs, start), load(segs, builder.add(start, const(_LANES)))
                    v0, v1 = builder.call(permute, [a, left, b]), builder.call(permute, [a, right, b])
                    sums[z] = builder.call(fma, [f, builder.fsub(v1, v0), builder.fadd(sums[z], v0)])
            for place, total in zip(places, sums):
                builder.store(total, builder.bitcast(offset(accs, place), vf.as_pointer()), align=4)
            return context.get_dummy_value()

        return types.void(acc, types.int64, types.int64, segments, base, step), codegen

    return sweep


def _plain_sweep(slices: int):
    """Make the same function for any other processor."""

    @njit(cache=True, error_model="numpy", fastmath={"contract"})
    def sweep(acc, pixel, x, segments, base, step):
        for k in range(ANGLES):
            for lane in range(_LANES):
                t = base[k] + np.float32(x + lane) * step[k]
                i = np.int32(t)
                f = t - np.float32(i)
                for z in range(slices):
                    at = (z * ANGLES + k) * SEGMENT + i
                    acc[z * _PIXELS + pixel + lane] += segments[at] + f * (segments[at + 1] - segments[at])

    return sweep


_vectors = llvm.get_host_cpu_features().get("avx512f", False)
_sweep_one, _sweep_four = (_vector_sweep(1), _vector_sweep(SLICES)) if _vectors else (_plain_sweep(1), _plain_sweep(SLICES))


@njit(cache=True, error_model="numpy")
def _stage(rows, z0, slices, table, a0, x0, y0, tile_x, tile_y, segments, corners, down, step):
    """Copy what the tile sees of ANGLES rows, times their weight; rows beyond the last angle are zeros."""
    n_z, n_a, n_x = rows.shape
    for k in range(ANGLES):
        a = min(a0 + k, n_a - 1)
        cos, nsin = table[a, 0], table[a, 1]
        corner = table[a, 2] + x0 * cos + y0 * nsin
        low = corner + min(0.0, (tile_x - 1) * cos) + min(0.0, (tile_y - 1) * nsin)
        # Positions past the row's ends, however far, see only zeros; the clamp keeps them representable.
        first = np.int64(np.floor(min(max(low, -4.0 * SEGMENT - n_x), 4.0 * SEGMENT + 2 * n_x))) - 2
        corners[k], down[k], step[k] = np.float32(corner - first), np.float32(nsin), np.float32(cos)
        weight = np.float32(table[a, 3])
        left, right = min(max(-first, 0), SEGMENT), min(max(n_x - first, 0), SEGMENT)
        if a0 + k >= n_a:
            left = right = SEGMENT
        for z in range(slices):
            at = (z * ANGLES + k) * SEGMENT
            segments[at : at + left] = 0
            segments[at + right : at + SEGMENT] = 0
            if right > left:
                # Slices, not indices: a negative index would have to be tested for at every sample.
                seen, staged = rows[min(z0 + z, n_z - 1), a, first + left : first + right], segments[at + left : at + right]
                for i in range(right - left):
                    staged[i] = seen[i] * weight


@njit(cache=True, error_model="numpy")
def _tile(rows, z0, slices, table, out, x0, y0, acc, segments, lines, accumulate):
    corners, down, step, base = lines[:ANGLES], lines[ANGLES : 2 * ANGLES], lines[2 * ANGLES : 3 * ANGLES], lines[3 * ANGLES :]
    n_x, n_y = min(TILE_X, out.shape[2] - x0), min(TILE_Y, out.shape[1] - y0)
    acc[:] = 0
    for a0 in range(0, rows.shape[1], ANGLES):
        # A whole row of sixteens is swept, so the segment covers the tile's full width even where the image is narrower.
        _stage(rows, z0, slices, table, a0, x0, y0, TILE_X, n_y, segments, corners, down, step)
        for y in range(n_y):
            for k in range(ANGLES):
                base[k] = corners[k] + np.float32(y) * down[k]
            for x in range(0, n_x, _LANES):
                if slices == 1:
                    _sweep_one(acc, y * TILE_X + x, x, segments, base, step)
                else:
                    _sweep_four(acc, y * TILE_X + x, x, segments, base, step)
    for z in range(min(slices, out.shape[0] - z0)):
        for y in range(n_y):
            for x in range(n_x):
                total = acc[z * _PIXELS + y * TILE_X + x]
                out[z0 + z, y0 + y, x0 + x] = out[z0 + z, y0 + y, x0 + x] + total if accumulate else total


@njit(cache=True, parallel=True, nogil=True, error_model="numpy")
def _backproject(rows, table, out, work, accumulate, slices):
    threads = work.shape[0]
    across, down = -(-out.shape[2] // TILE_X), -(-out.shape[1] // TILE_Y)
    deep = -(-out.shape[0] // slices)
    for thread in prange(threads):
        acc = work[thread, : slices * _PIXELS]
        segments = work[thread, slices * _PIXELS : slices * (_PIXELS + ANGLES * SEGMENT)]
        lines = work[thread, slices * (_PIXELS + ANGLES * SEGMENT) :]
        for tile in range(thread, deep * across * down, threads):
            place = tile % (across * down)
            z0, y0, x0 = tile // (across * down) * slices, place // across * TILE_Y, place % across * TILE_X
            _tile(rows, z0, slices, table, out, x0, y0, acc, segments, lines, accumulate)
