"""Launch shape of the kernel ``untilt``: a work-item a column, groups down the rows."""

from __future__ import annotations

import numpy as np

from footprint.kernels.common.launch import MAX_GROUPS_Y, A, Argument, Launch, Program
from footprint.spec import ArraySpec, Limits


def untilt_program(
    limits: Limits, images: ArraySpec, out: ArraySpec, *, sine: float, cosine: float, z0: int, y0: int, rows: int
) -> Program:
    """One pass over the result."""
    if out.size == 0:
        return Program(())
    n, k, n_x = out.shape
    sizes = map(np.int64, (n, images.shape[1], k, n_x, z0, y0, rows))
    args: tuple[Argument, ...] = (A(0), A(1), *sizes, np.float64(sine), np.float64(cosine))
    grid = (-(-n_x // 256), min(n * k, MAX_GROUPS_Y), 1)
    return Program((Launch("untilt.knl", "untilt", grid, (256, 1, 1), args),))
