"""Launch shape of the kernel ``half_acquisition``: a work-group a row."""

from __future__ import annotations

import numpy as np

from footprint.kernels.common.launch import A, Argument, Launch, Program
from footprint.spec import ArraySpec, Limits

GROUP = 256
MAX_GRID = 1 << 20


def half_acquisition_program(
    limits: Limits,
    rows: ArraySpec,
    axes: ArraySpec,
    moves: ArraySpec,
    out: ArraySpec,
    *,
    offset: int,
    extra: int,
    side: int,
    reach: float,
) -> Program:
    """One pass over the result."""
    if out.size == 0:
        return Program(())
    n_z, n_a, n_x = rows.shape
    sizes = map(np.int64, (n_z * n_a, n_a, moves.shape[0], n_x, out.shape[2], offset, extra, side))
    args: tuple[Argument, ...] = (A(0), A(1), A(2), A(3), *sizes, np.float64(reach))
    grid = (min(n_z * n_a, MAX_GRID), 1, 1)
    return Program((Launch("half_acquisition.knl", "half_acquisition", grid, (GROUP, 1, 1), args),))
