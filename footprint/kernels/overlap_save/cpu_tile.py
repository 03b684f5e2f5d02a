"""What every kernel of overlap-save does with a tile: fill its parts, bring both to one size, store their results.

``sides`` are a tile's rows, the elements of a part of a row, and how many parts are meant that lie side by side in memory: 2 where
the right half of a row is the imaginary part of the left one, else 1.
"""

from __future__ import annotations

import math

from footprint.kernels.common.jit import njit
from footprint.kernels.common.vectors import BYTES, alone, apart
from footprint.kernels.convolve.cpu_lines import fill, fill_stored, source_index
from footprint.kernels.overlap_save.cpu_lines import strip_of
from footprint.kernels.overlap_save.cpu_rows import gather, spread

BLANK = -1_000_000
"""The exponent of nothing but 0: any number times 2 to its power is 0."""


@njit(cache=True, nogil=True, error_model="numpy")
def scale(most, itemsize):
    """The power of two that brings ``most`` to about 1, as an exponent."""
    limit = 126 if itemsize == 4 else 1022
    return min(max(math.frexp(most)[1], -limit), limit) if most > 0 else 0


@njit(cache=True, nogil=True, error_model="numpy")
def unsurveyed(work, free):
    """Nothing is known of a tile yet: `spread` keeps the largest |x| of its lanes at ``free``."""
    for k in range(BYTES // work.itemsize):
        work[free + k] = 0


@njit(cache=True, nogil=True, error_model="numpy")
def rows_in(image, at, pitch, work, to, sides, rows, total, free):
    """Rows of a tile's width to it, and 0 to those behind them."""
    apart()
    tile, across, parts = sides
    spread(image, at, pitch, work, to, strip_of(work, tile), rows, across // (BYTES // work.itemsize), parts, total, free)


@njit(cache=True, nogil=True, error_model="numpy")
def window_in(image, stored, kind, work, to, sides, window, sizes, y, x, code_y, code_x, cval, free):
    """A window of an image to a tile, 0 to what is beyond; a line of ``work`` is free behind what `spread` keeps.

    Of an image that is read as it is stored, ``kind`` is 0 or more, and ``stored`` are its bytes; so one loop over units serves
    every dtype. Beside float64, whose images come as such, it is None, for which Numba leaves them out.
    """
    apart()
    (rows, columns), (height, width), lanes = window, sizes, BYTES // work.itemsize
    tile, across = sides[0], sides[1] * sides[2]
    first, last = rows, rows
    if kind < 0 and columns == across and x >= 0 and x + columns <= width:
        # All of these rows, and copies of rows beyond them, are read where they lie.
        first, last = min(max(-y, 0), rows), max(min(max(-y, 0), rows), min(height - y, rows))
        start, to_first = (y + first) * width + x, to + 2 * lanes * first
        rows_in(image, start, width, work, to_first, sides, last - first, last - first, free)
    line = free + lanes
    work[line + columns : line + across] = 0
    for k in range(rows - last + first):
        r = k if k < first else k - first + last
        row = source_index(y + r, height, code_y) if first < rows else -1
        if row >= 0:
            rows_in(image, row * width + x, 0, work, to + 2 * lanes * r, sides, 1, 1, free)
        else:
            line_in(image, stored, kind, work, line, columns, height, width, y + r, x, code_y, code_x, cval)
            rows_in(work, line, 0, work, to + 2 * lanes * r, sides, 1, 1, free)
    rows_in(work, line, 0, work, to + 2 * lanes * rows, sides, 0, tile - rows, free)


@njit(cache=True, nogil=True, error_model="numpy")
def line_in(image, stored, kind, work, line, count, height, width, y, x, code_y, code_x, cval):
    """Part of a row of an image, either of which may lie outside."""
    apart()
    if stored is not None:  # not joined with what follows: Numba leaves out what it asks this of alone
        if kind >= 0:
            fill_stored(work, line, count, stored, kind, height, width, y, x, code_y, code_x, cval)
            return
    fill(work, line, count, image, height, width, y, x, code_y, code_x, cval)


@njit(cache=True, nogil=True, error_model="numpy")
def weigh(work, at, sides, exponent):
    """Divide a tile by a power of two."""
    alone()
    lanes, factor = BYTES // work.itemsize, work.dtype.type(math.ldexp(1.0, -exponent))
    for s in range(sides[1] // lanes):
        for r in range(sides[0]):
            line = at + s * strip_of(work, sides[0]) + 2 * lanes * r
            for k in range(lanes * sides[2]):
                work[line + k] *= factor


@njit(cache=True, nogil=True, error_model="numpy")
def surveyed(work, at, sides, free):
    """The largest finite |x| of a tile, which is 0 then where it was not finite, and whether anything was not."""
    apart()
    lanes, most, odd = BYTES // work.itemsize, work.dtype.type(0), False
    for k in range(lanes):
        odd |= not math.isfinite(work[free + k])
        most = max(most, work[free + k])
    if odd:
        most = work.dtype.type(0)
        for s in range(sides[1] // lanes):
            for r in range(sides[0]):
                line = at + s * strip_of(work, sides[0]) + 2 * lanes * r
                for k in range(line, line + lanes * sides[2]):
                    if math.isfinite(work[k]):
                        most = max(most, abs(work[k]))
                    else:
                        work[k] = 0
    return most, odd


@njit(cache=True, nogil=True, error_model="numpy")
def exponents(most, itemsize):
    """Of both parts of a tile, by their largest |x|: what each is divided by so that neither feels what the other loses.

    Parts that are of one size, and of no extreme one, stay as they are. Of a blank one the results are 0.
    """
    one, other = most
    far = 2.0**30 if itemsize == 4 else 2.0**200
    low, high = (min(one, other), max(one, other)) if one > 0 and other > 0 else (max(one, other), max(one, other))
    if high == 0 or (high < 2 * low and low > 1 / far and high < far):
        return (0 if one > 0 else BLANK), (0 if other > 0 else BLANK)
    return (scale(one, itemsize) if one > 0 else BLANK), (scale(other, itemsize) if other > 0 else BLANK)


@njit(cache=True, nogil=True, error_model="numpy")
def weigh_both(work, base, sides, found):
    """Bring both parts of a tile to one size, if they are not."""
    for h in range(2):
        if found[h] != 0 and found[h] != BLANK:
            weigh(work, base + h * (BYTES // work.itemsize), sides, found[h])


@njit(cache=True, nogil=True, error_model="numpy")
def store(work, at, out, to, columns, sides, rows, count, exponent, add, lost, free):
    """Results of a tile, at their own size; where they add to what is there, ``lost`` keeps what is rounded away."""
    apart()
    (tile, across, _), lanes, half = sides, BYTES // work.itemsize, exponent // 2
    skip, one, other = (
        strip_of(work, tile),
        work.dtype.type(math.ldexp(1.0, half)),
        work.dtype.type(math.ldexp(1.0, exponent - half)),
    )
    if not add:
        work[free], work[free + 1] = one, other
        gather(work, at, skip, out, to, columns, rows, across // lanes, count, work, free)
        return
    for v in range((count + lanes - 1) // lanes):
        part = v // (across // lanes)
        for r in range(rows):
            source, target = at + part * lanes + (v - part * (across // lanes)) * skip + 2 * lanes * r, to + r * columns + v * lanes
            for k in range(min(lanes, count - v * lanes)):
                more, old = (work[source + k] * one) * other, out[target + k]
                both = old + more
                if lost.size > 0:
                    got = both - old
                    lost[target + k] += (old - (both - got)) + (more - got)
                out[target + k] = both


@njit(cache=True, nogil=True, error_model="numpy")
def prepare_roots(shared, roots, tile, n1, n2):
    """Roots of unity, for the stages of a transform of ``tile``."""
    apart()
    for n in range(n2):
        for k in range(n1):
            angle = -2 * math.pi * n * k / tile
            shared[roots + 2 * (n * n1 + k)], shared[roots + 2 * (n * n1 + k) + 1] = math.cos(angle), math.sin(angle)


@njit(cache=True, nogil=True, error_model="numpy")
def settle(out, lost):
    """Add what additions lost; where sums are infinite, that is no number."""
    for k in range(lost.size):
        out[k] += lost[k] if math.isfinite(lost[k]) else 0
