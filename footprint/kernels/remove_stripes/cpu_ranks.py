"""Columns by rank on the CPU: sorted by tiles of sixteen, a cache line of every row, and filtered a vector of ranks at a time."""

from __future__ import annotations

import numpy as np
from llvmlite import ir
from numba import prange, types
from numba.core import cgutils
from numba.extending import intrinsic

from footprint.kernels.common.borders import source_index
from footprint.kernels.common.jit import njit
from footprint.kernels.common.vectors import Emit
from footprint.kernels.remove_stripes.contract import RANKS, TILE, beside
from footprint.kernels.remove_stripes.cpu_network import LANES, sort_beside, unpack

_LARGEST = np.uint32(0xFFFFFFFF)
_TOP = np.uint32(0x80000000)
_INFINITE, _NOTHING = np.uint32(0x7F800000), np.uint32(0x7FC00000)
# As many counters as a column has values, or fewer, cost less than another turn.
_DIGIT = 9
_mirrored = njit(cache=True)(source_index)


@njit(cache=True, nogil=True)
def _key(bits):
    """A number ordered as the float of these bits; both zeros are one, and so is all that is no number, last whatever its sign."""
    if bits == _TOP:
        bits = np.uint32(0)
    if bits & ~_TOP > _INFINITE:
        bits = _NOTHING
    return ~bits if bits & _TOP else bits | _TOP


@njit(cache=True, nogil=True)
def bits_of(key):
    """The float's bits of a key."""
    return key ^ _TOP if key & _TOP else ~key


@njit(cache=True, nogil=True)
def _radix(keys, places, pairs, spare, count):
    """Sort by up to `_DIGIT` bits at a time, stable, keys and places as one number, without bits in which no keys differ."""
    low, high = _LARGEST, np.uint32(0)
    for i in range(keys.size):
        low, high = min(low, keys[i]), max(high, keys[i])
    bits = 0
    while bits < 32 and (high - low) >> np.uint32(bits) != 0:
        bits += 1
    turns = (bits + _DIGIT - 1) // _DIGIT
    width = (bits + turns - 1) // max(turns, 1)
    mask = np.uint64((1 << width) - 1)
    for i in range(keys.size):
        pairs[i] = np.uint64(keys[i] - low) << np.uint64(32) | np.uint64(i)
    for turn in range(turns):
        at_bit = np.uint64(32 + turn * width)
        count[: (1 << width) + 1] = 0
        for i in range(keys.size):
            count[((pairs[i] >> at_bit) & mask) + np.uint64(1)] += 1
        for digit in range(1 << width):
            count[digit + 1] += count[digit]
        for i in range(keys.size):
            digit = (pairs[i] >> at_bit) & mask
            at = count[digit]
            count[digit] = at + 1
            spare[at] = pairs[i]
        pairs, spare = spare, pairs
    for i in range(keys.size):
        keys[i], places[i] = np.uint32(pairs[i] >> np.uint64(32)) + low, np.int32(pairs[i])


@njit(cache=True, nogil=True)
def _by_digits(keys, places, work, count):
    """The same in a thread's workspace."""
    pairs, n = work.view(np.uint64), keys.size
    _radix(keys, places, pairs[:n], pairs[n : 2 * n], count)


@njit(cache=True, nogil=True)
def _sort_tile(lines, s, x0, x1, keys, places, work, count):
    """Columns from x0 to x1, a vector of them at a time: the last one may begin earlier."""
    n_a, n_x = keys.shape[2], keys.shape[1]
    raw, tile = work[: (n_a + 2) * LANES], work[(n_a + 2) * LANES :]
    for first in range(x0, x1, LANES):
        begin = min(first, n_x - LANES)
        bits, crowded = sort_beside(lines, s * n_a * n_x + begin, n_x, n_a, raw, tile), 0
        for x in range(first, min(first + LANES, x1)):
            if not unpack(raw, tile, x - begin, bits, keys[s, x], places[s, x]):
                crowded |= 1 << (x - first)
        for x in range(first, min(first + LANES, x1)):
            if crowded >> (x - first) & 1:
                for a in range(n_a):
                    keys[s, x, a] = raw[a * LANES + x - begin]
                _by_digits(keys[s, x], places[s, x], tile[: 4 * n_a], count)


