"""Sums down and across in one pass on the CPU: four rows of sums down stay near until they are summed across.

The inner loops are those of the kernel ``convolve``.
"""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import numpy as np
from numba import prange

from footprint.kernels.common import borders
from footprint.kernels.common.few import few
from footprint.kernels.common.jit import njit
from footprint.kernels.common.vectors import BYTES, apart
from footprint.kernels.convolve.cpu import blocks, convolve
from footprint.kernels.convolve.cpu_lines import fill, line_blocks
from footprint.kernels.convolve.cpu_sums import ROWS, VECTORS
from footprint.kernels.separable import cpu_box, cpu_counts, cpu_means, cpu_near
from footprint.kernels.separable.contract import chained, crowded, places, short, short_places
from footprint.kernels.separable.cpu_crowd import crowd_all, crowd_units
from footprint.kernels.separable.cpu_short import short_all, short_units


@njit(cache=True, nogil=True)
def _down(image, at, pitch, tall, work, to, line, count, sums):
    """Sums of neighbouring blocks of columns."""
    apart()
    if tall.size > 1:
        blocks(image, at, 0, pitch, tall, (1, tall.size, 1), 0, 1, 0, 1, work, to, line, count, work, sums)
        return
    size = count * (VECTORS * BYTES // work.itemsize)
    for q in range(ROWS):
        source, target = image[at + q * pitch : at + q * pitch + size], work[to + q * line : to + q * line + size]
        for k in range(size):
            target[k] = tall[0] * source[k]


@njit(cache=True, nogil=True)
def _edge(image, start, tall, work, base, sums, to, line, y, x, columns, height, width, code_y, code_x, cval):
    """One block that reaches beyond an edge, from a copy with the border."""
    apart()
    block = VECTORS * BYTES // work.itemsize
    plane = image[start : start + height * width]
    for r in range(ROWS + tall.size - 1):
        fill(work, base + r * block, columns, plane, height, width, y + r, x, code_y, code_x, cval)
    _down(work, base, block, tall, work, to, line, 1, sums)
    if code_x == 0:
        for k in range(columns):
            if not 0 <= x + k < width:
                for q in range(ROWS):
                    work[to + q * line + k] = cval


@njit(cache=True, nogil=True)
def _units(image, tall, wide, out, work, base, first, last, strip, line, sums, lines, end, shapes, y0, x0, code_y, code_x, cval):
    """Groups of ROWS rows of strips of planes."""
    apart()
    height, width, all_rows, all_columns = shapes
    groups, strips = (all_rows + ROWS - 1) // ROWS, (all_columns + strip - 1) // strip
    block, sums, lines, end = VECTORS * BYTES // work.itemsize, base + sums, base + lines, base + end
    for unit in range(first, last):
        plane, left, y = unit // (groups * strips), unit // groups % strips * strip, unit % groups * ROWS
        start, top, rows = plane * height * width, y + y0, min(ROWS, all_rows - y)
        columns = min(strip, all_columns - left)
        need, x = columns + wide.size - 1, left + x0
        # Blocks that lie inside with all they need are neighbours.
        inside = top >= 0 and top + ROWS + tall.size - 1 <= height
        skip = (max(-x, 0) + block - 1) // block
        count = max(0, min((need + block - 1) // block, (width - x) // block) - skip) if inside else 0
        if count > 0:
            at, to = start + top * width + x + skip * block, lines + skip * block
            _down(image, at, width, tall, work, to, line, count, sums)
        for k in range((need + block - 1) // block):
            if count == 0 or not skip <= k < skip + count:
                place = (top, x + k * block, min(block, need - k * block), height, width)
                _edge(image, start, tall, work, base, sums, lines + k * block, line, *place, code_y, code_x, cval)
        for q in range(rows):
            to = (plane * all_rows + y + q) * all_columns + left
            line_blocks(work, lines + q * line, wide, out, to, columns, work, end)


@njit(cache=True, parallel=True, nogil=True)
def _all(image, tall, wide, out, work, size, threads, units, strip, line, sums, lines, end, shapes, y0, x0, code_y, code_x, cval):
    for t in prange(threads):
        first, last = units * t // threads, units * (t + 1) // threads
        where = (t * size, first, last, strip, line, sums, lines, end)
        _units(image, tall, wide, out, work, *where, shapes, y0, x0, code_y, code_x, cval)


class _Way(NamedTuple):
    """How sums of arrays of some shapes are made: the loops, alone and in threads, units, and what a loop takes last."""

    alone: Any
    together: Any
    units: int
    numbers: tuple[Any, ...]
    last: bool


@functools.lru_cache(maxsize=256)
def _way(
    image: tuple[int, ...],
    taps: tuple[int, int],
    out: tuple[int, ...],
    itemsize: int,
    begin: tuple[int, int],
    edges: tuple[str, str],
    empty: bool,
) -> _Way:
    """Found once: small calls feel it. ``empty`` is a constant border of 0."""
    brief = short(*taps, 0.0 if empty else 1.0, itemsize)
    where = (*image[1:], *out[1:]), *begin, borders.CODES[edges[0]], borders.CODES[edges[1]]
    if brief and crowded(image, out, itemsize):
        chains = chained(taps[0]), chained(taps[1])
        return _Way(crowd_units, crowd_all, -(-out[0] // (BYTES // itemsize)), (chains, *where), False)
    held: tuple[int, ...] = short_places(*taps, out[2], itemsize)[:2] if brief else places(*taps, out[2])
    units = out[0] * -(-out[1] // ROWS) * -(-out[2] // held[0])
    return _Way(*((short_units, short_all) if brief else (_units, _all)), units, (*held, *where), True)


def separable(
    image: np.ndarray,
    tall: np.ndarray,
    wide: np.ndarray,
    out: np.ndarray,
    work: np.ndarray,
    *,
    y0: int,
    x0: int,
    border_y: str,
    border_x: str,
    cval: float,
) -> None:
    """Sum down and across; see ``footprint.kernels.separable.contract`` for what is computed."""
    taps = tall.size, wide.size
    way = _way(image.shape, taps, out.shape, out.itemsize, (y0, x0), (border_y, border_x), cval == 0)
    numbers = (*way.numbers, out.dtype.type(cval)) if way.last else way.numbers
    flat = image.reshape(-1), tall, wide, out.reshape(-1), work.reshape(-1)
    if few(out.size * sum(taps)):
        way.alone(*flat, 0, 0, way.units, *numbers)
    else:
        way.together(*flat, work.shape[1], work.shape[0], way.units, *numbers)


def line(
    image: np.ndarray,
    weights: np.ndarray,
    out: np.ndarray,
    work: np.ndarray,
    *,
    down: bool,
    first: int,
    border: str,
    cval: float,
) -> None:
    """Sum along one axis, by the kernel ``convolve``."""
    seen = (image.reshape(image.shape[0], -1), out.reshape(out.shape[0], -1)) if down else (image, out)
    mask, other = weights.reshape((-1, 1) if down else (1, -1)), borders.NONE
    if down:
        how = {"y0": first, "x0": 0, "border_y": border, "border_x": other}
    else:
        how = {"y0": 0, "x0": first, "border_y": other, "border_x": border}
    convolve(seen[0], mask, seen[1], work, cval=cval, **how)  # type: ignore[arg-type]


box, near, counts, means = cpu_box.box, cpu_near.near, cpu_counts.counts, cpu_means.means
