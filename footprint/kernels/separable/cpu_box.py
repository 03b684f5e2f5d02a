"""Sums of equal weights on the CPU: as many additions a result, however many weights.

Results lie in blocks as long as the window. A result is what is left of one block of pixels, summed from its end back to where the
window begins, and what it needs of the next one, summed from its beginning (van Herk's scheme for maxima): no pixel is ever taken
off again, so one that has left the window leaves nothing behind. Blocks are counted from the array's first result, so that parts
are summed as the whole is. Sums are formed in float64; of float64 what is rounded away is kept beside them.

Neighbouring columns go by side by side. Lines, and columns that are few, are put side by side first.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from llvmlite import ir
from numba import prange
from numba.core import cgutils, types
from numba.extending import intrinsic

from footprint.kernels.common import borders
from footprint.kernels.common.few import TOUCH, few
from footprint.kernels.common.jit import njit
from footprint.kernels.common.vectors import BYTES, Emit, apart, own
from footprint.kernels.convolve.cpu_lines import source_index
from footprint.kernels.separable.contract import ABREAST, beside

_DOUBLE = ir.DoubleType()
_LANES = BYTES // 8
_VECTORS = ABREAST // _LANES
_TOGETHER = 8
"""Strips that go from block to block together, of numbers of four bytes: one of wider numbers is two lines of a cache wide."""
_NEAREST, _NONE = borders.CODES["nearest"], borders.CODES[borders.NONE]


def _added(e: Emit, total: Any, lost: Any, value: Any, weight: Any) -> tuple[Any, Any]:
    """A sum and one product more; of float64 also what all additions have rounded away (Knuth), else nothing is worth keeping."""
    b = e.b
    if e.itemsize < 8:
        return e.multiply_add(value, weight, total), lost
    more = b.fmul(value, weight)
    both = b.fadd(total, more)
    got = b.fsub(both, total)
    left = b.fadd(b.fsub(total, b.fsub(both, got)), b.fsub(more, got))
    return both, b.fadd(lost, left)


def _maker(forth: bool) -> Any:
    """Sums of rows, one after another, from those at ``acc`` on, which are kept there; each sum goes to ``work``.

    With ``forth`` each is added to what is there, and the result goes to ``out``.
    """

    @intrinsic
    def sums(typing_context, image, at, pitch, weight, work, acc, to, step, out, goal, leap, count):  # type: ignore[no-untyped-def]
        def code(context, builder, signature, args):  # type: ignore[no-untyped-def]
            def write(e: Emit) -> None:
                args, b = e.args, e.b
                at, pitch, weight, acc, to, step, goal, leap, count = (args[i] for i in (1, 2, 3, 5, 6, 7, 9, 10, 11))
                kind = ir.VectorType(_DOUBLE, _LANES)
                nothing, first = ir.Constant(kind, ir.Undefined), ir.Constant(ir.IntType(32), 0)
                same = ir.Constant(ir.VectorType(ir.IntType(32), _LANES), [0] * _LANES)
                weights = b.shuffle_vector(b.insert_element(nothing, weight, first), nothing, same)
                held = [cgutils.alloca_once(b, kind) for _ in range(2 * _VECTORS)]
                for c, one in enumerate(held):
                    b.store(e.doubles(4, e.add(acc, c * _LANES)), one)
                with cgutils.for_range(b, count) as row:
                    source = e.add(at, e.mul(row.index, pitch))
                    place, target = e.add(to, e.mul(row.index, step)), e.add(goal, e.mul(row.index, leap))
                    for c in range(_VECTORS):
                        value = e.doubles(0, e.add(source, c * _LANES))
                        total, lost = _added(e, b.load(held[c]), b.load(held[_VECTORS + c]), value, weights)
                        b.store(total, held[c])
                        b.store(lost, held[_VECTORS + c])
                        found = total
                        if e.itemsize == 8:
                            # Where sums are infinite, what they lost is no number.
                            none = ir.Constant(kind, [0.0] * _LANES)
                            found = b.fadd(total, b.select(b.fcmp_ordered("ord", lost, lost), lost, none))
                        near = e.add(place, c * _LANES)
                        if forth:
                            e.keep(b.fadd(e.doubles(4, near), found), 8, e.add(target, c * _LANES))
                        else:
                            e.keep(found, 4, near)
                for c, one in enumerate(held):
                    e.keep(b.load(one), 4, e.add(acc, c * _LANES))

            return own(context, builder, signature, args, write)

        n = types.int64
        return types.void(image, n, n, types.float64, work, n, n, n, out, n, n, n), code

    return sums


_back, _forth = _maker(False), _maker(True)


def _turned(b: ir.IRBuilder, rows: list[Any]) -> list[Any]:
    """As many vectors as each has elements, the elements of each now one of every vector."""
    n, half = len(rows), 1
    while half < n:
        for i in range(n):
            if i & half == 0:
                one, two = rows[i], rows[i + half]
                low = [n + j - half if j & half else j for j in range(n)]
                high = [n + j if j & half else j + half for j in range(n)]
                for at, order in ((i, low), (i + half, high)):
                    lanes = ir.Constant(ir.VectorType(ir.IntType(32), n), order)
                    rows[at] = b.shuffle_vector(one, two, lanes)
        half *= 2
    return rows


@intrinsic
def _beside(typing_context, image, places, tile, to, count):  # type: ignore[no-untyped-def]
    """Lay squares of lines, each from its place on, beside each other in the tile."""

    def code(context, builder, signature, args):  # type: ignore[no-untyped-def]
        def write(e: Emit) -> None:
            args, n = e.args, e.kind.count
            with cgutils.for_range(e.b, args[4]) as square:
                along = e.mul(square.index, n)
                for q in range(0, ABREAST, n):
                    rows = [e.load(0, e.add(e.number(1, e.add(0, q + i)), along)) for i in range(n)]
                    for j, vector in enumerate(_turned(e.b, rows)):
                        e.store(vector, 2, e.add(args[3], e.add(e.mul(e.add(along, j), ABREAST), q)))

        return own(context, builder, signature, args, write)

    n = types.int64
    return types.void(image, places, tile, n, n), code


@intrinsic
def _apart(typing_context, tile, at, out, places, count):  # type: ignore[no-untyped-def]
    """Squares of the tile back to their lines."""

    def code(context, builder, signature, args):  # type: ignore[no-untyped-def]
        def write(e: Emit) -> None:
            args, n = e.args, e.kind.count
            with cgutils.for_range(e.b, args[4]) as square:
                along = e.mul(square.index, n)
                for q in range(0, ABREAST, n):
                    rows = [e.load(0, e.add(args[1], e.add(e.mul(e.add(along, j), ABREAST), q))) for j in range(n)]
                    for i, vector in enumerate(_turned(e.b, rows)):
                        e.store(vector, 2, e.add(e.number(3, e.add(0, q + i)), along))

        return own(context, builder, signature, args, write)

    n = types.int64
    return types.void(tile, n, out, places, n), code


@njit(cache=True, nogil=True)
def _clear(work, at, count):
    some = work[at : at + count]
    for k in range(some.size):
        some[k] = 0.0


@njit(cache=True, nogil=True)
def _run(image, at, pitch, weight, work, acc, to, step, out, goal, leap, count, forth):
    """Rows that lie at equal steps."""
    apart()
    if forth:
        _forth(image, at, pitch, weight, work, acc, to, step, out, goal, leap, count)
    else:
        _back(image, at, pitch, weight, work, acc, to, step, out, goal, leap, count)


@njit(cache=True, nogil=True)
def _stretch(row, way, count, height, code):
    """Where a row lies that may be beyond an end, by how much the ones after it lie on, and for how many of them that is so."""
    source = source_index(row, height, code)
    if source < 0 or (code == _NEAREST and source != row):
        inwards = (row < 0) == (way > 0)
        return source, 0, (min(count, -row if row < 0 else row - height + 1) if inwards else count)
    step = source_index(row + way, height, code) - source
    many = height - source if step == 1 else source + 1 if step == -1 else 1
    return source, step, min(count, many)


@njit(cache=True, nogil=True)
def _rows(source, row, way, count, weight, work, acc, to, step, target, tile, edge, forth):
    """Sums of rows from ``row`` on, up or down as ``way`` is -1 or 1, wherever they lie."""
    apart()
    image, at, pitch, height, code = source
    out, goal, leap = target
    done = 0
    while done < count:
        where, move, many = _stretch(row + way * done, way, count - done, height, code)
        how = work, acc, to + done * step, step, out, goal + done * leap, leap, many, forth
        if where < 0:
            _run(tile, edge, 0, weight, *how)
        else:
            _run(image, at + where * pitch, move * pitch, weight, *how)
        done += many


@njit(cache=True, nogil=True)
def _block(source, first, begin, lo, hi, size, weight, work, acc, target, tile, edge):
    """Results ``lo`` to ``hi`` of the block that begins with result ``begin``; the window of result 0 begins at ``first``."""
    apart()
    junk, sums, nowhere = acc + 2 * ABREAST, acc + 3 * ABREAST, (target[0], target[1], 0)
    # What is summed back ends one before the last result's window does, which is therefore summed forth alone.
    last = begin + size - 2
    top = min(hi - 1, last)
    _clear(work, acc, 2 * ABREAST)
    if top < hi - 1:
        _clear(work, sums + (hi - 1 - lo) * ABREAST, ABREAST)
    _rows(source, first + last, -1, last - top, weight, work, acc, junk, 0, nowhere, tile, edge, False)
    to = sums + (top - lo) * ABREAST
    _rows(source, first + top, -1, top + 1 - lo, weight, work, acc, to, -ABREAST, nowhere, tile, edge, False)
    _clear(work, acc, 2 * ABREAST)
    _rows(source, first + last + 1, 1, lo - begin, weight, work, acc, junk, 0, nowhere, tile, edge, False)
    _rows(source, first + lo + size - 1, 1, hi - lo, weight, work, acc, sums, ABREAST, target, tile, edge, True)


@njit(cache=True, nogil=True)
def _columns(image, out, work, tile, base, edge, from_unit, to_unit, shape, size, weight, first, phase, code, cval):
    """Strips of neighbouring columns; the last one of a plane reaches back, to the same bits.

    Some strips go from block to block together: what lies beside a row's few pixels is then still near.
    """
    apart()
    height, rows, inner, _ = shape
    strips, outside = (inner + ABREAST - 1) // ABREAST, tile[edge : edge + ABREAST]
    for k in range(outside.size):
        outside[k] = cval
    unit = from_unit
    while unit < to_unit:
        near = _TOGETHER if image.itemsize == 4 else 1
        some = min(near, strips - unit % strips, to_unit - unit)
        for begin in range(-phase, rows, size):
            lo, hi = max(begin, 0), min(begin + size, rows)
            for one in range(unit, unit + some):
                plane, left = one // strips, min(one % strips * ABREAST, inner - ABREAST)
                source, goal = (image, plane * height * inner + left, inner, height, code), plane * rows * inner + left
                _block(source, first, begin, lo, hi, size, weight, work, base, (out, goal + lo * inner, inner), tile, edge)
        unit += some


@njit(cache=True, nogil=True)
def _lane(unit, q, shape, size, phase):
    """The first result of the block that a lane has, beyond the last one where it has none; and its line's plane and column."""
    _, rows, inner, lines = shape
    if rows >= size:
        n = unit * ABREAST + q
        block, line = n // lines, n % lines
    else:
        groups = (lines + ABREAST - 1) // ABREAST
        block, line = unit // groups, unit % groups * ABREAST + q
    begin = block * size - phase if line < lines else rows
    return begin, line // inner, line % inner


