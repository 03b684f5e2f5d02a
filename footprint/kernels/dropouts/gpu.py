"""Launch shape of the kernel ``dropouts``: a work-group a row."""

from __future__ import annotations

import numpy as np

from footprint.kernels.common.launch import A, Launch, Program
from footprint.kernels.dropouts.contract import LONGEST
from footprint.spec import ArraySpec, Limits

MAX_GRID = 1 << 20


def dropouts_program(limits: Limits, rows: ArraySpec, out: ArraySpec, *, level: float) -> Program:
    """One pass over the rows."""
    if rows.size == 0:
        return Program(())
    n_x = rows.shape[-1]
    n = rows.size // n_x
    args = (A(0), A(1), np.int64(n), np.int64(n_x), np.float32(level))
    grid = (min(n, MAX_GRID), 1, 1)
    return Program((Launch("dropouts.knl", "dropouts", grid, (256, 1, 1), args, (("LONGEST", LONGEST),)),))
