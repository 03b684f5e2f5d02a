"""Pixels over a level."""

from __future__ import annotations

from dataclasses import dataclass

from footprint.ops.sigma_clip import kernel_dtype
from footprint.plan.builder import Builder
from footprint.plan.slots import Ref
from footprint.spec import ArraySpec


@dataclass(frozen=True)
class Threshold:
    """Marks where image - ``background`` > ``level``."""

    level: float
    background: float = 0.0

    def out_specs(self, image: ArraySpec) -> tuple[ArraySpec, ...]:
        """One byte a pixel."""
        return (ArraySpec(image.shape, "uint8"),)

    def record(self, b: Builder, image: Ref, mask: Ref) -> None:
        """One launch."""
        x = b.bring(image, dtype=kernel_dtype(image.spec.dtype))
        with b.deliver(mask) as marks:
            b.launch("threshold", x, marks, level=self.level, background=self.background)
