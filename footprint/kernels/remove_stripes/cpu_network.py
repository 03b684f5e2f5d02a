"""Columns put in order side by side, one in every lane of a vector: a network compares all of them alike, and nothing is guessed.

What is put in order are numbers of 32 bits: a key's highest bits, above the lowest key of its column, and below them the angle it
came from, so no two are equal. Where keys differ in more bits than there is room for, those of equal highest bits, few and beside
each other, are then put in order among themselves; a column in which they are many is sorted by its digits.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from footprint.kernels.common.jit import njit
from footprint.kernels.common.vectors import BYTES, Emit
from footprint.kernels.remove_stripes.contract import BLOCK

LANES = BYTES // 4
# Places that a column's numbers may be moved by, each, before it is sorted by its digits.
FEW = 4
_LARGEST = np.uint32(0xFFFFFFFF)
Pairs = tuple[tuple[int, int], ...]


def _odd_even(n: int) -> Pairs:
    """Batcher's merges of odd and even numbers: n in order."""
    pairs, run = [], 1
    while run < n:
        apart = run
        while apart:
            for i in range(n - apart):
                if i >= apart % run and (i - apart % run) // apart % 2 == 0 and i // (2 * run) == (i + apart) // (2 * run):
                    pairs.append((i, i + apart))
            apart //= 2
        run *= 2
    return tuple(pairs)


