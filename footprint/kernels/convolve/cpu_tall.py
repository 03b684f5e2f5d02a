"""Sums down many rows, under a mask of one column: strips of the image are copied with the border, and summed from there.

In place, rows of a tall mask lie whole pages apart and on few sets of a cache, and those near an edge would be copied for every
group of outputs. Weights go by in rounds that a cache holds the rows of, in two chains each; the rounds' sums are added up, and
what is rounded away is kept beside them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import prange
from numba.core import cgutils, types
from numba.extending import intrinsic

from footprint.kernels.common import borders
from footprint.kernels.common.few import few
from footprint.kernels.common.jit import njit
from footprint.kernels.common.vectors import BYTES, Emit, apart, own
from footprint.kernels.convolve.contract import CHAIN, TALL_HELD, TALL_ROUND, tall_places
from footprint.kernels.convolve.cpu_lines import cast, fill
from footprint.kernels.convolve.cpu_sums import ROWS, VECTORS, totals


def _chain(e: Emit, place: Any, weight: Any, count: Any, pitch: Any) -> list[Any]:
    """Sums down of ``count`` weights from ``weight`` on, for `ROWS` rows of outputs: a row of the image serves all of them."""
    b, lanes, one = e.b, e.kind.count, e.add(0, 1)
    sums = [[cgutils.alloca_once(b, e.kind) for _ in range(VECTORS)] for _ in range(ROWS)]
    for row in sums:
        for held in row:
            b.store(e.zero(), held)

    def add(t: Any, some: range) -> None:
        start = e.add(place, e.mul(pitch, t))
        values = [e.load(0, e.add(start, c * lanes)) for c in range(VECTORS)]
        for q in some:
            factor = e.splat(3, e.add(weight, b.sub(t, e.add(0, q))))
            for value, held in zip(values, sums[q]):
                b.store(e.multiply_add(value, factor, b.load(held)), held)

    for r in range(ROWS - 1):
        add(e.add(0, r), range(r + 1))
    with cgutils.for_range_slice(b, e.add(0, ROWS - 1), count, one) as (t, _):
        add(t, range(ROWS))
    for r in range(ROWS - 1):
        add(e.add(count, r), range(r + 1, ROWS))
    return [b.load(held) for row in sums for held in row]


_AHEAD = 8
"""Rows that are on their way while one is copied."""


@intrinsic
def _round(typing_context, work, at, pitch, weights, first, taps, chain, to, free, new, end, groups):  # type: ignore[no-untyped-def]
    """Add sums down of ``taps`` weights from ``first`` on to those of some groups of outputs at ``to``; see `_totals`.

    What they lost lies at ``free``, as they do.
    """

    def code(context, builder, signature, args):  # type: ignore[no-untyped-def]
        def write(e: Emit) -> None:
            (at, pitch), (first, taps, chain, to, free, new, end, groups), b = e.args[1:3], e.args[4:], e.b
            block = VECTORS * e.kind.count
            found = [cgutils.alloca_once(b, e.kind) for _ in range(ROWS * VECTORS)]
            with cgutils.for_range(b, groups) as group:
                place, shift = e.add(at, e.mul(group.index, e.mul(pitch, ROWS))), e.mul(group.index, ROWS * block)
                with cgutils.for_range_slice(b, e.add(0, 0), taps, chain) as (begin, _):
                    left = b.sub(taps, begin)
                    count = b.select(b.icmp_signed("<", chain, left), chain, left)
                    sums = _chain(e, e.add(place, e.mul(pitch, begin)), e.add(first, begin), count, pitch)
                    with b.if_else(b.icmp_signed("==", begin, e.add(0, 0))) as (fresh, more):
                        for case, adds in ((fresh, False), (more, True)):
                            with case:
                                for one, held in zip(sums, found):
                                    b.store(b.fadd(b.load(held), one) if adds else one, held)
                values = [b.load(held) for held in found]
                places = [e.add(e.add(to, shift), n * e.kind.count) for n in range(ROWS * VECTORS)]
                kept = [e.add(e.add(free, shift), n * e.kind.count) for n in range(ROWS * VECTORS)]
                totals(e, values, (0, kept), (0, places), new, end)

        return own(context, builder, signature, args, write)

    n = types.int64
    return types.void(work, n, n, weights, n, n, n, n, n, types.uint8, types.uint8, n), code


@intrinsic
def _carry(typing_context, image, at, pitch, rows, vectors, work, to, strip):  # type: ignore[no-untyped-def]
    """Copy rows of whole vectors. What comes some rows later is brought near: it lies too far apart to be foreseen."""

    def code(context, builder, signature, args):  # type: ignore[no-untyped-def]
        def write(e: Emit) -> None:
            at, pitch, rows, vectors, to, strip = (e.args[i] for i in (1, 2, 3, 4, 6, 7))
            with cgutils.for_range(e.b, rows) as row:
                source, goal = e.add(at, e.mul(row.index, pitch)), e.add(to, e.mul(row.index, strip))
                with cgutils.for_range(e.b, vectors) as vector:
                    x = e.mul(vector.index, e.kind.count)
                    e.expect(0, e.add(e.add(source, x), e.mul(pitch, _AHEAD)))
                    e.store(e.load(0, e.add(source, x)), 5, e.add(goal, x))

        return own(context, builder, signature, args, write)

    n = types.int64
    return types.void(image, n, n, n, n, work, n, n), code


@njit(cache=True, nogil=True)
def _parts(count, most):
    """The length of parts of at most ``most``, so that they are nearly equal."""
    parts = (count + most - 1) // most
    return (count + parts - 1) // parts


@njit(cache=True, nogil=True)
def _units(image, weights, out, work, base, first, last, strip, tall, shapes, y0, x0, code_y, code_x, cval):
    """Strips of columns, so many rows of outputs of each, of images that lie one after another."""
    apart()
    image_height, image_width, height, _, rows, columns = shapes
    size = image_height * image_width
    across, lanes = (columns + strip - 1) // strip, BYTES // work.itemsize
    block = VECTORS * lanes
    sums = base + (tall + height + ROWS - 2) * strip
    lost = sums + TALL_HELD * block
    step = _parts(height, TALL_ROUND)
    units = (rows + tall - 1) // tall * across
    for unit in range(first, last):
        plane, left, top = unit // units, unit % across * strip, unit % units // across * tall
        source, goal = image[plane * size : (plane + 1) * size], plane * rows * columns + left
        many, count = min(tall, rows - top), min(strip, columns - left)
        need, start, x = many + height - 1, top + y0, left + x0
        # Rows from `inner` to `outer` lie inside, as far as whole vectors go.
        inner, whole = min(max(-start, 0), need), count // lanes if 0 <= x and x + count <= image_width else 0
        outer = max(inner, min(image_height - start, need)) if whole > 0 else inner
        _carry(source, (start + inner) * image_width + x, image_width, outer - inner, whole, work, base + inner * strip, strip)
        for r in range(need):
            done = whole * lanes if inner <= r < outer else 0
            if done < count:
                line = base + r * strip + done
                fill(work, line, count - done, source, image_height, image_width, start + r, x + done, code_y, code_x, cval)
        for y in range(0, many, TALL_HELD):
            here = min(TALL_HELD, many - y)
            groups = (here + ROWS - 1) // ROWS
            for c in range(0, count, block):
                for i in range(0, height, step):
                    taps = min(step, height - i)
                    place, end = base + (y + i) * strip + c, i + step >= height
                    _round(work, place, strip, weights, i, taps, _parts(taps, CHAIN), sums, lost, i == 0, end, groups)
                wide = min(block, count - c)
                for q in range(here):
                    to, at = goal + (top + y + q) * columns + c, sums + q * block
                    cast(work[at : at + wide], out[to : to + wide])


@njit(cache=True, parallel=True, nogil=True)
def _all(image, weights, out, work, size, threads, units, strip, tall, shapes, y0, x0, code_y, code_x, cval):
    """The same in threads."""
    for t in prange(threads):
        first, last = units * t // threads, units * (t + 1) // threads
        _units(image, weights, out, work, t * size, first, last, strip, tall, shapes, y0, x0, code_y, code_x, cval)


def tall_sums(
    images: np.ndarray,
    weights: np.ndarray,
    out: np.ndarray,
    work: np.ndarray,
    *,
    y0: int,
    x0: int,
    border_y: str,
    border_x: str,
    cval: float,
) -> None:
    """Correlate images with a mask of one column; see ``footprint.kernels.convolve.contract`` for what is computed."""
    shapes, (threads, size) = (*images.shape[1:], *weights.shape, *out.shape[1:]), work.shape
    strip, tall = tall_places(shapes[2], *shapes[4:])
    units = len(out) * -(-shapes[4] // tall) * -(-shapes[5] // strip)
    flat = images.reshape(-1), weights.reshape(-1), out.reshape(-1), work.reshape(-1)
    numbers = strip, tall, shapes, y0, x0, borders.CODES[border_y], borders.CODES[border_x], cval
    if few(out.size * weights.size):
        _units(*flat, 0, 0, units, *numbers)
    else:
        _all(*flat, size, threads, units, *numbers)
