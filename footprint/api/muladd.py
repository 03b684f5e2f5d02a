"""Multiply and add regions of arrays in place."""

from __future__ import annotations

from typing import Any

import numpy as np

from footprint.api._run import Array, Memory, check_writable, described, limits_and_budget, receive, rows, run, shared, where, whole
from footprint.errors import ArgumentError, ShapeError
from footprint.ops.muladd import MulAdd, Region, region
from footprint.plan.builder import Builder
from footprint.plan.fit import Variant, fit
from footprint.plan.plan import Plan
from footprint.plan.slots import Given
from footprint.spec import ArraySpec, Limits


def muladd(
    dst: Any,
    other: Any,
    a: float = 1.0,
    b: float = 1.0,
    *,
    dst_region: Any = None,
    other_region: Any = None,
    memory: Memory = None,
    device: str = "auto",
) -> Any:
    """Combine a region of one array with a region of another, dst[R] = a dst[R] + b other[S]; ``dst`` is changed in
    place.

    Parameters
    ----------
    dst : array of 1 to 3 dimensions
        Floating point of any precision, byte order and strides; written. Computed in float32 up to that, in float64 above.
    other : array
        Real numbers of any dtype, as many dimensions.
    a, b : float
        Factors. Where ``a`` is 0 the old values are not read, so NaN is overwritten.
    dst_region, other_region : slice, int or tuple of them, optional
        One an axis (missing ones and None are whole axes), negative starts, stops and steps as in NumPy; an int keeps
        its axis. The two regions must be of equal size and not empty.
    memory : str, int or float, optional
        The most a run may take beside the arrays given.
    device : str
        "auto", "cpu", "cuda", "cuda:1", "opencl".

    Returns
    -------
    array
        ``dst``.

    Raises
    ------
    ShapeError, ArgumentError, BudgetError
        Where the regions differ or are empty, ``dst`` cannot be written, or the two overlap in memory without being
        equal.

    Examples
    --------
    >>> import numpy as np, footprint as fp
    >>> fp.muladd(np.ones(4), np.arange(4.0), 2, 10, dst_region=slice(-2, None), other_region=slice(0, 2))
    array([ 1.,  1.,  2., 12.])
    """
    target, source = receive(dst, "dst"), receive(other, "other")
    if np.dtype(target.spec.dtype).kind != "f":
        raise ShapeError("dst", f"dtype {target.data.dtype}", "a floating dtype", "convert it first: dst.astype('float32')")
    check_writable(target, dst, "dst")
    job = MulAdd(
        _number("a", a), _number("b", b), region(dst_region, target.spec.shape, "dst_region"),
        region(other_region, source.spec.shape, "other_region"),
    )  # fmt: skip
    job.out_specs(target.spec, source.spec)
    _apart(target, source, job)
    limits, budget = limits_and_budget(where(device, target, source), memory)
    if _where_they_lie(limits, target, source):
        plan = _plan(limits, budget, job, (target.spec, target.given), (source.spec, source.given))
        run(plan, None, [whole(target), whole(source)], [whole(target)])
        return dst
    # Only the regions travel, in blocks of rows.
    job, target, source = _regions(job, target, source)
    plan = _plan(limits, budget, job, (target.spec, target.given), (source.spec, source.given), blocks=True)
    run(plan, None, [rows(target), rows(source)], [rows(target)])
    return dst


def plan_muladd(shape: tuple[int, ...], *, dtype: str = "float32", memory: Memory = None, device: str = "auto") -> Plan:
    """Plan `muladd` of two C-contiguous arrays of this shape and dtype, all of both.

    Parameters
    ----------
    shape : tuple of 1 to 3 int
        Of the regions.
    dtype : str
        Of both arrays.
    memory, device
        As in `muladd`.

    Returns
    -------
    Plan
        Its inputs are ``dst`` and ``other``, its output ``dst``.

    Examples
    --------
    >>> import footprint as fp
    >>> fp.plan_muladd((100, 64, 64), device="cpu").nbytes
    0
    """
    spec, given = described(shape, dtype)
    all_of_it = region(None, spec.shape, "shape")
    job = MulAdd(1.0, 1.0, all_of_it, all_of_it)
    job.out_specs(spec, spec)
    return _plan(*limits_and_budget(where(device), memory), job, (spec, given), (spec, given), blocks=True)


def _number(name: str, value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        raise ArgumentError(name, repr(value), "a number") from None


def _slices(part: Region) -> tuple[slice, ...]:
    """The region as slices NumPy reads the same way."""
    stops = (start + count * step for start, step, count in part)
    return tuple(slice(start, stop if stop >= 0 else None, step) for (start, step, _), stop in zip(part, stops))


def _regions(job: MulAdd, target: Array, source: Array) -> tuple[MulAdd, Array, Array]:
    """The two regions as arrays of their own, without a copy."""
    views = [
        Array(one.data[_slices(part)], one.kind, one.device)
        for one, part in ((target, job.target), (source, job.source))
    ]  # fmt: skip
    all_of_it = tuple((0, 1, count) for *_, count in job.target)
    return MulAdd(job.a, job.b, all_of_it, all_of_it), views[0], views[1]


def _apart(target: Array, source: Array, job: MulAdd) -> None:
    """Refuse regions of one memory that overlap without being the same: what is read would depend on what is
    written.
    """
    if not shared(target, source):
        return
    _, x, y = _regions(job, target, source)
    same = x.data.__array_interface__["data"] == y.data.__array_interface__["data"] and x.data.strides == y.data.strides
    if same and x.spec == y.spec:
        return
    if shared(x, y):
        raise ArgumentError("other", "a region that overlaps dst's in memory", "regions that are apart or the same", "copy it")


def _where_they_lie(limits: Limits, target: Array, source: Array) -> bool:
    """Whether the kernel can take both arrays as they are, and reach into their regions itself."""
    if target.device != "cpu" or source.device != "cpu":
        return True
    direct = target.given.direct and source.given.direct and source.data.dtype == target.data.dtype
    return limits.host and direct and target.data.dtype.itemsize in (4, 8)


def _plan(
    limits: Limits,
    budget: int | None,
    job: MulAdd,
    dst: tuple[ArraySpec, Given],
    other: tuple[ArraySpec, Given],
    blocks: bool = False,
) -> Plan:
    def record(b: Builder, size: int) -> None:
        part, now = job, dst[0].shape
        if blocks:
            part = MulAdd(job.a, job.b, ((0, 1, size), *job.target[1:]), ((0, 1, size), *job.source[1:]))
            now = (size, *now[1:])
        x, y = ArraySpec(now, dst[0].dtype), ArraySpec((now if blocks else other[0].shape), other[0].dtype)
        part.record(b, b.inp(x, "dst", dst[1]), b.inp(y, "other", other[1]), b.out(x, "dst out", dst[1]))

    return fit(limits, budget, "muladd", [Variant("rows" if blocks else "arrays", dst[0].shape[0] if blocks else 1, record)])
