"""Zingers off projections: single bright values that a stray photon leaves."""

from __future__ import annotations

from dataclasses import dataclass

from footprint.ops.families import ProjectionFilter
from footprint.plan.builder import Builder
from footprint.plan.slots import Ref
from footprint.spec import ArraySpec


@dataclass(frozen=True)
class RemoveZingers(ProjectionFilter):
    """Values above (1 + ``threshold``) times the median of the ``size`` by ``size`` around them, replaced by that median.

    Of projections (n_angles, n_z, n_x); the detector's outermost values stand for those beyond it.
    """

    threshold: float
    size: int = 3

    @property
    def reach_z(self) -> int:
        """Half a window."""
        return self.size // 2

    def flops(self, *specs: ArraySpec) -> float:
        """A comparison for every value of a window."""
        return 2.0 * self.size**2 * specs[0].size

    def record(self, b: Builder, *refs: Ref) -> None:
        """Record one launch."""
        given, out = refs
        x = b.bring(given, "float32")
        where = {"z0": b.first(given, "z"), "y0": b.first(out, "z"), "total": given.slot.spec.length("z")}
        with b.deliver(out, "float32") as y:
            b.launch("remove_zingers", x, y, size=self.size, threshold=self.threshold, **where)
