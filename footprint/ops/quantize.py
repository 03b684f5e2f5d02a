"""Slices as whole numbers of 8 or 16 bits."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from footprint.errors import ArgumentError, choose
from footprint.ops.base import Op
from footprint.ops.fbp import Fbp
from footprint.ops.pipeline import FUSIONS, Stage
from footprint.plan.builder import Builder
from footprint.plan.rates import Cost
from footprint.plan.slots import Ref
from footprint.spec import ArraySpec, Limits

DTYPES = ("uint8", "uint16")


@dataclass(frozen=True)
class Quantize(Op):
    """Values from ``low`` to ``high`` as 0 to the largest whole number of ``dtype``, rounded; others are clipped, NaN is 0."""

    low: float
    high: float
    dtype: str = "uint8"

    axes = ("zy.",)
    cut = "zy"

    @property
    def step(self) -> float:
        """Between whole numbers: value = low + number * step."""
        return (self.high - self.low) / float(np.iinfo(self.dtype).max)

    def names(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Slices of either kind."""
        return ("slices",), ("numbers",)

    def out_specs(self, *specs: ArraySpec) -> tuple[ArraySpec, ...]:
        """The same shape; raises where the range is none."""
        choose("out_dtype", self.dtype, DTYPES)
        if not (math.isfinite(self.low) and math.isfinite(self.high) and self.low < self.high):
            raise ArgumentError("out_range", (self.low, self.high), "two finite numbers, the first below the second")
        return (ArraySpec(specs[0].shape, self.dtype, "zy."),)

    def record(self, b: Builder, *refs: Ref) -> None:
        """One launch."""
        values = b.bring(refs[0], "float32")
        with b.deliver(refs[1], self.dtype) as numbers:
            b.launch("quantize", values, numbers, low=self.low, high=self.high)


@dataclass(frozen=True)
class QuantizedFbp(Op):
    """`Fbp` and `Quantize`: what is complete is made whole numbers, so that angles may be summed in groups, slices in tiles."""

    fbp: Fbp
    quantize: Quantize

    axes = ("zax",)
    sums = "a"

    @property
    def cut(self) -> str:  # type: ignore[override]
        """As the backprojection."""
        return self.fbp.cut

    @property
    def units(self) -> dict[str, str]:  # type: ignore[override]
        """As the backprojection."""
        return dict(self.fbp.units)

    def names(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Sinograms and slices."""
        return self.fbp.names()

    def out_specs(self, *specs: ArraySpec) -> tuple[ArraySpec, ...]:
        """Slices of whole numbers."""
        return self.quantize.out_specs(*self.fbp.out_specs(*specs))

    def cost(self, limits: Limits, *specs: ArraySpec) -> Cost:
        """As the backprojection."""
        return self.fbp.cost(limits, *specs)

    def record(self, b: Builder, *refs: Ref) -> None:
        """The slices as scratch, which the last part of a sum makes numbers of."""
        sino, out = refs
        slices = b.held(out, out.slot.spec.shape, "float32", "slices")
        self.fbp.record(b, sino, slices)
        with b.only("last"), b.deliver(out, self.quantize.dtype) as numbers:
            b.launch("quantize", slices, numbers, low=self.quantize.low, high=self.quantize.high)


def _complete(stages: tuple[Stage, ...]) -> Stage:
    fbp, quantize = (stage.op for stage in stages)
    assert isinstance(fbp, Fbp) and isinstance(quantize, Quantize)
    return Stage(QuantizedFbp(fbp, quantize), stages[0].reads, stages[1].writes)


FUSIONS[(Fbp, Quantize)] = _complete
