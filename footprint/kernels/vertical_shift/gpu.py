"""Launch shape of the kernel ``vertical_shift``."""

from __future__ import annotations

import numpy as np

from footprint.kernels.common.launch import MAX_GROUPS_Y, A, Argument, Launch, Program
from footprint.kernels.common.load import c_type
from footprint.kernels.common.stream import ITEMS
from footprint.spec import ArraySpec, Limits

COLUMNS = 2
"""Columns of a work-item."""
ROWS = 4
"""Rows a work-item moves in one step, in registers."""
CHUNK = 32
"""Rows it walks in all, where it need not walk the whole column."""


def vertical_shift_program(limits: Limits, radios: ArraySpec, shifts: ArraySpec, out: ArraySpec, *, z0: int = 0) -> Program:
    """The whole stack in one launch."""
    if out.size == 0:
        return Program(())
    n_angles, n_z, n_x = out.shape
    tx = next((n for n in (32, 64, 128) if n_x <= n * COLUMNS), ITEMS)
    ty = ITEMS // tx
    # never more chunks than a grid may be high: a taller stack gets longer walks
    chunk = max(CHUNK, -(-n_z // (MAX_GROUPS_Y * ty * ROWS)) * ROWS)
    grid = (-(-n_x // (tx * COLUMNS)), -(-n_z // (ty * chunk)), min(n_angles, MAX_GROUPS_Y))
    defines = (
        *(("T", c_type(out.dtype)), ("S", c_type(shifts.dtype)), ("TX", tx), ("TY", ty), ("CX", COLUMNS)),
        *(("ROWS", ROWS), ("CHUNK", chunk)),
    )
    sizes = map(np.int64, (n_angles, radios.shape[1], n_z, n_x, z0))
    args: tuple[Argument, ...] = (A(0), A(1), A(2), *sizes)
    return Program((Launch("vertical_shift.knl", "vertical_shift", grid, (tx, ty, 1), args, defines),))
