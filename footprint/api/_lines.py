"""How the verbs of sums along axes come to an operation, and run it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from footprint.api._arrays import Memory, described, finished, receive, shared, where
from footprint.api._call import Described, call
from footprint.api._recall import again, looks, remember_turned
from footprint.api._turned import Order, free_first, long_last, plan_turned, turned, turned_back
from footprint.api._units import in_unit, is_quantity, plain, refuse_parts
from footprint.api._window import as_planes, asked, number, target_of
from footprint.backend.device import Device
from footprint.backend.registry import device_limits
from footprint.errors import ShapeError
from footprint.kernels.common.borders import NONE
from footprint.ops.base import Op
from footprint.ops.branches import Branches, star, summed
from footprint.ops.coarse import coarse
from footprint.ops.matrix import matrix
from footprint.ops.separable import AXES, Taps, in_lanes, lines, table
from footprint.plan.plan import Plan
from footprint.spec import ArraySpec
from footprint.units import counted

# Where as few numbers lie side by side as colours do, sums over them cost many times what bringing planes there and back does.
_COLOURS = 8


@dataclass(frozen=True)
class Weights:
    """Weights along an axis, counted from 0, in order of correlation; ``first`` is where they begin, counted from the pixel."""

    axis: int
    values: np.ndarray
    first: int
    border: str


Make = Callable[[int], list[Weights]]
"""Weights for an array of so many axes."""


MakeSum = Callable[[int], list[tuple[list[Weights], float]]]
"""Weights of several branches, each along one or both of the last two axes, and what each is multiplied by."""


def lined(verb: str, image: Any, options: tuple[Any, ...], make: Make, cval: Any, out: Any, memory: Memory, device: str) -> Any:
    """The result of a filter along axes; of what is only described, the operation and the order of axes it takes."""
    op_of = lambda spec, cval, device, here: operation(make, spec, cval, device, here)
    return _run(verb, image, options, op_of, cval, out, memory, device)


def branched(
    verb: str, image: Any, options: tuple[Any, ...], make: MakeSum, cval: Any, out: Any, memory: Memory, device: str
) -> Any:
    """The result of a sum of filters along axes."""
    op_of = lambda spec, cval, device, here: branches(make, spec, cval, device, here)
    return _run(verb, image, options, op_of, cval, out, memory, device)


OpOf = Callable[[ArraySpec, Any, Device, bool], tuple[Op, Order]]
"""The operation on what is of a spec, with the constant that lies outside, on a device, and whether it lies on the host."""


def _run(
    verb: str,
    image: Any,
    options: Any,
    op_of: OpOf,
    cval: Any,
    out: Any,
    memory: Memory,
    device: str,
    whole: tuple[int, ...] | None = None,
) -> Any:
    if isinstance(image, Described):
        if image.data is None:
            return op_of(image.spec, cval, where(device), True)
        # A block is summed in the order in which the whole is.
        whole, image = image.spec.shape, image.data
        options = (*options, whole)
    kind, out = asked(out)
    if type(image) is not np.ndarray:
        refuse_parts(image, "input", keeps_unit=True)
    if type(image) is not np.ndarray and is_quantity(image):
        values, unit = plain(image, "input")
        # In `options` the constant has its unit, so that they are no look of this call.
        into = lambda out: (kind or None) if out is None else out
        run = lambda cval, out: _run(verb, values, None, op_of, cval, into(out), memory, device, whole)
        return in_unit(unit, unit, cval, out, run, ("cval", "output"))
    look = None if options is None else looks(verb, (*options, kind, memory, device), image, out)
    found = again(look, [image], out) if out is not image else None
    if found is not None:
        return found
    natural = receive(image, "input")
    here, spec = where(device, natural), natural.spec if whole is None else ArraySpec(whole, natural.spec.dtype)
    op, order = op_of(spec, cval, here, natural.device == "cpu")
    source = turned(natural, order)
    result = turned_back(op.out_specs(op.in_specs(source.spec)[0])[0], order)
    target = target_of(out, kind, result, natural, shared)
    if result.size:
        key = call(verb, op, [source], [turned(target, order)], where(device, source, target), memory)
        remember_turned(look, key, image, out, target.spec, order)
    return finished(target, out)


def planned_branches(verb: str, shape: Any, dtype: str, make: MakeSum, cval: Any, memory: Memory, device: str) -> Plan:
    """The plan of a sum of filters along axes."""
    spec, _ = described(shape, dtype)
    op, order = branches(make, spec, cval, where(device))
    return plan_turned(verb, op, spec, order, where(device), memory)


def planned_lines(verb: str, shape: Any, dtype: str, make: Make, cval: Any, memory: Memory, device: str) -> Plan:
    """The plan of a filter along axes."""
    spec, _ = described(shape, dtype)
    op, order = operation(make, spec, cval, where(device))
    return plan_turned(verb, op, spec, order, where(device), memory)


def branches(make: MakeSum, spec: ArraySpec, cval: Any, device: Device | None = None, here: bool = True) -> tuple[Op, Order]:
    """The operation, what is the same along both axes in one pass, and the order of axes in which both come last."""
    n_axes, dtype = len(spec.shape), spec.dtype
    dims = _dims(n_axes)
    # Of no axes it is the image, as in scipy.ndimage.
    found: list[tuple[Taps, Taps]] = []
    sums = make(n_axes) or [([], 1.0)]
    alone, by = sums[0]
    if len(sums) == len(alone) == 1:
        # Along one axis there is nothing to add.
        return operation(lambda _: [replace(alone[0], values=alone[0].values * by)], spec, cval, device, here)
    every = [w for some, _ in sums for w in some]
    used, outside = {w.axis for w in every}, _outside(cval, every)
    order = free_first(used, n_axes)
    turns = _long(every, spec, outside, device)
    if len(used) == len(AXES):
        return _volume(sums, spec, outside, turns), turns
    long = turns is not None and used <= {*turns[-2:]}
    order, first = (turns, _longest(spec.shape, turns)) if long else (order, "")
    for some, factor in sums:
        one = Taps("x", table(np.ones(1), dtype), 0, NONE, outside, repr(outside))
        pair = [replace(one, axis="y" if n_axes > 1 else ""), one]
        for w in some:
            at = w.axis if order is None else order.index(w.axis)
            pair[at - n_axes] = Taps(dims[at], table(w.values, dtype), w.first, w.border, outside, repr(outside))
        tall, wide = pair
        found.append((tall, replace(wide, weights=table(np.asarray(wide.weights) * factor, dtype))))
    return Branches(tuple(found), dims, first), order


def _outside(cval: Any, every: list[Weights]) -> float:
    """What lies beyond an image if any border is a constant; else no number is looked at."""
    unused = isinstance(cval, int | float | np.integer | np.floating) and not any(one.border == "constant" for one in every)
    return 0.0 if unused else number("cval", cval)


def _long(every: list[Weights], spec: ArraySpec, outside: float, device: Device | None) -> Order:
    """The order in which vectors of a processor go along a long axis, where sums are the same in any order but for rounding."""
    used = {w.axis for w in every}
    found = None if _counts(every, outside) else long_last(spec, used, device)
    if found is not None and device is not None and len(used) == len(AXES):
        sizes = [max(len(w.values) for w in every if w.axis == axis) for axis in range(len(AXES))]
        # Small planes side by side have lanes of their own.
        if in_lanes(device_limits(device), spec, (sizes[1], sizes[2]), all((w.values == w.values[0]).all() for w in every)):
            return None
    return found


def _longest(shape: tuple[int, ...], order: Order) -> str:
    """The name of the longest axis of a turned array, which is cut first: parts have each other's pixels at their ends alone."""
    return "" if order is None else _dims(len(shape))[max(range(len(shape)), key=lambda at: shape[order[at]])]


