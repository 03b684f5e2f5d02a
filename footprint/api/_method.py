"""By which method a convolution is made, and what its plan is then handed beside the image."""

from __future__ import annotations

from typing import Any

import numpy as np

from footprint.api._arrays import Memory, limits_and_budget, on_host
from footprint.api._call import Face, Stream
from footprint.errors import ArgumentError, BudgetError, choose
from footprint.ops.base import Op
from footprint.ops.convolve import Correlate
from footprint.ops.overlap_save import METHODS, OverlapSave, by_method
from footprint.ops.separated import separated, separated_plan, separating_bytes
from footprint.spec import ArraySpec


def made_by(method: str, op: Op, image: ArraySpec, mask: Face, device: str, memory: Memory) -> tuple[Op, list[Face]]:
    """The operation that makes the sums of ``op`` by a method, and its inputs beside the image.

    Of a mask in order of correlation only the products are handed on where it is a sum of some.
    """
    if not isinstance(op, Correlate):
        _direct_only(method)
        return op, [mask]
    if choose("method", method, METHODS) != "separable":
        return by_method(method, op, image, limits_and_budget(device, None)[0]), [mask]
    if len(op.taps) != 2 or 0 in op.taps or op.batch:
        asked = "images of a batch" if op.batch else f"a mask of shape {op.taps}"
        raise ArgumentError("method", f"'separable' for {asked}", "'direct' there", "only an image's mask is, one at a time")
    # Shapes that do not fit are told before the mask is taken apart.
    op.out_specs(image, mask.spec)
    if mask.data is None:
        return separated_plan(op), []
    needed, (limits, budget) = separating_bytes(op.taps), limits_and_budget(device, memory)
    if limits.host and budget is not None and needed > budget:
        raise BudgetError(budget, {"products of the mask": needed}, needed, "the method 'separable'")
    return separated(op, _values(mask), op.summed(image.dtype)), []


def _direct_only(method: str) -> None:
    """What is left out of sums, or made up for, is known by sums of 0 exactly."""
    if choose("method", method, METHODS) in ("fft", "separable"):
        raise ArgumentError("method", f"{method!r} for complex numbers, or where nan is not 'propagate'", "'direct' there")


def method_of(method: str, op: Op, image: ArraySpec, device: str) -> str:
    """The method that is meant: "auto" is one of the others."""
    if method != "auto":
        return method
    if not isinstance(op, Correlate):
        return "direct"
    return "fft" if isinstance(by_method(method, op, image, limits_and_budget(device, None)[0]), OverlapSave) else "direct"


def for_frames(method: str, op: Op, frame: ArraySpec, device: str) -> Op:
    """The operation that filters every frame of a stack; its mask is handed to it with each."""
    if not isinstance(op, Correlate):
        _direct_only(method)
        return op
    if choose("method", method, METHODS) == "separable":
        raise ArgumentError("method", "'separable' for a stack of frames", "'auto', 'direct' or 'fft' there")
    return by_method(method, op, frame, limits_and_budget(device, None)[0])


def _values(mask: Any) -> np.ndarray:
    """The weights, in order of correlation; a file's are read."""
    if isinstance(mask, Stream):
        values = np.empty(mask.spec.shape, mask.spec.dtype)
        mask.data.fill(tuple(slice(0, n) for n in values.shape), values)
        return values
    return np.asarray(on_host(mask.data))
