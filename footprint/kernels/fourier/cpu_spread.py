"""Adding samples of a polar spectrum to a grid: a window of 8 x 8 cells at a time, a row of it in one vector.

Successive samples of a row lie less than a cell apart, so a few of them fit one window, whose rows are then loaded and stored once
for all of them. Taps of both axes are the polynomials of one vector.
"""

from __future__ import annotations

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from footprint.kernels.common.jit import njit
from footprint.kernels.common.pairs import FEATURES
from footprint.kernels.fourier.contract import BITS, WINDOW

_FEATURE = next((name for name in ("avx512f", "avx2") if f"+{name}" in FEATURES), "")
WIDE = bool(_FEATURE)
"""Whether taps of several samples can be moved to their places within a window by one instruction."""

_LANES = 2 * WINDOW
_F32, _I32, _I64 = ir.FloatType(), ir.IntType(32), ir.IntType(64)
_V, _VI = ir.VectorType(_F32, _LANES), ir.VectorType(_I32, _LANES)
_BYTES = ir.IntType(8).as_pointer()


def _all(values, of=_I32):
    return ir.Constant(ir.VectorType(of, len(values)), list(values))


def _i64(value):
    return ir.Constant(_I64, value)


class _Window:
    """Instructions of one call of `add`: arguments unpacked, and what positions and taps are made of."""

    def __init__(self, context, builder, signature, args):
        self.b = builder
        self.grid, self.spectrum, self.taps = (
            context.make_array(t)(context, builder, v).data for t, v in zip(signature.args[:3], args[:3])
        )
        self.u, self.v, self.along_x, self.along_y, self.at, self.stride, self.ahead = args[3:10]
        self.count, self.group = signature.args[10].count, signature.args[11].count
        self.fma = self.declare(f"llvm.fmuladd.v{_LANES}f32", _V, [_V] * 3)

    def declare(self, name, out, ins):
        return cgutils.get_or_insert_function(self.b.module, ir.FunctionType(out, ins), name)

    def pick(self, vector, lanes):
        return self.b.shuffle_vector(vector, ir.Constant(vector.type, ir.Undefined), _all(lanes))

    def both(self, one, other):
        """``one`` in lanes 0 to 3, ``other`` in 4 to 7."""
        empty = ir.Constant(ir.VectorType(_I64, 8), ir.Undefined)
        first = self.b.insert_element(empty, one, ir.Constant(_I32, 0))
        return self.pick(self.b.insert_element(first, other, ir.Constant(_I32, 1)), [0] * 4 + [1] * 4)

    def positions(self):
        """Fractions as -1 to 1 in eight lanes: columns of four samples, then their rows."""
        b = self.b
        steps = b.mul(self.both(self.along_y, self.along_x), _all([0, 1, 2, 3] * 2, _I64))
        where = b.add(self.both(self.v, self.u), steps)
        narrow = ir.VectorType(_I32, 8)
        bits = b.and_(b.trunc(b.lshr(where, _all([BITS - 24] * 8, _I64)), narrow), _all([0xFFFFFF] * 8))
        fraction = b.fmul(b.sitofp(bits, ir.VectorType(_F32, 8)), _all([2.0**-23] * 8, _F32))
        return b.fsub(fraction, _all([1.0] * 8, _F32))

    def cells(self, first, step):
        """Cells of the samples along one axis, and the lowest of them."""
        b = self.b
        found = [b.ashr(b.add(first, b.mul(step, _i64(i))), _i64(BITS)) for i in range(self.group)]
        low = b.select(b.icmp_signed("<", found[0], found[-1]), found[0], found[-1])
        return [b.sub(cell, low) for cell in found], low

    def polynomials(self, z):
        """Taps at the fractions ``z``: lanes 0 to 7 along y, 8 to 15 along x."""
        powers = self.b.bitcast(self.taps, _V.as_pointer())
        found = self.b.load(self.b.gep(powers, [_i64(0)]), align=4)
        for power in range(1, self.count + 1):
            found = self.b.call(self.fma, [found, z, self.b.load(self.b.gep(powers, [_i64(power)]), align=4)])
        return found

    def moved(self, taps, twice, cells):
        """Taps along y, each ``twice``, moved right by so many cells; lanes -1 and -2 are the last, zeros."""
        b = self.b
        one = b.insert_element(ir.Constant(_VI, ir.Undefined), b.trunc(cells, _I32), ir.Constant(_I32, 0))
        places = b.sub(_all(twice), self.pick(one, [0] * _LANES))
        if _FEATURE == "avx512f":
            return b.call(self.declare("llvm.x86.avx512.permvar.sf.512", _V, [_V, _VI]), [taps, places])
        narrow = [ir.VectorType(kind, WINDOW) for kind in (_F32, _I32)]
        permute = self.declare("llvm.x86.avx2.permps", narrow[0], narrow)
        halves = [list(range(WINDOW)), list(range(WINDOW, _LANES))]
        low = self.pick(taps, halves[0])
        one, other = (b.call(permute, [low, self.pick(places, half)]) for half in halves)
        return b.shuffle_vector(one, other, _all(range(_LANES)))


