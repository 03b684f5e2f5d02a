"""Launch shapes of the row filter: the fused one in on-chip memory, and the three steps around a library's transform."""

from __future__ import annotations

import numpy as np

from footprint.kernels.common.launch import A, Launch, Program
from footprint.kernels.common.stages import MODES, Stages, extended
from footprint.kernels.ramp_filter.fused import fused
from footprint.spec import ArraySpec, Limits

GROUP = 256


def fused_program(
    limits: Limits,
    rows: ArraySpec,
    filtered: ArraySpec,
    twiddle: ArraySpec,
    gains: ArraySpec,
    *,
    padded: int,
    mode: str = "constant",
) -> Program:
    """``launch("ramp_filter.fused", rows, filtered, twiddle, gains, padded=, mode=)``: ``(n, n_x)``, one or two; see `fused`."""
    n, n_x = rows.shape
    if rows.size == 0:
        return Program(())
    shape = fused(limits, n_x, padded)
    if shape is None:
        raise ValueError(f"a line of {padded} does not fit {limits.local_mem} bytes")
    return Program((_launch(shape, n, n_x, np.dtype(gains.dtype).kind == "c", mode),))


def _launch(shape: Stages, n: int, n_x: int, is_complex: bool, mode: str) -> Launch:
    own = (("COMPLEX", int(is_complex)), ("GAIN", "f32x4" if is_complex else "f32x2"))
    defines = (*shape.defines(), *extended(shape, n_x, mode), *own)
    args = (A(0), A(1), A(2), A(3), np.int32(n_x))
    return Launch("ramp_filter.knl", "ramp_filter", (n, 1, 1), (shape.items, 1, 1), args, defines, shape.local)


def _rows(entry: str, n: int, columns: int, args: tuple[A | np.generic, ...]) -> Program:
    grid = (-(-columns // GROUP), min(n, 65535), 1)
    return Program((Launch("ramp_rows.knl", entry, grid, (GROUP, 1, 1), args),))


def pad_program(limits: Limits, rows: ArraySpec, padded: ArraySpec, *, mode: str) -> Program:
    """Rows to the start of longer rows, continued on both sides."""
    sizes = (np.int64(rows.shape[0]), np.int32(rows.shape[1]), np.int32(padded.shape[1]))
    return _rows("pad_rows", padded.shape[0], padded.shape[1], (A(0), A(1), *sizes, np.int32(MODES[mode])))


def scale_program(limits: Limits, spectrum: ArraySpec, response: ArraySpec) -> Program:
    """Spectra times gains, in place."""
    sizes = (np.int64(spectrum.shape[0]), np.int32(spectrum.shape[1]))
    return _rows("scale_rows", spectrum.shape[0], spectrum.shape[1], (A(0), A(1), *sizes))


def crop_program(limits: Limits, padded: ArraySpec, rows: ArraySpec) -> Program:
    """The start of longer rows."""
    sizes = (np.int64(rows.shape[0]), np.int32(padded.shape[1]), np.int32(rows.shape[1]))
    return _rows("crop_rows", rows.shape[0], rows.shape[1], (A(0), A(1), *sizes))
