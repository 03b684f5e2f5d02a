"""Launch shapes of ``overlap_lines``: segments that stay on the chip in one launch; longer ones by way of memory."""

from __future__ import annotations

import numpy as np

from footprint.kernels.common.borders import CODES
from footprint.kernels.common.launch import MAX_GROUPS_Y, A, Argument, Defines, Launch, Program, W
from footprint.kernels.common.load import c_type
from footprint.kernels.overlap_lines.contract import CHIP, TOGETHER, chip_bytes
from footprint.kernels.overlap_lines.long import Sums, long_program, resident
from footprint.kernels.overlap_save.contract import EACH, FEW, FOLD, blocks, line_bytes
from footprint.spec import ArraySpec, Limits


def overlap_lines_program(
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
    block: tuple[int],
) -> Program:
    """``launch("overlap_lines", signals, weights, out, ...)``; its work is the mask's transforms, sizes, what additions lost."""
    if out.size == 0:
        return Program(())
    if tile not in CHIP:
        return long_program(
            limits, Sums(image, weights, out, (y0, x0), (border_y, border_x), cval, tile, (1, block[0]), is_image=False)
        )
    length, kind, number = tile * tile, np.dtype(out.dtype), blocks(weights.size, block[0])
    numbers, items, at_once = np.result_type(kind, np.complex64).str, length // EACH, min(number, TOGETHER)
    used, (first, second) = chip_bytes(tile, kind.itemsize), CHIP[tile]
    if used > limits.local_mem:
        raise ValueError(f"a segment of {FOLD * length} in {kind.name} does not fit {limits.local_mem} bytes")
    defines: Defines = (
        *(("T", c_type(kind)), ("S", c_type(image.dtype)), ("Z", c_type(numbers)), ("WIDE", int(kind.itemsize == 8))),
        *(("LEN", length), ("R1", first), ("R2", second), ("MIN_GROUPS", resident(limits, used, items, kind.itemsize))),
    )
    roots, keep = length + (256 * second if second > 1 else 0), number > FEW
    work = [ArraySpec((at_once, length), numbers), ArraySpec((at_once,), "i4"), ArraySpec((roots,), numbers)]
    if keep:
        work.append(out)
    text, group, local = "overlap_lines.knl", (items, 1, 1), line_bytes(length, kind.itemsize)
    rows = min(out.shape[0], MAX_GROUPS_Y)
    grid = (-(-out.shape[1] // (FOLD * length + 1 - block[0])), rows, -(-out.shape[0] // rows))
    launches = [Launch(text, "roots", (roots // 256, 1, 1), (256, 1, 1), (W(2),), defines)]
    arrays, taps = (A(0), A(1), A(2), W(0), W(1), W(3) if keep else A(2), W(2)), np.int64(weights.size)
    places = tuple(map(np.int64, (*image.shape, *out.shape, y0, x0)))
    for n in range(0, number, TOGETHER):
        last = min(n + TOGETHER, number)
        some: tuple[Argument, ...] = (A(1), W(0), W(1), W(2), taps, np.int32(block[0]), np.int32(n))
        launches.append(Launch(text, "mask_transforms", (last - n, 1, 1), group, some, defines, local))
        which = tuple(map(np.int32, (block[0], n, last, number, keep, CODES[border_y], CODES[border_x])))
        args: tuple[Argument, ...] = (*arrays, *places, taps, *which, kind.type(cval))
        launches.append(Launch(text, "overlap_lines", grid, group, args, defines, local))
    return Program(tuple(launches), tuple(work))
