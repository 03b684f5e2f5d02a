"""Wide Gaussians on the CPU: coarse rows and columns; their sums; results; and what is not finite.

Threads go together from stage to stage, plane by plane, and each leaves the same sums however it is shared. Coarse rows are
gathered down strips of columns: what a strip has of as many of them as a row adds to stays near. Coarse columns are gathered from
rows that are laid side by side, one in each lane, and lie as coarse rows do: sums down them are sums along lines.
"""

from __future__ import annotations

import numpy as np
from numba import prange

from footprint.kernels.coarse.cpu_odd import mark_rows, put
from footprint.kernels.coarse.cpu_sums import FOUND, LANES, SURE, gather_columns, gather_rows, one_over, turn, two_over
from footprint.kernels.coarse.strips import BESIDE, NUMBERS, PIECE, PLACES, ROWS, STRIP, TALL, Strips, longer, overlap
from footprint.kernels.common import borders
from footprint.kernels.common.jit import njit
from footprint.kernels.common.vectors import alone, apart
from footprint.kernels.convolve.contract import line_piece, row_pieces
from footprint.kernels.convolve.cpu_lines import line_units, source_index

STAGES, FINITE = 6, 4
"""Stages, and those that there are where all is finite."""
ODD = FOUND + 1
"""Where among a thread's places it leaves whether it found what is not finite."""
TOGETHER = 8
"""Coarse rows whose results a thread makes before it looks for other work."""

_longer = njit(cache=True, nogil=True)(longer)
_overlap = njit(cache=True, nogil=True)(overlap)
_row_pieces = njit(cache=True, nogil=True)(row_pieces)
_line_piece = njit(cache=True, nogil=True)(line_piece)


@njit(cache=True, nogil=True, borrows=True)
def _copy(source, at, line, to, count):
    """Copy what is apart from where it goes."""
    alone()
    for k in range(count):
        line[to + k] = source[at + k]


@njit(cache=True, nogil=True, borrows=True)
def _clear(line, at, end):
    """0."""
    alone()
    for k in range(at, end):
        line[k] = 0


@njit(cache=True, nogil=True, borrows=True)
def _tame(line, at, count):
    """0 for what is not finite."""
    alone()
    for k in range(at, at + count):
        line[k] = line[k] if line[k] - line[k] == 0 else np.float32(0)


@njit(cache=True, nogil=True, borrows=True)
def _add(line, other):
    """Add what lies elsewhere."""
    alone()
    for k in range(line.size):
        line[k] += other[k]


@njit(cache=True, nogil=True, borrows=True)
def _copied(image, own, places, n, x, columns):
    """Copy rows of a strip, and say where they lie then."""
    apart()
    for j in range(n):
        _copy(image, places[j] + x, own, j * STRIP, columns)
        _clear(own, j * STRIP + columns, (j + 1) * STRIP)
        places[j] = j * STRIP


@njit(cache=True, nogil=True, borrows=True)
def _gather_rows(image, start, down, plane, own, places, left, columns, begin, end, top, height, width, step, code_y):
    """Coarse rows ``begin`` to ``end`` of a strip; whether any is odd. Steps of the first of all begin with row ``top``."""
    apart()
    odd, pitch, whole = False, _longer(width), columns // LANES
    for block in range(begin, end + TALL - 1):
        lo, hi = max(block - end + 1, 0), min(block - begin, TALL - 1)
        for j in range(0, step, ROWS):
            n = 0
            for r in range(j, min(j + ROWS, step)):
                y = source_index(top + block * step + r, height, code_y)
                if y >= 0:
                    places[n], places[ROWS + n] = start + y * width, r * TALL
                    n += 1
            fresh, to, many = int(j == 0), block * pitch + left, (columns + LANES - 1) // LANES
            gather_rows(image, left, min(step, ROWS) * width, places, n, down, 0, plane, to, pitch, lo, hi, fresh, whole)
            done = places[FOUND]
            if done < many:
                # What is left of the row, or is not finite, from a copy.
                shift = done * LANES
                where = own, 0, 0, places, n, down, 0, plane, to + shift, pitch, lo, hi
                _copied(image, own, places, n, left + shift, columns - shift)
                gather_rows(*where, fresh, many - done)
                if places[FOUND] < many - done:
                    odd, shift = True, places[FOUND] * LANES
                    where = own, shift, 0, places, n, down, 0, plane, to + done * LANES + shift, pitch, lo, hi
                    _tame(own, 0, n * STRIP)
                    gather_rows(*where, fresh + SURE, many - done - places[FOUND])
    return odd