# Of numbers that rise and then fall, or fall and then rise: half of them lower than the others, and so on.
_HALVES: Pairs = tuple(
    (i, i + far) for far in (BLOCK // 2 >> k for k in range(BLOCK.bit_length() - 1)) for i in range(BLOCK) if i & far == 0
)


def _exchanges(pairs: Pairs, rows: int, together: bool) -> Any:
    """An intrinsic that compares rows of a tile, `LANES` wide, in registers: rows behind each other, or each said where it is."""

    def write(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> Any:
        e = Emit(context, builder, signature, args)
        at = [e.mul(e.add(args[1], r) if together else args[1 + r], LANES) for r in range(rows)]
        values = [e.load(0, here) for here in at]
        for i, j in pairs:
            values[i], values[j] = e.extreme("umin", values[i], values[j]), e.extreme("umax", values[i], values[j])
        for here, value in zip(at, values):
            e.store(value, 0, here)
        return context.get_dummy_value()

    n = types.int64
    if together:

        @intrinsic
        def exchange(typing_context, tile, first):  # type: ignore[no-untyped-def]
            return types.void(tile, n), write

    elif rows == 2:

        @intrinsic
        def exchange(typing_context, tile, a, b):  # type: ignore[no-untyped-def]
            return types.void(tile, n, n), write

    else:

        @intrinsic
        def exchange(typing_context, tile, a, b, c, d):  # type: ignore[no-untyped-def]
            return types.void(tile, n, n, n, n), write

    return exchange


_block_sorted, _block_merged = _exchanges(_odd_even(BLOCK), BLOCK, True), _exchanges(_HALVES, BLOCK, True)
_pair = _exchanges(((0, 1),), 2, False)
# Two turns at once: of numbers opposite each other and then half as far apart; of numbers so far apart and then half as far.
_four_opposite = _exchanges(((0, 3), (1, 2), (0, 1), (2, 3)), 4, False)
_four = _exchanges(((0, 2), (1, 3), (0, 1), (2, 3)), 4, False)


@njit(cache=True, nogil=True)
def _merge(tile, rows, run):
    """Sorted runs in pairs as one: rows from ``rows`` on, were they there, would be the largest."""
    far, opposite = run, True
    while far >= BLOCK:
        half, both = far // 2, far >= 2 * BLOCK
        for first in range(0, rows - (half if both else far), 2 * far):
            for i in range(half if both else far):
                a, b, c, d = first + i, first + half + i, first + far + i, first + far + half + i
                if opposite:
                    c, d = first + 2 * far - 1 - half - i, first + 2 * far - 1 - i
                if not both:
                    if opposite and d < rows:
                        _pair(tile, a, d)
                    elif not opposite and c < rows:
                        _pair(tile, a, c)
                elif d < rows:
                    if opposite:
                        _four_opposite(tile, a, b, c, d)
                    else:
                        _four(tile, a, b, c, d)
                else:
                    if c < rows:
                        _pair(tile, b if opposite else a, c)
                    if b < rows:
                        _pair(tile, a, b)
        far, opposite = far // 4 if both else half, False
    for first in range(0, rows, BLOCK):
        _block_merged(tile, first)


@intrinsic
def _read(typing_context, lines, at, pitch, n_a, raw):  # type: ignore[no-untyped-def]
    """The keys of `LANES` columns, one angle after another, then the lowest and the highest of each."""

    def code(context, builder, signature, args):  # type: ignore[no-untyped-def]
        e = Emit(context, builder, signature, args)
        every = lambda number: ir.Constant(e.kind, [number] * e.kind.count)
        low, high = (cgutils.alloca_once_value(builder, every(number)) for number in (0xFFFFFFFF, 0))
        with cgutils.for_range(builder, args[3]) as loop:
            own = e.load(0, e.add(args[1], e.mul(loop.index, args[2])))
            size = builder.and_(own, every(0x7FFFFFFF))
            bits = builder.select(builder.icmp_unsigned("==", size, every(0)), every(0), own)
            bits = builder.select(builder.icmp_signed(">", size, every(0x7F800000)), every(0x7FC00000), bits)
            turn = builder.or_(builder.ashr(bits, every(31)), every(0x80000000))
            key = builder.xor(bits, turn)
            e.store(key, 4, e.mul(loop.index, LANES))
            builder.store(e.extreme("umin", builder.load(low), key), low)
            builder.store(e.extreme("umax", builder.load(high), key), high)
        e.store(builder.load(low), 4, e.mul(args[3], LANES))
        e.store(builder.load(high), 4, e.mul(e.add(args[3], 1), LANES))
        return context.get_dummy_value()

    n = types.int64
    return types.void(lines, n, n, n, raw), code


@intrinsic
def _numbered(typing_context, raw, n_a, bits, tile):  # type: ignore[no-untyped-def]
    """Keys less the lowest, without as many bits as stand behind it, and their angles below."""

    def code(context, builder, signature, args):  # type: ignore[no-untyped-def]
        e = Emit(context, builder, signature, args)

        def every(number: ir.Value) -> ir.Value:
            nothing, lanes = ir.Constant(e.kind, ir.Undefined), ir.Constant(e.kind, [0] * e.kind.count)
            one = builder.insert_element(nothing, builder.trunc(number, ir.IntType(32)), ir.IntType(32)(0))
            return builder.shuffle_vector(one, nothing, lanes)

        low, away = e.load(0, e.mul(args[1], LANES)), e.load(0, e.mul(e.add(args[1], 1), LANES))
        up = every(args[2])
        with cgutils.for_range(builder, args[1]) as loop:
            at = e.mul(loop.index, LANES)
            above = builder.lshr(builder.sub(e.load(0, at), low), away)
            e.store(builder.or_(builder.shl(above, up), every(loop.index)), 3, at)
        return context.get_dummy_value()

    n = types.int64
    return types.void(raw, n, n, tile), code


@njit(cache=True, nogil=True)
def sort_beside(lines, at, pitch, n_a, raw, tile):
    """Columns from element ``at`` on: ``raw`` their keys, ``tile`` the numbers in order; returned is how many bits are angles'."""
    _read(lines, at, pitch, n_a, raw)
    bits = 0
    while n_a - 1 >> bits:
        bits += 1
    for i in range((n_a + 1) * LANES, (n_a + 2) * LANES):
        apart, differ = raw[i] - raw[i - LANES], 0
        while differ < 32 and apart >> np.uint32(differ) != 0:
            differ += 1
        raw[i] = max(differ + bits - 32, 0)
    _numbered(raw, n_a, bits, tile)
    rows = (n_a + BLOCK - 1) // BLOCK * BLOCK
    tile[n_a * LANES : rows * LANES] = _LARGEST
    for first in range(0, rows, BLOCK):
        _block_sorted(tile, first)
    run = BLOCK
    while run < rows:
        _merge(tile, rows, run)
        run *= 2
    return bits


@njit(cache=True, nogil=True)
def unpack(raw, tile, lane, bits, keys, places):
    """A column's keys and angles, those of equal highest bits put in order; whether these were few."""
    mask, left = np.uint32((1 << bits) - 1), FEW * keys.size
    for r in range(keys.size):
        place, at = tile[r * LANES + lane] & mask, r
        key = raw[np.int64(place) * LANES + lane]
        while at > 0 and keys[at - 1] > key:
            keys[at], places[at] = keys[at - 1], places[at - 1]
            at -= 1
            left -= 1
        if left < 0:
            return False
        keys[at], places[at] = key, place
    return True
