"""Mark pixels over a level."""

from __future__ import annotations

from typing import Any

import numpy as np

from footprint.api._run import (
    Array,
    Memory,
    described,
    finished,
    limits_and_budget,
    output,
    receive,
    rows,
    run,
    shared,
    where,
    whole,
)
from footprint.errors import ArgumentError, ShapeError
from footprint.ops.sigma_clip import kernel_dtype
from footprint.ops.threshold import Threshold
from footprint.plan.builder import Builder
from footprint.plan.fit import Variant, fit
from footprint.plan.plan import Plan
from footprint.plan.slots import Given
from footprint.spec import ArraySpec, Limits


def threshold(
    image: Any, level: float, *, background: float = 0.0, out: Any = None, memory: Memory = None, device: str = "auto"
) -> Any:
    """Mark the finite pixels with image - background > level, compared in float64.

    Parameters
    ----------
    image : array of any shape
        Real numbers of any dtype, byte order and strides.
    level, background : float
        For pixels over five sigma: ``level=5 * clip.std, background=clip.median``.
    out : bool array of the image's shape, optional
        Where the mask goes.
    memory : str, int or float, optional
        The most the run may take beside the arrays given.
    device : str
        "auto", "cpu", "cuda", "cuda:1", "opencl".

    Returns
    -------
    bool array of the image's shape

    Raises
    ------
    ArgumentError, ShapeError, BudgetError
        A level that is no number, an ``out`` that does not fit, a budget that is too small.

    Examples
    --------
    >>> import numpy as np, footprint as fp
    >>> fp.threshold(np.array([1.0, np.nan, 3.0]), 2)
    array([False, False,  True])
    """
    source = receive(image, "image")
    op = _op(level, background)
    shape = tuple(source.data.shape)
    target = output(out, ArraySpec(shape, "bool"), source)
    if target.data.dtype != np.dtype(bool):
        raise ShapeError("out", f"dtype {target.data.dtype}", "bool")
    if out is not None and out is not image and shared(source, target):
        raise ArgumentError("out", "memory shared with image", "an array of its own, or image itself")
    if source.spec.size == 0:
        return finished(target, out)
    # One byte either way: kernels write it as a number.
    marks = Array(target.data.view(np.uint8), target.kind, target.device)
    limits, budget = limits_and_budget(where(device, source, target), memory)
    plan = _plan(limits, budget, op, source.spec, source.given, marks.given)
    if plan.inputs[0].given.owner == "plan":

        def fill(start: int, stop: int) -> Any:
            return lambda block: np.copyto(block, source.data[start:stop], casting="unsafe")

        run(plan, None, [fill], [rows(marks)])
    else:
        run(plan, None, [whole(source)], [whole(marks)])
    return finished(target, out)


def plan_threshold(
    shape: tuple[int, ...], dtype: str = "float32", *, level: float = 0.0, memory: Memory = None, device: str = "auto"
) -> Plan:
    """Plan `threshold` of an image of this shape and dtype.

    Examples
    --------
    >>> import footprint as fp
    >>> fp.plan_threshold((512, 512), device="cpu").nbytes
    0
    """
    limits, budget = limits_and_budget(where(device), memory)
    spec, given = described(shape, dtype)
    return _plan(limits, budget, _op(level, 0.0), spec, given, Given())


def _op(level: Any, background: Any) -> Threshold:
    numbers = []
    for name, value in (("level", level), ("background", background)):
        try:
            numbers.append(float(value))
        except (TypeError, ValueError, OverflowError):
            raise ArgumentError(name, repr(value), "a number") from None
        if np.isnan(numbers[-1]):
            raise ArgumentError(name, value, "a number")
    return Threshold(*numbers)


def _plan(limits: Limits, budget: int | None, op: Threshold, spec: ArraySpec, given: Given, marks: Given) -> Plan:
    direct = given.direct and np.dtype(spec.dtype) == np.dtype(kernel_dtype(spec.dtype))

    def at_once(b: Builder, _: int) -> None:
        op.record(b, b.inp(spec, "image", given), b.out(op.out_specs(spec)[0], "mask", marks))

    def by_rows(b: Builder, size: int) -> None:
        block = ArraySpec((size, *spec.shape[1:]), kernel_dtype(spec.dtype))
        op.record(b, b.inp(block, "image", Given(owner="plan")), b.out(op.out_specs(block)[0], "mask", marks))

    if direct or given.space == "device" or not spec.shape:
        return fit(limits, budget, "threshold", [Variant("images", 1, at_once, inner=True)])
    return fit(limits, budget, "threshold", [Variant("rows", spec.shape[0], by_rows)])
