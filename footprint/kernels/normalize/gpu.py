"""Launch shape of the kernel ``normalize``: a work-group a row."""

from __future__ import annotations

import numpy as np

from footprint.kernels.common.launch import A, Launch, Program
from footprint.kernels.normalize.contract import norms
from footprint.spec import ArraySpec, Limits

MAX_GRID = 1 << 20


def normalize_program(limits: Limits, rows: ArraySpec, out: ArraySpec) -> Program:
    """Rows are read twice, the second time from a cache."""
    if rows.size == 0:
        return Program(())
    n_x = rows.shape[-1]
    n = rows.size // n_x
    mean, slope, bend = map(np.float64, norms(n_x))
    args = (A(0), A(1), np.int64(n), np.int64(n_x), mean, slope, bend)
    return Program((Launch("normalize.knl", "less_parabola", (min(n, MAX_GRID), 1, 1), (256, 1, 1), args),))
