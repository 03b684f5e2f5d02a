"""Launch shapes of ``overlap_save``: the mask's transforms some blocks at a time, then all tiles through these.

Tiles that do not stay on the chip go by way of memory, some at a time.
"""

from __future__ import annotations

import math

import numpy as np

from footprint.kernels.common.borders import CODES
from footprint.kernels.common.launch import MAX_GROUPS_Y, A, Argument, Defines, Launch, Program, W
from footprint.kernels.common.load import c_type
from footprint.kernels.overlap_lines.long import Sums, long_program, resident
from footprint.kernels.overlap_save.contract import CHIP, EACH, FEW, FOLD, blocks, chip_bytes
from footprint.spec import ArraySpec, Limits

TOGETHER = 16
"""Blocks of a mask whose transforms are kept at once: a tile's results then stay near while they are added up."""


def overlap_save_program(
    limits: Limits,
    image: ArraySpec,
    weights: ArraySpec,
    out: ArraySpec,
    *,
    y0: int,
    x0: int,
    border_y: str,
    border_x: str,
    cval: float,
    tile: int,
    block: tuple[int, int],
) -> Program:
    """``launch("overlap_save", image, weights, out, ...)``; its work is the mask's transforms, their sizes, what additions lost."""
    if out.size == 0:
        return Program(())
    if tile not in CHIP:
        return long_program(limits, Sums(image, weights, out, (y0, x0), (border_y, border_x), cval, tile, block, is_image=True))
    kind = np.dtype(out.dtype)
    used, items = chip_bytes(tile, kind.itemsize), tile * tile // EACH
    if used > limits.local_mem:
        raise ValueError(f"a tile of {tile} in {kind.name} does not fit {limits.local_mem} bytes")
    number = math.prod(map(blocks, weights.shape, block))
    keep = number > FEW
    numbers = np.result_type(kind, np.complex64)
    at_once = min(number, TOGETHER)
    work = [ArraySpec((at_once, tile, tile), numbers.str), ArraySpec((at_once,), "i4")]
    if keep:
        work.append(out)
    defines: Defines = (
        *(("T", c_type(kind)), ("S", c_type(image.dtype)), ("Z", c_type(numbers)), ("WIDE", int(kind.itemsize == 8))),
        *(("TILE", tile), ("EACH", EACH)),
        *(("R1", CHIP[tile][0]), ("R2", CHIP[tile][1]), ("PITCH", CHIP[tile][2])),
        ("MIN_GROUPS", resident(limits, used, items, kind.itemsize)),
    )
    group, local = (items, 1, 1), tile * CHIP[tile][2] * numbers.itemsize
    down, across = (-(-n // (side + 1 - b)) for n, side, b in zip(out.shape, (tile, FOLD * tile), block))
    rows = min(down, MAX_GROUPS_Y)
    grid = (across, rows, -(-down // rows))
    mask: tuple[np.generic, ...] = (*map(np.int64, weights.shape), *map(np.int32, block))
    arrays = (A(0), A(1), A(2), W(0), W(1), W(2) if keep else A(2))
    places = tuple(map(np.int64, (*image.shape, *out.shape, y0, x0)))
    launches = []
    for first in range(0, number, TOGETHER):
        last = min(first + TOGETHER, number)
        some: tuple[Argument, ...] = (A(1), W(0), W(1), *mask, np.int32(first))
        launches.append(Launch("overlap_save.knl", "mask_transforms", (last - first, 1, 1), group, some, defines, local))
        which = tuple(map(np.int32, (first, last, number, keep, CODES[border_y], CODES[border_x])))
        args: tuple[Argument, ...] = (*arrays, *places, *mask, *which, kind.type(cval))
        launches.append(Launch("overlap_save.knl", "overlap_save", grid, group, args, defines, local))
    return Program(tuple(launches), tuple(work))
