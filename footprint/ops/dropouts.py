"""Pixels that failed in single projections: without light where their neighbours have some."""

from __future__ import annotations

from dataclasses import dataclass

from footprint.ops.base import Op
from footprint.plan.builder import Builder
from footprint.plan.slots import Ref
from footprint.spec import ArraySpec

# Just below -log(1e-6), the line integral of a pixel that saw no more than the dark.
_NO_LIGHT = 13.8


@dataclass(frozen=True)
class Dropouts(Op):
    """Runs of at most 4 dead pixels of a row from their neighbours along x; longer ones are the sample's, or the mask's.

    In a sinogram a pixel that fails for some projections draws an arc, or a ray where it fails in one.

    Attributes
    ----------
    level
        Line integrals from here on are dead; where it is 0, those that are exactly 0 are.
    """

    level: float = _NO_LIGHT

    axes = ("zax",)
    cut = "za"
    in_place = True

    def out_specs(self, *specs: ArraySpec) -> tuple[ArraySpec, ...]:
        """The same shape, float32."""
        return (ArraySpec(specs[0].shape, "float32", "zax"),)

    def record(self, b: Builder, *refs: Ref) -> None:
        """Record one launch."""
        x = b.bring(refs[0], "float32")
        with b.deliver(refs[1], "float32") as y:
            b.launch("dropouts", x, y, level=self.level)
