"""Small windows on the CPU: columns are sorted as they are come to, of two rows at once where both lie inside.

Elsewhere, and where floats have to be made whole numbers, what the windows of a row need of the rows before is kept near, as what
it is compared as. The few windows of each row that reach beyond an edge are put side by side, those of many rows in one line.
"""

from __future__ import annotations

from numba import prange

from footprint.kernels.common.jit import njit
from footprint.kernels.common.vectors import BYTES, apart
from footprint.kernels.rank_filter.contract import TWICE
from footprint.kernels.rank_filter.cpu_lines import key, source_index
from footprint.kernels.rank_filter.cpu_straight import TWO, look, ordinary, straight
from footprint.kernels.rank_filter.cpu_vectors import carry, windows


@njit(cache=True, nogil=True)
def _keep(work, at, raw, last, bits, less, most, real):
    """An element as what it is compared as; of floats its bits as well, where a window's last row lies."""
    if len(real) > 1:
        work[at] = key(bits, less, most)
        if last:
            work[raw] = bits
    else:
        work[at] = bits


@njit(cache=True, nogil=True)
def _edges(image, out, work, base, step, at, top, bottom, left, count, filling, tall, wide, many, rest, real):
    """``count`` windows of the rows from ``top`` to ``bottom``, from column ``left`` on, wherever they reach."""
    apart()
    start, to, pitch, height, width, y0, x0 = at
    border_y, border_x, cval, less, most = filling
    kh, kw = len(tall), len(wide)
    slot, lanes = count + kw - 1, BYTES // work.itemsize
    held = (step - lanes) // slot
    # What windows are compared as lies once: each row of them begins a slot behind the row above it.
    # Whole numbers are compared as they lie, so that last rows are where the others are.
    raw, line = base + (kh * step if len(real) > 1 else (kh - 1) * slot), base + (kh + 1) * step
    while top < bottom:
        rows = min(held, bottom - top)
        need, y = rows + kh - 1, top + y0
        # Rows from `first` to `last` are the image's.
        first = min(max(-y, 0), need)
        last = max(first, min(height - y, need))
        for j in range(slot):
            column, whole = source_index(left + j + x0, width, border_x), (less, most, real)
            for i in range(first, last):
                bits = cval
                if column >= 0:
                    bits = image[start + (y + i) * width + column]
                _keep(work, base + i * slot + j, raw + (i - kh + 1) * slot + j, i >= kh - 1, bits, *whole)
            for k in range(first + need - last):
                i = k if k < first else k - first + last
                row, bits = source_index(y + i, height, border_y), cval
                if row >= 0 and column >= 0:
                    bits = image[start + row * width + column]
                _keep(work, base + i * slot + j, raw + (i - kh + 1) * slot + j, i >= kh - 1, bits, *whole)
        place = work, base, slot, kh - 1, work, raw, max(rows * slot - kw + 1, lanes), work, line
        windows(*place, tall, wide, many, rest, real)
        for q in range(rows):
            for k in range(count):
                out[to + (top + q) * pitch + left + k] = work[line + q * slot + k]
        top += rows


@njit(cache=True, nogil=True)
def _ringed(image, out, work, base, step, at, top, rows, first, count, filling, tall, wide, many, rest, real):
    """``count`` windows of the rows from the ``rows[0]``-th behind ``top`` to before the ``rows[1]``-th, all columns inside."""
    apart()
    start, to, pitch, height, width, y0, x0 = at
    kh, kw = len(tall), len(wide)
    raw, window = base + kh * step, (tall, wide, many, rest, real)
    for r in range(rows[0], rows[1] + kh - 1 if rows[1] > rows[0] else 0):
        row = source_index(top + r + y0, height, filling[0])
        if row < 0:
            for k in range(count + kw - 1):
                work[raw + k] = filling[2]
        begin, slot = start + row * width + first + x0, r % kh
        if r < rows[0] + kh - 1:
            if row < 0:
                carry(work, raw, work, base + slot * step, count + kw - 1, real)
            else:
                carry(image, begin, work, base + slot * step, count + kw - 1, real)
        else:
            goal = to + (top + r - kh + 1) * pitch + first
            if row < 0:
                windows(work, base, step, slot, work, raw, count, out, goal, *window)
            else:
                windows(work, base, step, slot, image, begin, count, out, goal, *window)


@njit(cache=True, nogil=True)
def small_units(image, out, work, base, step, unit, stop, shapes, rows, piece, y0, x0, filling, tall, wide, many, rest, real):
    """Bands of rows of strips of planes."""
    apart()
    height, width, out_height, out_width = shapes
    bands, strips = (out_height + rows - 1) // rows, (out_width + piece - 1) // piece
    kh, kw, lanes = len(tall), len(wide), BYTES // image.itemsize
    window = (tall, wide, many, rest, real)
    while unit < stop:
        plane, left = unit // (bands * strips), unit // bands % strips * piece
        top = unit % bands * rows
        bottom, right = min(top + rows, out_height), min(left + piece, out_width)
        start, to = plane * height * width, plane * out_height * out_width
        at = start, to, out_width, height, width, y0, x0
        # Columns from `first` to `last` have windows that lie inside.
        first = min(max(left, -x0), right)
        last = max(first, min(right, width - kw + 1 - x0))
        if last - first < lanes:
            # What no vector fits into counts as edge.
            first, last = right, right
        count = last - first
        if count > 0:
            # Rows from `some` to `all_of` behind the top have, too.
            some = min(max(0, -y0 - top), bottom - top)
            all_of = max(some, min(bottom - top, height - kh + 1 - y0 - top)) if kh * kw <= TWICE else some
            begin, made = start + (top + y0) * width + first + x0, some
            if made + TWO <= all_of:
                look(image, begin + made * width, width, kh - 1, count + kw - 1, work, base, real)
            while made + TWO <= all_of and ordinary(work, base, real):
                goal = to + (top + made) * out_width + first
                straight(image, begin + made * width, width, count, out, goal, out_width, work, base, *window)
                made += TWO
            if made > some and not ordinary(work, base, real):
                made -= TWO
            for span in ((0, some), (made, bottom - top)):
                _ringed(image, out, work, base, step, at, top, span, first, count, filling, *window)
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
