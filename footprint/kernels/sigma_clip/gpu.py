"""Launch shapes of sigma clipping: how many groups read the image, and how many passes one launch makes."""

from __future__ import annotations

import numpy as np

from footprint.errors import ShapeError
from footprint.kernels.common.launch import A, Argument, Launch, Program
from footprint.kernels.sigma_clip.contract import ends_at_once
from footprint.spec import ArraySpec, Limits

BINS, LEVELS, STRAYS = 8192, 6, 4096
PASSES = 40
"""Passes made before the host is asked whether it is done, where groups may not wait for each other."""

Defines = tuple[tuple[str, int | float | str], ...]


def sigma_clip_state(limits: Limits, block: ArraySpec, *rest: ArraySpec, size: int, **_: object) -> tuple[ArraySpec, ...]:
    """Numbers, marks, sums of each group, histograms, ticket, pixels near the coming bounds."""
    return (
        ArraySpec((12,), "float64"), ArraySpec((43,), "int64"), ArraySpec((shape(limits, size)[0], 4), "float64"),
        ArraySpec((LEVELS, BINS), "uint32"), ArraySpec((3,), "uint32"), ArraySpec((STRAYS,), block.dtype),
    )  # fmt: skip


def shape(limits: Limits, size: int) -> tuple[int, int]:
    """Groups and work-items of each: one group a core, so that all run side by side.

    An image near the size of the second-level cache waits more for groups to gather than for pixels: 2048² is clipped in .23 ms by
    512 work-items a group and in .28 by 1024, 8192² in 1.03 and .91 (H100).
    """
    wanted = 64 if limits.cores <= 16 else 512 if size <= 1 << 24 else 1024
    return max(1, limits.cores), min(wanted, 1 << (max(limits.group, 32).bit_length() - 1))


def sigma_clip_program(
    limits: Limits, block: ArraySpec, stats: ArraySpec, counts: ArraySpec, *state: ArraySpec, turn: int, first: int, size: int,
    width: int, sigma: float, maxiters: int, strict: bool, zero: bool,
) -> Program:  # fmt: skip
    """The whole clip, or PASSES passes of it; see `footprint.kernels.sigma_clip.contract` for the arguments."""
    if block.size < size:
        raise ShapeError("image", f"a block of {block.shape} of {size} pixels", "the whole image where a GPU clips it")
    groups, items = shape(limits, size)
    kind = np.dtype(block.dtype)
    wide = kind.itemsize == 8
    defines: Defines = (
        ("T", "f64" if wide else "f32"), ("KEY", "u64" if wide else "u32"), ("KEY_BITS", 8 * kind.itemsize), ("WIDE", int(wide)),
        ("NT", items), ("STRICT", int(strict)),
    )  # fmt: skip
    kept = tuple(A(3 + i) for i in range(6))
    args: tuple[Argument, ...] = (A(0), *kept, np.int64(size), np.float64(sigma), np.int32(maxiters))
    start = Launch("sigma_clip.knl", "clip_start", (1, 1, 1), (items, 1, 1), (*args, np.int32(turn)), defines)
    end = Launch("sigma_clip.knl", "clip_end", (1, 1, 1), (1, 1, 1), (A(3), A(4), A(1), A(2), np.int32(zero)), defines)
    if ends_at_once(limits):
        together = (*defines, ("TOGETHER", 1))
        return Program(
            (start, Launch("sigma_clip.knl", "clip_all", (groups, 1, 1), (items, 1, 1), args, together, together=True), end)
        )
    sweep = Launch("sigma_clip.knl", "clip_sweep", (groups, 1, 1), (items, 1, 1), args, defines)
    conclude = Launch("sigma_clip.knl", "clip_conclude", (1, 1, 1), (items, 1, 1), (*args, np.int32(groups)), defines)
    return Program((start, *[sweep, conclude] * PASSES, end))
