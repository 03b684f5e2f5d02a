"""Launch shape of the kernel ``transpose``: a work-group a row."""

from __future__ import annotations

import numpy as np

from footprint.kernels.common.launch import A, Launch, Program
from footprint.spec import ArraySpec, Limits

MAX_GRID = 1 << 20


def transpose_program(limits: Limits, stack: ArraySpec, out: ArraySpec) -> Program:
    """One pass over the rows."""
    if stack.size == 0:
        return Program(())
    n, m, n_x = stack.shape
    args = (A(0), A(1), np.int64(n), np.int64(m), np.int64(n_x))
    return Program((Launch("transpose.knl", "transpose", (min(n * m, MAX_GRID), 1, 1), (256, 1, 1), args),))
