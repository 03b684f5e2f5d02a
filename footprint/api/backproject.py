"""Backproject rows into slices, without a filter."""

from __future__ import annotations

from typing import Any

import numpy as np

from footprint.api._arrays import Memory, finished, output, receive, shared, where
from footprint.api._call import call, plan_verb
from footprint.api._recall import again, looks, remember
from footprint.api._tomo import angles_of, described_stack, numbers, position, stacked
from footprint.errors import ArgumentError, flag
from footprint.ops.backproject import Backproject, Geometry
from footprint.plan.plan import Plan
from footprint.spec import ArraySpec


def backproject(
    sinogram: Any,
    angles: Any = None,
    *,
    center: float | None = None,
    roi: tuple[int, int, int, int] | None = None,
    axis_shifts: Any = None,
    weighted: bool = True,
    out: Any = None,
    memory: Memory = None,
    device: str = "auto",
) -> Any:
    """Sum the rows of sinograms along their lines, out(x, y) = sum of weight_a row_a(h_a(x, y)).

    `fbp` without the filter; geometry, weights and arguments are those of `fbp` by direct summation.

    Parameters
    ----------
    sinogram : array (n_angles, n_x) or (n_z, n_angles, n_x)
        Any real dtype; read as float32 by linear interpolation, 0 outside.
    angles, center, roi, axis_shifts, out, memory, device
        As in `fbp`.
    weighted : bool
        Weigh each angle by half the gap to its neighbours, as `fbp` does; if not, every weight is 1, which is the exact transpose
        of `project`.

    Returns
    -------
    array (n_y, n_x) or (n_z, n_y, n_x)
        float32.

    Raises
    ------
    ShapeError, ArgumentError, BudgetError
        Where arrays do not fit together or not one slice fits ``memory``.

    Examples
    --------
    >>> import numpy as np, footprint as fp
    >>> fp.backproject(np.ones((4, 5)))[2, 2].round(4)
    np.float32(3.1416)
    """
    look = looks("backproject", (angles, center, roi, axis_shifts, weighted, memory, device), sinogram, out)
    flat = look is not None and getattr(sinogram, "ndim", 0) == 2
    found = again(look, [sinogram[None] if flat else sinogram], out, (lambda target: target[None]) if flat else None)
    if found is not None:
        return found
    source, flat = stacked(receive(sinogram, "sinogram"), "sinogram")
    _, n_a, n_x = source.spec.shape
    op = _op(angles_of(angles, n_a), n_x, center, roi, axis_shifts, weighted)
    result = op.out_specs(source.spec)[0]
    target = output(out, ArraySpec(result.shape[1:], result.dtype) if flat else result, source)
    if out is not None and shared(source, target):
        raise ArgumentError("out", "memory shared with sinogram", "memory of its own")
    volume, _ = stacked(target, "out")
    key = call("backproject", op, [source], [volume], where(device, source, target), memory)
    remember(look, key, target.spec)
    return finished(target, out)


def plan_backproject(
    shape: tuple[int, ...],
    angles: Any = None,
    *,
    dtype: str = "float32",
    center: float | None = None,
    roi: tuple[int, int, int, int] | None = None,
    axis_shifts: Any = None,
    weighted: bool = True,
    memory: Memory = None,
    device: str = "auto",
) -> Plan:
    """Plan `backproject` of C-contiguous sinograms of this shape and dtype on the host.

    Parameters
    ----------
    shape, dtype
        Of the sinograms.
    angles, center, roi, axis_shifts, weighted, memory, device
        As in `backproject`.

    Returns
    -------
    Plan
        Its chunks are slices.
    """
    spec, _ = described_stack(shape, dtype)
    _, n_a, n_x = spec.shape
    op = _op(angles_of(angles, n_a), n_x, center, roi, axis_shifts, weighted)
    return plan_verb("backproject", op, [spec], where(device), memory)


def _op(angles: np.ndarray, n_x: int, center: float | None, roi: Any, axis_shifts: Any, weighted: bool) -> Backproject:
    axis = position((n_x - 1) / 2 if center is None else center)
    shifts = None if axis_shifts is None else numbers("axis_shifts", axis_shifts)
    return Backproject(Geometry(angles, n_x, axis, roi, shifts), weighted=flag("weighted", weighted))