@njit(cache=True, nogil=True, borrows=True)
def _lay(image, start, lines, y, rows, x, columns, height, width, code_x):
    """Rows of columns from ``x`` on, side by side, as borders say."""
    apart()
    begin = min(max(-x, 0), columns)
    end = max(begin, min(width - x, columns))
    many = (end - begin) // LANES if rows == LANES else 0
    turn(image, start + y * width + x + begin, width, lines, begin * LANES, many)
    c = 0
    while c < columns:
        if c == begin:
            c += many * LANES
        until = min(c + LANES, begin if c < begin else columns)
        if c < until:
            _lay_some(image, start + y * width, lines, rows, x, c, until, width, code_x)
        c = until


@njit(cache=True, nogil=True, borrows=True)
def _lay_some(image, at, lines, rows, x, begin, end, width, code_x):
    """Some columns, that may lie outside: mostly neighbours of the image, in whatever order."""
    apart()
    low, high, aside = width, -1, PIECE * LANES
    for c in range(begin, end):
        column = source_index(x + c, width, code_x)
        low, high = min(low, column), max(high, column)
    low = min(low, width - LANES)
    near = 0 <= low and high < low + LANES and rows == LANES
    if near:
        turn(image, at + low, width, lines, aside, 1)
    for c in range(begin, end):
        column = source_index(x + c, width, code_x)
        if near:
            _copy(lines, aside + (column - low) * LANES, lines, c * LANES, LANES)
        else:
            for r in range(LANES):
                lines[c * LANES + r] = image[at + r * width + column] if column >= 0 and r < rows else 0


@njit(cache=True, nogil=True, borrows=True)
def _gather_columns(image, start, across, plane, to, lines, places, y, left, columns, height, width, stride, code_x):
    """Coarse columns of some rows, the first of which begins with column ``left``; whether any is odd."""
    apart()
    odd, leap, rows, last = False, _longer(height), min(LANES, height - y), (columns + BESIDE - 1) * stride
    begin, end = 0, 0
    for block in range(columns + BESIDE - 1):
        lo, hi = max(block - columns + 1, 0), min(block, BESIDE - 1)
        for j in range(0, stride, ROWS):
            n, x = min(ROWS, stride - j), block * stride + j
            if x + n > end:
                begin, end = x, min(x + PIECE, last)
                _lay(image, start, lines, y, rows, left + x, end - x, height, width, code_x)
            at, fresh = (x - begin) * LANES, int(j == 0)
            where = lines, at, LANES, places, n, across, j, plane, to + block * leap + y, leap, lo, hi
            gather_columns(*where, fresh, 1)
            if places[FOUND] == 0:
                odd = True
                _tame(lines, at, (end - x) * LANES)
                gather_columns(*where, fresh + SURE, 1)
    return odd


@njit(cache=True, nogil=True, borrows=True)
def _lines(plane, at, to, weights, own, many, width, made, x0, code, t, threads):
    """A thread's share of sums along lines, in their pieces."""
    apart()
    piece, pitch, leap = _line_piece(made), _longer(width), _longer(made)
    across = _row_pieces(made, piece)
    first, last = many * across * t // threads, many * across * (t + 1) // threads
    while first < last:
        line = first // across
        until = min(last, (line + 1) * across)
        source, goal = plane[at + line * pitch : at + line * pitch + width], plane[to + line * leap : to + line * leap + made]
        shapes, begin, end = (1, width, 1, weights.size, 1, made), first - line * across, until - line * across
        line_units(source, weights, goal, own, 0, begin, end, piece, shapes, 0, x0, 5, code, 0)
        first = until


