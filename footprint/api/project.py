"""Project slices onto the detector."""

from __future__ import annotations

from typing import Any

import numpy as np

from footprint.api._arrays import Memory
from footprint.api._tomo import angles_of, numbers, on_stack, planned_stack, position, shape_of
from footprint.errors import ArgumentError, ShapeError
from footprint.ops.backproject import Geometry
from footprint.ops.project import Project
from footprint.plan.plan import Plan


def project(
    volume: Any,
    angles: Any,
    *,
    center: float | None = None,
    n_x: int | None = None,
    roi: tuple[int, int, int, int] | None = None,
    axis_shifts: Any = None,
    out: Any = None,
    memory: Memory = None,
    device: str = "auto",
) -> Any:
    """Project slices onto the detector, ``p(a, s) = sum over pixels of f(x, y) max(0, 1 - |h_a(x, y) - s|)``.

    Every pixel falls between two bins, at h = center + cos(t) (x - center) - sin(t) (y - center), and is shared by them: the exact
    transpose of backprojection by linear interpolation, ``backproject(..., weighted=False)``. A projection has the same sum as the
    slice.

    Parameters
    ----------
    volume : array (n_y, n_x') or (n_z, n_y, n_x')
        Slices, of any real dtype; computed in float32; not changed.
    angles : array (n_angles,), or int
        Radians, a Quantity in any unit of angle, or a number of angles, equally spaced over [0, pi).
    center : float, optional
        Rotation axis in pixels from the centre of pixel 0 of the detector; (n_x - 1) / 2 by default. It lies at pixel
        (center, center) of the slice, as in `fbp`, and may lie up to n_x pixels off the detector.
    n_x : int, optional
        Detector pixels; as many as the slice's columns by default.
    roi : (x0, x1, y0, y1), optional
        Where the slices lie, end-exclusive, in pixels of the n_x by n_x square that `fbp` makes; from (0, 0) on by default. Around
        them everything is 0.
    axis_shifts : array (n_angles,), optional
        Shift of each projection on the detector, in pixels: added to h.
    out : array (n_angles, n_x) or (n_z, n_angles, n_x), optional
        Where the sinograms go, of a floating dtype.
    memory : str, int or float, optional
        The most memory a run may take beyond the arrays you pass in.
    device : str
        "auto", "cpu", "cuda", "cuda:1", "opencl".

    Returns
    -------
    array (n_angles, n_x) or (n_z, n_angles, n_x)
        float32: line integrals in pixels. Sums have one order: the bits are the same in every run and whatever ``memory`` allows.

    Raises
    ------
    ShapeError, ArgumentError, BudgetError
        Where arrays do not fit together, or not one slice fits ``memory``.

    Examples
    --------
    >>> import numpy as np, footprint as fp
    >>> point = np.zeros((5, 5))
    >>> point[2, 3] = 1
    >>> fp.project(point, [0, np.pi / 2]).round(3)
    array([[0., 0., 0., 1., 0.],
           [0., 0., 1., 0., 0.]], dtype=float32)
    """
    shape = shape_of(volume, "volume")
    op = _op(shape, angles, center, n_x, roi, axis_shifts, "volume")
    return on_stack("project", "volume", volume, op, out, memory, device)


def plan_project(
    shape: tuple[int, ...],
    angles: Any,
    *,
    dtype: str = "float32",
    center: float | None = None,
    n_x: int | None = None,
    roi: tuple[int, int, int, int] | None = None,
    axis_shifts: Any = None,
    memory: Memory = None,
    device: str = "auto",
) -> Plan:
    """Plan `project` of C-contiguous slices of this shape and dtype on the host.

    Parameters
    ----------
    shape, dtype
        Of the slices.
    angles, center, n_x, roi, axis_shifts, memory, device
        As in `project`.

    Returns
    -------
    Plan
        Its chunks are slices; where one's projections do not fit, groups of angles.

    Examples
    --------
    >>> import footprint as fp
    >>> fp.plan_project((8, 64, 64), 90, device="cpu").outputs[0].spec.shape
    (8, 90, 64)
    """
    return planned_stack("project", shape, dtype, _op(shape, angles, center, n_x, roi, axis_shifts, "shape"), memory, device)


def _op(shape: Any, angles: Any, center: Any, n_x: Any, roi: Any, axis_shifts: Any, name: str) -> Project:
    if not isinstance(shape, tuple | list) or len(shape) not in (2, 3):
        raise ShapeError(name, shape, "(n_y, n_x) or (n_z, n_y, n_x)")
    n_y, width = shape[-2:]
    bins = width if n_x is None else n_x
    if not isinstance(bins, int | np.integer) or isinstance(bins, bool) or bins < 1:
        raise ArgumentError("n_x", repr(bins), "at least 1 detector pixel")
    if isinstance(angles, int | np.integer):
        if angles < 1:
            raise ArgumentError("angles", int(angles), "radians, or how many there are, 1 or more")
        turns = angles_of(None, int(angles))
    else:
        turns = angles_of(angles, numbers("angles", angles, "rad").size)
    axis = position((bins - 1) / 2 if center is None else center)
    shifts = None if axis_shifts is None else numbers("axis_shifts", axis_shifts)
    return Project(Geometry(turns, int(bins), axis, (0, width, 0, n_y) if roi is None else roi, shifts))
