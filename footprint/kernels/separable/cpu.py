"""Sums down and across in one pass on the CPU: four rows of sums down stay near until they are summed across.

The inner loops are those of the kernel ``convolve``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import prange

from footprint.kernels.common import borders
from footprint.kernels.common.few import few
from footprint.kernels.common.jit import njit
from footprint.kernels.common.vectors import BYTES, apart
from footprint.kernels.convolve.cpu import blocks, convolve_for
from footprint.kernels.convolve.cpu_lines import fill, line_blocks
from footprint.kernels.convolve.cpu_sums import ROWS, VECTORS
from footprint.kernels.separable import cpu_box, cpu_counts, cpu_means, cpu_near
from footprint.kernels.separable.contract import DOWN_PLANES, chained, crowded, flat, places, short, short_places
from footprint.kernels.separable.cpu_crowd import crowd_all, crowd_units
from footprint.kernels.separable.cpu_short import short_all, short_units
from footprint.spec import ArraySpec


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


def separable(image: np.ndarray, tall: np.ndarray, wide: np.ndarray, out: np.ndarray, work: np.ndarray, **numbers: Any) -> None:
    """Sum down and across; see ``footprint.kernels.separable.contract`` for what is computed."""
    separable_for(image, tall, wide, out, **numbers)(image, tall, wide, out, work)


def separable_for(
    image: Any, tall: Any, wide: Any, out: Any, *, y0: int, x0: int, border_y: str, border_x: str, cval: float, plain: bool = False
) -> Callable[..., None]:
    """The same for arrays that have the shapes and dtypes of these; ``plain`` sums have the bits of the kernel ``convolve``."""
    taps, kind = (tall.size, wide.size), np.dtype(out.dtype)
    where = (*image.shape[1:], *out.shape[1:]), y0, x0, borders.CODES[border_y], borders.CODES[border_x]
    brief = not plain and short(*taps, cval, kind.itemsize)
    held = short_places(*taps, out.shape[2], kind.itemsize)[:2] if brief else places(*taps, out.shape[2])
    units = out.shape[0] * -(-out.shape[1] // ROWS) * -(-out.shape[2] // held[0])
    own: tuple[Any, ...] = (short_units, short_all) if brief else (_units, _all)
    apart: tuple[Any, ...] = (*own, units, (*held, *where, kind.type(cval)))
    operations, room = out.size * sum(taps), crowded(image.shape, out.shape, kind.itemsize) if brief else 0
    in_lanes = crowd_units, crowd_all, -(-out.shape[0] // (BYTES // kind.itemsize)), ((chained(taps[0]), chained(taps[1])), *where)

    def launch(image: np.ndarray, tall: np.ndarray, wide: np.ndarray, out: np.ndarray, work: np.ndarray) -> None:
        flat = image.reshape(-1), tall, wide, out.reshape(-1), work.reshape(-1)
        # Planes of a part may be small where those of the largest one were not: to the same bits.
        alone, together, units, numbers = in_lanes if 0 < room <= work.shape[1] else apart
        if few(operations):
            alone(*flat, 0, 0, units, *numbers)
        else:
            together(*flat, work.shape[1], work.shape[0], units, *numbers)

    return launch


def line(image: np.ndarray, weights: np.ndarray, out: np.ndarray, work: np.ndarray, **numbers: Any) -> None:
    """Sum along one axis, by the kernel ``convolve``."""
    line_for(image, weights, out, **numbers)(image, weights, out, work)


def line_for(
    image: Any, weights: Any, out: Any, *, down: bool, first: int, border: str, cval: float, planes: bool = False
) -> Callable[..., None]:
    """The same for arrays that have the shapes and dtypes of these."""
    where: dict[str, Any] = {"y0": first, "x0": 0, "border_y": border, "border_x": borders.NONE}
    if not down:
        where = {"y0": 0, "x0": first, "border_y": borders.NONE, "border_x": border}
    if planes and weights.size <= DOWN_PLANES[np.dtype(out.dtype).itemsize]:
        one = np.ones(1, out.dtype)
        both = separable_for(image, weights, one, out, cval=cval, plain=True, **where)
        return lambda image, weights, out, work: both(image, weights, one, out, work)
    mask = ArraySpec((weights.size, 1) if down else (1, weights.size), weights.dtype)
    seen, made = (flat(ArraySpec(array.shape, array.dtype), down, planes) for array in (image, out))
    run = convolve_for(seen, mask, made, cval=cval, **where)
    if not planes:
        return lambda image, weights, out, work: run(
            image.reshape(seen.shape), weights.reshape(mask.shape), out.reshape(made.shape), work
        )

    def each(image: np.ndarray, weights: np.ndarray, out: np.ndarray, work: np.ndarray) -> None:
        for p in range(len(out)):
            run(image[p], weights.reshape(mask.shape), out[p], work)

    return each


box, near, counts, means = cpu_box.box, cpu_near.near, cpu_counts.counts, cpu_means.means
