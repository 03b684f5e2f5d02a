"""Unsharp masks of projections."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from footprint.errors import ShapeError
from footprint.ops.base import Op
from footprint.ops.remove_stripes import gaussian
from footprint.plan.builder import Builder
from footprint.plan.slots import NOTHING, Halo, Reach, Ref
from footprint.spec import ArraySpec

# Projections of one batch, in bytes, where one is not more already.
_BATCH_BYTES = 16 << 20


@dataclass(frozen=True)
class Unsharp(Op):
    """Projections (n_angles, n_z, n_x) and ``amount`` times what a Gaussian of ``sigma`` pixels takes off them."""

    amount: float
    sigma: float = 1.0

    axes = ("azx",)
    cut = "za"
    units = {"z": "rows", "a": "angles"}  # noqa: RUF012  shared, never changed

    def names(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Projections and out."""
        return ("projections",), ("out",)

    def halo(self, axis: str) -> Reach:
        """The Gaussian's reach."""
        reach = len(gaussian(self.sigma)) - 1
        return Halo(reach, reach) if axis == "z" else NOTHING

    def out_specs(self, *specs: ArraySpec) -> tuple[ArraySpec, ...]:
        """The same shape, float32."""
        if len(specs[0].shape) != 3:
            raise ShapeError("projections", f"shape {specs[0].shape}", "(n_z, n_x) or (n_angles, n_z, n_x)")
        return (ArraySpec(specs[0].shape, "float32", "azx"),)

    def flops(self, *specs: ArraySpec) -> float:
        """Two sums over the Gaussian."""
        return 6.0 * len(gaussian(self.sigma)) * specs[0].size

    def record(self, b: Builder, *refs: Ref) -> None:
        """Record batches of projections: along x, then along z."""
        given, out = refs
        lines = b.bring(given, "float32")
        n, m, n_x = lines.spec.shape
        if n * m * n_x == 0:
            return
        weights = b.const(gaussian(self.sigma).astype(np.float32), "weights")
        where = {"z0": b.first(given, "z"), "y0": b.first(out, "z"), "total": given.slot.spec.length("z")}
        batch = max(1, min(n, _BATCH_BYTES // (4 * m * n_x)))
        with b.deliver(out, "float32") as made, b.repeat(lines, batch) as loop:
            part, y = lines.window(loop, batch), made.window(loop, batch)
            blurred = b.scratch((batch * m, n_x), "float32", "blurred along x").like_rows(part.reshape(-1, n_x))
            b.launch("unsharp.blur_rows", part, weights, blurred)
            b.launch("unsharp.sharpen", part, blurred, weights, y, amount=self.amount, **where)
