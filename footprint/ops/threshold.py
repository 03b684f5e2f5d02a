"""Pixels over a level."""

from __future__ import annotations

from dataclasses import dataclass

from footprint.kernels.threshold.contract import read_as
from footprint.ops.base import Op
from footprint.plan.builder import Builder
from footprint.plan.slots import Ref
from footprint.spec import ArraySpec


@dataclass(frozen=True)
class Threshold(Op):
    """Marks where image - ``background`` > ``level``; ``dims`` names the image's axes, all of which may be cut."""

    level: float
    background: float = 0.0
    dims: str = "yx"

    units = {"z": "planes", "y": "rows", "x": "pixels"}  # noqa: RUF012  shared, never changed

    @property
    def axes(self) -> tuple[str, ...]:  # type: ignore[override]
        """Of the image."""
        return (self.dims,)

    @property
    def cut(self) -> str:  # type: ignore[override]
        """Every axis: a pixel needs no other."""
        return self.dims.replace(".", "")

    def names(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Image and mask."""
        return ("image",), ("mask",)

    def out_specs(self, *specs: ArraySpec) -> tuple[ArraySpec, ...]:
        """One byte a pixel."""
        return (ArraySpec(specs[0].shape, "uint8", self.dims),)

    def record(self, b: Builder, *refs: Ref) -> None:
        """One launch."""
        image, mask = refs
        x = b.bring(image, dtype=read_as(image.spec.dtype))
        with b.deliver(mask) as marks:
            b.launch("threshold", x, marks, level=self.level, background=self.background)
