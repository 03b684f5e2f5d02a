"""Remove zingers from projections."""

from __future__ import annotations

from typing import Any

import numpy as np

from footprint.api._arrays import Memory
from footprint.api._tomo import on_stack, planned_stack
from footprint.errors import ArgumentError
from footprint.kernels.remove_zingers.contract import MOST
from footprint.ops.remove_zingers import RemoveZingers
from footprint.plan.plan import Plan


def remove_zingers(
    projections: Any, threshold: float, *, size: int = 3, out: Any = None, memory: Memory = None, device: str = "auto"
) -> Any:
    """Replace values above (1 + threshold) times the median around them by that median.

    Parameters
    ----------
    projections : array (n_z, n_x) or (n_angles, n_z, n_x)
        Counts or transmissions; any real dtype, computed in float32. NaN stays, and counts as above everything.
    threshold : float
        0.1 is a tenth above the median; it should be several times the noise.
    size : int
        Side of the window, odd, at most 15.
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
    >>> fp.remove_zingers(np.array([[1.0, 1, 1], [1, 9, 2], [1, 1, 1]]), 0.5)[1]
    array([1., 1., 1.], dtype=float32)
    """
    op = zingers_of(threshold, size)
    return on_stack("remove_zingers", "projections", projections, op, out, memory, device)


def plan_remove_zingers(
    shape: tuple[int, ...],
    threshold: float,
    *,
    dtype: str = "float32",
    size: int = 3,
    memory: Memory = None,
    device: str = "auto",
) -> Plan:
    """Plan `remove_zingers` of a C-contiguous projection, or stack of them, of this shape and dtype.

    Parameters
    ----------
    shape, dtype
        Of the projections.
    threshold, size, memory, device
        As in `remove_zingers`.

    Returns
    -------
    Plan
        Its chunks are rows.

    Examples
    --------
    >>> import footprint as fp
    >>> fp.plan_remove_zingers((8, 64, 64), 0.1, device="cpu").n_parts
    1
    """
    op = zingers_of(threshold, size)
    return planned_stack("remove_zingers", shape, dtype, op, memory, device)


def zingers_of(threshold: Any, size: Any = 3) -> RemoveZingers:
    """The operation of these settings, every one checked."""
    try:
        number = float(threshold)
    except (TypeError, ValueError, OverflowError):
        number = float("nan")
    if not (np.isfinite(number) and number > 0):
        raise ArgumentError("threshold", repr(threshold), "a share of the median above 0, such as 0.1")
    if not isinstance(size, int | np.integer) or isinstance(size, bool) or size % 2 == 0 or not 3 <= size <= MOST:
        raise ArgumentError("size", repr(size), f"an odd number of pixels from 3 to {MOST}")
    return RemoveZingers(number, int(size))
