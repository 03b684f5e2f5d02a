"""Projection on the CPU: line after line of a slice onto all bins of an angle, a vector of bins at a time.

Neighbouring bins see pixels at most 1.42 apart, so a vector of them finds its pixels in two registers, as in backprojection.
"""

from __future__ import annotations

import math

import numpy as np
from llvmlite import ir
from numba import prange, types
from numba.core import cgutils
from numba.extending import intrinsic

from footprint.kernels.common.copied import put
from footprint.kernels.common.jit import njit
from footprint.kernels.common.pairs import LANES, VF, VI, ints, load, pairs, splat
from footprint.kernels.common.turns import turns
from footprint.kernels.project.contract import MARGIN

_TILE = 32


def project(volume: np.ndarray, table: np.ndarray, out: np.ndarray, turned: np.ndarray, work: np.ndarray) -> None:
    """See `footprint.kernels.project.contract`."""
    _turn(volume, turned)
    n_z, n_a, _ = out.shape
    # An update takes twice as long as in backprojection.
    for first, last in turns(n_z * n_a, 2 * volume.shape[1] * volume.shape[2], work.shape[0]):
        _project(volume, table, out, turned, work, first, last)


@intrinsic
def _add(typingctx, sums, at, pixels, start, low, step, share):
    """Add to a vector of bins what a line has for them.

    Bin i lies ``low + i step`` pixels behind ``start``, whose pixel is the first within 1 / ``share`` pixels of bin 0. With d the
    fraction of that, the three pixels from there on lie at ``share`` (1 - d) from a weight of 0, |share (d - 2) + 1| from one of 1,
    and so on.
    """

    def codegen(context, builder, signature, args):
        arrays = [(t, v) for t, v in zip(signature.args, args) if isinstance(t, types.Array)]
        bins, line = (context.make_array(t)(context, builder, v).data for t, v in arrays)
        vector = [VF]
        declare = cgutils.get_or_insert_function
        fma = declare(builder.module, ir.FunctionType(VF, vector * 3), f"llvm.fmuladd.v{LANES}f32")
        fabs = declare(builder.module, ir.FunctionType(VF, vector), f"llvm.fabs.v{LANES}f32")
        number = lambda value: ir.Constant(VF, [value] * LANES)
        low, step, share = (splat(builder, value, VF) for value in args[4:])
        t = builder.call(fma, [ir.Constant(VF, [float(i) for i in range(LANES)]), step, low])
        index = builder.fptosi(t, VI)
        d = builder.fmul(builder.fsub(t, builder.sitofp(index, VF)), share)
        v0, v1 = pairs(builder, line, args[3], index)
        _, v2 = pairs(builder, line, args[3], builder.add(index, ints(*[1] * LANES)))
        from_middle = builder.fadd(builder.call(fma, [share, number(-2.0), number(1.0)]), d)
        w0 = builder.fsub(share, d)
        w1 = builder.fsub(number(1.0), builder.call(fabs, [from_middle]))
        w2 = builder.fadd(builder.fsub(from_middle, share), number(1.0))
        w2 = builder.select(builder.fcmp_ordered(">", w2, number(0.0)), w2, number(0.0))
        total = load(builder, bins, args[1], VF)
        for weight, value in ((w0, v0), (w1, v1), (w2, v2)):
            total = builder.call(fma, [weight, value, total])
        builder.store(total, builder.bitcast(builder.gep(bins, [args[1]]), VF.as_pointer()), align=4)
        return context.get_dummy_value()

    return types.void(sums, types.int64, pixels, types.int64, types.float32, types.float32, types.float32), codegen


@njit(cache=True, error_model="numpy")
def _line(pixels, n, sums, bins, low, step, share):
    """Add a line of ``n`` pixels to all bins that see it; bin i's first pixel is the one after ``low + i step``."""
    one, other = (-3.0 - low) / step, (n - low) / step
    first = int(min(max(math.floor(min(one, other)), 0.0), float(bins)))
    last = int(min(max(math.ceil(max(one, other)) + 1.0, 0.0), float(bins)))
    back = min(0.0, (LANES - 1) * step)
    for s in range(first, last, LANES):
        here = low + s * step
        corner = math.floor(here + back)
        _add(sums, s, pixels, int(corner) + 1 + MARGIN, np.float32(here - corner), np.float32(step), np.float32(share))


@njit(cache=True, parallel=True, nogil=True, error_model="numpy")
def _turn(volume, turned):
    n_z, n_y, width = volume.shape
    across = (width + _TILE - 1) // _TILE
    for unit in prange(n_z * across):
        z, x0 = unit // across, unit % across * _TILE
        for y0 in range(0, n_y, _TILE):
            for x in range(x0, min(x0 + _TILE, width)):
                for y in range(y0, min(y0 + _TILE, n_y)):
                    turned[z, x, y] = volume[z, y, x]


@njit(cache=True, parallel=True, nogil=True, error_model="numpy")
def _project(volume, table, out, turned, work, first, last):
    n_a, bins = out.shape[1:]
    n_y, width = volume.shape[1:]
    threads, most = work.shape[0], max(n_y, width) + 2 * MARGIN
    for thread in prange(threads):
        line, sums = work[thread, :most], work[thread, most:]
        for unit in range(first + thread, last, threads):
            z, a = unit // n_a, unit % n_a
            cos, nsin, offset = table[a, 0], table[a, 1], table[a, 2]
            steep = abs(cos) >= abs(nsin)
            along, over, image = (nsin, cos, volume[z]) if steep else (cos, nsin, turned[z])
            n = image.shape[1]
            line[:] = 0
            sums[:] = 0
            for i in range(image.shape[0]):
                put(line[MARGIN : MARGIN + n], image[i])
                _line(line, n, sums, bins, (-offset - i * along) / over - 1 / abs(over), 1 / over, abs(over))
            out[z, a] = sums[:bins]
