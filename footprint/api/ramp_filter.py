"""Filter the rows of sinograms."""

from __future__ import annotations

from typing import Any

import numpy as np

from footprint.api._run import Memory, described, finished, limits_and_budget, output, receive, rows, run, shared, where
from footprint.errors import ArgumentError, ShapeError
from footprint.ops.ramp_filter import RampFilter
from footprint.plan.builder import Builder
from footprint.plan.fit import Variant, fit
from footprint.plan.plan import Plan
from footprint.plan.slots import Given
from footprint.spec import ArraySpec, Limits


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
        Any real dtype; worked on in float32.
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
    source = receive(sinogram, "sinogram")
    op = RampFilter(filter, padding, cutoff)
    target = output(out, op.out_specs(source.spec)[0], source)
    if out is not None and out is not sinogram and shared(source, target):
        raise ArgumentError("out", "memory shared with sinogram", "an array of its own, or sinogram itself")
    limits, budget = limits_and_budget(where(device, source, target), memory, fft)
    plan = _plan(limits, budget, op, (source.spec, source.given), (target.spec, target.given), out is sinogram)
    run(plan, None, [rows(source)], [rows(target)])
    return finished(target, out)


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
    (spec, given), op = described(shape, dtype), RampFilter(filter, padding, cutoff)
    result = op.out_specs(spec)[0]
    limits, budget = limits_and_budget(where(device), memory, fft)
    return _plan(limits, budget, op, (spec, given), (spec, given) if in_place else (result, Given()), in_place)


def _plan(
    limits: Limits,
    budget: int | None,
    op: RampFilter,
    sino: tuple[ArraySpec, Given],
    out: tuple[ArraySpec, Given],
    in_place: bool,
) -> Plan:
    def record(b: Builder, n: int) -> None:
        part = lambda spec: ArraySpec((n, *spec.shape[1:]), spec.dtype)
        source, target = b.inp(part(sino[0]), "sinogram", sino[1]), b.out(part(out[0]), "out", out[1])
        with b.deliver(target, "float32") as rows_:
            # Filtered where the result lies: in place there is nothing to fetch when that is the sinogram itself.
            if not (in_place and rows_ is target):
                b.fetch(source, rows_)
            op.record(b, rows_.reshape(-1, sino[0].shape[-1]))

    if sino[0].size == 0:
        raise ShapeError("sinogram", f"shape {sino[0].shape}", "at least one row")
    return fit(limits, budget, "ramp_filter", [Variant("entries", sino[0].shape[0], record)])