def _codegen(context, builder, signature, args):
    w = _Window(context, builder, signature, args)
    b, fractions = builder, w.positions()
    (rows, low), (columns, left) = w.cells(w.u, w.along_x), w.cells(w.v, w.along_y)
    if w.group > 1:
        # The same samples of the next angle: rows are far apart, which no hardware foresees.
        prefetch = w.declare("llvm.prefetch.p0", ir.VoidType(), [_BYTES, _I32, _I32, _I32])
        b.call(prefetch, [b.bitcast(b.gep(w.spectrum, [w.ahead]), _BYTES)] + [ir.Constant(_I32, i) for i in (0, 3, 1)])
    sample = b.bitcast(b.gep(w.spectrum, [w.at]), ir.VectorType(_F32, 2).as_pointer())
    across, down = [], []
    twice = [lane // 2 for lane in range(_LANES)]
    for i in range(w.group):
        taps = w.polynomials(w.pick(fractions, [i] * WINDOW + [4 + i] * WINDOW))
        if w.group == 1:
            wide = w.pick(taps, twice)
        else:
            wide = w.moved(taps, twice, columns[i])
        across.append(b.fmul(wide, w.pick(b.load(b.gep(sample, [_i64(i)]), align=4), [0, 1] * WINDOW)))
        kept = cgutils.alloca_once(b, _V)
        kept.align = 64
        b.store(taps, kept, align=64)
        down.append((b.bitcast(kept, _F32.as_pointer()), b.sub(_i64(WINDOW), rows[i])))
    place = b.add(b.mul(low, w.stride), b.shl(left, _i64(1)))
    for row in range(w.count if w.group == 1 else WINDOW):
        line = b.bitcast(b.gep(w.grid, [place]), _V.as_pointer())
        total = b.load(line, align=4)
        for i in range(w.group):
            # Above the sample's own rows: the last lanes of the taps along y, zeros.
            tap = b.load(b.gep(down[i][0], [b.add(down[i][1], _i64(row))]), align=4)
            each = w.pick(b.insert_element(ir.Constant(_V, ir.Undefined), tap, ir.Constant(_I32, 0)), [0] * _LANES)
            total = b.call(w.fma, [across[i], each, total])
        b.store(total, line, align=4)
        place = b.add(place, w.stride)
    return context.get_dummy_value()


@intrinsic
def _add(typingctx, grid, spectrum, taps, u, v, along_x, along_y, at, stride, ahead, count, group):
    whole = [types.int64] * 7
    return types.void(grid, spectrum, taps, *whole, count, group), _codegen


@njit(error_model="numpy")
def add_near_end(grid, spectrum, taps, u, v, at, stride, cells, count):
    """Add one sample whose columns reach beyond the grid's ends, where they wrap."""
    row, column = u >> BITS, v >> BITS
    fy = float((v >> (BITS - 24)) & 0xFFFFFF) * 2.0**-23 - 1.0
    fx = float((u >> (BITS - 24)) & 0xFFFFFF) * 2.0**-23 - 1.0
    for j in range(len(count)):
        tap = 0.0
        for power in range(len(count) + 1):
            tap = tap * fx + taps[power * 2 * WINDOW + WINDOW + j]
        for i in range(len(count)):
            other = 0.0
            for power in range(len(count) + 1):
                other = other * fy + taps[power * 2 * WINDOW + i]
            place = (row + j) * stride + 2 * ((column + i) % cells)
            grid[place] += np.float32(tap * other) * spectrum[at]
            grid[place + 1] += np.float32(tap * other) * spectrum[at + 1]


@njit(error_model="numpy")
def add_row(grid, spectrum, taps, first, along_x, along_y, at, ahead, k0, k1, cells, count, group):
    """Add the samples ``k0`` to ``k1`` of the row that begins at element ``at`` of ``spectrum``.

    ``first`` is where sample 0 lies, of ``grid``'s rows and columns; ``cells`` are those of a row of it; both in 2^-BITS cells as
    the steps ``along_x`` (rows) and ``along_y``. ``ahead`` elements further lies the row that comes next.
    """
    u, v = first
    stride = 2 * cells
    # From here on the window reaches beyond an end.
    inside = k1
    if along_y > 0:
        inside = -((v - ((cells - WINDOW + 1) << BITS)) // along_y)
    elif along_y < 0:
        inside = v // -along_y + 1
    inside, k, one = min(max(inside, k0), k1), k0, (0,)
    while k + len(group) <= inside:
        _add(
            grid,
            spectrum,
            taps,
            u + k * along_x,
            v + k * along_y,
            along_x,
            along_y,
            at + 2 * k,
            stride,
            at + 2 * k + ahead,
            count,
            group,
        )
        k += len(group)
    while k < inside:
        _add(grid, spectrum, taps, u + k * along_x, v + k * along_y, along_x, along_y, at + 2 * k, stride, at, count, one)
        k += 1
    while k < k1:
        add_near_end(grid, spectrum, taps, u + k * along_x, v + k * along_y, at + 2 * k, stride, cells, count)
        k += 1