@njit(cache=True, nogil=True)
def _lay(image, at, step, count, tile, to, height, row, code, cval):
    """Put ``count`` elements of a line, from ``row`` on, into a lane."""
    apart()
    done = 0
    while done < count:
        place, move, many = _stretch(row + done, 1, count - done, height, code)
        for k in range(many):
            tile[to + (done + k) * ABREAST] = image[at + (place + k * move) * step] if place >= 0 else cval
        done += many


@njit(cache=True, nogil=True)
def _lines(image, out, work, tile, base, edge, from_unit, to_unit, shape, size, weight, first, phase, code, cval):
    """Blocks of lines side by side, each a lane; all that they need is laid beside each other first."""
    apart()
    height, rows, inner, _ = shape
    begins, sources, goals = np.empty(ABREAST, np.int64), np.empty(ABREAST, np.int64), np.empty(ABREAST, np.int64)
    square = BYTES // tile.itemsize
    for unit in range(from_unit, to_unit):
        lo, hi, most, least, last = size, 0, -phase, rows, 0
        for q in range(ABREAST):
            begin, plane, column = _lane(unit, q, shape, size, phase)
            begins[q], sources[q], goals[q] = begin, plane * height * inner + column, plane * rows * inner + column
            if begin < rows:
                lo, hi = min(lo, max(-begin, 0)), max(hi, min(size, rows - begin))
                most, least, last = max(most, begin), min(least, begin), q + 1
        need = hi - lo + size - 1
        # Of these all lanes have a pixel.
        low = min(max(-(least + lo + first), 0), need)
        high = max(min(height - (most + lo + first), need), low) if inner == 1 else low
        high = low + (high - low) // square * square
        for q in range(last):
            at, row = sources[q], begins[q] + lo + first
            _lay(image, at, inner, low, tile, edge + q, height, row, code, cval)
            _lay(image, at, inner, need - high, tile, edge + high * ABREAST + q, height, row + high, code, cval)
            sources[q] += row + low
            goals[q] += begins[q] * inner
        for q in range(last, ABREAST):
            sources[q] = sources[0]
        if high > low:
            _beside(image, sources, tile, edge + low * ABREAST, (high - low) // square)
        # A result is written where nothing is read any more.
        source, target = (tile, edge - lo * ABREAST, ABREAST, hi + size, _NONE), (tile, edge, ABREAST)
        _block(source, 0, 0, lo, hi, size, weight, work, base, target, tile, edge)
        low, high = max(lo, -least), min(hi, rows - most)
        high = max(low, low + (high - low) // square * square) if inner == 1 and last == ABREAST else low
        for q in range(last):
            start, stop = max(lo, -begins[q]), min(hi, rows - begins[q])
            for y in range(start, min(low, stop)):
                out[goals[q] + y * inner] = tile[edge + (y - lo) * ABREAST + q]
            for y in range(max(high, start), stop):
                out[goals[q] + y * inner] = tile[edge + (y - lo) * ABREAST + q]
            goals[q] += low
        if high > low:
            _apart(tile, edge + (low - lo) * ABREAST, out, goals, (high - low) // square)


@njit(cache=True, parallel=True, nogil=True)
def _all_columns(image, out, work, tile, pace, leap, threads, units, shape, size, weight, first, phase, code, cval):
    for t in prange(threads):
        a, b = units * t // threads, units * (t + 1) // threads
        _columns(image, out, work, tile, t * pace, t * leap, a, b, shape, size, weight, first, phase, code, cval)


@njit(cache=True, parallel=True, nogil=True)
def _all_lines(image, out, work, tile, pace, leap, threads, units, shape, size, weight, first, phase, code, cval):
    for t in prange(threads):
        a, b = units * t // threads, units * (t + 1) // threads
        _lines(image, out, work, tile, t * pace, t * leap, a, b, shape, size, weight, first, phase, code, cval)


def box(
    image: np.ndarray,
    weights: np.ndarray,
    out: np.ndarray,
    work: np.ndarray,
    tile: np.ndarray,
    *,
    axis: int,
    first: int,
    border: str,
    cval: float,
    start: int,
) -> None:
    """Sum along one axis; see ``footprint.kernels.separable.contract`` for what is computed."""
    if out.size == 0:
        return
    size, rows, inner = weights.size, out.shape[axis], math.prod(out.shape[axis + 1 :])
    lines, phase = out.size // rows, start % size
    if beside(inner):
        alone, together, units = _columns, _all_columns, lines // inner * -(-inner // ABREAST)
    else:
        alone, together = _lines, _all_lines
        blocks = -(-(rows + phase) // size)
        units = -(-blocks * lines // ABREAST) if rows >= size else blocks * -(-lines // ABREAST)
    flat = image.reshape(-1), out.reshape(-1), work.reshape(-1), tile.reshape(-1)
    shape = image.shape[axis], rows, inner, lines
    how = shape, size, float(weights[0]), first, phase, borders.CODES[border], out.dtype.type(cval)
    if few(out.size * TOUCH):
        alone(*flat, 0, 0, 0, units, *how)
    else:
        together(*flat, work.shape[1], tile.shape[1], work.shape[0], units, *how)
