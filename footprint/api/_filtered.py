"""How convolve and correlate come to an operation, and run it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from footprint.api._arrays import Memory, described, finished, output, receive, shared, shared_memory, where
from footprint.api._call import call
from footprint.api._mask import weights_of
from footprint.api._recall import fresh, looks, recall, remember, replay
from footprint.api._units import is_quantity, plain
from footprint.backend.arrays import NUMPY, kind_of
from footprint.dtypes import sum_dtype
from footprint.errors import ArgumentError, choose
from footprint.ops.base import Op
from footprint.ops.convolve import Correlate
from footprint.ops.known import TREATMENTS, Known
from footprint.spec import ArraySpec

How = tuple[str, str, str, str, str]
"""Mode, boundary, the dtypes of sums and of the result that were asked for, and what is done about NaN."""


def filtered(image: Any, mask: Any, flip: bool, how: How, cval: Any, out: Any, memory: Memory, device: str) -> Any:
    """Filter numbers, and give the result the units of image and mask where they have any."""
    if not (is_quantity(image) or is_quantity(mask)):
        return _run(image, mask, flip, how, number(cval), out, memory, device)
    (image, of_image), (mask, of_mask) = plain(image, "image"), plain(mask, "mask")
    if of_image is not None and is_quantity(cval):
        cval, _ = plain(cval, "cval", of_image)
    unit = of_image * of_mask if of_image is not None and of_mask is not None else of_image if of_mask is None else of_mask
    target = out
    if out is not None:
        if not is_quantity(out) or out.unit != unit:
            raise ArgumentError("out", type(out).__name__, f"a Quantity in {unit or 'no unit'}, as image and mask have units")
        target = out.value
    result = _run(image, mask, flip, how, number(cval), target, memory, device)
    return out if out is not None else result << unit


def operation(
    image: ArraySpec, mask_shape: Any, mode: str, boundary: str, cval: float, sums: str = "", nan: str = "propagate"
) -> tuple[Op, ArraySpec]:
    """The operation, and the mask as it wants it."""
    weights, _ = described(mask_shape, sums or sum_dtype(image.dtype), "mask_shape")
    op = Correlate(weights.shape, mode, boundary, cval, sums)
    choose("nan", nan, TREATMENTS)
    # Integers are all numbers.
    able = np.dtype(image.dtype).kind == "f" or (boundary == "constant" and math.isnan(cval))
    return (op if nan == "propagate" or not able else Known(op, nan == "interpolate")), weights


def returned(spec: ArraySpec, kind: str) -> ArraySpec:
    """A result of sums in the dtype that was asked for."""
    return ArraySpec(spec.shape, kind) if kind else spec


def number(cval: Any) -> float:
    """What lies outside, as a number."""
    try:
        return float(cval)
    except (TypeError, ValueError, OverflowError):
        raise ArgumentError("cval", repr(cval), "a number") from None


def _run(image: Any, mask: Any, flip: bool, how: How, cval: float, out: Any, memory: Memory, device: str) -> Any:
    # How a mask on the host lies decides whether it has a slot.
    seen = NUMPY.in_order(mask, flip, "") if type(mask) is np.ndarray else mask
    # The sum of a mask's weights is looked at anew.
    look = looks("convolve", (flip, *how, cval, memory, device), image, seen, out) if how[-1] != "interpolate" else None
    known = recall(look)
    if known is not None and (out is None or not shared_memory(image, out)):
        target = fresh(known, 0, image) if out is None else out
        weights = seen if type(mask) is np.ndarray else kind_of(mask).in_order(mask, flip, known.small)
        if target is not None and replay(known, (image, weights), (target,)):
            return target
    mode, boundary, sums, kind, nan = how
    source = receive(image, "image")
    given = weights_of(mask, flip, sums or source.spec.dtype, source, nan == "interpolate")
    op, weights = operation(source.spec, given.spec.shape, mode, boundary, cval, sums, nan)
    target = output(out, returned(op.out_specs(source.spec, given.spec)[0], kind), source)
    if out is not None and shared(source, target):
        raise ArgumentError("out", "memory shared with image", "an array of its own")
    if target.spec.size:
        key = call("convolve", op, [source, given], [target], where(device, source, target), memory)
        # The next mask is only turned and cast where it lies: this one must not have been brought here from elsewhere.
        if kind_of(mask).turns and kind_of(mask) is kind_of(given.data):
            remember(look, key, target.spec, weights.dtype)
    return finished(target, out)
