"""What is not finite goes as far as the weights: bytes of what rows have of it, spread across and then down by doubled steps."""

from __future__ import annotations

import numpy as np

from footprint.kernels.coarse.strips import STRIP, longer
from footprint.kernels.common.jit import njit
from footprint.kernels.common.vectors import alone, apart
from footprint.kernels.convolve.cpu_lines import source_index

NAN, PLUS, MINUS = 1, 2, 4

_longer = njit(cache=True, nogil=True)(longer)


@njit(cache=True, nogil=True, borrows=True)
def _either(one, other, to):
    """What either has."""
    alone()
    for k in range(to.size):
        to[k] = one[k] | other[k]


@njit(cache=True, nogil=True, borrows=True)
def _finite(bits):
    """Whether all numbers are that have such bits: an exponent is not all ones."""
    alone()
    most = np.int32(0)
    for k in range(bits.size):
        most = max(most, bits[k] & np.int32(0x7FFFFFFF))
    return most < np.int32(0x7F800000)


@njit(cache=True, nogil=True, borrows=True)
def _empty(words):
    """Whether no byte is set."""
    alone()
    every = np.uint64(0)
    for k in range(words.size):
        every |= words[k]
    return every == 0


@njit(cache=True, nogil=True, borrows=True)
def _clear(line):
    """Nothing."""
    alone()
    for k in range(line.size):
        line[k] = 0


@njit(cache=True, nogil=True, borrows=True)
def _mark(values, to):
    """What numbers are."""
    alone()
    for k in range(to.size):
        v = values[k]
        to[k] = np.uint8(NAN) * (v != v) | np.uint8(PLUS) * (v == np.inf) | np.uint8(MINUS) * (v == -np.inf)


@njit(cache=True, nogil=True, borrows=True)
def _row(image, at, x0, need, width, code, line):
    """What a row has from column ``x0`` on, as borders say."""
    apart()
    begin = min(max(-x0, 0), need)
    end = max(begin, min(width - x0, need))
    _mark(image[at + x0 + begin : at + x0 + end], line[begin:end])
    for k in range(need):
        if k < begin or k >= end:
            # What lies beyond an edge lies inside as well.
            x = source_index(x0 + k, width, code)
            line[k] = line[x - x0] if x >= 0 else 0


@njit(cache=True, nogil=True, borrows=True)
def mark_rows(image, start, marks, room, t, threads, sizes, begins, codes, reaches):
    """A thread's share of what rows that results see have, as far as results see of it across."""
    apart()
    (height, width, made, wide, _, _), (_, _, _, _, _, _, y0, x0) = sizes, begins
    rows, reach, half = made + 2 * reaches[0], 2 * reaches[1] + 1, room.size // 2
    pitch, need, bits = _longer(wide), wide + reach - 1, image.view(np.int32)
    for row in range(rows * t // threads, rows * (t + 1) // threads):
        y, goal = source_index(y0 - reaches[0] + row, height, codes[0]), marks[row * pitch : row * pitch + wide]
        if y < 0 or _finite(bits[start + y * width : start + (y + 1) * width]):
            _clear(marks[row * pitch : (row + 1) * pitch])
            continue
        _row(image, start + y * width, x0 - reaches[1], need, width, codes[1], room)
        here, there, seen = 0, half, 1
        # From one to the other of two lines, as a vector of what is written may not be read again.
        while 2 * seen <= reach:
            n = need - 2 * seen + 1
            _either(room[here : here + n], room[here + seen : here + seen + n], room[there : there + n])
            here, there, seen = there, here, 2 * seen
        _either(room[here : here + wide], room[here + reach - seen : here + reach - seen + wide], goal)
        # Or what lay there would be looked at as though it were some.
        _clear(marks[row * pitch + wide : (row + 1) * pitch])


@njit(cache=True, nogil=True, borrows=True)
def _reach(words, x, pitch, columns, first, last, more):
    """Have rows what the row so many rows on has, too."""
    alone()
    for row in range(first, last):
        begin = row * pitch + x
        to, other = words[begin : begin + columns], words[begin + more * pitch : begin + more * pitch + columns]
        for k in range(to.size):
            to[k] |= other[k]


@njit(cache=True, nogil=True, borrows=True)
def put(marks, out, to, t, threads, sizes, reaches):
    """A thread's share of results of what is not finite: every row has what any row from it on has that it sees."""
    apart()
    (_, _, made, wide, _, _), reach = sizes, 2 * reaches[0] + 1
    pitch, strips, words = _longer(wide), (wide + STRIP - 1) // STRIP, marks.view(np.uint64)
    for unit in range(strips * t // threads, strips * (t + 1) // threads):
        x, seen, rows = unit * STRIP, 1, made + reach - 1
        columns = min(STRIP, pitch - x)
        # No row before the first or after the last that has any sees more than those do.
        first, last = 0, rows
        while first < rows and _empty(words[(first * pitch + x) // 8 : (first * pitch + x + columns) // 8]):
            first += 1
        while last > first and _empty(words[((last - 1) * pitch + x) // 8 : ((last - 1) * pitch + x + columns) // 8]):
            last -= 1
        first = max(first - reach + 1, 0)
        while seen < reach:
            more = min(seen, reach - seen)
            _reach(words, x // 8, pitch // 8, columns // 8, first, min(last, rows - more), more)
            seen += more
        for row in range(first, min(last, made)):
            at, n = row * pitch + x, min(columns, wide - x)
            if not _empty(words[at // 8 : (at + columns) // 8]):
                _put(marks[at : at + n], out[to + row * wide + x : to + row * wide + x + n])


@njit(cache=True, nogil=True, borrows=True)
def _put(marks, out):
    """Results of what is not finite, and the others as they are."""
    alone()
    for k in range(out.size):
        odd = np.float32(np.nan)
        if marks[k] == PLUS:
            odd = np.float32(np.inf)
        if marks[k] == MINUS:
            odd = np.float32(-np.inf)
        out[k] = odd if marks[k] != 0 else out[k]
