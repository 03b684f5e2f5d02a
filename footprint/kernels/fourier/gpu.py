"""Launch shapes of the Fourier method: a work-item gathers a patch of cells; about the origin, where angles meet, a group."""

from __future__ import annotations

import numpy as np

from footprint.kernels.common.launch import MAX_GROUPS_Y, A, Argument, Defines, Launch, Program, W
from footprint.kernels.common.stages import Stages, extended, stages
from footprint.kernels.common.stream import flat_grid
from footprint.kernels.fourier.contract import BITS, MARGIN, WINDOW
from footprint.kernels.fourier.taps import taps_of
from footprint.spec import ArraySpec, Limits

TEXT = "fourier.knl"
PATCH = 2
"""Cells a side of the square that a work-item takes: a sample is read, and its place found, once for all of them."""
ACROSS = 8
"""Patches along a row of the grid that work-items side by side take: a warp has 8 x 4, so that they meet the same samples."""
MANY = 128
"""Work-items that share a patch about the origin."""
CROWD = 40
"""Within 1 / CROWD cells an angle of the origin, patches are shared: more than some hundred angles cross each of them there."""
BESIDE = 4
"""Columns of the grid that a group makes lines of: a sector of memory holds four cells."""
EACH_ROW = 4
"""Samples of a row that a work-item multiplies."""
LEAST = 1e-7
"""Cells that a sample is taken to advance at least, where steps are divided by: no row is so long that it would matter."""


def _defines(**own: int | float | str) -> Defines:
    """Constants of the text; those that an entry has no use for have a value all the same."""
    usual: dict[str, int | float | str] = {
        "RESPONSE": "f32", "COMPLEX": 0, "EACH_ROW": EACH_ROW, "BITS": BITS, "CELL": 2.0**-BITS, "LEAST": LEAST, "MARGIN": MARGIN,
        "REACH": 3.0, "SHARE": "q", "PATCH": PATCH, "ACROSS": ACROSS, "MANY": MANY, "ACCUMULATE": 0,
    }  # fmt: skip
    return tuple((name, f"{value!r}f" if isinstance(value, float) else value) for name, value in (usual | own).items())


def horner(powers: tuple[float, ...]) -> str:
    """A polynomial of q in C, from its coefficients, that of the first power first."""
    found = f"{powers[-1]!r}f"
    for power in powers[-2::-1]:
        found = f"FMA({found}, q, {power!r}f)"
    return f"q * {found}"


def _one(entry: str, grid: tuple[int, int, int], args: tuple[Argument, ...], **own: int | float | str) -> Program:
    group = (32, 8, 1) if entry == "turn" else (256, 1, 1)
    return Program((Launch(TEXT, entry, grid, group, args, _defines(**own)),))


