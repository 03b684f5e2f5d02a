"""Label the connected components of a mask."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from footprint.api._arrays import Array, Memory, described, finished, output, receive, shared_memory, where
from footprint.api._call import Face, Stream, call, planned
from footprint.api._image import foretold
from footprint.api._recall import fresh, looks, recall, remember, replay
from footprint.api._room import enough
from footprint.errors import BudgetError, CapacityError, ShapeError
from footprint.kernels.label.contract import default_capacity
from footprint.ops.label import Label, check_connectivity
from footprint.plan.faces import Filler
from footprint.plan.plan import Plan
from footprint.spec import ArraySpec


def label(mask: Any, connectivity: int = 4, *, out: Any = None, memory: Memory = None, device: str = "auto") -> tuple[Any, int]:
    """Number the connected components of a mask from 1, by the raster order of their first pixel: SciPy's numbers exactly.

    Parameters
    ----------
    mask : array (n_y, n_x) or (n_x,)
        Set where not zero; NaN counts as set, as in NumPy. bool and uint8 are read in place.
    connectivity : {4, 8}
        8 if pixels that touch only at corners belong together, 4 if not.
    out : array of the mask's shape, optional
        Where the labels go: int32, or int64.
    memory : str, int or float, optional
        The most memory the run may take beyond the arrays you pass in.
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
        More than two dimensions, a connectivity that is not 4 or 8, a budget that is too small: the one named is enough for any
        mask.
    CapacityError
        A budget that is enough for most masks, but not for so many components.

    Examples
    --------
    >>> import numpy as np, footprint as fp
    >>> fp.label(np.array([[1, 0, 1], [0, 1, 1]], bool))
    (array([[1, 0, 2],
           [0, 2, 2]], dtype=int32), 2)
    """
    look = looks("label", (connectivity, memory, device), mask, out)
    found = _again(look, mask, out)
    if found is not None:
        return found
    source = receive(mask, "mask")
    op = Label(check_connectivity(connectivity))
    shape = tuple(source.data.shape)
    flat = (1, *shape) if len(shape) == 1 else shape
    target = output(out, ArraySpec(shape, op.out_specs(ArraySpec(flat, "uint8"))[0].dtype), source)
    if np.dtype(target.data.dtype).kind != "i" or target.data.dtype.itemsize < 4:
        raise ShapeError("out", f"dtype {target.data.dtype}", "int32 or int64")
    if source.spec.size == 0:
        return finished(target, out), 0
    count, ids = np.zeros(1, np.int64), Array(target.data.reshape(flat), target.kind, target.device)
    there = source.device != "cpu" and source.data.dtype.itemsize > 1
    marks, op = _marks(source, flat), replace(op, made=there)
    while True:
        try:
            key = call("label", op, [marks], [ids, Array(count, "numpy", "cpu")], where(device, source, target), memory)
        except BudgetError as error:
            raise _enough_for_any(op, error, ArraySpec(flat, "uint8"), marks, ids, where(device, source, target)) from None
        if source.data.dtype.itemsize == 1:
            remember(look, key, target.spec)
        if count[0] >= 0:
            return finished(target, out), int(count[0])
        op = _roomier(op, int(-count[0]), ArraySpec(flat, "uint8"), marks, ids, where(device, source, target), memory)


def _again(look: Any, mask: Any, out: Any) -> tuple[Any, int] | None:
    """The labels of a mask like an earlier one, bytes that are read where they lie."""
    known = recall(look)
    target = None if known is None else fresh(known, 0, mask) if out is None else out
    if known is None or target is None or (out is not None and shared_memory(mask, out)):
        return None
    count, flat = np.zeros(1, np.int64), (1, *mask.shape) if mask.ndim == 1 else mask.shape
    bytes_of = mask.view(np.uint8) if type(mask) is np.ndarray else mask
    if not replay(known, [bytes_of.reshape(flat)], [target.reshape(flat), count]) or count[0] < 0:
        return None
    return target, int(count[0])


def _marks(source: Array, flat: tuple[int, ...]) -> Array | Stream:
    """The mask as bytes: set or not, which no cast would say of 0.5 or 256."""
    data = source.data.reshape(flat)
    if data.dtype.itemsize == 1:
        return Array(data.view(np.uint8), source.kind, source.device)
    if source.device != "cpu":
        return Array((data != 0).view(np.uint8), source.kind, source.device)
    made = Filler(lambda region, block: np.not_equal(data[region], 0, out=block.view(bool)))
    return Stream(made, ArraySpec(flat, "uint8"), key="set")


def _enough_for_any(op: Label, error: BudgetError, mask: ArraySpec, marks: Face, ids: Face, device: str) -> BudgetError:
    """The refusal with a budget that does whatever the mask holds: how many components there are is not known yet."""
    # No row has more that are not joined.
    most = replace(op, capacity=max(1, mask.shape[0] * -(-mask.shape[1] // 2)))
    try:
        planned("label", most, [marks], [ids, *foretold(op.out_specs(mask)[1])], device, 1)
    except BudgetError as enough:
        what = "label of any mask of this shape"
        return BudgetError(error.budget, enough.terms, enough.smallest, what, "", *enough.and_more(0))
    return error


def _roomier(op: Label, needed: int, mask: ArraySpec, marks: Face, ids: Face, device: str, memory: Memory) -> Label:
    """The job with room for all components that its parts have, if the budget allows."""
    counted = op.out_specs(mask)[1]

    def plan(room: int, memory: Memory) -> Plan:
        return planned("label", replace(op, capacity=room), [marks], [ids, *foretold(counted)], device, memory)

    try:
        plan(needed, memory)
    except BudgetError as error:
        does = enough(plan, op.capacity, needed, error.smallest, memory)
        raise CapacityError("memory", default_capacity(mask.size), needed, f"give memory={does} or more") from error
    return replace(op, capacity=needed)


def plan_label(
    shape: tuple[int, ...], connectivity: int = 4, *, dtype: str = "bool", memory: Memory = None, device: str = "auto"
) -> Plan:
    """Plan `label` of a C-contiguous mask of this shape and dtype.

    Parameters
    ----------
    shape : tuple of int
        Of the mask.
    dtype : str
        Of the mask.
    connectivity, memory, device
        As in `label`.

    Returns
    -------
    Plan
        Its outputs are labels and their number.

    Examples
    --------
    >>> import footprint as fp
    >>> fp.plan_label((512, 512), device="cpu").footprint.total < 8192
    True
    """
    op = Label(check_connectivity(connectivity))
    spec, _ = described(shape, dtype)
    flat = ArraySpec((1, *spec.shape) if len(spec.shape) == 1 else spec.shape, "uint8")
    mask = foretold(flat) if spec.itemsize == 1 else [Stream(None, flat, key="set")]
    return planned("label", op, mask, foretold(*op.out_specs(flat)), where(device), memory)
