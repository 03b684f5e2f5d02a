"""Some places of the window on the CPU: lines are held twice, so that those of a window lie one behind the other.

Where the places are is data; how many there are, and which rank is wanted, make the network of comparisons.
"""

from __future__ import annotations

from numba import prange

from footprint.kernels.common.jit import njit
from footprint.kernels.common.vectors import BYTES, apart
from footprint.kernels.rank_filter.cpu_lines import line
from footprint.kernels.rank_filter.cpu_vectors import chosen


@njit(cache=True, nogil=True)
def chosen_units(image, places, out, work, base, step, unit, stop, shapes, rows, piece, filling, many, rest, more, left_over, real):
    """Bands of rows of strips of planes."""
    apart()
    height, width, out_height, out_width, kh, kw, y0, x0 = shapes
    bands, strips = (out_height + rows - 1) // rows, (out_width + piece - 1) // piece
    lanes, tail, how = BYTES // image.itemsize, base + 2 * kh * step, (many, rest, more, left_over, real)
    while unit < stop:
        plane, left = unit // (bands * strips), unit // bands % strips * piece
        top = unit % bands * rows
        start, count = plane * height * width, min(piece, out_width - left)
        whole, need = count // lanes * lanes, count + kw - 1
        for r in range(min(rows, out_height - top) + kh - 1):
            at, place = base + r % kh * step, (top + y0 + r, left + x0)
            line(work, at, need, image, start, height, width, *place, *filling, real)
            source, target = work[at : at + need], work[at + kh * step : at + kh * step + need]
            for k in range(source.size):
                target[k] = source[k]
            if r >= kh - 1:
                first = base + (r + 1) % kh * step
                to = (plane * out_height + top + r - kh + 1) * out_width + left
                chosen(work, first, step, places, whole, out, to, *how)
                if whole < count:
                    chosen(work, first + whole, step, places, count - whole, work, tail, *how)
                    for k in range(count - whole):
                        out[to + whole + k] = work[tail + k]
        unit += 1


@njit(cache=True, parallel=True, nogil=True)
def chosen_all(
    image, places, out, work, size, threads, units, step, shapes, rows, piece, filling, many, rest, more, left_over, real
):
    """The same in threads."""
    for t in prange(threads):
        first, last = units * t // threads, units * (t + 1) // threads
        how = (shapes, rows, piece, filling, many, rest, more, left_over, real)
        chosen_units(image, places, out, work, t * size, step, first, last, *how)
