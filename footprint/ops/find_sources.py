"""Clip, threshold, label and measure, in one launch a block."""

from __future__ import annotations

from dataclasses import dataclass

from footprint.kernels.find_sources.contract import default_capacities
from footprint.ops.sigma_clip import SigmaClip
from footprint.plan.builder import Builder
from footprint.plan.slots import Ref
from footprint.spec import ArraySpec

# Bytes a source takes in the catalogue: fifteen columns of eight bytes, ra and dec among them.
_ROW = 120


@dataclass(frozen=True)
class FindSources(SigmaClip):
    """Islands over ``threshold`` sigmas of the noise left after clipping at ``sigma``.

    ``capacity`` is the number of components the plan has room for, 0 for the usual; ``labels`` asks for the label image too.
    """

    threshold: float = 5.0
    connectivity: int = 4
    min_area: int = 1
    lesson: bool = False
    capacity: int = 0
    labels: bool = False

    def out_specs(self, image: ArraySpec) -> tuple[ArraySpec, ...]:
        """Statistics, counts, moments and boxes of the components, and the label image of the block if wanted."""
        n = self.capacity or default_capacities(self.height * self.width)[0]
        table = (ArraySpec((n, 4), "float64"), ArraySpec((n, 8), "int64"))
        return (*super().out_specs(image), *table, *((ArraySpec(image.shape, "int32"),) if self.labels else ()))

    def launch(self, b: Builder, *refs: Ref) -> None:
        """The one step."""
        capacity = refs[4].spec.shape[0]
        b.library("catalogue's columns", _ROW * capacity)
        b.launch(
            "find_sources.labelled" if self.labels else "find_sources.table",
            *refs,
            height=self.height,
            width=self.width,
            sigma=self.threshold,
            kappa=self.sigma,
            maxiters=self.maxiters,
            connectivity=self.connectivity,
            min_area=self.min_area,
            lesson=self.lesson,
        )
