"""Label the connected components of a mask."""

from __future__ import annotations

from typing import Any

import numpy as np

from footprint.api._run import Array, Memory, described, finished, limits_and_budget, output, receive, run, where, whole
from footprint.errors import ShapeError
from footprint.ops.label import Label, check_connectivity
from footprint.plan.builder import Builder
from footprint.plan.fit import Variant, fit
from footprint.plan.plan import Plan
from footprint.plan.slots import Given
from footprint.spec import ArraySpec, Limits


def label(mask: Any, connectivity: int = 4, *, out: Any = None, memory: Memory = None, device: str = "auto") -> tuple[Any, int]:
    """Number the connected components of a mask from 1, by the raster order of their first pixel: SciPy's numbers exactly.

    Parameters
    ----------
    mask : array (n_y, n_x) or (n_x,)
        Set where not zero; NaN counts as set, as in NumPy. bool and uint8 are read where they lie.
    connectivity : {4, 8}
        Whether pixels that touch at corners belong together.
    out : array of the mask's shape, optional
        Where the labels go: int32, or int64.
    memory : str, int or float, optional
        The most the run may take beside the arrays given.
    device : str
        "auto", "cpu", "cuda", "cuda:1", "opencl".

    Returns
    -------
    labels : int32 array of the mask's shape
        0 where the mask is not set (int64 from 2**31 - 1 pixels on).
    count : int
        Number of components.

    Raises
    ------
    ShapeError, ArgumentError, BudgetError
        More than two dimensions, a connectivity that is not 4 or 8, a budget that is too small.

    Examples
    --------
    >>> import numpy as np, footprint as fp
    >>> fp.label(np.array([[1, 0, 1], [0, 1, 1]], bool))
    (array([[1, 0, 2],
           [0, 2, 2]], dtype=int32), 2)
    """
    source = receive(mask, "mask")
    op = Label(check_connectivity(connectivity))
    shape = tuple(source.data.shape)
    flat = (1, *shape) if len(shape) == 1 else shape
    specs = op.out_specs(ArraySpec(flat, "uint8"))
    target = output(out, ArraySpec(shape, specs[0].dtype), source)
    if np.dtype(target.data.dtype).kind != "i" or target.data.dtype.itemsize < 4:
        raise ShapeError("out", f"dtype {target.data.dtype}", "int32 or int64")
    if source.spec.size == 0:
        return finished(target, out), 0
    byte = source.data.dtype.itemsize == 1
    there = source.device != "cpu" and not byte
    # The kernel reads bytes: set or not, which no cast would say of 0.5 or 256.
    data = source.data != 0 if there else source.data
    marks = Array(data.view(np.uint8) if byte or there else data, source.kind, source.device)
    marks, ids = (Array(a.data.reshape(flat), a.kind, a.device) for a in (marks, target))
    limits, budget = limits_and_budget(where(device, source, target), memory)
    given = marks.given if byte or marks.device != "cpu" else None
    plan = _plan(limits, budget, op, ArraySpec(flat, "uint8"), given, ids.spec, ids.given, there)
    count = np.zeros(1, np.int64)

    def fill(start: int, stop: int) -> Any:
        return lambda block: np.not_equal(marks.data, 0, out=block.view(bool))

    run(plan, None, [whole(marks) if given else fill], [whole(ids), lambda start, stop: count])
    return finished(target, out), int(count[0])


def plan_label(
    shape: tuple[int, ...], *, dtype: str = "bool", connectivity: int = 4, memory: Memory = None, device: str = "auto"
) -> Plan:
    """Plan `label` of a mask of this shape and dtype.

    Examples
    --------
    >>> import footprint as fp
    >>> fp.plan_label((512, 512), device="cpu").footprint.total < 8192
    True
    """
    limits, budget = limits_and_budget(where(device), memory)
    op = Label(check_connectivity(connectivity))
    spec, _ = described(shape, dtype)
    flat = (1, *spec.shape) if len(spec.shape) == 1 else spec.shape
    given = Given() if spec.itemsize == 1 else None
    return _plan(limits, budget, op, ArraySpec(flat, "uint8"), given, op.out_specs(ArraySpec(flat, "uint8"))[0], Given())


def _plan(
    limits: Limits,
    budget: int | None,
    op: Label,
    mask: ArraySpec,
    given: Given | None,
    labels: ArraySpec,
    out: Given,
    made: bool = False,
) -> Plan:
    def record(b: Builder, _: int) -> None:
        source = b.inp(mask, "mask", given or Given(owner="plan"))
        op.record(b, source, b.out(labels, "labels", out), b.out(op.out_specs(mask)[1], "count"))
        if made:
            b.library("mask as bytes", mask.nbytes, bound=False)

    return fit(limits, budget, "label", [Variant("images", 1, record, inner=True)])
