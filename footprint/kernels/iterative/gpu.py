"""Launch shapes of the steps of iterative reconstruction: a work-item an element, a group a block of a sum."""

from __future__ import annotations

import numpy as np

from footprint.kernels.common.launch import A, Argument, Launch, Program, W
from footprint.kernels.common.stream import ITEMS, flat_grid
from footprint.kernels.iterative.contract import BLOCK
from footprint.spec import ArraySpec, Limits

_MOST_GROUPS = 1 << 20


def _each(entry: str, over: ArraySpec, *args: Argument, count: int | None = None) -> Program:
    """A work-item an element of ``over``; the kernel is told how many there are, and in one slice."""
    if over.size == 0:
        return Program(())
    sizes = (np.int64(over.size), np.int64(over.size // over.shape[0])) if count is None else (np.int64(count),)
    return Program((Launch("iterative.knl", entry, flat_grid(over.size), (ITEMS, 1, 1), (*args, *sizes), (("BLOCK", BLOCK),)),))


def reciprocal_program(limits: Limits, gains: ArraySpec, *, least: float, plus: float) -> Program:
    """In place."""
    return _each("reciprocal", gains, A(0), np.float32(least), np.float32(plus), count=gains.size)


def residual_program(limits: Limits, lines: ArraySpec, gains: ArraySpec, seen: ArraySpec) -> Program:
    """What is not explained yet."""
    return _each("residual", lines, A(0), A(1), A(2))


def update_program(limits: Limits, step: ArraySpec, gains: ArraySpec, volume: ArraySpec, *, positive: bool) -> Program:
    """A step of SIRT."""
    return _each("update", volume, A(0), A(1), A(2), np.int32(positive))


def advance_program(
    limits: Limits, direction: ArraySpec, upper: ArraySpec, lower: ArraySpec, values: ArraySpec, *, sign: int
) -> Program:
    """Along a direction."""
    return _each("blend", values, A(3), A(0), A(1), A(2), np.float64(sign), A(3))


def redirect_program(limits: Limits, step: ArraySpec, upper: ArraySpec, lower: ArraySpec, direction: ArraySpec) -> Program:
    """The next direction."""
    return _each("blend", direction, A(0), A(3), A(1), A(2), np.float64(1), A(3))


def dots_program(limits: Limits, values: ArraySpec, sums: ArraySpec) -> Program:
    """A group a block, then one for the blocks of every slice."""
    if values.size == 0:
        return Program(())
    n_z, defines = values.shape[0], (("BLOCK", BLOCK),)
    n = values.size // n_z
    blocks = -(-n // BLOCK)
    sizes = (np.int64(n_z), np.int64(n), np.int64(blocks))
    group, most = (ITEMS, 1, 1), _MOST_GROUPS
    first = Launch("iterative.knl", "squares", (min(n_z * blocks, most), 1, 1), group, (A(0), W(0), *sizes), defines)
    last = Launch("iterative.knl", "add_blocks", (min(n_z, most), 1, 1), group, (W(0), A(1), *sizes), defines)
    return Program((first, last), (ArraySpec((n_z, blocks), "float64"),))


def data_dual_program(limits: Limits, lines: ArraySpec, seen: ArraySpec, gains: ArraySpec, dual: ArraySpec) -> Program:
    """The dual of what was measured."""
    return _each("data_dual", lines, A(0), A(1), A(2), A(3))


def gradient_dual_program(limits: Limits, bar: ArraySpec, dual: ArraySpec, *, most: float) -> Program:
    """The dual of the gradient."""
    _, n_y, n_x = bar.shape
    return _each("gradient_dual", bar, A(0), A(1), np.int32(n_y), np.int32(n_x), np.float32(most), count=bar.size)


def primal_program(
    limits: Limits, step: ArraySpec, dual: ArraySpec, gains: ArraySpec, volume: ArraySpec, bar: ArraySpec, *, scale: float,
    positive: bool,
) -> Program:  # fmt: skip
    """Slices and where they are going."""
    _, n_y, n_x = volume.shape
    sizes = (np.int32(n_y), np.int32(n_x), np.float32(scale), np.int32(positive))
    return _each("primal", volume, *(A(i) for i in range(5)), *sizes, count=volume.size)
