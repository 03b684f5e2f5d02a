"""Launch shapes of wavelet transforms: a work-item a column, groups down the rows."""

from __future__ import annotations

import numpy as np

from footprint.kernels.common.launch import MAX_GROUPS_Y, A, Argument, Launch, Program
from footprint.spec import ArraySpec, Limits

TEXT = "fourier_wavelet.knl"


def _program(
    entry: str, across: int, down: int, arrays: int, numbers: tuple[int, ...], length: int, flags: tuple[bool, ...] = ()
) -> Program:
    args: tuple[Argument, ...] = (*(A(i) for i in range(arrays)), *map(np.int64, numbers), *map(np.int32, flags))
    grid = (-(-across // 256), min(down, MAX_GROUPS_Y), 1)
    return Program((Launch(TEXT, entry, grid, (256, 1, 1), args, (("LENGTH", length),)),))


def analyse_rows_program(limits: Limits, lines: ArraySpec, taps: ArraySpec, low: ArraySpec, high: ArraySpec) -> Program:
    """Both filters at once."""
    n, m, w = lines.shape
    h = low.shape[2]
    return _program("analyse_rows", h, n * m, 4, (n * m, w, h), taps.shape[1])


def analyse_columns_program(limits: Limits, lines: ArraySpec, taps: ArraySpec, low: ArraySpec) -> Program:
    """The low filter."""
    (n, m, w), h = lines.shape, low.shape[1]
    return _program("analyse_columns", w, n * h, 3, (n, m, h, w), taps.shape[1])


def synthesise_columns_program(limits: Limits, low: ArraySpec, taps: ArraySpec, lines: ArraySpec) -> Program:
    """The low filter."""
    (n, m, w), h = lines.shape, low.shape[1]
    return _program("synthesise_columns", w, n * m, 3, (n, m, h, w), taps.shape[1])


def synthesise_rows_program(
    limits: Limits, low: ArraySpec, high: ArraySpec, taps: ArraySpec, lines: ArraySpec, *, both: bool, off: bool
) -> Program:
    """Both filters at once."""
    n, m, w = lines.shape
    return _program("synthesise_rows", w, n * m, 4, (n * m, w, high.shape[2]), taps.shape[1], (both, off))


def project_program(limits: Limits, lines: ArraySpec, basis: ArraySpec, found: ArraySpec) -> Program:
    """Sums over angles."""
    n, m, w = lines.shape
    n_j = basis.shape[0]
    return _program("project", w, n * n_j, 3, (n, m, n_j, w), 1)


def expand_program(limits: Limits, found: ArraySpec, basis: ArraySpec, lines: ArraySpec) -> Program:
    """Sums over the basis."""
    n, m, w = lines.shape
    n_j = basis.shape[0]
    return _program("expand", w, n * m, 3, (n, m, n_j, w), 1)
