"""Launch shapes of sigma clipping: how many groups read the image, and how many passes one launch makes."""

from __future__ import annotations

import numpy as np

from footprint.errors import LimitError
from footprint.kernels.common.launch import A, Argument, Defines, Launch, Program
from footprint.kernels.sigma_clip.contract import ends_at_once, rows_per_block
from footprint.spec import ArraySpec, Limits

BINS, LEVELS, GATHERED = 8192, 6, 4096
USUAL, PASSES = 14, 12
"""Launches where groups may not wait for each other: before one group goes on alone; and before the host is asked.

Most images need two passes and three to ten steps over the list. A launch that has nothing to do takes two microseconds, and a step
36 where one group takes it and 13 where all do (2048 x 2048 pixels, H100).
"""
LARGEST = 2**32 - 1
"""Pixels a bin can count."""


def sigma_clip_state(
    limits: Limits, block: ArraySpec, *rest: ArraySpec, size: int, width: int, **_: object
) -> tuple[ArraySpec, ...]:
    """Numbers, marks, sums of each group, histograms, ticket, pixels gathered and listed; in parts what each work-item has."""
    groups, items = shape(limits, size)
    return (
        ArraySpec((29,), "float64"), ArraySpec((57,), "int64"), ArraySpec((groups, 4), "float64"),
        ArraySpec((LEVELS, BINS), "uint32"), ArraySpec((3,), "uint32"), ArraySpec((GATHERED,), block.dtype),
        ArraySpec((groups, room(groups, size)), block.dtype), ArraySpec((groups,), "uint32"),
        ArraySpec((groups * items if block.size < size else 1, 2), "float64"),
    )  # fmt: skip


def room(groups: int, size: int) -> int:
    """Pixels that each group may list: a sixteenth of its own, some more of a small image."""
    return max(256, 4 * -(-size // (64 * groups)))


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
    """The whole clip, some passes of it, or a part of one; see `footprint.kernels.sigma_clip.contract` for the arguments."""
    if size > LARGEST:
        raise LimitError("image", f"{size} pixels", f"at most {LARGEST} where a GPU clips it", "clip it on the cpu")
    groups, items = shape(limits, size)
    kind, at_once, waits = np.dtype(block.dtype), ends_at_once(limits), limits.together >= groups
    wide = kind.itemsize == 8
    defines: Defines = (
        ("T", "f64" if wide else "f32"), ("KEY", "u64" if wide else "u32"), ("KEY_BITS", 8 * kind.itemsize), ("WIDE", int(wide)),
        ("NT", items), ("STRICT", int(strict)), ("PARTS", int(not at_once or block.size < size)),
        ("LISTS", int(at_once)), ("WAITS", int(waits)),
    )  # fmt: skip
    kept = tuple(A(3 + i) for i in range(8))
    args: tuple[Argument, ...] = (A(0), *kept, np.int64(size), np.int64(room(groups, size)), np.float64(sigma), np.int32(maxiters))

    def launch(entry: str, n: int, *more: Argument, together: bool = False) -> Launch:
        return Launch("sigma_clip.knl", entry, (n, 1, 1), (items, 1, 1), (*args, *more), defines, together=together)

    # The least that a first part holds, so that its center is that of the whole.
    lead = min(rows_per_block(size, width) * width, size)
    begin, stop = first * width, first * width + block.size
    start = (launch("clip_start", 1, np.int64(lead)),) if turn == first == 0 else ()
    end = Launch("sigma_clip.knl", "clip_end", (1, 1, 1), (1, 1, 1), (A(3), A(4), A(1), A(2), np.int32(zero)), defines)
    if at_once and block.size == size and waits:
        return Program((*start, launch("clip_all", groups, together=True), end))
    if at_once and block.size == size:
        passes = [launch("clip_pass", groups)] * USUAL
        return Program((*start, *passes, launch("clip_rest", 1, np.int32(groups)), end))
    sweep = launch("clip_sweep", groups, np.int64(begin), np.int64(stop), A(11))
    conclude = launch("clip_conclude", 1, np.int32(groups))
    if block.size == size:
        return Program((*start, *[sweep, conclude] * PASSES, end))
    return Program((*start, sweep, *((conclude, end) if stop == size else ())))
