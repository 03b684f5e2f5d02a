"""What the tomography verbs share: sinograms of two or three dimensions, angles, and one array cut by slices."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from footprint.api._arrays import Array, Memory, Progress, described, finished, on_host, output, receive, shared, where
from footprint.api._call import call, plan_verb
from footprint.api._units import bare, is_masked_array
from footprint.errors import ArgumentError, ShapeError
from footprint.ops.base import Op
from footprint.plan.plan import Plan
from footprint.plan.slots import Given
from footprint.spec import ArraySpec
from footprint.units import kind_of


def angles_of(angles: Any, n_angles: int) -> np.ndarray:
    """Radians as float64: given, a Quantity in any unit of angle, or equally spaced over half a turn (None, or their number)."""
    if angles is None or isinstance(angles, int | np.integer):
        if angles is not None and angles != n_angles:
            raise ShapeError("angles", int(angles), f"{n_angles}, one per projection")
        try:
            return np.linspace(0, np.pi, n_angles, endpoint=False)
        except (MemoryError, ValueError):
            raise ShapeError("shape", f"{n_angles} angles", "as many as fit into memory") from None
    values = numbers("angles", angles, "rad")
    if values.ndim != 1 or len(values) != n_angles:
        raise ShapeError("angles", f"shape {values.shape}", f"({n_angles},), one per projection")
    return values


def numbers(name: str, values: Any, unit: str = "") -> np.ndarray:
    """A small table of the caller's as float64, one with a unit in ``unit``; what is beyond its range is infinite there."""
    values = bare(values, name, unit)
    if is_masked_array(values) and np.ma.is_masked(values):
        raise ArgumentError(
            name, "a masked array with masked numbers", "all numbers", "leave out what they belong to, or pass it without its mask"
        )
    try:
        found = np.asarray(on_host(values))
        if found.dtype.kind != "c":
            with np.errstate(over="ignore"):
                return found.astype(np.float64, copy=False)
    except (TypeError, ValueError, OverflowError, RuntimeError):
        # What is an array may have nothing left to show.
        said = "<" if hasattr(values, "shape") else repr(values)
        raise ArgumentError(name, kind_of(values) if said.startswith("<") else said, "numbers") from None
    raise ArgumentError(name, f"complex numbers ({found.dtype})", "real ones")


def gains(values: Any) -> np.ndarray:
    """A caller's gains of a filter; those that come complex from a transform may have nothing imaginary, which would be lost."""
    if values is None:
        raise ArgumentError("filter", "None", "a name, or gains", "give 'none' for no filter")
    whole = isinstance(values, np.ndarray) and values.dtype.kind == "c" and not values.imag.any()
    return numbers("filter", values.real if whole else values)


def shape_of(array: Any, name: str) -> tuple[int, ...]:
    """How long an array is along its axes, before it is brought anywhere."""
    return tuple(getattr(array, "shape", None) or receive(array, name).spec.shape)


def position(center: Any, wanted: str = "a detector position in pixels") -> float:
    """The rotation axis as a number."""
    try:
        if np.iscomplexobj(center):
            # NumPy would drop what is imaginary, with a warning.
            raise TypeError
        return float(center)
    except (TypeError, ValueError, OverflowError):
        raise ArgumentError("center", repr(center), wanted) from None


def described_stack(shape: Any, dtype: Any) -> tuple[ArraySpec, Given]:
    """Sinograms known by their numbers, with a slice axis in front, and how a plan meets them."""
    spec, given = described(shape, dtype)
    if len(spec.shape) not in (2, 3):
        raise ShapeError("shape", spec.shape, "(n_angles, n_x) or (n_z, n_angles, n_x)")
    return ArraySpec((1, *spec.shape)[-3:], spec.dtype), given


def stacked(array: Array, name: str) -> tuple[Array, bool]:
    """The array with a slice axis in front, and whether it had none."""
    if len(array.data.shape) == 2:
        return deep(array), True
    if len(array.data.shape) != 3:
        raise ShapeError(name, f"shape {tuple(array.data.shape)}", "(n_angles, n_x) or (n_z, n_angles, n_x)")
    return array, False


def on_stack(verb: str, name: str, given: Any, op: Op, out: Any, memory: Memory, device: str) -> Any:
    """What an operation makes of sinograms or projections, or of one of them, in a new array or ``out``."""
    array = receive(given, name)
    flat = len(array.data.shape) == 2
    source = deep(array) if flat else array
    result = op.out_specs(source.spec)[0]
    target = None if out is None else receive(out, "out")
    if target is not None and flat and len(target.data.shape) == 2:
        target = deep(target)
    to = output(None if target is None else target.data, result, source)
    own = op.in_place and out is given
    if target is not None and not own and shared(source, to):
        wanted = f"memory of its own, or {name} itself" if op.in_place else "memory of its own"
        raise ArgumentError("out", f"memory shared with {name}", wanted)
    if source.spec.size:
        call(verb, op, [source], [to], where(device, source, to), memory)
    made = finished(to, out)
    return made[0] if flat and out is None else made


def planned_stack(verb: str, shape: Any, dtype: Any, op: Op, memory: Memory, device: str) -> Plan:
    """The plan of the same."""
    spec, _ = described(shape, dtype)
    if len(spec.shape) == 2:
        spec = ArraySpec((1, *spec.shape), spec.dtype)
    op.out_specs(spec)
    if spec.size == 0:
        raise ShapeError("shape", shape, "at least one value")
    return plan_verb(verb, op, [spec], where(device), memory)


def deep(array: Array) -> Array:
    """The array with an axis in front."""
    return replace(array, data=array.data[None])


def in_slices(progress: Progress | None, slices: int, n_y: int) -> Progress | None:
    """Told in slices also where a job is not cut along them; in rows where one slice is made in tiles of them."""
    if progress is None:
        return None
    return lambda done, total: (
        progress(done, total) if total == slices or (slices == 1 and total == n_y) else progress(slices, slices)
    )
