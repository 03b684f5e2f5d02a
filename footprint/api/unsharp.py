"""Sharpen projections."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from footprint.api._arrays import Memory, described, finished, output, receive, shared, where
from footprint.api._call import call, plan_verb
from footprint.errors import ArgumentError, ShapeError
from footprint.ops.unsharp import Unsharp
from footprint.plan.plan import Plan
from footprint.spec import ArraySpec


def unsharp(
    projections: Any, amount: float, *, sigma: float = 1.0, out: Any = None, memory: Memory = None, device: str = "auto"
) -> Any:
    """Add amount times what a Gaussian blur takes off: (1 + amount) p - amount G p.

    Parameters
    ----------
    projections : array (n_z, n_x) or (n_angles, n_z, n_x)
        Transmissions, with no NaN; any real dtype, worked on in float32.
    amount : float
        Above 0; after phase retrieval usually 1 to 5.
    sigma : float
        Of the Gaussian, in pixels; it ends after four of them.
    out : array like the projections, optional
        Where the result goes: a floating array of its own.
    memory : str, int or float, optional
        The most a run may take beside the arrays given.
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
    Beyond the detector there is its mirror image, c b a | a b c d.

    Examples
    --------
    >>> import numpy as np, footprint as fp
    >>> fp.unsharp(np.array([[0.0, 0, 0, 1, 1, 1]]), 1.0)[0].round(2) + 0.0
    array([ 0.  , -0.06, -0.3 ,  1.3 ,  1.06,  1.  ], dtype=float32)
    """
    source = receive(projections, "projections")
    flat = source.data.ndim == 2
    if flat:
        source = replace(source, data=source.data[None])
    op = unsharp_of(amount, sigma)
    result = op.out_specs(source.spec)[0]
    given = None if out is None else receive(out, "out").data
    target = output(given[None] if flat and given is not None and given.ndim == 2 else given, result, source)
    if out is not None and shared(source, target):
        raise ArgumentError("out", "memory shared with projections", "an array of its own")
    if source.spec.size:
        call("unsharp", op, [source], [target], where(device, source, target), memory)
    if out is not None:
        return out
    made = finished(target, None)
    return made[0] if flat else made


def plan_unsharp(
    shape: tuple[int, ...],
    amount: float,
    *,
    dtype: str = "float32",
    sigma: float = 1.0,
    memory: Memory = None,
    device: str = "auto",
) -> Plan:
    """Plan `unsharp` of a C-contiguous projection, or stack of them, of this shape and dtype.

    Parameters
    ----------
    shape, dtype
        Of the projections.
    amount, sigma, memory, device
        As in `unsharp`.

    Returns
    -------
    Plan
        Its chunks are rows.

    Examples
    --------
    >>> import footprint as fp
    >>> fp.plan_unsharp((8, 64, 64), 2.0, device="cpu").n_parts
    1
    """
    spec, _ = described(shape, dtype)
    spec = ArraySpec((1, *spec.shape)[-3:], spec.dtype) if len(spec.shape) == 2 else spec
    op = unsharp_of(amount, sigma)
    op.out_specs(spec)
    if spec.size == 0:
        raise ShapeError("shape", shape, "at least one value")
    return plan_verb("unsharp", op, [spec], where(device), memory)


def unsharp_of(amount: Any, sigma: Any = 1.0, name: str = "unsharp") -> Unsharp:
    """The operation of these settings, every one checked."""
    numbers = []
    for what, value, most in (("amount", amount, 1e6), ("sigma", sigma, 100.0)):
        try:
            number = float(value)
        except (TypeError, ValueError, OverflowError):
            number = float("nan")
        if not 0 < number <= most:
            raise ArgumentError(what, repr(value), f"a number above 0, {most:.0f} at most")
        numbers.append(number)
    return Unsharp(*numbers)