def gain_program(limits: Limits, spectrum: ArraySpec, response: ArraySpec, table: ArraySpec, *, x0: int, y0: int) -> Program:
    """One pass over the spectra; the phase's f64 once a row and work-item."""
    n, n_f = spectrum.shape
    is_complex = np.dtype(response.dtype).kind == "c"
    args = (A(0), A(1), A(2), np.int64(n), np.int32(n_f), np.int32(x0), np.int32(y0))
    grid = (-(-n_f // (256 * EACH_ROW)), min(n, MAX_GROUPS_Y), 1)
    return _one("gain", grid, args, RESPONSE="f32x2" if is_complex else "f32", COMPLEX=int(is_complex))


def clear_program(limits: Limits, grid: ArraySpec) -> Program:
    """Zeros."""
    return _one("clear", flat_grid(grid.size), (A(0), np.int64(grid.size)))


def spread_program(
    limits: Limits,
    spectrum: ArraySpec,
    lattice: ArraySpec,
    taps: ArraySpec,
    grid: ArraySpec,
    *,
    accuracy: float,
    group: int,
    accumulate: bool,
) -> Program:
    """Look over the angles, then gather; ``taps`` are the CPU's, and ``group`` its samples, where here is one even polynomial."""
    (n, n_f), (rows, cells) = spectrum.shape, grid.shape
    own = taps_of(accuracy)
    bins = 4 << max(n - 1, 1).bit_length()
    radius = min(n // CROWD, cells // 2 - WINDOW, rows - 2 * MARGIN - WINDOW - 1)
    defines = _defines(REACH=own.count / 2, SHARE=horner(own.even), ACCUMULATE=int(accumulate))
    begins, steps = ArraySpec((bins + 1,), "int32"), ArraySpec((n, 4))
    table, sizes = (W(1), W(0)), (np.int32(n), np.int32(n_f), np.int32(rows), np.int32(cells), np.int32(bins), np.int32(radius))
    look = Launch(TEXT, "survey", (-(-max(n, bins + 1) // 256), 1, 1), (256, 1, 1), (A(1), *table, sizes[0], sizes[4]), defines)
    args = (A(0), A(1), *table, A(3), *sizes)
    tiles = (-(-cells // (PATCH * ACROSS)), -(-rows // (PATCH * 256 // ACROSS)), 1)
    launches = [look, Launch(TEXT, "gather", tiles, (256, 1, 1), args, defines)]
    if radius > 0:
        middle = (-(-2 * radius // PATCH) + 1, -(-(radius + MARGIN) // PATCH), 1)
        launches.append(Launch(TEXT, "gather_middle", middle, (MANY, 1, 1), args, defines))
    return Program(tuple(launches), (begins, steps))


def fold_program(limits: Limits, grid: ArraySpec, *, cells: int) -> Program:
    """A work-item a column."""
    columns = grid.shape[1]
    return _one("fold", (-(-columns // 256), 1, 1), (A(0), np.int32(columns), np.int32(cells // 2)))


def turn_program(limits: Limits, grid: ArraySpec, columns: ArraySpec, gains: ArraySpec, lines: ArraySpec) -> Program:
    """Tiles of 32 x 32."""
    n, half = lines.shape
    args = (A(0), A(1), A(2), A(3), np.int32(n), np.int32(half), np.int32(grid.shape[1]))
    return _one("turn", (-(-n // 32), -(-half // 32), 1), args)


def crop_program(limits: Limits, real: ArraySpec, gains: ArraySpec, out: ArraySpec) -> Program:
    """One pass over the pixels."""
    n, width = out.shape
    grid = (-(-width // 256), min(n, MAX_GROUPS_Y), 1)
    return _one("crop", grid, (A(0), A(1), A(2), np.int64(n), np.int32(width), np.int32(real.shape[1])))


def _staged(source: str, entry: str, shape: Stages, n: int, args: tuple[Argument, ...], defines: Defines) -> Program:
    """One group a line."""
    return Program((Launch(source, entry, (n, 1, 1), (shape.items, 1, 1), args, (*shape.defines(), *defines), shape.local),))


def _fitting(limits: Limits, numbers: int, beside: int = 1) -> Stages:
    shape = stages(limits, numbers, beside)
    if shape is None:
        raise ValueError(f"a line of {numbers} complex numbers does not fit {limits.local_mem} bytes")
    return shape


def rows_program(
    limits: Limits,
    samples: ArraySpec,
    table: ArraySpec,
    turns: ArraySpec,
    response: ArraySpec,
    spectrum: ArraySpec,
    *,
    mode: str,
    x0: int,
    y0: int,
) -> Program:
    """A group a row."""
    (n, n_x), shape = samples.shape, _fitting(limits, turns.size)
    is_complex = np.dtype(response.dtype).kind == "c"
    own = (("RESPONSE", "f32x2" if is_complex else "f32"), ("COMPLEX", int(is_complex)))
    args = (A(0), A(1), A(2), A(3), A(4), np.int32(n_x), np.int32(x0), np.int32(y0))
    return _staged("fourier_rows.knl", "rows", shape, n, args, (*extended(shape, n_x, mode), *own))


def columns_program(limits: Limits, grid: ArraySpec, turns: ArraySpec, *, cells: int, kept: tuple[int, int]) -> Program:
    """A group a row of the half-plane."""
    shape, first, last = _fitting(limits, turns.size), *kept
    args = (A(0), A(1), np.int32(cells // 2), np.int32(first), np.int32(turns.size - last))
    return _staged("fourier_columns.knl", "columns", shape, cells // 2 + 1, args, (("HALF", 0), ("MARGIN", MARGIN)))


def image_program(
    limits: Limits, grid: ArraySpec, turns: ArraySpec, columns: ArraySpec, gains: ArraySpec, pixels: ArraySpec, out: ArraySpec
) -> Program:
    """A group for four columns of the grid, or as many as fit."""
    (n, n_x), shape = out.shape, _fitting(limits, turns.size, BESIDE)
    args = (A(0), A(1), A(2), A(3), A(4), A(5), np.int32(n), np.int32(n_x), np.int32(grid.shape[1]))
    defines = (*shape.defines(), ("HALF", 0), ("BESIDE", shape.beside), ("PITCH", shape.pitch))
    grid_of = (-(-n // shape.beside), 1, 1)
    return Program((Launch("fourier_image.knl", "image", grid_of, (shape.beside, shape.items, 1), args, defines, shape.local),))
