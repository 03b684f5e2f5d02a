"""Backprojection on the CPU: tiles of pixels, a few angles at a time, row segments staged with their weight.

Neighbouring pixels of a row see neighbouring samples, because a step of one pixel moves the position by |cos t| <= 1.
"""

from __future__ import annotations

import numpy as np
from llvmlite import ir
from numba import prange, types
from numba.core import cgutils
from numba.extending import intrinsic

from footprint.kernels.backproject.contract import ANGLES, SEGMENT, SLICES, TILE_X, TILE_Y
from footprint.kernels.common.few import few
from footprint.kernels.common.jit import njit
from footprint.kernels.common.pairs import F32, I32, I64, LANES, VF, VI, load, pairs, splat
from footprint.kernels.common.turns import turns

_PIXELS = TILE_X * TILE_Y
# Multiply-adds that take as long as a pixel's update by an angle.
_WORK = 16


def backproject(rows: np.ndarray, table: np.ndarray, out: np.ndarray, work: np.ndarray, *, accumulate: bool = False) -> None:
    """Sum the rows ``(n_z, n_angles, n_x)`` into the slices ``(n_z, n_y, n_x')``; see `footprint.kernels.backproject.contract`."""
    slices = SLICES if work.shape[1] >= SLICES * _PIXELS else 1
    tiles = -(-out.shape[0] // slices) * -(-out.shape[1] // TILE_Y) * -(-out.shape[2] // TILE_X)
    if few(tiles * slices * _PIXELS * rows.shape[1] * _WORK):
        _tiles(rows, table, out, work[0], accumulate, slices, 0, tiles, 1)
        return
    for first, last in turns(tiles, slices * _PIXELS * rows.shape[1], work.shape[0]):
        _backproject(rows, table, out, work, accumulate, slices, first, last)


def _sweep(slices: int):
    """Make the function that adds ANGLES rows to LANES pixels of each of ``slices`` tiles."""

    def codegen(context, builder, signature, args):
        arrays = [(t, v) for t, v in zip(signature.args, args) if isinstance(t, types.Array)]
        sums_, segments, bases, steps = (context.make_array(t)(context, builder, v).data for t, v in arrays)
        x = builder.sitofp(args[2], F32)
        # Fused where the processor can, two roundings where a fused one would be a call.
        fma = cgutils.get_or_insert_function(builder.module, ir.FunctionType(VF, [VF, VF, VF]), f"llvm.fmuladd.v{LANES}f32")
        lanes = ir.Constant(VF, [float(i) for i in range(LANES)])
        places = [builder.add(args[1], ir.Constant(I64, z * _PIXELS)) for z in range(slices)]
        sums = [load(builder, sums_, place, VF) for place in places]
        for k in range(ANGLES):
            step, base = (builder.load(builder.gep(v, [ir.Constant(I64, k)])) for v in (steps, bases))
            first = builder.fadd(base, builder.fmul(x, step))
            last = builder.fadd(first, builder.fmul(step, ir.Constant(F32, float(LANES - 1))))
            lowest = builder.select(builder.fcmp_ordered("<", first, last), first, last)
            # One below, as rounding may put a lane under the scalar's floor.
            low = builder.sub(builder.fptosi(lowest, I32), ir.Constant(I32, 1))
            t = builder.call(fma, [lanes, splat(builder, step, VF), splat(builder, first, VF)])
            index = builder.fptosi(t, VI)
            f = builder.fsub(t, builder.sitofp(index, VF))
            left, low = builder.sub(index, splat(builder, low, VI)), builder.sext(low, I64)
            for z in range(slices):
                start = builder.add(low, ir.Constant(I64, (z * ANGLES + k) * SEGMENT))
                v0, v1 = pairs(builder, segments, start, left)
                sums[z] = builder.call(fma, [f, builder.fsub(v1, v0), builder.fadd(sums[z], v0)])
        for place, total in zip(places, sums):
            builder.store(total, builder.bitcast(builder.gep(sums_, [place]), VF.as_pointer()), align=4)
        return context.get_dummy_value()

    @intrinsic
    def sweep(typingctx, acc, pixel, x, segments, base, step):
        return types.void(acc, types.int64, types.int64, segments, base, step), codegen

    return sweep


_sweep_one, _sweep_four = _sweep(1), _sweep(SLICES)


@njit(cache=True, error_model="numpy")
def _stage(rows, z0, slices, table, a0, x0, y0, tile_x, tile_y, segments, corners, down, step):
    """Copy what the tile sees of ANGLES rows, times their weight; rows beyond the last angle are zeros."""
    n_z, n_a, n_x = rows.shape
    for k in range(ANGLES):
        a = min(a0 + k, n_a - 1)
        cos, nsin = table[a, 0], table[a, 1]
        corner = table[a, 2] + x0 * cos + y0 * nsin
        low = corner + min(0.0, (tile_x - 1) * cos) + min(0.0, (tile_y - 1) * nsin)
        # A tile that sees nothing of the row, however far away it lies, reads zeros at one place within the segment.
        seen_at_all = a0 + k < n_a and -2.0 - SEGMENT < low < n_x
        if not seen_at_all:
            corner = low = cos = nsin = 0.0
        first = np.int64(np.floor(low)) - 2
        corners[k], down[k], step[k] = np.float32(corner - first), np.float32(nsin), np.float32(cos)
        weight = np.float32(table[a, 3])
        left, right = min(max(-first, 0), SEGMENT), min(max(n_x - first, 0), SEGMENT)
        if not seen_at_all:
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
    n_z = min(slices, out.shape[0] - z0)
    acc[:] = 0
    if accumulate:
        # Onto what is there, not added at the end: so the sum is the same to the last bit however angles are grouped.
        for z in range(n_z):
            for y in range(n_y):
                for x in range(n_x):
                    acc[z * _PIXELS + y * TILE_X + x] = out[z0 + z, y0 + y, x0 + x]
    for a0 in range(0, rows.shape[1], ANGLES):
        # A whole row of sixteens is swept, so the segment covers the tile's full width even where the image is narrower.
        _stage(rows, z0, slices, table, a0, x0, y0, TILE_X, n_y, segments, corners, down, step)
        for y in range(n_y):
            for k in range(ANGLES):
                base[k] = corners[k] + np.float32(y) * down[k]
            for x in range(0, n_x, LANES):
                if slices == 1:
                    _sweep_one(acc, y * TILE_X + x, x, segments, base, step)
                else:
                    _sweep_four(acc, y * TILE_X + x, x, segments, base, step)
    for z in range(n_z):
        for y in range(n_y):
            for x in range(n_x):
                out[z0 + z, y0 + y, x0 + x] = acc[z * _PIXELS + y * TILE_X + x]


@njit(cache=True, nogil=True, error_model="numpy")
def _tiles(rows, table, out, work, accumulate, slices, first, last, every):
    """Every so many of some tiles, in one thread's workspace."""
    across, down = -(-out.shape[2] // TILE_X), -(-out.shape[1] // TILE_Y)
    acc, segments = work[: slices * _PIXELS], work[slices * _PIXELS : slices * (_PIXELS + ANGLES * SEGMENT)]
    lines = work[slices * (_PIXELS + ANGLES * SEGMENT) :]
    for tile in range(first, last, every):
        place = tile % (across * down)
        z0, y0, x0 = tile // (across * down) * slices, place // across * TILE_Y, place % across * TILE_X
        _tile(rows, z0, slices, table, out, x0, y0, acc, segments, lines, accumulate)


@njit(cache=True, parallel=True, nogil=True, error_model="numpy")
def _backproject(rows, table, out, work, accumulate, slices, first, last):
    threads = work.shape[0]
    for thread in prange(threads):
        _tiles(rows, table, out, work[thread], accumulate, slices, first + thread, last, threads)
