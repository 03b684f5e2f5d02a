"""Launches of ``overlap_volume``: the mask's transform block by block, then the tiles, as many at a time as a GPU's cache holds."""

from __future__ import annotations

import math
from typing import Unpack

import numpy as np

from footprint.kernels.common.borders import CODES
from footprint.kernels.common.launch import MAX_GROUPS_Y, A, Argument, Defines, Launch, Program, W
from footprint.kernels.common.load import c_type
from footprint.kernels.overlap_lines.long import SHARE, resident
from footprint.kernels.overlap_save.contract import CHIP, EACH, FEW, FOLD, blocks, chip_bytes
from footprint.kernels.volume.contract import Lies, codes, start
from footprint.spec import ArraySpec, Limits

SPECTRA = 32 << 20
"""Bytes of the tiles that are transformed at a time: two of 128, so that no core of a large GPU waits for the last plane."""


def overlap_volume_program(
    limits: Limits,
    image: ArraySpec,
    weights: ArraySpec,
    out: ArraySpec,
    *,
    tile: int,
    block: tuple[int, int, int],
    **lies: Unpack[Lies],
) -> Program:
    """``launch("overlap_volume", image, weights, out, ...)``; its work: tiles, the mask's, sizes, what additions lost."""
    if out.size == 0:
        return Program(())
    kind = np.dtype(out.dtype)
    used, items = chip_bytes(tile, kind.itemsize), tile * tile // EACH
    if used > limits.local_mem:
        raise ValueError(f"a plane of {tile} in {kind.name} does not fit {limits.local_mem} bytes")
    numbers, (first_factor, second_factor, pitch) = np.result_type(kind, np.complex64), CHIP[tile]
    defines: Defines = (
        *(("T", c_type(kind)), ("Z", c_type(numbers)), ("WIDE", int(kind.itemsize == 8)), ("TILE", tile), ("EACH", EACH)),
        *(("R1", first_factor), ("R2", second_factor), ("PITCH", pitch)),
        ("MIN_GROUPS", resident(limits, used, items, kind.itemsize)),
    )
    steps = [side + 1 - b for side, b in zip((tile, tile, FOLD * tile), block)]
    deep, floors, each = (-(-n // step) for n, step in zip(out.shape, steps))
    total, room = deep * floors * each, max(SPECTRA, out.nbytes // SHARE)
    at_once = max(min(room // (numbers.itemsize * tile**3), total, MAX_GROUPS_Y), 1)
    starts = [tuple(n * b for n, b in zip(at, block)) for at in np.ndindex(*map(blocks, weights.shape, block))]
    work = [ArraySpec((at_once, tile, tile, tile), numbers.str), ArraySpec((tile, tile, tile), numbers.str)]
    work += [ArraySpec((at_once, tile), "i4"), ArraySpec((at_once,), "i4"), ArraySpec((1,), "i4")]
    keep = len(starts) > FEW
    if keep:
        work.append(out)
    spectra, mask, found, totals, sized = map(W, range(5))

    def launch(entry: str, many: int, *args: Argument, of: ArraySpec = image) -> Launch:
        known, local = (*defines, ("S", c_type(of.dtype))), tile * pitch * numbers.itemsize
        return Launch("overlap_volume.knl", entry, (tile, many, 1), (items, 1, 1), args, known, local)

    launches: list[Launch] = []
    beyond = [np.int32(code) for code in codes(lies)]
    outside = [np.int32(CODES["constant"])] * 3
    for n, at in enumerate(starts):
        taps = [min(b, count - a) for a, b, count in zip(at, block, weights.shape)]
        # The mask is a tile, of which one output needs all.
        mine: tuple[Argument, ...] = (*map(np.int64, (*weights.shape, 1, 1, 1, *at, 1, 1)), *map(np.int32, (1, 1, 1, *taps)))
        launches.append(launch("planes_forward", 1, A(1), found, spectra, *mine, np.int64(0), *outside, kind.type(0), of=weights))
        launches.append(launch("depth_mask", 1, found, spectra, mask, sized, np.int32(taps[0])))
        begin = [tap + a for tap, a in zip(start(lies), at)]
        places: tuple[Argument, ...] = (
            *map(np.int64, (*image.shape, *out.shape, *begin, floors, each)),
            *map(np.int32, (*steps, *taps)),
        )
        plane, row = math.prod(weights.shape[1:]), weights.shape[2]
        which = map(np.int64, (at[0] * plane + at[1] * row + at[2], plane, row))
        turns = map(np.int32, (n > 0, keep, n == len(starts) - 1))
        arrays: tuple[Argument, ...] = (A(0), A(1), A(2), spectra, found, totals, sized, W(5) if keep else A(2), *which, *turns)
        for first in range(0, total, at_once):
            many, how = min(at_once, total - first), (*places, np.int64(first), *beyond, kind.type(lies["cval"]))
            launches.append(launch("planes_forward", many, A(0), found, spectra, *how))
            launches.append(launch("depth_through", many, found, spectra, mask, totals, *how))
            launches.append(launch("planes_back", many, *arrays, *how))
    return Program(tuple(launches), tuple(work))
