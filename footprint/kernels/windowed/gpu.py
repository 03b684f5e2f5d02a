"""Launch shapes of windowed centres: a work-item a source, and 32 a window."""

from __future__ import annotations

import numpy as np

from footprint.kernels.common.launch import A, Launch, Program
from footprint.kernels.common.load import c_type
from footprint.kernels.threshold.gpu import groups_for
from footprint.kernels.windowed.contract import COLUMNS, MOST, REACH, STEP
from footprint.spec import ArraySpec, Limits

_NUMBERS = (("COLUMNS", COLUMNS), ("REACH", REACH), ("STEP", STEP), ("MOST", MOST))


def start_program(
    limits: Limits,
    count: ArraySpec,
    boxes: ArraySpec,
    moments: ArraySpec,
    table: ArraySpec,
    *,
    first: int,
    size: float,
    least: float,
) -> Program:
    """See `footprint.kernels.windowed.contract` for the arguments."""
    n = table.shape[0]
    if n == 0 or first:
        return Program(())
    args = (A(0), A(1), A(2), A(3), np.int64(n), np.int32(moments.shape[1]), np.float64(size), np.float64(least))
    return Program(
        (Launch("windowed_places.knl", "windowed_start", (groups_for(limits, n, 64), 1, 1), (64, 1, 1), args, _NUMBERS),)
    )


def add_program(limits: Limits, block: ArraySpec, level: ArraySpec, spread: ArraySpec, table: ArraySpec, *, first: int) -> Program:
    """See `footprint.kernels.windowed.contract` for the arguments."""
    n = table.shape[0]
    if n == 0:
        return Program(())
    kinds = zip("TLS", (c_type(one.dtype) for one in (block, level, spread)))
    maps = (("LEVELS", int(level.size > 1)), ("SPREADS", int(spread.size > 1)))
    args = (A(0), A(1), A(2), A(3), np.int64(n), np.int64(first), np.int64(block.shape[0]), np.int64(block.shape[1]))
    groups = max(1, min(n, 64 * max(1, limits.cores)))
    return Program((Launch("windowed.knl", "windowed_add", (groups, 1, 1), (32, 1, 1), args, (*kinds, *maps, *_NUMBERS)),))


def move_program(limits: Limits, table: ArraySpec, flag: ArraySpec, *, turn: int) -> Program:
    """See `footprint.kernels.windowed.contract` for the arguments."""
    n = table.shape[0]
    if n == 0:
        return Program(())
    grid = (groups_for(limits, n, 64), 1, 1)
    args = (A(0), np.int64(n))
    move = Launch("windowed_places.knl", "windowed_move", grid, (64, 1, 1), args, _NUMBERS)
    told = Launch(
        "windowed_places.knl", "windowed_told", (1, 1, 1), (256, 1, 1), (A(0), A(1), np.int64(n), np.int32(turn)), _NUMBERS
    )
    return Program((move, told))
