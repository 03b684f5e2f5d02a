"""Launch shape of the threshold."""

from __future__ import annotations

import numpy as np

from footprint.kernels.common.launch import A, Launch, Program
from footprint.kernels.common.load import c_type
from footprint.spec import ArraySpec, Limits


def groups_for(limits: Limits, n: int, each: int = 256) -> int:
    """Groups of ``each`` items a pass over ``n`` elements starts: enough to fill the device, no more."""
    return max(1, min(-(-n // each), 16 * max(1, limits.cores)))


def threshold_program(limits: Limits, image: ArraySpec, mask: ArraySpec, *, level: float, background: float) -> Program:
    """One pass; see `footprint.kernels.threshold.contract`."""
    if image.size == 0:
        return Program(())
    args = (A(0), A(1), np.int64(image.size), np.float64(level), np.float64(background))
    defines = (("T", c_type(image.dtype)),)
    return Program((Launch("threshold.knl", "threshold", (groups_for(limits, image.size), 1, 1), (256, 1, 1), args, defines),))


def over_program(limits: Limits, image: ArraySpec, mask: ArraySpec, stats: ArraySpec, *, sigma: float) -> Program:
    """One pass; see `footprint.kernels.threshold.contract`."""
    args = (A(0), A(1), A(2), np.int64(image.size), np.float64(sigma))
    defines = (("T", c_type(image.dtype)),)
    grid = (groups_for(limits, image.size), 1, 1)
    return Program((Launch("threshold.knl", "threshold_over", grid, (256, 1, 1), args, defines),) if image.size else ())


def invert_program(limits: Limits, image: ArraySpec, out: ArraySpec, stats: ArraySpec) -> Program:
    """One pass; see `footprint.kernels.threshold.contract`."""
    return _inverted(limits, image, "threshold_invert")


def invert_over_program(limits: Limits, image: ArraySpec, out: ArraySpec, level: ArraySpec) -> Program:
    """One pass; see `footprint.kernels.threshold.contract`."""
    return _inverted(limits, image, "threshold_invert_over")


def _inverted(limits: Limits, image: ArraySpec, entry: str) -> Program:
    args, defines = (A(0), A(1), A(2), np.int64(image.size)), (("T", c_type(image.dtype)),)
    grid = (groups_for(limits, image.size), 1, 1)
    return Program((Launch("threshold.knl", entry, grid, (256, 1, 1), args, defines),) if image.size else ())
