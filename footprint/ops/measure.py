"""Moments and boxes of labelled pixels."""

from __future__ import annotations

from dataclasses import dataclass

from footprint.errors import ShapeError
from footprint.ops.sigma_clip import kernel_dtype
from footprint.plan.builder import Builder
from footprint.plan.slots import Ref
from footprint.spec import ArraySpec


@dataclass(frozen=True)
class Measure:
    """Measures labels 1 to ``count``."""

    count: int

    def out_specs(self, image: ArraySpec, labels: ArraySpec) -> tuple[ArraySpec, ...]:
        """Moments (count, 4) and boxes (count, 8)."""
        if len(image.shape) != 2:
            raise ShapeError("image", f"shape {image.shape}", "(n_y, n_x)")
        if image.shape != labels.shape:
            raise ShapeError("labels", f"shape {labels.shape}", f"the image's {image.shape}")
        return ArraySpec((self.count, 4), "float64"), ArraySpec((self.count, 8), "int64")

    def record(self, b: Builder, image: Ref, labels: Ref, moments: Ref, boxes: Ref) -> None:
        """One launch."""
        x, ids = b.bring(image, dtype=kernel_dtype(image.spec.dtype)), b.bring(labels, dtype="int32")
        with b.deliver(moments) as m, b.deliver(boxes) as n:
            b.launch("measure", x, ids, m, n)