def _counts(every: list[Weights], outside: float) -> bool:
    """Whether a constant lies outside of what one axis leaves for the next, so that their order counts."""
    return outside != 0 and any(one.border == "constant" for one in every)


def _volume(sums: list[tuple[list[Weights], float]], spec: ArraySpec, outside: float, order: Order) -> Op:
    """The sum of filters along all three axes, each of them as far as the farthest: so parts of a volume serve them all."""
    dims, dtype, first = AXES, spec.dtype, _longest(spec.shape, order)
    every = [w for some, _ in sums for w in some]
    names = dict(zip(order or range(len(dims)), dims))
    if all(len(some) == 1 for some, _ in sums):
        alone = [(some[0], factor) for some, factor in sums]
        arms = [Taps(names[w.axis], table(w.values * by, dtype), w.first, w.border, outside, repr(outside)) for w, by in alone]
        if (found := star(arms, dims, first)) is not None:
            return found
    ops: list[Op] = []
    for some, factor in sums:
        own = {w.axis: w for w in some}
        taps = []
        for axis, name in names.items():
            along = [w for w in every if w.axis == axis]
            lo, hi = max(-w.first for w in along), max(w.first + len(w.values) - 1 for w in along)
            mine = own.get(axis, Weights(axis, np.ones(1), 0, along[0].border))
            values = np.zeros(lo + hi + 1)
            # Not before the last, as what lies outside of those before it is the constant itself.
            values[lo + mine.first :][: len(mine.values)] = mine.values * (factor if name == dims[-1] else 1.0)
            taps.append(Taps(name, table(values, dtype), -lo, mine.border, outside, repr(outside)))
        ops.append(lines(taps if _counts(every, outside) else _sorted(taps), dims, first))
    return summed(ops, dims, first)


def _sorted(taps: list[Taps]) -> list[Taps]:
    """Rows and columns first."""
    return sorted(taps, key=lambda one: "yxz".index(one.axis))


def _dims(n_axes: int) -> str:
    if not 1 <= n_axes <= len(AXES):
        raise ShapeError("input", counted(n_axes, "dimensions"), "1 to 3", as_planes(n_axes))
    return AXES[-n_axes:]


def operation(make: Make, spec: ArraySpec, cval: Any, device: Device | None = None, here: bool = True) -> tuple[Op, Order]:
    """The operation: at least one axis, which is then copied. Colours that lie ``here``, on the host, go plane by plane.

    On a ``device`` that is a processor, what is long in any other direction than its last axis is turned.
    """
    n_axes = len(spec.shape)
    dims = _dims(n_axes)
    some = make(n_axes) or [Weights(n_axes - 1, np.ones(1), 0, "nearest")]
    used, outside = {w.axis for w in some}, _outside(cval, some)
    colours = here and n_axes == 3 and 1 in used and 2 not in used and spec.shape[-1] <= _COLOURS
    turns = _long(some, spec, outside, device)
    order = turns or ((2, 0, 1) if colours else None)
    at = {axis: axis if order is None else order.index(axis) for axis in range(n_axes)}
    taps = [Taps(dims[at[w.axis]], table(w.values, spec.dtype), w.first, w.border, outside, repr(outside)) for w in some]
    first, taps = _longest(spec.shape, turns), taps if _counts(some, outside) else _sorted(taps)
    op = lines(taps, dims, first)
    if device is None:
        return op, order
    limits = device_limits(device)
    return coarse(matrix(op, taps, dims, first, spec, limits), taps, dims, first, spec, limits), order