@njit(cache=True, nogil=True, borrows=True)
def _shares(drop, own, places, left, columns, aside, stride):
    """Weights of coarse columns in vectors of results, side by side, and where those are."""
    apart()
    taps = PLACES + _overlap(stride)
    _clear(own, 0, (columns + LANES - 1) // LANES * taps * LANES)
    for v in range((columns + LANES - 1) // LANES):
        first = (left + v * LANES + aside) // stride
        places[v] = first
        for k in range(LANES):
            x = left + v * LANES + k + aside
            for q in range(PLACES):
                own[(v * taps + x // stride - first + q) * LANES + k] = -drop[x % stride * PLACES + q]


@njit(cache=True, nogil=True, borrows=True)
def _spread(plane, rise, out, to, own, places, left, columns, begin, end, above, sizes, rooms):
    """Results of a strip that coarse rows ``begin`` to ``end`` are the nearest to."""
    apart()
    (_, _, made, wide, step, stride), (lines, _, tails, _) = sizes, rooms
    pitch, leap, many = _longer(wide), _longer(made), (columns + LANES - 1) // LANES
    some = columns - (many - 1) * LANES
    for c in range(begin, end):
        top = c * step - above - step // 2
        first, last = max(top, 0), min(top + step, made)
        coarse = plane, lines + c * pitch + left, pitch, rise, first - top, last - first, own, tails + first, leap, places
        goal = out, to + first * wide + left, wide, many, some
        if first < last and _overlap(stride) == 1:
            one_over(*coarse, *goal)
        elif first < last:
            two_over(*coarse, *goal)


@njit(cache=True, nogil=True, borrows=True)
def _strip(width, threads):
    """Columns of a strip: nearly equal ones, as many as threads share evenly."""
    strips = (width + STRIP - 1) // STRIP
    if strips % threads:
        strips = min((strips + threads - 1) // threads * threads, max(strips, width // 64))
    return min(STRIP, (width + strips * LANES - 1) // (strips * LANES) * LANES)


@njit(cache=True, nogil=True, borrows=True)
def _gathered(image, start, down, across, plane, own, places, t, threads, sizes, begins, codes, rooms):
    """A thread's share of coarse rows and columns; whether any is odd."""
    apart()
    (height, width, _, _, step, stride), (rows, columns, top, left, _, _, _, _) = sizes, begins
    odd, strip = False, _strip(width, threads)
    strips = (width + strip - 1) // strip
    # Of few columns each thread has some rows.
    shares = max(1, min((threads + strips - 1) // strips, rows // TALL))
    for unit in range(strips * shares * t // threads, strips * shares * (t + 1) // threads):
        x, share = unit // shares * strip, unit % shares
        some, end = rows * share // shares, rows * (share + 1) // shares
        where = x, min(strip, width - x), some, end, top, height, width, step, codes[0]
        odd |= _gather_rows(image, start, down, plane, own, places, *where)
    groups = (height + LANES - 1) // LANES
    for group in range(groups * t // threads, groups * (t + 1) // threads):
        where = group * LANES, left, columns, height, width, stride, codes[1]
        odd |= _gather_columns(image, start, across, plane, rooms[1], own, places, *where)
    return odd


@njit(cache=True, nogil=True, borrows=True)
def _summed(plane, line, ups, downs, own, t, threads, sizes, begins, codes, reaches, rooms):
    """A thread's share of sums along coarse rows, and along coarse columns, of what lies above and below."""
    apart()
    (height, width, made, wide, _, _), (rows, columns, _, _, _, _, y0, x0), (lines, lanes, low, high) = sizes, begins, rooms
    _lines(plane, 0, lines, line, own, rows, width, wide, x0 - reaches[1], codes[1], t, threads)
    _lines(plane, lanes, low, ups, own, columns, height, made, y0 - reaches[0] - ups.size, codes[0], t, threads)
    _lines(plane, lanes, high, downs, own, columns, height, made, y0 + reaches[0] + 1, codes[0], t, threads)


@njit(cache=True, nogil=True, borrows=True)
def _made(plane, rise, drop, out, to, own, places, t, threads, sizes, begins, rooms):
    """A thread's share of results."""
    apart()
    _, _, _, wide, _, stride = sizes
    rows, _, _, _, above, aside, _, _ = begins
    strip, steps, before = _strip(wide, threads), rows - TALL + 1, -1
    strips = (wide + strip - 1) // strip
    chunk = min(TOGETHER, max(1, steps * strips // (4 * threads)))
    chunks = (steps + chunk - 1) // chunk
    for unit in range(chunks * strips * t // threads, chunks * strips * (t + 1) // threads):
        x, first = unit // chunks * strip, unit % chunks * chunk
        columns = min(strip, wide - x)
        if x != before:
            _shares(drop, own, places, x, columns, aside, stride)
            before = x
        _spread(plane, rise, out, to, own, places, x, columns, first, min(first + chunk, steps), above, sizes, rooms)


@njit(cache=True, nogil=True, borrows=True)
def _share(stage, image, start, tables, out, to, plane, own, places, t, threads, sizes, begins, codes, reaches, rooms):
    """A thread's share of a stage."""
    apart()
    down, rise, across, drop, line, ups, downs = tables
    if stage == 0:
        odd = _gathered(image, start, down, across, plane, own, places, t, threads, sizes, begins, codes, rooms)
        places[ODD] = int(odd)
    elif stage == 1:
        _summed(plane, line, ups, downs, own, t, threads, sizes, begins, codes, reaches, rooms)
    elif stage == 2:
        low, high = rooms[2:]
        first, last = (high - low) * t // threads, (high - low) * (t + 1) // threads
        _add(plane[low + first : low + last], plane[high + first : high + last])
    elif stage == 3:
        _made(plane, rise, drop, out, to, own, places, t, threads, sizes, begins, rooms)
    elif stage == 4:
        mark_rows(image, start, plane.view(np.uint8), own.view(np.uint8), t, threads, sizes, begins, codes, reaches)
    else:
        put(plane.view(np.uint8), out, to, t, threads, sizes, reaches)


@njit(cache=True, parallel=True, nogil=True)
def _all(image, tables, out, plane, own, numbers, planes, threads, sizes, begins, codes, reaches, rooms):
    """Plane by plane, stage by stage, in one loop over threads, as each such loop takes a second to compile."""
    size, (height, width, made, wide, _, _) = own.size // threads, sizes
    for p in range(planes):
        start, to = p * height * width, p * made * wide
        for stage in range(STAGES):
            odd = 0
            for t in range(threads):
                odd += numbers[t * NUMBERS + ODD]
            if stage < FINITE or odd > 0:
                for t in prange(threads):
                    room, places = own[t * size : (t + 1) * size], numbers[t * NUMBERS : (t + 1) * NUMBERS]
                    where = t, threads, sizes, begins, codes, reaches, rooms
                    _share(stage, image, start, tables, out, to, plane, room, places, *where)


def coarse(
    image: np.ndarray,
    down: np.ndarray,
    rise: np.ndarray,
    across: np.ndarray,
    drop: np.ndarray,
    line: np.ndarray,
    tails: np.ndarray,
    out: np.ndarray,
    plane: np.ndarray,
    own: np.ndarray,
    numbers: np.ndarray,
    *,
    steps: tuple[int, ...],
    reaches: tuple[int, int],
    y0: int,
    x0: int,
    border_y: str,
    border_x: str,
    first_y: int,
    first_x: int,
) -> None:
    """Sum down and across; see ``footprint.kernels.coarse.contract`` for what is computed."""
    if out.size == 0:
        return
    (planes, height, width), (_, made, wide), (step, stride) = image.shape, out.shape, steps[:2]
    strips = Strips(height, width, made, wide, step, stride, first_y % step, first_x % stride)
    begins = (
        *(strips.rows, strips.columns),
        # The first row of coarse rows, and the first column of coarse columns.
        y0 - strips.above - TALL // 2 * step - TALL * step // 2,
        x0 - strips.aside - (PLACES - 1) // 2 * stride - BESIDE * stride // 2,
        *(strips.above, strips.aside, y0, x0),
    )
    tables = tuple(one.reshape(-1) for one in (down, rise, across, drop, line, tails[0], tails[1]))
    flat = image.reshape(-1), tables, out.reshape(-1), plane, own.reshape(-1), numbers.reshape(-1)
    codes, sizes = (borders.CODES[border_y], borders.CODES[border_x]), (height, width, made, wide, step, stride)
    _all(*flat, planes, len(own), sizes, begins, codes, reaches, strips.places[:4])
