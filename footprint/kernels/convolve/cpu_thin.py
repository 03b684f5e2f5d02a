"""Sums of images and volumes whose rows are short: columns are copied, with what lies beyond, and vectors go along these lines.

A vector along a row of three pixels would be mostly empty. Products are added in the order in which they are for wide images, so
that the bits of a result tell nothing of how many columns there are, or which part of an image was summed in which way.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numba import prange
from numba.core import cgutils, types
from numba.extending import intrinsic

from footprint.kernels.common.few import few
from footprint.kernels.common.jit import njit
from footprint.kernels.common.vectors import BYTES, Emit, alone, apart, own
from footprint.kernels.convolve.contract import (
    CHAIN,
    GROUP,
    LINE_ROWS,
    SPAN,
    TALL_ROUND,
    TAP_ROWS,
    THIN,
    THIN_LONG,
    is_thin,
    thin_axis,
    thin_places,
)
from footprint.kernels.convolve.cpu_lines import cast, chained, source_index
from footprint.kernels.convolve.cpu_sums import FEW_WHOLE, VECTORS, held, line_total
from footprint.kernels.convolve.cpu_tall import _parts

Lengths = tuple[int, int, int]

IMAGE, ROW, DOWN = range(3)
"""In which order the products of an output are added: as those of an image, of a row, and down strips of columns."""
# What becomes of a sum: it is the first, is added to what is there, or goes on from there.
_FIRST, _MORE, _ON = range(3)
# Rows that are turned at a time where they lie further apart than so many elements.
_FEW, _NEAR = 16, 128
# Outputs that a line of a volume has at least; and most columns of planes that need nothing of each other and lines go through.
_LEAST, _COLUMNS = 16, 8
OWN = 4
"""The kind of an image that is read in the dtype of the sums; the others are `KINDS` of what is read as it is stored."""


@intrinsic
def _sums(typing_context, work, at, pitch, leap, weights, first, stride, taps, count, chain, to, apart, state, many):  # type: ignore[no-untyped-def]
    """``work[to + x] (+)= sum of weights[first + t stride + j] work[at + t pitch + j leap + x]``, t < taps, j < count.

    For ``many`` blocks of outputs, whose sums go to places so far ``apart``. The sum of every ``chain`` of ``j`` starts at 0 and is
    added to what is there, as ``state`` says; columns go by in the outer loop.
    """

    def code(context, builder, signature, args):  # type: ignore[no-untyped-def]
        def write(e: Emit) -> None:
            b, lanes, one = e.b, e.kind.count, e.index(1)
            _, at, pitch, leap, _, first, stride, taps, count, chain, to, apart, state, many = e.args
            is_state = lambda which: b.icmp_signed("==", state, e.index(which))
            found = [cgutils.alloca_once(b, e.kind) for _ in range(LINE_ROWS)]
            with cgutils.for_range(b, many) as block:
                begins, goal = e.add(at, e.mul(block.index, LINE_ROWS * lanes)), e.add(to, e.mul(block.index, apart))
                goals = [e.add(goal, n * lanes) for n in range(LINE_ROWS)]
                with cgutils.for_range_slice(b, e.index(0), count, chain) as (begin, _):
                    with b.if_else(is_state(_ON)) as (on, anew):
                        with on:
                            for sum_, place in zip(found, goals):
                                b.store(e.load(0, place), sum_)
                        with anew:
                            for sum_ in found:
                                b.store(e.zero(), sum_)
                    end = b.add(begin, chain)
                    end = b.select(b.icmp_signed("<", end, count), end, count)
                    with cgutils.for_range_slice(b, begin, end, one) as (column, _):
                        source, weight = e.add(begins, e.mul(column, leap)), e.add(first, column)
                        with cgutils.for_range(b, taps) as tap:
                            factor = e.splat(4, e.add(weight, e.mul(tap.index, stride)))
                            place = e.add(source, e.mul(tap.index, pitch))
                            for n, sum_ in enumerate(found):
                                b.store(e.multiply_add(e.load(0, e.add(place, n * lanes)), factor, b.load(sum_)), sum_)
                    adds = b.or_(is_state(_MORE), b.icmp_signed(">", begin, e.index(0)))
                    with b.if_else(adds) as (more, new):
                        for case, added in ((more, True), (new, False)):
                            with case:
                                for sum_, place in zip(found, goals):
                                    value = b.load(sum_)
                                    e.store(b.fadd(e.load(0, place), value) if added else value, 0, place)

        return own(context, builder, signature, args, write)

    n = types.int64
    return types.void(work, n, n, n, weights, n, n, n, n, n, n, n, n, n), code


@njit(cache=True, nogil=True)
def _line(work, at, steps, weights, mask, order, to, free, many):
    """``many`` blocks of sums at ``to``, of the lines from ``at`` on; planes, rows and columns of taps are ``steps`` apart."""
    apart()
    (depth, height, width), (across, pitch, leap) = mask, steps
    lanes = BYTES // work.itemsize
    block = LINE_ROWS * lanes
    if order == ROW:
        # Taps a vector's length apart go by together, as in `line_blocks`.
        whole, more = width // lanes, width % lanes
        if more > 0:
            _sums(work, at, lanes * leap, leap, weights, 0, lanes, whole + 1, more, more, to, block, _FIRST, many)
        if whole > 0:
            how = lanes, whole, lanes - more, lanes, to, block, _ON if more > 0 else _FIRST, many
            _sums(work, at + more * leap, lanes * leap, leap, weights, more, *how)
        return
    if order == DOWN:
        step = _parts(height, TALL_ROUND)
        for i in range(0, height, step):
            taps = min(step, height - i)
            _sums(work, at + i * pitch, 0, pitch, weights, i, 0, 1, taps, _parts(taps, CHAIN), free, 2 * block, _FIRST, many)
            line_total(work, free, work, to, lanes, i == 0, i + step >= height, many)
        return
    parts = (height + TAP_ROWS - 1) // TAP_ROWS
    turns, turn = depth * ((width + SPAN - 1) // SPAN) * parts, 0
    direct = turns <= GROUP
    target, far = (to, block) if direct else (free, 2 * block)
    for k in range(depth):
        for j in range(0, width, SPAN):
            i, n = 0, min(SPAN, width - j)
            for part in range(parts):
                taps, weight = (height + parts - 1 - part) // parts, (k * height + i) * width + j
                state = _FIRST if turn % GROUP == 0 else _MORE
                how = width, taps, n, chained(n, taps), target, far, state, many
                _sums(work, at + k * across + i * pitch + j * leap, pitch, leap, weights, weight, *how)
                i += taps
                turn += 1
                if not direct and (turn % GROUP == 0 or turn == turns):
                    line_total(work, free, work, to, lanes, turn <= GROUP, turn == turns, many)


@njit(cache=True, nogil=True)
def _columns(image, at, step, columns, work, to, length, count):
    """Neighbouring columns of the image as lines, some rows at a time: where they lie far apart a cache holds few."""
    alone()
    some = _FEW if step > _NEAR else count
    for begin in range(0, count, max(some, 1)):
        n = min(some, count - begin)
        for c in range(columns):
            goal, source = to + c * length + begin, at + begin * step + c
            for r in range(n):
                work[goal + r] = image[source + r * step]


@njit(cache=True, nogil=True)
def _read(image, kind, at, step, columns, work, to, length, count):
    """The same of an image that is given as bytes."""
    apart()
    if kind == 0:
        _columns(image, at, step, columns, work, to, length, count)
    elif kind == 1:
        _columns(image.view(np.int8), at, step, columns, work, to, length, count)
    elif kind == 2:
        _columns(image.view(np.uint16), at, step, columns, work, to, length, count)
    elif kind == 3:
        _columns(image.view(np.int16), at, step, columns, work, to, length, count)
    else:
        _columns(image.view(work.dtype), at, step, columns, work, to, length, count)


@njit(cache=True, nogil=True)
def _rows(work, at, length, columns, out, to, step, count):
    """Lines as columns of the result."""
    alone()
    some = _FEW if step > _NEAR else count
    for begin in range(0, count, max(some, 1)):
        n = min(some, count - begin)
        for c in range(columns):
            source, goal = at + c * length + begin, to + begin * step + c
            for r in range(n):
                out[goal + r * step] = work[source + r]


@njit(cache=True, nogil=True)
def _bring(image, kind, work, base, count, lengths, steps, lines, begins, codes, cval):
    """Lines of so many elements each, from a copy of the columns and of what lies beyond them."""
    apart()
    (planes, rows, columns), (plane, row), (others, slot, length) = lengths, steps, lines
    first, start, left = begins
    inner = min(max(-start, 0), count)
    outer = max(inner, min(rows - start, count))
    from_, until = min(max(-left, 0), slot), min(columns - left, slot)
    for o in range(others):
        there, line = source_index(first + o, planes, codes[0]), base + o * slot * length
        if there < 0:
            work[line : line + slot * length] = cval
            continue
        at, to, many = there * plane + left + from_, line + from_ * length, until - from_
        _read(image, kind, at + (start + inner) * row, row, many, work, to + inner, length, outer - inner)
        for r in range(count - outer + inner):
            beyond = r if r < inner else r - inner + outer
            index = source_index(start + beyond, rows, codes[1])
            if index >= 0:
                _read(image, kind, at + index * row, row, many, work, to + beyond, length, 1)
            else:
                for c in range(many):
                    work[to + c * length + beyond] = cval
        for c in range(slot - until + from_):
            beyond = c if c < from_ else c - from_ + until
            to, known = line + beyond * length, source_index(left + beyond, columns, codes[2])
            if known < 0:
                work[to : to + count] = cval
            else:
                # A mask that reaches beyond one side begins no further in than at the other: all columns of the image are there.
                same = line + (known - left) * length
                cast(work[same : same + count], work[to : to + count])


@njit(cache=True, nogil=True)
def _units(
    image, kind, weights, out, work, base, first, last, places, lengths, made, steps, mask, starts, codes, order, along, cval
):
    """Pieces of the long axis, of some rows, or planes, each."""
    apart()
    (longest, most), (planes, rows, columns), (plane, row, out_plane, out_row) = places, made, steps
    depth, height, width = mask
    slot, block = columns + width - 1, LINE_ROWS * BYTES // work.itemsize
    need, deep = (depth, height) if along == 0 else (height, depth)
    length = longest + need - 1
    to = base + (most + deep - 1) * slot * length
    free = to + columns * longest
    tap_steps = (1, slot * length, length) if along == 0 else (slot * length, 1, length)
    pieces = (rows + longest - 1) // longest
    for unit in range(first, last):
        o, v = unit // pieces * most, unit % pieces * longest
        here, count = min(most, planes - o), min(longest, rows - v)
        lines, begins = (here + deep - 1, slot, length), (o + starts[0], v + starts[1], starts[2])
        _bring(image, kind, work, base, count + need - 1, lengths, (plane, row), lines, begins, codes, cval)
        for q in range(here):
            for x in range(columns):
                at = base + (q * slot + x) * length
                _line(work, at, tap_steps, weights, mask, order, to + x * longest, free, (count + block - 1) // block)
            _rows(work, to, longest, columns, out, (o + q) * out_plane + v * out_row, out_row, count)


@njit(cache=True, parallel=True, nogil=True)
def _all(
    image, kind, weights, out, work, size, threads, units, places, lengths, made, steps, mask, starts, codes, order, along, cval
):
    for t in prange(threads):
        first, last, how = units * t // threads, units * (t + 1) // threads, (places, lengths, made, steps, mask, starts, codes)
        _units(image, kind, weights, out, work, t * size, first, last, *how, order, along, cval)


def goes_thin(taps: Lengths, made: Lengths, order: int, itemsize: int) -> bool:
    """Whether lines of the columns take less time than rows do, which may be said of every part anew."""
    (planes, rows, columns), along = made, thin_axis(made)
    if not is_thin(taps, made) or (order == ROW and taps[2] >= (FEW_WHOLE + 1) * BYTES // itemsize):
        return False
    if columns * itemsize > THIN[1] * 4:
        # Rows fill a block.
        return False
    if along == 0 and taps[0] == 1 and columns > _COLUMNS:
        return False
    if thin_places(taps, made, along)[1] < min(made[1 - along], taps[1 - along]):
        # Most of a copy would be what other outputs need, too.
        return False
    lanes = BYTES // itemsize
    if order == DOWN:
        return max(planes, rows) >= THIN_LONG[0] // 2 and 2 * columns < VECTORS * lanes
    if taps[0] > 1:
        return max(planes, rows) >= max(_LEAST, 2 * columns)
    # Rows of whole blocks leave none empty.
    return max(planes, rows) >= THIN_LONG[0] // 2 and columns % (held(*taps[1:])[1] * lanes) != 0


def thin_for(
    lengths: Lengths,
    taps: Lengths,
    made: Lengths,
    starts: Lengths,
    codes: Lengths,
    cval: float,
    order: int = IMAGE,
    kind: int = OWN,
) -> Callable[..., None]:
    """What takes arrays of a volume's ``lengths``, or an image's: image, weights, out and workspace."""
    along = thin_axis(made)
    longest, most = places = thin_places(taps, made, along)
    axes = 1 - along, along
    of_image, of_out = ((n[1] * n[2], n[2]) for n in (lengths, made))
    turn = lambda three: (*(three[axis] for axis in axes), three[2])
    steps = (*(of_image[axis] for axis in axes), *(of_out[axis] for axis in axes))
    turned = turn(made)
    units = -(-turned[1] // longest) * -(-turned[0] // most)
    numbers = places, turn(lengths), turned, steps, taps, turn(starts), turn(codes), order, along, cval

    def launch(image: np.ndarray, weights: np.ndarray, out: np.ndarray, work: np.ndarray) -> None:
        flat = image.reshape(-1).view(np.uint8), kind, weights.reshape(-1), out.reshape(-1), work.reshape(-1)
        if few(out.size * weights.size):
            _units(*flat, 0, 0, units, *numbers)
        else:
            threads, size = work.shape
            _all(*flat, size, threads, units, *numbers)

    return launch
