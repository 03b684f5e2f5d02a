"""By which method a convolution is made, and what its plan is then handed beside the image."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from footprint.api._arrays import Array, Memory, limits_and_budget, on_host
from footprint.api._call import Described, Face, Stream
from footprint.errors import ArgumentError, choose
from footprint.ops.base import Op
from footprint.ops.complex_sums import ComplexSums
from footprint.ops.convolve import Correlate
from footprint.ops.overlap_save import METHODS, OverlapSave, by_method
from footprint.ops.separated import (
    Products,
    Separated,
    alike,
    beyond,
    factors_of,
    in_rows,
    is_looked_at,
    looking_bytes,
    made_of,
    most_products,
    of_one_number,
    product_of,
    quicker,
    separated,
    separated_plan,
    separating_bytes,
)
from footprint.plan.slots import Given
from footprint.spec import ArraySpec


class Made(NamedTuple):
    """An operation by a method, and its inputs beside the image.

    Attributes
    ----------
    weighed
        Whether the mask's values, not the shapes alone, decided on it.
    product
        What was seen of them where the mask is one product (`seen_as`), whether that is taken or not; else None.
    """

    op: Op
    rest: list[Face]
    weighed: bool = False
    product: Hashable | None = None


def seen_as(product: tuple[np.ndarray, np.ndarray] | None, cval: float) -> Hashable | None:
    """What decides of a mask's values: what lies beyond the sums down of its product, and which weights are equal; None of none."""
    return None if product is None else (beyond(cval, product[0]), alike(product))


def made_by(method: str, op: Op, image: ArraySpec, mask: Face, device: str, memory: Memory) -> Made:
    """The operation that makes the sums of ``op`` by a method.

    Of a mask in order of correlation only the products are handed on where it is a sum of some.
    """
    if isinstance(op, ComplexSums) and method in ("auto", "fft"):
        parts = ArraySpec(image.shape, op.of.summed(image.dtype))
        return Made(replace(op, of=by_method(method, op.of, parts, limits_and_budget(device, None)[0])), [mask])
    if not isinstance(op, Correlate):
        _direct_only(method)
        return Made(op, [mask])
    limits, budget = limits_and_budget(device, memory)
    if choose("method", method, METHODS) != "separable":
        chosen = by_method(method, op, image, limits)
        looks = method == "auto" and op.masks == "one" and _is_seen(mask)
        reasons = [quicker(op, chosen, image, limits, equal) if looks else None for equal in (False, True)]
        weighed = any(why is not None for why in reasons)
        if not weighed:
            return Made(chosen, [mask])
        product, beside = _product(op, image, mask)
        seen, reason = seen_as(product, op.cval), None if product is None else reasons[all(alike(product))]
        if product is None or reason is None:
            return Made(chosen, [mask], True, seen)
        kind = op.summed(image.dtype)
        return _handed(made_of(op, *in_rows(product, "float64"), kind, beside, reason), seen)
    if len(op.taps) != 2 or 0 in op.taps or op.batch or op.masks != "one":
        asked = "images of a batch" if op.batch else "several masks" if op.masks != "one" else f"a mask of shape {op.taps}"
        raise ArgumentError(
            "method", f"'separable' for {asked}", "'direct' there", "only the mask of a single image can be separable"
        )
    # Shapes that do not fit are told before the mask is taken apart.
    op.out_specs(image, mask.spec)
    short = limits.host and budget is not None and separating_bytes(op.taps) > budget
    if mask.data is None or short:
        # Where the mask may not be taken apart, the plan of as many products as there can be is what is refused.
        equal = short and _is_of_one_number(mask)
        rank = most_products(op.taps) if short and not equal else 1
        shapes = (ArraySpec((rank, n), op.summed(image.dtype)) for n in op.taps)
        return Made(replace(separated_plan(op, rank), equal=(equal, equal)), [Described(shape, Given()) for shape in shapes])
    return _handed(separated(op, _values(mask), op.summed(image.dtype)))


def _is_seen(mask: Face) -> bool:
    """Whether a mask's values can be looked at; on a device that would wait for all that the device was given before."""
    return mask.data is not None and not isinstance(mask, Described) and mask.device == "cpu"


def _is_of_one_number(mask: Face) -> bool:
    """Whether all weights are known to be equal."""
    if isinstance(mask, Stream):
        return mask.equal is not None
    return _is_seen(mask) and of_one_number(np.asarray(mask.data))


def _product(op: Correlate, image: ArraySpec, mask: Face) -> tuple[tuple[np.ndarray, np.ndarray] | None, int]:
    """Column and row of the one product that a mask is, None of any other mask; and the bytes that looking for it takes."""
    kind, beside = op.summed(image.dtype), looking_bytes(op.taps)
    if isinstance(mask, Stream) and mask.equal is not None:
        return factors_of(mask.equal, op.taps), beside
    if isinstance(mask, Stream):
        if not is_looked_at(image.shape, op.taps):
            return None, beside
        beside += mask.spec.nbytes + (mask.given.beside(mask.spec) if mask.given.beside is not None else 0)
    return product_of(_values(mask), kind), beside


def _handed(found: Products, seen: Hashable | None = None) -> Made:
    """An operation, and its columns and rows; ``seen`` is what the mask's values showed where they decided on it."""
    return Made(found[0], [Array(one, "numpy", "cpu") for one in found[1:]], seen is not None, seen)


def _direct_only(method: str) -> None:
    """What is left out of sums, or made up for, is known by sums of 0 exactly."""
    if choose("method", method, METHODS) in ("fft", "separable"):
        raise ArgumentError(
            "method",
            f"{method!r} for masked or weighted pixels, where nan is not 'propagate', or for complex numbers",
            "'direct' there, or 'fft' for complex numbers",
        )


def method_of(method: str, op: Op, image: ArraySpec, mask: Face, device: str) -> str:
    """The method that is meant: "auto" is one of the others."""
    if method != "auto":
        return method
    made = made_by(method, op, image, mask, device, None).op
    names: dict[type[Op], str] = {OverlapSave: "fft", Separated: "separable"}
    return names.get(type(made.of if isinstance(made, ComplexSums) else made), "direct")


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
