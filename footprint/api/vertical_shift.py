"""Shift the projections of a scan vertically."""

from __future__ import annotations

from typing import Any

import numpy as np

from footprint.api._arrays import Memory, described, finished, on_host, output, receive, same_memory, shared, where
from footprint.api._call import call, plan_verb
from footprint.api._recall import again, looks, recall, remember
from footprint.errors import ArgumentError, ShapeError
from footprint.ops.vertical_shift import VerticalShift, are_near, dtype_of_shifts, split_near, split_shifts
from footprint.plan.exact import Latest
from footprint.plan.plan import Plan
from footprint.spec import ArraySpec

# Shifts of the last calls and what they were split into, which together take at most three times their bytes.
_TABLES: Latest[np.ndarray] = Latest(times=3)


def vertical_shift(radios: Any, shifts: Any, *, out: Any = None, memory: Memory = None, device: str = "auto") -> Any:
    """Shift each projection along z, out[a, z] = (1 - f) radios[a, z + s] + f radios[a, z + s + 1], s + f =
    shifts[a], s whole.

    Rows from outside the projection are 0; a positive shift reads from larger z. A whole shift copies rows exactly and reads no
    second row, so a NaN in it does not spread.

    Parameters
    ----------
    radios : array (n_angles, n_z, n_x)
        Real numbers of any dtype, byte order and strides.
    shifts : array (n_angles,)
        Pixels, finite; one per angle, however the stack is cut.
    out : array, optional
        Where the result goes: a floating array like ``radios``, or ``radios`` itself, which is then shifted in place.
    memory : str, int or float, optional
        The most memory a run may take beyond the arrays you pass in: "2GB", bytes, or a share of the free memory.
    device : str
        "auto", "cpu", "cuda", "cuda:1", "opencl".

    Returns
    -------
    array (n_angles, n_z, n_x)
        ``out``, or a new float32 array (float64 for float64 and integers of 32 and 64 bits).

    Raises
    ------
    ShapeError, ArgumentError, BudgetError
        Where the number of shifts is not the number of angles, a shift is not finite, or not one angle fits ``memory``.

    Examples
    --------
    >>> import numpy as np, footprint as fp
    >>> fp.vertical_shift(np.array([[[1.0], [2.0], [4.0]]]), [0.5])[0, :, 0]
    array([1.5, 3. , 2. ])
    """
    look = looks("vertical_shift", (memory, device), radios, out, shifts)
    known = recall(look)
    if known is not None and known.small:
        ready = _known_table(np.asarray(shifts, np.float64), known.small)
        found = again(look, [radios, ready], out) if ready is not None else None
        if found is not None:
            return found
    source = receive(radios, "radios")
    values = _shifts(shifts)
    result = VerticalShift().out_specs(source.spec, ArraySpec((len(values), 2), "float64"))[0]
    target = output(out, result, source)
    if out is not None and shared(source, target) and not same_memory(source, target):
        raise ArgumentError("out", "memory shared with radios", "memory of its own, or radios itself")
    kind = _kind(target.spec.dtype)
    if result.size:
        small = dtype_of_shifts(result.shape[1], kind)
        table = receive(split_shifts(values, result.shape[1], small), "shifts")
        device = where(device, source, target)
        key = call("vertical_shift", VerticalShift(kind), [source, table], [target], device, memory)
        remember(look, key, target.spec, small if type(shifts) is np.ndarray else "")
    return finished(target, out)


def plan_vertical_shift(
    shape: tuple[int, int, int], *, dtype: str = "float32", memory: Memory = None, device: str = "auto"
) -> Plan:
    """Plan `vertical_shift` of a C-contiguous stack of this shape and dtype.

    Parameters
    ----------
    shape : (n_angles, n_z, n_x)
        Of the stack.
    dtype : str
        Of the stack.
    memory, device
        As in `vertical_shift`.

    Returns
    -------
    Plan
        Its inputs are the stack and (n_angles, 2) of the shifts, whole rows and the rest; chunks are angles.

    Examples
    --------
    >>> import footprint as fp
    >>> fp.plan_vertical_shift((100, 64, 64), dtype="uint16", memory="1MB", device="cpu").chunks[0]
    (0, 50)
    """
    spec, _ = described(shape, dtype)
    n_angles = spec.shape[0] if spec.shape else 0
    result = VerticalShift().out_specs(spec, ArraySpec((n_angles, 2), "float64"))[0]
    kind = _kind(result.dtype)
    table = ArraySpec((n_angles, 2), dtype_of_shifts(result.shape[1], kind))
    return plan_verb("vertical_shift", VerticalShift(kind), [spec, table], where(device), memory)


def _known_table(values: np.ndarray, dtype: str) -> np.ndarray | None:
    """Whole rows and the rest of each shift, as when the same were given before; None where the long way must look at them."""
    data = values.tobytes()
    table = _TABLES.get(data, dtype)
    if table is None and are_near(values):
        table = split_near(values, dtype)
        _TABLES.put(data, table, dtype)
    return table


def _kind(dtype: str) -> str:
    return "float64" if np.dtype(dtype).itemsize >= 8 else "float32"


def _shifts(shifts: Any) -> np.ndarray:
    values = np.asarray(on_host(receive(shifts, "shifts").data), np.float64)
    if values.ndim != 1:
        raise ShapeError("shifts", f"shape {values.shape}", "(n_angles,)")
    if not np.isfinite(values).all():
        at = int(np.flatnonzero(~np.isfinite(values))[0])
        raise ArgumentError("shifts", f"{values[at]} at angle {at}", "finite numbers")
    return values
