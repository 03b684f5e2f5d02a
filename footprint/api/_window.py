"""Arguments of filters as scipy.ndimage takes them: one value for all axes, or one for each; which axes; where results go."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from footprint.api._arrays import Array, check_writable, output, receive
from footprint.backend.arrays import kind_of as library_of
from footprint.dtypes import numpys
from footprint.errors import ArgumentError, ShapeError
from footprint.kernels.common.borders import border
from footprint.spec import ArraySpec
from footprint.units import kind_of

# What is counted in pixels.
_PIXELS = ("sigma", "radius", "size", "origin")


def axes_of(axes: Any, n_axes: int) -> tuple[int, ...]:
    """The axes that are filtered, counted from 0; all where none are named."""
    if axes is None:
        return tuple(range(n_axes))
    try:
        wanted = [operator.index(axis) for axis in (axes if np.iterable(axes) else (axes,))]
    except TypeError:
        raise ArgumentError("axes", repr(axes), "whole numbers, such as (-2, -1)") from None
    found = tuple(axis + n_axes if axis < 0 else axis for axis in wanted)
    if len(set(found)) < len(found) or any(not 0 <= axis < n_axes for axis in found):
        raise ArgumentError("axes", axes, f"axes from {-n_axes} to {n_axes - 1}, each once")
    return found


def as_planes(n_axes: int) -> str:
    """What is done with arrays of so many axes, more than filters take."""
    return "reshape it to (-1, n_y, n_x), and give axes=(1, 2)" if n_axes else ""


def each(name: str, value: Any, count: int, read: Callable[[str, Any], Any]) -> tuple[Any, ...]:
    """A value for every axis that is filtered: one for all of them, or a sequence of as many."""
    if library_of(value).later:
        raise ArgumentError(name, f"{kind_of(value)} that is still to be computed", "numbers", "give its .compute()")
    if isinstance(value, str) or not np.iterable(value) or getattr(value, "ndim", 1) == 0:
        return (read(name, value),) * count
    values = tuple(value)
    if len(values) != count:
        raise ArgumentError(name, value, f"one value, or {count}: one for every axis that is filtered")
    return tuple(read(name, one) for one in values)


def whole(name: str, value: Any) -> int:
    """A whole number."""
    try:
        return operator.index(value)
    except TypeError:
        raise _refused(name, value, "a whole number") from None


def number(name: str, value: Any) -> float:
    """A finite number."""
    try:
        found = np.nan if isinstance(value, np.complexfloating) else float(value)
    except (TypeError, ValueError, OverflowError):
        found = np.nan
    if not np.isfinite(found):
        raise _refused(name, value, "a finite number")
    return found


def _refused(name: str, value: Any, wanted: str) -> ArgumentError:
    """The error of what is no such number; of a Quantity it says which number is meant."""
    if not (hasattr(value, "unit") and hasattr(value, "value")):
        return ArgumentError(name, repr(value), wanted)
    pixels = name in _PIXELS
    fix = "give how many pixels it is" if pixels and str(value.unit) != "pix" else "give its .value"
    return ArgumentError(name, repr(value), f"{wanted}{' of pixels' if pixels else ''}, without a unit", fix)


def mode_of(name: str, value: Any) -> str:
    """Our name of a border."""
    return border(value, name)


def placed(name: str, origin: int, size: int) -> int:
    """Where a window begins, counted from the pixel: scipy.ndimage's ``origin`` moves it towards smaller indices."""
    first = -(size // 2) - origin
    if not -size < first <= 0:
        raise ArgumentError(name, origin, f"{-(size // 2)} to {(size - 1) // 2} for a window of {size}, so that it holds its pixel")
    return first


def asked(given: Any) -> tuple[str, Any]:
    """A filter's ``output``: the dtype asked for, "" where none is, and the array given."""
    if isinstance(given, int | float):
        raise ArgumentError("output", repr(given), "an array, or a dtype such as 'float32'")
    if given is None or not (isinstance(given, type | str) or type(given).__name__ == "dtype" or isinstance(given, np.dtype)):
        return "", given
    try:
        return numpys(given).str, None
    except TypeError:
        raise ArgumentError("output", repr(given), "an array, or a dtype such as 'float32'") from None


def kind_asked(given: Any, wanted: str) -> str:
    """The dtype of a filter's result where no array can be given for it: that asked for, if it holds the result's own."""
    kind = asked(given)[0]
    _held(np.dtype(kind or wanted), np.dtype(wanted))
    return kind or wanted


def target_of(given: Any, kind: str, result: ArraySpec, source: Array, shared: Callable[[Array, Array], bool]) -> Array:
    """The array a result goes to: ``output`` checked, or a new one, of the dtype asked for if one is."""
    if given is None:
        _held(np.dtype(kind or result.dtype), np.dtype(result.dtype))
        return output(None, ArraySpec(result.shape, kind or result.dtype), source)
    target = receive(given, "output")
    check_writable(target, given, "output")
    if tuple(target.data.shape) != result.shape:
        raise ShapeError("output", f"shape {tuple(target.data.shape)}", f"{result.shape}")
    _held(np.dtype(target.data.dtype), np.dtype(result.dtype))
    if shared(source, target):
        raise ArgumentError("output", "memory shared with input", "memory of its own")
    return target


def _held(kind: np.dtype, wanted: np.dtype) -> None:
    """Refuse a dtype that does not hold the result."""
    if not (np.can_cast(wanted, kind, "safe") or (kind.kind == wanted.kind == "f")):
        fix = "round and cast the result" if wanted.kind == "f" and kind.kind in "iu" else ""
        raise ShapeError("output", f"dtype {kind.name}", f"one that holds {wanted.name}", fix)
