"""Correlation of an image that lacks some of its values, which are NaN or masked, or counts them by weights."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from footprint.ops.convolve import OfSums
from footprint.plan.builder import Builder
from footprint.plan.slots import NOTHING, Given, Number, Reach, Ref
from footprint.spec import ArraySpec, Limits

TREATMENTS = ("propagate", "interpolate", "ignore")


@dataclass(frozen=True)
class Known(OfSums):
    """The sums of ``of`` over all that is known; with ``scaled`` over the sum of the weights there, times that of all weights.

    Not known is NaN, unless it ``spreads``, what the input ``masked`` marks, and what has no weight above 0 in ``weight``;
    the two are there where the fields say so. A NaN that lies outside as the constant is none of what is known either, and beside
    weights, whose scale is the caller's, no number there is; without them any other number there has a weight of 1.
    """

    scaled: bool = True
    spreads: bool = False
    masked: bool = False
    weighed: bool = False

    @property
    def more(self) -> tuple[str, ...]:
        """Names of the inputs beside image and mask."""
        return ("masked",) * self.masked + ("weight",) * self.weighed

    @property
    def axes(self) -> tuple[str, ...]:  # type: ignore[override]
        """What lies beside the image has its axes."""
        return (*self.of.axes, *(self.of.axes[0] for _ in self.more))

    def names(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Image, mask, and what lies beside the image."""
        return (*self.of.names()[0], *self.more), ("out",)

    def cuts_on(self, limits: Limits, ins: tuple[Given, ...]) -> str:
        """What all arrays of the image's shape allow."""
        allowed = [self.of.cuts_on(limits, (given,)) for given in (ins[0], *ins[2:])]
        return "".join(axis for axis in self.cut if all(axis in axes for axes in allowed))

    def reach(self, number: int, axis: str) -> Reach:
        """What lies beside the image is needed where the image is."""
        return NOTHING if number == 1 else self.halo(axis)

    def out_specs(self, *specs: ArraySpec) -> tuple[ArraySpec, ...]:
        """Those of the sums."""
        return self.of.out_specs(*specs[:2])

    def flops(self, *specs: ArraySpec) -> float:
        """Sums of values, and of weights."""
        return (2 if self.scaled else 1) * self.of.flops(*specs[:2])

    def record(self, b: Builder, *refs: Ref) -> None:
        """Record values and where they are, the sums of both, and their ratio."""
        image, weights, *more, out = refs
        kind = self.of.summed(image.spec.dtype)
        values, source = b.like(image, kind, "values that are known" if more else "values without NaN"), image
        if not b.readable(image, kind):
            source = b.fetch(image, values)
        w = b.bring(weights, dtype=kind)
        # Small integers are read as they are.
        shares = kind if self.weighed else replace(self.of, kind=kind).reads("uint8")
        known = b.like(image, shares, "where it is known") if self.scaled else None
        if more:
            self._weigh(b, source, dict(zip(self.more, more)), values, known, kind)
        elif known is not None:
            b.launch("known.split", source, values, known)
        else:
            b.launch("known.fill", source, values)
        unknown = math.isnan(self.of.cval) or self.weighed
        sums = replace(self.of, cval=0.0) if unknown else self.of
        if known is None:
            with b.deliver(out, dtype=kind) as y:
                sums.launch(b, values, w, y, out)
            return
        several = self.of.masks != "one"
        one, below = b.const(np.ones((1,) * len(self.of.taps), kind), "one"), b.like(out, kind, "sums of weights where it is known")
        shape = (*w.spec.shape[:several], *one.spec.shape)
        whole = b.like(w, kind, "sum of weights", shape=shape, axes=w.slot.spec.axes[:several])
        with b.deliver(out, dtype=kind) as y:
            sums.launch(b, values, w, y, out)
            replace(self.of, cval=0.0 if unknown else 1.0).launch(b, known, w, below, out)
            masks = "all" if several else "one"
            replace(self.of, mode="valid", boundary="nearest", origin=(), batch=0, masks=masks).launch(b, one, w, whole, whole)
            if not several:
                b.launch("known.ratio", y, below, whole)
                return
            with b.repeat(whole) as loop:
                b.launch("known.ratio", y.row(loop), below.row(loop), whole.row(loop))

    def _weigh(self, b: Builder, source: Ref, more: dict[str, Ref], values: Ref, known: Ref | None, kind: str) -> None:
        """Record what is known of the image by what lies beside it."""
        masked = b.bring(more["masked"], dtype="bool") if self.masked else b.const(np.zeros(1, bool), "none is masked")
        weight = b.bring(more["weight"], dtype=kind) if self.weighed else b.const(np.ones(1, kind), "a weight of 1")
        how: dict[str, Number] = {"by_mask": self.masked, "by_weight": self.weighed}
        how |= {"spreads": self.spreads, "counts": known is not None}
        b.launch("known.weigh", source, masked, weight, values, values if known is None else known, **how)
