"""Operations that may see an image through a filter: the mean of each pixel's surroundings, by the beam."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from footprint.dtypes import kernel_dtype
from footprint.ops.base import Op, Table
from footprint.ops.convolve import Correlate
from footprint.ops.separated import made_of
from footprint.plan.builder import Builder
from footprint.plan.slots import NOTHING, Reach, Ref
from footprint.spec import ArraySpec


@dataclass(frozen=True)
class Smooth:
    """Weights that add up to 1: the sum over r of ``tall[r, i] wide[r, j]``, as many rows and columns as either is long."""

    tall: Table
    wide: Table

    @property
    def sums(self) -> Correlate:
        """What they are summed by; beyond the image there is no data."""
        return Correlate((self.tall.array.shape[1], self.wide.array.shape[1]))

    def of(self, b: Builder, x: Ref, own: Ref) -> Ref:
        """Means of the surroundings of a part's own rows, ``own`` being cut as they are, where ``x`` has what they reach."""
        dtype = x.spec.dtype
        values, good = (b.like(x, dtype, name) for name in ("values that are known", "which values are known"))
        b.launch("matched.known", x, values, good)
        op, *factors = made_of(self.sums, self.tall.array, self.wide.array, dtype, 0)
        tall, wide = (b.const(array, name) for array, name in zip(factors, ("weights down", "weights across")))
        found, whole = [], own.slot.spec
        for ref, name in ((values, "filtered"), (good, "shares of the filter")):
            target = b.between(ArraySpec(whole.shape, dtype, whole.axes), name, {})
            op.record(b, ref, tall, wide, target)
            found.append(target)
        first, begins = b.first(found[0], "y"), b.first(good, "y")
        start: Any = 0 if isinstance(first, int) else first - begins
        b.launch("matched.mean", good, *found, start=start)
        return found[0]


@dataclass(frozen=True)
class Pixels(Op):
    """What reads the pixels of an image, its first input: as they are, or through a filter."""

    smooth: Smooth | None = field(default=None, kw_only=True)

    def halo(self, axis: str) -> Reach:
        """What the filter reaches."""
        return NOTHING if self.smooth is None or axis != "y" else self.smooth.sums.halo(axis)

    def flops(self, *specs: ArraySpec) -> float:
        """With those of the filter, whose sums are of values and of what is known."""
        taps = 0 if self.smooth is None else self.smooth.tall.array.size + self.smooth.wide.array.size
        return super().flops(*specs) + 4.0 * taps * specs[0].size

    def pixels(self, b: Builder, image: Ref) -> Ref:
        """Those of a part."""
        x = b.bring(image, dtype=kernel_dtype(image.spec.dtype))
        return x if self.smooth is None else self.smooth.of(b, x, image)
