"""Turn projections whose rotation axis leans."""

from __future__ import annotations

from typing import Any

import numpy as np

from footprint.api._arrays import Memory
from footprint.api._tomo import on_stack, planned_stack, shape_of
from footprint.errors import ArgumentError
from footprint.ops.untilt import Untilt
from footprint.plan.plan import Plan

# Degrees beyond which a scan is laid out anew rather than turned.
MOST = 10.0


def untilt(projections: Any, degrees: float, *, out: Any = None, memory: Memory = None, device: str = "auto") -> Any:
    """Turn projections in their plane, about the detector's middle, so that a leaning rotation axis stands upright.

    Bilinear: out(z, x) is the projection at middle + (cos(t) dz - sin(t) dx, sin(t) dz + cos(t) dx), where (dz, dx) is (z, x) minus
    the middle ((n_z - 1) / 2, (n_x - 1) / 2).

    Parameters
    ----------
    projections : array (n_z, n_x) or (n_angles, n_z, n_x)
        Any real dtype, computed in float32.
    degrees : float
        The tilt t: the axis lies at x = c + tan(t) (z - middle), so that a positive one is at larger x in rows of larger z.
        -10 to 10.
    out : array like the projections, optional
        Where the result goes: a floating array of its own.
    memory : str, int or float, optional
        The most memory a run may take beyond the arrays you pass in.
    device : str
        "auto", "cpu", "cuda", "cuda:1", "opencl".

    Returns
    -------
    array
        ``out``, or a new float32 array of the projections' shape. The bits are the same whatever ``memory`` allows.

    Raises
    ------
    ShapeError, ArgumentError, BudgetError
        Where arrays or settings do not fit, or too little fits ``memory``.

    Notes
    -----
    Beyond the detector its outermost values are repeated.

    Examples
    --------
    >>> import numpy as np, footprint as fp
    >>> fp.untilt(np.tile(np.arange(5.0), (3, 1)), 5)[1].round(2)
    array([0.01, 1.  , 2.  , 3.  , 3.99], dtype=float32)
    """
    op = untilt_of(degrees, *_detector(shape_of(projections, "projections")))
    return on_stack("untilt", "projections", projections, op, out, memory, device)


def plan_untilt(
    shape: tuple[int, ...], degrees: float, *, dtype: str = "float32", memory: Memory = None, device: str = "auto"
) -> Plan:
    """Plan `untilt` of a C-contiguous projection, or stack of them, of this shape and dtype.

    Parameters
    ----------
    shape, dtype
        Of the projections.
    degrees, memory, device
        As in `untilt`.

    Returns
    -------
    Plan
        Its chunks are rows.

    Examples
    --------
    >>> import footprint as fp
    >>> fp.plan_untilt((8, 64, 64), 0.4, device="cpu").n_parts
    1
    """
    op = untilt_of(degrees, *_detector(shape))
    return planned_stack("untilt", shape, dtype, op, memory, device)


def _detector(shape: Any) -> tuple[Any, Any]:
    """Rows and columns; what has none is refused as an array."""
    return (shape[-2], shape[-1]) if isinstance(shape, tuple | list) and len(shape) > 1 else (1, 1)


def untilt_of(degrees: Any, rows: Any, columns: Any) -> Untilt:
    """The operation of these settings, every one checked."""
    try:
        angle = float(degrees)
    except (TypeError, ValueError, OverflowError):
        angle = float("nan")
    if not abs(angle) <= MOST:
        raise ArgumentError("degrees", repr(degrees), f"a tilt from {-MOST:g} to {MOST:g} degrees")
    for what, value in (("rows", rows), ("columns", columns)):
        if not isinstance(value, int | np.integer) or isinstance(value, bool) or value < 0:
            raise ArgumentError(what, repr(value), f"how many {what} the detector has")
    return Untilt(angle, int(rows), int(columns))
