"""Multiply and add regions of arrays in place."""

from __future__ import annotations

from typing import Any

import numpy as np

from footprint.api._arrays import Array, Memory, check_writable, described, receive, same_memory, shared, where, written
from footprint.api._call import call, plan_verb
from footprint.api._recall import again, looks, remember
from footprint.errors import ArgumentError, ShapeError
from footprint.ops.muladd import MulAdd, Region, region
from footprint.plan.plan import Plan

_AXES = "zyx"


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
        Floating point of any precision, byte order and strides; written to. Computed in float32 up to float32, in float64 above.
    other : array
        Real numbers of any dtype, as many dimensions.
    a, b : float
        Factors. Where ``a`` is 0 the old values are not read, so NaN is overwritten.
    dst_region, other_region : slice, int or tuple of them, optional
        One an axis (missing ones and None are whole axes), negative starts, stops and steps as in NumPy; an int keeps
        its axis. The two regions must be of equal size, and empty only where the arrays are.
    memory : str, int or float, optional
        The most memory a run may take beyond the arrays you pass in.
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
    look = looks("muladd", (a, b, memory, device), dst, other) if dst_region is None and other_region is None else None
    if again(look, [dst, other], dst) is not None:
        return dst
    target, source = receive(dst, "dst"), receive(other, "other")
    if np.dtype(target.spec.dtype).kind != "f":
        raise ShapeError("dst", f"dtype {target.data.dtype}", "a floating dtype", "convert it first: dst.astype('float32')")
    check_writable(target, dst, "dst")
    factors = _number("a", a), _number("b", b)
    regions = region(dst_region, target.spec.shape, "dst_region"), region(other_region, source.spec.shape, "other_region")
    job = MulAdd(*factors, *regions, _AXES[-len(regions[0]) :])
    _alike(regions, (dst_region, other_region))
    job.out_specs(target.spec, source.spec)
    if not target.spec.size or not source.spec.size:
        return written(dst)
    _apart(target, source, regions)
    on = where(device, target, source)
    if not _where_they_lie(on, target, source):
        # Only the regions travel, part by part.
        target, source = _views(regions, target, source)
        job = MulAdd(*factors, dims=job.dims)
    key = call("muladd", job, [target, source], [target], on, memory)
    remember(look, key, target.spec)
    return written(dst)


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
    spec, _ = described(shape, dtype)
    return plan_verb("muladd", MulAdd(1.0, 1.0, dims=_AXES[-len(spec.shape) :]), [spec, spec], where(device), memory)


def _number(name: str, value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        raise ArgumentError(name, repr(value), "a number") from None


def _alike(regions: tuple[Region, Region], given: tuple[Any, Any]) -> None:
    """Refuse regions that differ in size, in the words of what was given: arrays where they are all of them."""
    size, other = (tuple([count for *_, count in part]) for part in regions)
    if size == other or len(size) != len(other):
        return
    whole, all_of_other = (one is None for one in given)
    name, got = ("other", "shape") if all_of_other else ("other_region", "size")
    fix = "give dst_region= or other_region= for a part of either" if whole and all_of_other else ""
    raise ShapeError(name, f"{got} {other}", f"{size}, the {'shape of dst' if whole else 'size of dst_region'}", fix)


def _slices(part: Region) -> tuple[slice, ...]:
    """The region as slices NumPy reads the same way."""
    stops = (start + count * step for start, step, count in part)
    return tuple(slice(start, stop if stop >= 0 else None, step) for (start, step, _), stop in zip(part, stops))


def _views(regions: tuple[Region, Region], target: Array, source: Array) -> list[Array]:
    """The two regions as arrays of their own, without a copy."""
    return [Array(one.data[_slices(part)], one.kind, one.device) for one, part in zip((target, source), regions)]


def _apart(target: Array, source: Array, regions: tuple[Region, Region]) -> None:
    """Refuse regions of one memory that overlap without being the same: what is read would depend on what is
    written.
    """
    if not shared(target, source):
        return
    x, y = _views(regions, target, source)
    if same_memory(x, y):
        return
    if shared(x, y):
        raise ArgumentError("other", "a region that overlaps dst's in memory", "regions that are apart or the same", "copy it")


def _where_they_lie(device: str, target: Array, source: Array) -> bool:
    """Whether the kernel can take both arrays as they are, and reach into their regions itself."""
    if target.device != "cpu" or source.device != "cpu":
        return all(one.direct for one in (target, source) if one.device != "cpu")
    direct = target.direct and source.direct and source.data.dtype == target.data.dtype
    return direct and target.data.dtype.itemsize in (4, 8) and device == "cpu"
