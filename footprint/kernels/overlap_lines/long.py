"""Launches of transforms of tiles that are too long for a GPU's chip, of images and of signals: some at a time."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from footprint.kernels.common.borders import CODES
from footprint.kernels.common.launch import MAX_GROUPS_Y, A, Argument, Defines, Launch, Program, W
from footprint.kernels.common.load import c_type
from footprint.kernels.overlap_save.contract import EACH, FEW, FOLD, LONG, SPECTRA, blocks, lines_at_once, long_bytes
from footprint.spec import ArraySpec, Limits

REGISTERS = 65536
"""Of a core, of which a work-item takes 64 where numbers have four bytes, and 128 where they have eight."""
SPARE = 1024
"""Bytes of on-chip memory the runtime takes from each group."""
STAGES = 3
"""Of a tile: columns, rows, and columns back. One tile more than these are at work, so that none waits for the end of another."""
SHARE = 64
"""What these may take of results that are larger: a program has few launches, however long a signal."""


def resident(limits: Limits, used: int, items: int, itemsize: int) -> int:
    """Groups that fit a core side by side, by bytes on the chip and by registers."""
    return max(min(limits.local_mem // (used + SPARE), REGISTERS // (16 * itemsize * items), 32), 1)


@dataclass(frozen=True)
class Sums:
    """What is asked for: arrays, where the first tap of output 0 lies, borders, and tiles; ``block`` is of a mask's two axes."""

    image: ArraySpec
    weights: ArraySpec
    out: ArraySpec
    starts: tuple[int, int]
    borders: tuple[str, str]
    cval: float
    tile: int
    block: tuple[int, int]
    is_image: bool

    @property
    def steps(self) -> tuple[int, int]:
        """Outputs of a tile down and across."""
        side = FOLD * (self.tile if self.is_image else self.tile**2)
        return (self.tile + 1 - self.block[0] if self.is_image else 1), side + 1 - self.block[1]


def long_program(limits: Limits, of: Sums) -> Program:
    """Block by block of the mask: its transform, and then the tiles, as many at a time as `SPECTRA` holds."""
    kind, tile, (down, across) = np.dtype(of.out.dtype), of.tile, of.steps
    count = lines_at_once(limits, tile, kind.itemsize)
    if not count:
        raise ValueError(f"lines of {tile} in {kind.name} do not fit {limits.local_mem} bytes")
    numbers, local = np.result_type(kind, np.complex64).str, long_bytes(tile, count, kind.itemsize)
    each, items = -(-of.out.shape[1] // across), tile // EACH * count
    total = -(-of.out.shape[0] // down) * each
    room = max(min(SPECTRA, of.out.nbytes), of.out.nbytes // SHARE)
    at_once = max(min(max(room // (2 * kind.itemsize * tile * tile), STAGES + 1), total, MAX_GROUPS_Y), 1)
    # A tile's stages follow each other so many rounds apart; what is left of the slots lets tiles end before others begin there.
    lag = max(1, (at_once - 1) // STAGES)
    conveyor = limits.together > 0 and at_once >= STAGES
    starts = [tuple(n * b for n, b in zip(at, of.block)) for at in np.ndindex(*map(blocks, of.weights.shape, of.block))]
    used = local + 2 * kind.itemsize * (tile + 256) + kind.itemsize * tile // count + 64
    defines: Defines = (
        *(("T", c_type(kind)), ("Z", c_type(numbers)), ("WIDE", int(kind.itemsize == 8)), ("LEN", tile), ("R1", LONG[tile])),
        *(("R2", 1), ("IMAGE", int(of.is_image)), ("LINES", count), ("CONVEYOR", int(conveyor))),
        ("MIN_GROUPS", resident(limits, used, items, kind.itemsize)),
    )
    work = (
        *(ArraySpec((at_once, tile, tile), numbers), ArraySpec((tile, tile), numbers)),
        *(ArraySpec((at_once, tile // count), "i4"), ArraySpec((at_once,), "i4"), ArraySpec((1,), "i4")),
        ArraySpec((1 + STAGES * at_once,), "i4"),
        ArraySpec(of.out.shape if len(starts) > FEW else (0,), kind.str),
    )
    spectra, mask, found, totals, sized, counts = map(W, range(6))
    keep = work[6].size > 0

    def launch(entry: str, many: int, *args: Argument, of_mask: bool = False) -> Launch:
        read = of.weights if of_mask else of.image
        known: Defines = (*defines, ("S", c_type(read.dtype)))
        return Launch("overlap_long.knl", entry, (tile // count, many, 1), (items, 1, 1), args, known, local)

    launches: list[Launch] = []
    none, ends = [np.int32(CODES["constant"])] * 2, [np.int32(CODES[border]) for border in of.borders]
    for n, (i0, j0) in enumerate(starts):
        tall, span = (min(b, taps - a) for a, b, taps in zip((i0, j0), of.block, of.weights.shape))
        # The mask is a tile, of which one output needs all.
        mine = (*map(np.int64, (0, *of.weights.shape, 1, 1, i0, j0, 1, 1, 1, tall, span)), *none, kind.type(0))
        launches.append(launch("columns_forward", 1, A(1), found, spectra, *mine, of_mask=True))
        launches.append(launch("rows_mask", 1, found, spectra, mask, sized, counts, np.int32(work[5].size)))
        places = (*of.image.shape, *of.out.shape, of.starts[0] + i0, of.starts[1] + j0, each, down, across, tall, span)
        how: tuple[Argument, ...] = (*map(np.int64, places), *ends, kind.type(of.cval))
        turns = map(np.int32, (n > 0, keep, n == len(starts) - 1))
        which: tuple[Argument, ...] = (np.int64(i0 * of.weights.shape[1] + j0), np.int64(of.weights.shape[1]), *turns)
        arrays: tuple[Argument, ...] = (A(0), A(1), A(2), spectra, found, totals, sized, W(6) if keep else A(2))
        if conveyor:
            rounds = total + (STAGES - 1) * lag
            args = (*arrays, mask, counts, np.int32(at_once), np.int32(lag), np.int64(total), *which, *how)
            launches.append(replace(launch("conveyor", 1, *args), grid=(rounds * STAGES * tile // count, 1, 1)))
            continue
        for first in range(0, total, at_once):
            many = min(at_once, total - first)
            launches.append(launch("columns_forward", many, A(0), found, spectra, np.int64(first), *how))
            launches.append(launch("rows_through", many, found, spectra, mask, totals))
            launches.append(launch("columns_back", many, *arrays, *which, np.int64(first), *how))
    return Program(tuple(launches), work)
