"""Arrays whose axes stand in another order than an operation wants them: colours of a picture, images that are not last."""

from __future__ import annotations

from collections.abc import Collection

from footprint.api._arrays import Array, Memory
from footprint.api._call import Described, plan_verb, planned
from footprint.backend.device import Device
from footprint.ops.base import Op
from footprint.plan.plan import Plan
from footprint.plan.slots import Given
from footprint.spec import ArraySpec

Order = tuple[int, ...] | None
"""The array's axes in the order an operation wants them; None where that is their own."""


def free_first(used: Collection[int], n_axes: int) -> Order:
    """The order in which one of three axes that is not filtered comes first, as planes of a stack do: colours of a picture."""
    free = [axis for axis in range(n_axes) if axis not in used]
    if n_axes != 3 or not free or free[0] == 0:
        return None
    return (free[0], *(axis for axis in range(n_axes) if axis != free[0]))


def turned_spec(spec: ArraySpec, order: Order) -> ArraySpec:
    """An array's spec in that order."""
    return spec if order is None else ArraySpec(tuple(spec.shape[axis] for axis in order), spec.dtype)


def turned(array: Array, order: Order) -> Array:
    """An array with its axes in another order, where it lies."""
    return array if order is None else Array(array.data.transpose(order), array.kind, array.device)


def turned_back(spec: ArraySpec, order: Order) -> ArraySpec:
    """A result's spec with the axes in the order the user knows."""
    return spec if order is None else ArraySpec(tuple(spec.shape[order.index(axis)] for axis in range(len(order))), spec.dtype)


def plan_turned(verb: str, op: Op, spec: ArraySpec, order: Order, device: Device, memory: Memory) -> Plan:
    """The plan of an operation on an array of this spec whose axes come in that order."""
    if order is None:
        return plan_verb(verb, op, [spec], device, memory)
    there = turned_spec(spec, order)
    image, *outs = (Described(one, Given(direct=False)) for one in (there, *op.out_specs(*op.in_specs(there))))
    return planned(verb, op, [image], outs, device, memory)
