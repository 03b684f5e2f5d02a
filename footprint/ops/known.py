"""Correlation of an image that lacks some of its values, which are NaN."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from footprint.ops.convolve import OfSums
from footprint.plan.builder import Builder
from footprint.plan.slots import Ref
from footprint.spec import ArraySpec

TREATMENTS = ("propagate", "interpolate", "ignore")


@dataclass(frozen=True)
class Known(OfSums):
    """The sums of ``of`` over all that is not NaN; with ``scaled`` over the sum of the weights there, times that of all weights.

    A NaN that lies outside as the constant is none of what is known either.
    """

    scaled: bool = True

    def flops(self, *specs: ArraySpec) -> float:
        """Sums of values, and of weights."""
        return (2 if self.scaled else 1) * self.of.flops(*specs)

    def record(self, b: Builder, *refs: Ref) -> None:
        """Record values and where they are, the sums of both, and their ratio."""
        image, weights, out = refs
        kind = self.of.summed(image.spec.dtype)
        values, source = b.like(image, kind, "values without NaN"), image
        if not b.readable(image, kind):
            source = b.fetch(image, values)
        w = b.bring(weights, dtype=kind)
        unknown = math.isnan(self.of.cval)
        sums = replace(self.of, cval=0.0) if unknown else self.of
        if not self.scaled:
            b.launch("known.fill", source, values)
            with b.deliver(out, dtype=kind) as y:
                sums.launch(b, values, w, y, out)
            return
        # Small integers are read as they are.
        known = b.like(image, replace(self.of, kind=kind).reads("uint8"), "where it is known")
        b.launch("known.split", source, values, known)
        one = b.const(np.ones((1,) * len(self.of.taps), kind), "one")
        whole, below = b.scratch(one.spec.shape, kind, "sum of weights"), b.like(out, kind, "sums of weights where it is known")
        with b.deliver(out, dtype=kind) as y:
            sums.launch(b, values, w, y, out)
            replace(self.of, cval=0.0 if unknown else 1.0).launch(b, known, w, below, out)
            replace(self.of, mode="valid", boundary="nearest", origin=(), batch=0).launch(b, one, w, whole, whole)
            b.launch("known.ratio", y, below, whole)
