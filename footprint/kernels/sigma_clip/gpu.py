"""Launch shapes of sigma clipping: how many groups read the image, and how many passes one launch makes."""

from __future__ import annotations

import numpy as np

from footprint.errors import ShapeError
from footprint.kernels.common.launch import A, Argument, Launch, Program, W
from footprint.spec import ArraySpec, Limits

BINS, LEVELS, STRAYS = 8192, 6, 4096
PASSES = 40
"""Passes made before the host is asked whether it is done, where groups may not wait for each other."""

Defines = tuple[tuple[str, int | float | str], ...]


def state_specs(groups: int, dtype: str) -> tuple[ArraySpec, ...]:
    """Numbers, marks, sums of each group, histograms, ticket, pixels near the coming bounds."""
    return (
        ArraySpec((12,), "float64"), ArraySpec((43,), "int64"), ArraySpec((groups, 4), "float64"),
        ArraySpec((LEVELS, BINS), "uint32"), ArraySpec((3,), "uint32"), ArraySpec((STRAYS,), dtype),
    )  # fmt: skip


def shape(limits: Limits, size: int) -> tuple[int, int]:
    """Groups and work-items of each: one group a core, so that all run side by side.

    An image near the size of the second-level cache waits more for groups to gather than for pixels: 2048² is clipped in .23 ms by
    512 work-items a group and in .28 by 1024, 8192² in 1.03 and .91 (H100).
    """
    wanted = 64 if limits.cores <= 16 else 512 if size <= 1 << 24 else 1024
    return max(1, limits.cores), min(wanted, 1 << (max(limits.group, 32).bit_length() - 1))


def launches(limits: Limits, block: ArraySpec, size: int, sigma: float, maxiters: int, strict: bool) -> tuple[Launch, ...]:
    """Clip array 0 with ``where`` as array 1, the state in the first six work arrays."""
    if block.size < size:
        raise ShapeError("image", f"a block of {block.shape} of {size} pixels", "the whole image where a GPU clips it")
    groups, items = shape(limits, size)
    kind = np.dtype(block.dtype)
    wide = kind.itemsize == 8
    defines: Defines = (
        ("T", "f64" if wide else "f32"), ("KEY", "u64" if wide else "u32"), ("KEY_BITS", 8 * kind.itemsize), ("WIDE", int(wide)),
        ("NT", items), ("STRICT", int(strict)),
    )  # fmt: skip
    state = tuple(W(i) for i in range(6))
    args: tuple[Argument, ...] = (A(0), *state, np.int64(size), np.float64(sigma), np.int32(maxiters))
    start = Launch("sigma_clip.knl", "clip_start", (1, 1, 1), (items, 1, 1), (*args, A(1)), defines)
    if limits.together >= groups:
        whole = Launch(
            "sigma_clip.knl", "clip_all", (groups, 1, 1), (items, 1, 1), args, (*defines, ("TOGETHER", 1)), together=True
        )
        return start, whole
    sweep = Launch("sigma_clip.knl", "clip_sweep", (groups, 1, 1), (items, 1, 1), args, defines)
    conclude = Launch("sigma_clip.knl", "clip_conclude", (1, 1, 1), (items, 1, 1), (*args, np.int32(groups)), defines)
    return (start, *[sweep, conclude] * PASSES)


def end(stats: int, counts: int, defines: Defines, level: int = -1) -> Launch:
    """Write the results; ``level`` 0 and 1 add what a source finder stands on, see the text."""
    args = (W(0), W(1), A(stats), A(counts), np.int32(level))
    return Launch("sigma_clip.knl", "clip_end", (1, 1, 1), (1, 1, 1), args, defines)


def sigma_clip_program(
    limits: Limits, block: ArraySpec, where: ArraySpec, stats: ArraySpec, counts: ArraySpec, *, size: int, width: int, sigma: float,
    maxiters: int, strict: bool,
) -> Program:  # fmt: skip
    """The whole clip, or PASSES passes of it; see `footprint.kernels.sigma_clip.contract` for the arguments."""
    made = launches(limits, block, size, sigma, maxiters, strict)
    return Program((*made, end(2, 3, made[0].defines)), state_specs(shape(limits, size)[0], block.dtype))
