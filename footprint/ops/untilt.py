"""Projections whose rotation axis leans turned upright."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from footprint.errors import ShapeError
from footprint.ops.families import ProjectionFilter
from footprint.plan.builder import Builder
from footprint.plan.slots import Ref
from footprint.spec import ArraySpec


@dataclass(frozen=True)
class Untilt(ProjectionFilter):
    """Projections turned by an angle about the detector's middle, bilinear: an axis at c + tan(tilt) (z - middle) stands upright.

    Attributes
    ----------
    degrees
        The tilt: positive where the axis is at larger x in rows of larger z.
    rows, columns
        Of the detector.
    first
        The detector's row that projections begin with.
    """

    degrees: float
    rows: int
    columns: int
    first: int = 0

    @property
    def reach_z(self) -> int:
        """What the outermost column is lifted by, and the row below."""
        angle = math.radians(self.degrees)
        across, down = abs(math.sin(angle)) * (self.columns - 1) / 2, (1 - math.cos(angle)) * (self.rows - 1) / 2
        return math.ceil(across + down) + 1

    def placed(self, first: int) -> Untilt:
        """Of projections that begin with another row."""
        return replace(self, first=first)

    def out_specs(self, *specs: ArraySpec) -> tuple[ArraySpec, ...]:
        """The same shape, float32."""
        out = super().out_specs(*specs)
        _, n_z, n_x = specs[0].shape
        if n_x != self.columns or n_z + self.first > self.rows:
            raise ShapeError("tilt", f"projections of {n_z} x {n_x}", f"a detector of {self.rows} x {self.columns}")
        return out

    def flops(self, *specs: ArraySpec) -> float:
        """A position and a mixture of four."""
        return 20.0 * specs[0].size

    def record(self, b: Builder, *refs: Ref) -> None:
        """Record one launch."""
        given, out = refs
        x, angle = b.bring(given, "float32"), math.radians(self.degrees)
        turn = {"sine": math.sin(angle), "cosine": math.cos(angle), "rows": self.rows}
        with b.deliver(out, "float32") as y:
            b.launch("untilt", x, y, z0=b.first(given, "z") + self.first, y0=b.first(out, "z") + self.first, **turn)
