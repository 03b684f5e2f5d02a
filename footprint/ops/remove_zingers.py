"""Zingers off projections: single bright values that a stray photon leaves."""

from __future__ import annotations

from dataclasses import dataclass

from footprint.errors import ShapeError
from footprint.ops.base import Op
from footprint.plan.builder import Builder
from footprint.plan.slots import NOTHING, Halo, Reach, Ref
from footprint.spec import ArraySpec


@dataclass(frozen=True)
class RemoveZingers(Op):
    """Values above (1 + ``threshold``) times the median of the ``size`` by ``size`` around them, replaced by that median.

    Of projections (n_angles, n_z, n_x); the detector's outermost values stand for those beyond it.
    """

    threshold: float
    size: int = 3

    axes = ("azx",)
    cut = "za"
    units = {"z": "rows", "a": "angles"}  # noqa: RUF012  shared, never changed

    def names(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Projections and out."""
        return ("projections",), ("out",)

    def halo(self, axis: str) -> Reach:
        """Half a window."""
        return Halo(self.size // 2, self.size // 2) if axis == "z" else NOTHING

    def out_specs(self, *specs: ArraySpec) -> tuple[ArraySpec, ...]:
        """The same shape, float32."""
        if len(specs[0].shape) != 3:
            raise ShapeError("projections", f"shape {specs[0].shape}", "(n_z, n_x) or (n_angles, n_z, n_x)")
        return (ArraySpec(specs[0].shape, "float32", "azx"),)

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
