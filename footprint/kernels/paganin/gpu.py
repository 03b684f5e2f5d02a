"""Launch shapes of the phase filter: a work-item a column, groups down the rows."""

from __future__ import annotations

import numpy as np

from footprint.kernels.common.launch import MAX_GROUPS_Y, A, Argument, Launch, Program
from footprint.kernels.paganin.contract import CODES
from footprint.spec import ArraySpec, Limits

TEXT = "paganin.knl"
# Rows of the result that a work-item sums side by side, in registers with as many taps.
ROWS = 16


def _launch(entry: str, across: int, down: int, args: tuple[Argument, ...]) -> Program:
    grid = (-(-across // 256), min(down, MAX_GROUPS_Y), 1)
    return Program((Launch(TEXT, entry, grid, (256, 1, 1), args, (("ROWS", ROWS),)),))


def pad_program(limits: Limits, lines: ArraySpec, padded: ArraySpec, *, mode: str, level: float) -> Program:
    """One pass over the padded rows."""
    rows, width = padded.shape
    sizes = map(np.int64, (rows, lines.shape[2], width))
    return _launch("pad_lines", width, rows, (A(0), A(1), *sizes, np.int32(CODES[mode]), np.float32(level)))


def blur_program(
    limits: Limits,
    spectrum: ArraySpec,
    taps: ArraySpec,
    reach: ArraySpec,
    lines: ArraySpec,
    y: ArraySpec,
    out: ArraySpec,
    *,
    first: int,
    start: int,
    total: int,
    mode: str,
) -> Program:
    """Every row of the result."""
    (n, m, _), k, width = lines.shape, y.shape[1], 2 * spectrum.shape[1]
    sizes = map(np.int32, (n, m, k, width, first, start, total))
    return _launch("blur_rows", width, n * -(-k // ROWS), (A(0), A(1), A(2), A(5), *sizes, np.int32(CODES[mode])))


def crop_program(limits: Limits, padded: ArraySpec, y: ArraySpec, *, level: float) -> Program:
    """One pass over the rows."""
    rows, width = padded.shape
    sizes = map(np.int64, (rows, width, y.shape[2]))
    return _launch("crop_lines", y.shape[2], rows, (A(0), A(1), *sizes, np.float32(level)))
