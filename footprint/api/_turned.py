"""Arrays whose axes stand in another order than an operation wants them: colours of a picture, images that are not last."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

import numpy as np

from footprint.api._arrays import Array, Memory
from footprint.api._call import Described, plan_verb, planned
from footprint.backend.device import Device
from footprint.backend.registry import device_limits
from footprint.ops.base import Op
from footprint.ops.convolve import Correlate
from footprint.plan.plan import Plan
from footprint.plan.slots import Given
from footprint.spec import ArraySpec

Order = tuple[int, ...] | None
"""The array's axes in the order an operation wants them; None where that is their own."""

SHORT = 32
"""Most pixels of rows that a processor sums sooner across many of them (measured with float32 and float64)."""
# How many rows those are at least, and how many times as many as each has pixels: below, two copies cost what they save.
_MANY, _TIMES = 64, 4


def free_first(used: Collection[int], n_axes: int) -> Order:
    """The order in which one of three axes that is not filtered comes first, as planes of a stack do: colours of a picture."""
    free = [axis for axis in range(n_axes) if axis not in used]
    if n_axes != 3 or not free or free[0] == 0:
        return None
    return (free[0], *(axis for axis in range(n_axes) if axis != free[0]))


def long_last(spec: ArraySpec, used: Collection[int], device: Device | None, short: int = SHORT) -> Order:
    """On a processor, an order in which a long axis comes last where the last one has ``short`` pixels at most.

    Vectors go along the last. None elsewhere, and where no device is named.
    """
    found = _long_last(spec.shape, used, short)
    return found if found is not None and device is not None and device_limits(device).family == "cpu" else None


def _long_last(shape: tuple[int, ...], used: Collection[int], short: int) -> Order:
    """The order, None where no axis is long.

    It goes by the shape of the whole alone, as the order of sums shows in their last bits; planes of a
    stack, or of colours, that are filtered along two axes are turned as each alone would be.
    """
    if len(shape) < 2 or not 1 <= shape[-1] <= short:
        return None
    long = [n >= max(_MANY, _TIMES * shape[-1]) for n in shape]
    if len(shape) == 2:
        return (1, 0) if long[0] else None
    free = [axis for axis in range(3) if axis not in used]
    if free == [0]:
        return (0, 2, 1) if long[1] else None
    if free == [1] and long[0]:
        return (1, 2, 0)
    if free == [2]:
        planes = _long_last(shape[:2], (0, 1), short)
        return (2, 1, 0) if planes is not None else (2, 0, 1) if long[1] else None
    return (2, 0, 1) if long[1] else (1, 2, 0) if long[0] else None


def where_it_lies(op: Op, order: Order) -> Op | None:
    """The same direct sums along the one axis that an order has last, of an array as it is; None of any others."""
    if order is None or type(op) is not Correlate or len(op.taps) != 1 or op.masks != "one":
        return None
    return replace(op, batch=order[-1], after=len(order) - 1 - order[-1])


def turned_spec(spec: ArraySpec, order: Order) -> ArraySpec:
    """An array's spec in that order."""
    return spec if order is None else ArraySpec(tuple(spec.shape[axis] for axis in order), spec.dtype)


def turned(array: Array, order: Order) -> Array:
    """An array with its axes in another order, where it lies."""
    return array if order is None else Array(array.data.transpose(order), array.kind, array.device, order)


def turned_back(spec: ArraySpec, order: Order) -> ArraySpec:
    """A result's spec with the axes in the order the user knows."""
    return spec if order is None else ArraySpec(tuple(spec.shape[order.index(axis)] for axis in range(len(order))), spec.dtype)


def plan_turned(verb: str, op: Op, spec: ArraySpec, order: Order, device: Device, memory: Memory) -> Plan:
    """The plan of an operation on an array of this spec whose axes come in that order."""
    if order is None:
        return plan_verb(verb, op, [spec], device, memory)
    there = turned_spec(spec, order)
    # Lines of one pixel lie in any order.
    moved = [axis for axis in order if spec.shape[axis] != 1]
    direct = moved == sorted(moved) or spec.size == 0
    image = Described(there, Given(direct=direct and np.dtype(spec.dtype).isnative, order=order))
    outs = [Described(one, Given(direct=direct, order=order)) for one in op.out_specs(*op.in_specs(there))]
    return planned(verb, op, [image], outs, device, memory)
