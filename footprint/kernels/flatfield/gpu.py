"""Launch shapes of the kernels ``flatfield`` and ``flatfield.shift``: a work-group a row."""

from __future__ import annotations

import numpy as np

from footprint.kernels.common.launch import A, Argument, Launch, Program
from footprint.kernels.common.load import c_type
from footprint.kernels.flat.gpu import BOUNDS, PLAIN, flat_arguments
from footprint.kernels.minus_log.contract import HIGHEST, LOWEST
from footprint.spec import ArraySpec, Limits

GROUP = 256
MAX_GRID = 1 << 20
_BOUNDS = (("LOWEST", LOWEST), ("HIGHEST", HIGHEST), *BOUNDS)


def flatfield_program(limits: Limits, raw: ArraySpec, *others: ArraySpec, border: int = 0, ceiling: float = np.inf) -> Program:
    """One pass over the raw block."""
    if raw.size == 0:
        return Program(())
    n_a, n_z, n_x = raw.shape
    defines = (("TIN", c_type(raw.dtype)), ("GAINS", int(len(others) > PLAIN)), *_BOUNDS)
    args = flat_arguments((n_a, n_z, n_x, border), len(others), ceiling)
    grid = (min(n_a * n_z, MAX_GRID), 1, 1)
    return Program((Launch("flatfield.knl", "flatfield", grid, (GROUP, 1, 1), args, defines),))


def shift_program(
    limits: Limits, sinograms: ArraySpec, whole: ArraySpec, fraction: ArraySpec, out: ArraySpec, *, z0: int = 0
) -> Program:
    """One pass over the shifted sinograms."""
    if out.size == 0:
        return Program(())
    n_in, n_a, n_x = sinograms.shape
    # The text holds both kernels, so the constants of the first are needed by the second's compilation, too.
    defines = (("TIN", "f32"), ("GAINS", 0), *_BOUNDS)
    sizes = map(np.int64, (n_in, n_a, n_x, out.shape[0], z0))
    args: tuple[Argument, ...] = (A(0), A(1), A(2), A(3), *sizes)
    grid = (min(n_a * out.shape[0], MAX_GRID), 1, 1)
    return Program((Launch("flatfield.knl", "shift_sinograms", grid, (GROUP, 1, 1), args, defines),))
