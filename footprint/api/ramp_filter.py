"""Filter the rows of sinograms."""

from __future__ import annotations

from typing import Any

import numpy as np

from footprint.api._arrays import Memory, described, finished, limits_and_budget, output, receive, shared, where
from footprint.api._call import call
from footprint.api._recall import again, looks, remember
from footprint.api._tomo import gains
from footprint.errors import ArgumentError, ShapeError
from footprint.kernels.common.borders import shows_borders
from footprint.ops.job import plan_op
from footprint.ops.ramp_filter import RampFilter
from footprint.plan.plan import Plan
from footprint.plan.slots import Given
from footprint.spec import ArraySpec


@shows_borders("padding", "numpy")
def ramp_filter(
    sinogram: Any,
    *,
    filter: str | np.ndarray = "ramlak",
    padding: str = "constant",
    cutoff: float = 1.0,
    out: Any = None,
    memory: Memory = None,
    device: str = "auto",
    fft: str = "auto",
) -> Any:
    """Filter every row of a sinogram, out = irfft(H rfft(row continued to P samples)), cropped.

    Parameters
    ----------
    sinogram : array (n_angles, n_x) or (n_z, n_angles, n_x)
        Any real dtype; computed in float32.
    filter, padding, cutoff
        As in `fbp`.
    out : array like the sinogram, optional
        Where the result goes: a floating array, or ``sinogram`` itself, which is then filtered in place, in batches.
    memory, device, fft
        As in `fbp`.

    Returns
    -------
    array
        ``out``, or a new float32 array of the sinogram's shape.

    Raises
    ------
    ShapeError, ArgumentError, BudgetError
        Where arrays do not fit together, a word is unknown, or not one row fits ``memory``.

    Examples
    --------
    >>> import numpy as np, footprint as fp
    >>> fp.ramp_filter(np.eye(1, 5, 2), filter="none").round(3) + 0.0
    array([[0., 0., 1., 0., 0.]], dtype=float32)
    """
    look = looks("ramp_filter", (filter, padding, cutoff, out is sinogram, memory, device, fft), sinogram, out)
    found = again(look, [sinogram], out)
    if found is not None:
        return found
    source = receive(sinogram, "sinogram")
    own = out is not None and out is sinogram
    op = _op(filter, padding, cutoff, len(source.spec.shape))
    target = output(out, op.out_specs(source.spec)[0], source)
    if out is not None and not own and shared(source, target):
        raise ArgumentError("out", "memory shared with sinogram", "memory of its own, or sinogram itself")
    _some(source.spec)
    key = call("ramp_filter", op, [source], [target], where(device, source, target), memory, fft=fft)
    remember(look, key, target.spec)
    return finished(target, out)


@shows_borders("padding", "numpy")
def plan_ramp_filter(
    shape: tuple[int, ...],
    *,
    dtype: str = "float32",
    filter: str | np.ndarray = "ramlak",
    padding: str = "constant",
    cutoff: float = 1.0,
    in_place: bool = False,
    memory: Memory = None,
    device: str = "auto",
    fft: str = "auto",
) -> Plan:
    """Plan `ramp_filter` of a C-contiguous sinogram of this shape and dtype on the host.

    Parameters
    ----------
    shape, dtype
        Of the sinogram.
    filter, padding, cutoff, memory, device, fft
        As in `ramp_filter`.
    in_place : bool
        Whether ``out`` is the sinogram.

    Returns
    -------
    Plan
        Its chunks are entries of the first axis.
    """
    spec, given = described(shape, dtype)
    op = _op(filter, padding, cutoff, len(spec.shape))
    result = op.out_specs(spec)[0]
    _some(spec)
    limits, budget = limits_and_budget(where(device), memory, fft)
    return plan_op(limits, budget, "ramp_filter", op, [(spec, given)], [(spec, given) if in_place else (result, Given())])


def _op(filter: Any, padding: str, cutoff: float, n_axes: int) -> RampFilter:
    """Sinograms, alone, in a stack or in any number of stacks."""
    filter = filter if isinstance(filter, str) else gains(filter)
    return RampFilter(filter, padding, cutoff, "tsrqponmlkjihgfedcbza."[-n_axes:] if n_axes else ".")


def _some(spec: ArraySpec) -> None:
    if spec.size == 0:
        raise ShapeError("sinogram", f"shape {spec.shape}", "at least one row")
