"""Small windows on the CPU: rows are read where they lie, once, and columns are sorted as they are come to.

What the windows of a row need of the rows before is kept near, as what it is compared as. The few windows of each row that reach
beyond an edge are put side by side, those of many rows in one line.
"""

from __future__ import annotations

from numba import prange

from footprint.kernels.common.jit import njit
from footprint.kernels.common.vectors import BYTES, apart
from footprint.kernels.rank_filter.cpu_lines import key, source_index
from footprint.kernels.rank_filter.cpu_vectors import carry, windows


@njit(cache=True, nogil=True)
def _edges(image, out, work, base, step, at, top, bottom, left, count, filling, tall, wide, many, rest, real):
    """``count`` windows of the rows from ``top`` to ``bottom``, from column ``left`` on, wherever they reach."""
    apart()
    start, to, pitch, height, width, y0, x0 = at
    border_y, border_x, cval, less, most = filling
    kh, kw = len(tall), len(wide)
    slot, lanes = count + kw - 1, BYTES // work.itemsize
    held = (step - lanes) // slot
    raw, line = base + kh * step, base + (kh + 1) * step
    while top < bottom:
        rows = min(held, bottom - top)
        inside = top + y0 >= 0 and top + y0 + rows + kh - 1 <= height
        for j in range(slot):
            column = source_index(left + j + x0, width, border_x)
            for i in range(rows + kh - 1):
                row = top + i + y0
                if not inside:
                    row = source_index(row, height, border_y)
                bits = cval
                if row >= 0 and column >= 0:
                    bits = image[start + row * width + column]
                value = key(bits, less, most) if len(real) > 1 else bits
                for r in range(max(0, i - rows + 1), min(kh - 1, i + 1)):
                    work[base + r * step + (i - r) * slot + j] = value
                if i >= kh - 1:
                    work[raw + (i - kh + 1) * slot + j] = bits
        place = work, base, step, kh - 1, work, raw, max(rows * slot - kw + 1, lanes), work, line
        windows(*place, tall, wide, many, rest, real)
        for q in range(rows):
            for k in range(count):
                out[to + (top + q) * pitch + left + k] = work[line + q * slot + k]
        top += rows


@njit(cache=True, nogil=True)
def small_units(image, out, work, base, step, unit, stop, shapes, rows, piece, y0, x0, filling, tall, wide, many, rest, real):
    """Bands of rows of strips of planes."""
    apart()
    height, width, out_height, out_width = shapes
    bands, strips = (out_height + rows - 1) // rows, (out_width + piece - 1) // piece
    kh, kw, lanes = len(tall), len(wide), BYTES // image.itemsize
    window, raw = (tall, wide, many, rest, real), base + kh * step
    while unit < stop:
        plane, left = unit // (bands * strips), unit // bands % strips * piece
        top = unit % bands * rows
        bottom, right = min(top + rows, out_height), min(left + piece, out_width)
        start, to = plane * height * width, plane * out_height * out_width
        # Columns from `first` to `last` have windows that lie inside.
        first = min(max(left, -x0), right)
        last = max(first, min(right, width - kw + 1 - x0))
        if last - first < lanes:
            # What no vector fits into counts as edge.
            first, last = right, right
        count = last - first
        for r in range(bottom - top + kh - 1 if count > 0 else 0):
            row = source_index(top + r + y0, height, filling[0])
            if row < 0:
                for k in range(count + kw - 1):
                    work[raw + k] = filling[2]
            begin, slot = start + row * width + first + x0, r % kh
            if r < kh - 1:
                if row < 0:
                    carry(work, raw, work, base + slot * step, count + kw - 1, real)
                else:
                    carry(image, begin, work, base + slot * step, count + kw - 1, real)
            else:
                goal = to + (top + r - kh + 1) * out_width + first
                if row < 0:
                    windows(work, base, step, slot, work, raw, count, out, goal, *window)
                else:
                    windows(work, base, step, slot, image, begin, count, out, goal, *window)
        at = start, to, out_width, height, width, y0, x0
        for side in range(2):
            begin, end = (last, right) if side else (left, first)
            if begin < end:
                _edges(image, out, work, base, step, at, top, bottom, begin, end - begin, filling, *window)
        unit += 1


@njit(cache=True, parallel=True, nogil=True)
def small_all(image, out, work, size, threads, units, step, shapes, rows, piece, y0, x0, filling, tall, wide, many, rest, real):
    """The same in threads."""
    for t in prange(threads):
        first, last = units * t // threads, units * (t + 1) // threads
        how = (shapes, rows, piece, y0, x0, filling, tall, wide, many, rest, real)
        small_units(image, out, work, t * size, step, first, last, *how)
