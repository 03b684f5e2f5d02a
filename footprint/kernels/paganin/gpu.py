"""Launch shapes of the phase filter: a group a row that is transformed on the chip, elsewhere a work-item a column."""

from __future__ import annotations

import numpy as np

from footprint.kernels.common.launch import MAX_GROUPS_Y, A, Argument, Defines, Launch, Program
from footprint.kernels.common.stages import extended, stages
from footprint.kernels.paganin.contract import CODES
from footprint.spec import ArraySpec, Limits

TEXT = "paganin.knl"
# Rows of the result that a work-item sums side by side, in registers with as many taps.
ROWS = 16
# Frequencies of a group of them, and how many groups of rows it makes.
LANES, STRIPS = 32, 2


def _launch(entry: str, across: int, down: int, args: tuple[Argument, ...]) -> Program:
    grid = (-(-across // 256), min(down, MAX_GROUPS_Y), 1)
    return Program((Launch(TEXT, entry, grid, (256, 1, 1), args, _defines("edge")),))


def _defines(mode: str) -> Defines:
    return (("ROWS", ROWS), ("LANES", LANES), ("STRIPS", STRIPS), ("MODE", CODES[mode]))


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
    (n, m, _), k, width = lines.shape, y.shape[1], spectrum.shape[1]
    args: tuple[Argument, ...] = (A(0), A(1), A(2), A(5), *map(np.int32, (n, m, k, width, first, start, total)))
    grid = (-(-width // LANES), min(n * -(-k // (ROWS * STRIPS)), MAX_GROUPS_Y), 1)
    return Program((Launch(TEXT, "blur_rows", grid, (LANES, STRIPS, 1), args, _defines(mode)),))


def crop_program(limits: Limits, padded: ArraySpec, y: ArraySpec, *, level: float) -> Program:
    """One pass over the rows."""
    rows, width = padded.shape
    sizes = map(np.int64, (rows, width, y.shape[2]))
    return _launch("crop_lines", y.shape[2], rows, (A(0), A(1), *sizes, np.float32(level)))


def forward_program(
    limits: Limits, lines: ArraySpec, twiddle: ArraySpec, spectrum: ArraySpec, *, mode: str, level: float
) -> Program:
    """A group a row: read, continued, transformed."""
    args = (A(0), A(1), A(2), np.int32(lines.shape[2]))
    return _staged(limits, "forward", twiddle.size, spectrum.shape[0], lines.shape[2], args, mode, level)


def backward_program(limits: Limits, spectrum: ArraySpec, twiddle: ArraySpec, y: ArraySpec, *, mode: str, level: float) -> Program:
    """A group a row: transformed back and cropped."""
    args = (A(0), A(1), A(2), np.int32(y.shape[2]))
    return _staged(limits, "backward", twiddle.size, spectrum.shape[0], y.shape[2], args, mode, level)


def _staged(
    limits: Limits, entry: str, numbers: int, n: int, n_x: int, args: tuple[Argument, ...], mode: str, level: float
) -> Program:
    shape = stages(limits, numbers)
    if shape is None:
        raise ValueError(f"a line of {numbers} complex numbers does not fit {limits.local_mem} bytes")
    border = {"air": "constant", "zeros": "constant"}.get(mode, mode)
    defines = (*shape.defines(), *extended(shape, n_x, border), ("LEVEL", f"{level!r}f"))
    return Program((Launch("paganin_rows.knl", entry, (n, 1, 1), (shape.items, 1, 1), args, defines, shape.local),))