@njit(cache=True, parallel=True, nogil=True)
def _sort(lines, keys, places, work, side_by_side):
    n_a, n_x = lines.shape[1:]
    tiles, threads, flat = (n_x + TILE - 1) // TILE, work.shape[0], lines.reshape(-1)
    units = lines.shape[0] * tiles
    for t in prange(threads):
        count = np.zeros((1 << _DIGIT) + 1, np.int32)
        for unit in range(units * t // threads, units * (t + 1) // threads):
            s, x0 = unit // tiles, unit % tiles * TILE
            x1 = min(x0 + TILE, n_x)
            if side_by_side:
                _sort_tile(flat, s, x0, x1, keys, places, work[t], count)
                continue
            for a in range(n_a):
                for x in range(x0, x1):
                    keys[s, x, a] = _key(lines[s, a, x])
            for x in range(x0, x1):
                _by_digits(keys[s, x], places[s, x], work[t], count)


@njit(cache=True, nogil=True)
def _slide(row, size, window, to):
    """Medians of a row (n,) by a sorted window that one value leaves and one joins at a time."""
    n, before = row.size, size // 2
    for k in range(size):
        value, at = row[_mirrored(k - before, n, 2)], k
        while at > 0 and window[at - 1] > value:
            window[at] = window[at - 1]
            at -= 1
        window[at] = value
    to[0] = window[before]
    for x in range(1, n):
        old, new = row[_mirrored(x - 1 - before, n, 2)], row[_mirrored(x + size - 1 - before, n, 2)]
        if old != new:
            low, high = 0, size - 1
            while low < high:
                middle = (low + high) // 2
                if window[middle] < old:
                    low = middle + 1
                else:
                    high = middle
            if new > old:
                while low + 1 < size and window[low + 1] < new:
                    window[low] = window[low + 1]
                    low += 1
            else:
                while low > 0 and window[low - 1] > new:
                    window[low] = window[low - 1]
                    low -= 1
            window[low] = new
        to[x] = window[before]


@intrinsic
def _exchange(typing_context, windows, at, pitch, olds, old, news, new, to, first, size, middle):  # type: ignore[no-untyped-def]
    """In a vector of sorted windows, from ``at`` on, a value leaves and one joins; the middle one of each goes to ``first``.

    A window's values lie ``pitch`` apart and end with one more, the largest there is. To leave is to take the next one's place from
    one's own on; to join, to be between what is below and what is above.
    """

    def code(context, builder, signature, args):  # type: ignore[no-untyped-def]
        e = Emit(context, builder, signature, args)
        smaller = lambda a, b, low, high: builder.select(builder.icmp_unsigned("<", a, b), low, high)
        gone, come = e.load(3, args[4]), e.load(5, args[6])
        before = cgutils.alloca_once_value(builder, ir.Constant(e.kind, [0] * e.kind.count))
        with cgutils.for_range(builder, args[9]) as loop:
            here = e.add(args[1], e.mul(loop.index, args[2]))
            own, after, below = e.load(0, here), e.load(0, e.add(here, args[2])), builder.load(before)
            left = smaller(own, gone, own, after)
            joined = smaller(left, come, left, come)
            builder.store(left, before)
            e.store(smaller(below, joined, joined, below), 0, here)
        e.store(e.load(0, e.add(args[1], e.mul(args[10], args[2]))), 7, args[8])
        return context.get_dummy_value()

    n = types.int64
    return types.void(windows, n, n, olds, n, news, n, to, n, n, n), code


@njit(cache=True, nogil=True)
def _slide_all(keys, smoothed, at, count, n_x, n_a, size, windows):
    """Medians along x of ``count`` ranks, a lane for each, from element ``at`` on; a last vector that is short begins earlier."""
    before, end = size // 2, size * RANKS
    windows[:] = _LARGEST
    for turn in range(1 - size, n_x):
        come = at + _mirrored(turn + size - 1 - before, n_x, 2) * n_a
        gone = at + _mirrored(turn - 1 - before, n_x, 2) * n_a
        to = at + max(turn, 0) * n_a
        for v in range(0, count, LANES):
            r = min(v, count - LANES)
            if turn > 0:
                _exchange(windows, v, RANKS, keys, gone + r, keys, come + r, smoothed, to + r, size, before)
            else:
                # The first window is filled: one of the largest leaves it every time.
                _exchange(windows, v, RANKS, windows, end, keys, come + r, smoothed, to + r, size, before)


@njit(cache=True, parallel=True, nogil=True)
def _smooth(keys, smoothed, size, windows):
    n_x, n_a = keys.shape[1:]
    strips, threads = (n_a + RANKS - 1) // RANKS, windows.shape[0]
    units, all_keys, all_smoothed = keys.shape[0] * strips, keys.reshape(-1), smoothed.reshape(-1)
    for t in prange(threads):
        for unit in range(units * t // threads, units * (t + 1) // threads):
            s, r0 = unit // strips, unit % strips * RANKS
            r1 = min(r0 + RANKS, n_a)
            if r1 - r0 >= LANES:
                _slide_all(all_keys, all_smoothed, s * n_x * n_a + r0, r1 - r0, n_x, n_a, size, windows[t])
            else:
                for r in range(r0, r1):
                    _slide(keys[s, :, r], size, windows[t], smoothed[s, :, r])


@njit(cache=True, parallel=True, nogil=True)
def _unsort(smoothed, places, lines, columns):
    n_x, n_a = smoothed.shape[1:]
    tiles, threads = (n_x + TILE - 1) // TILE, columns.shape[0]
    units = smoothed.shape[0] * tiles
    for t in prange(threads):
        # Values are put in order in the cache, before lines are written from end to end.
        for unit in range(units * t // threads, units * (t + 1) // threads):
            s, x0 = unit // tiles, unit % tiles * TILE
            x1 = min(x0 + TILE, n_x)
            for x in range(x0, x1):
                for r in range(n_a):
                    columns[t, x - x0, places[s, x, r]] = bits_of(smoothed[s, x, r])
            for a in range(n_a):
                for x in range(x0, x1):
                    lines[s, a, x] = columns[t, x - x0, a]


@njit(cache=True, parallel=True, nogil=True)
def _unsort_marked(smoothed, places, marks, lines):
    n_x, n_a = smoothed.shape[1:]
    for unit in prange(smoothed.shape[0] * n_x):
        s, x = unit // n_x, unit % n_x
        if marks[s, x] != 0:
            for r in range(n_a):
                lines[s, places[s, x, r], x] = bits_of(smoothed[s, x, r])


def sort(lines: np.ndarray, keys: np.ndarray, places: np.ndarray, work: np.ndarray) -> None:
    """Sort every column; see `footprint.kernels.remove_stripes.contract` for all of these."""
    _sort(lines.view(np.uint32), keys, places, work, beside(*lines.shape[1:]))


def smooth(keys: np.ndarray, smoothed: np.ndarray, windows: np.ndarray, *, size: int) -> None:
    """Take medians along x."""
    _smooth(keys, smoothed, size, windows)


def unsort(smoothed: np.ndarray, places: np.ndarray, lines: np.ndarray, columns: np.ndarray) -> None:
    """Put all values back."""
    _unsort(smoothed, places, lines.view(np.uint32), columns)


def unsort_marked(smoothed: np.ndarray, places: np.ndarray, marks: np.ndarray, lines: np.ndarray) -> None:
    """Put values back in marked columns."""
    _unsort_marked(smoothed, places, marks, lines.view(np.uint32))
