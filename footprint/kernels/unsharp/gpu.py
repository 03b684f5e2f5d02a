"""Launch shapes of unsharp masks: a work-item a column, groups down the rows."""

from __future__ import annotations

import numpy as np

from footprint.kernels.common.launch import MAX_GROUPS_Y, A, Argument, Launch, Program
from footprint.spec import ArraySpec, Limits


def _program(entry: str, across: int, down: int, args: tuple[Argument, ...]) -> Program:
    grid = (-(-across // 256), min(down, MAX_GROUPS_Y), 1)
    return Program((Launch("unsharp.knl", entry, grid, (256, 1, 1), args),))


def blur_rows_program(limits: Limits, lines: ArraySpec, weights: ArraySpec, blurred: ArraySpec) -> Program:
    """One pass over the rows."""
    rows, n_x = blurred.shape
    sizes = map(np.int64, (rows, n_x, weights.shape[0] - 1))
    return _program("blur_rows", n_x, rows, (A(0), A(1), A(2), *sizes))


def sharpen_program(
    limits: Limits,
    lines: ArraySpec,
    blurred: ArraySpec,
    weights: ArraySpec,
    out: ArraySpec,
    *,
    amount: float,
    z0: int,
    y0: int,
    total: int,
) -> Program:
    """One pass over the result."""
    n, k, n_x = out.shape
    sizes = map(np.int64, (n, lines.shape[1], k, n_x, weights.shape[0] - 1))
    places = map(np.int64, (z0, y0, total))
    return _program("sharpen", n_x, n * k, (A(0), A(1), A(2), A(3), *sizes, np.float32(amount), *places))
