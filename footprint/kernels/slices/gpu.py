"""Launch shapes of the small steps on slices."""

from __future__ import annotations

import numpy as np

from footprint.kernels.common.launch import A, Launch, Program
from footprint.kernels.common.stream import flat_grid
from footprint.spec import ArraySpec, Limits

GROUP = (256, 1, 1)


def fill_program(limits: Limits, out: ArraySpec, *, value: float) -> Program:
    """Set every element."""
    if out.size == 0:
        return Program(())
    return Program((Launch("slices.knl", "fill", flat_grid(out.size), GROUP, (A(0), np.int64(out.size), np.float32(value))),))


def scale_program(limits: Limits, out: ArraySpec, *, factor: float) -> Program:
    """Multiply every element."""
    if out.size == 0:
        return Program(())
    return Program((Launch("slices.knl", "scale", flat_grid(out.size), GROUP, (A(0), np.int64(out.size), np.float32(factor))),))


def circle_program(limits: Limits, out: ArraySpec, *, cx: float, cy: float, radius: float, value: float, y0: int = 0) -> Program:
    """Set what lies outside a circle."""
    n_z, n_y, n_x = out.shape
    if out.size == 0:
        return Program(())
    sizes = (np.int64(n_z * n_y), np.int32(n_y), np.int32(n_x))
    place = (np.float64(cx), np.float64(cy - y0), np.float64(radius), np.float32(value))
    return Program((Launch("slices.knl", "circle", flat_grid(n_z * n_y), GROUP, (A(0), *sizes, *place)),))


def move_program(limits: Limits, table: ArraySpec, moved: ArraySpec, *, y0: int) -> Program:
    """Rewrite a geometry table for an image that starts further down."""
    n = table.shape[0]
    return Program((Launch("slices.knl", "move", flat_grid(n), GROUP, (A(0), A(1), np.int64(n), np.float64(y0))),))


def slide_program(limits: Limits, table: ArraySpec, by: ArraySpec, moved: ArraySpec) -> Program:
    """Rewrite a geometry table for a slice whose axis lies elsewhere."""
    n = table.shape[0]
    return Program((Launch("slices.knl", "slide", flat_grid(n), GROUP, (A(0), A(1), A(2), np.int64(n))),))
