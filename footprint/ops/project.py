"""Projection of slices onto the detector, the transpose of backprojection."""

from __future__ import annotations

from dataclasses import dataclass

from footprint.errors import ShapeError
from footprint.ops.backproject import Geometry
from footprint.ops.base import Op
from footprint.ops.families import batch_of
from footprint.plan.builder import Builder
from footprint.plan.rates import Cost, rates
from footprint.plan.slots import Ref
from footprint.spec import ArraySpec, Limits


@dataclass(frozen=True)
class Project(Op):
    """Spread every pixel onto the two bins it falls between: out[z, a, s] = sum of pixels times max(0, 1 - |h_a(x, y) - s|).

    The transpose of `Backproject` that is not weighted. Slices and angles may be made apart.
    """

    geometry: Geometry

    axes = ("z..",)
    cut = "za"
    units = {"z": "slices", "a": "angles"}  # noqa: RUF012  shared, never changed

    def names(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Slices and sinograms."""
        return ("volume",), ("sinogram",)

    def out_specs(self, *specs: ArraySpec) -> tuple[ArraySpec, ...]:
        """Sinograms of float32."""
        (slices,), own = specs, self.geometry.checked()
        if len(slices.shape) != 3 or min(slices.shape) < 1:
            raise ShapeError("volume", f"shape {slices.shape}", "(n_y, n_x) or (n_z, n_y, n_x), at least one pixel")
        if slices.shape[1:] != own.shape:
            raise ShapeError("volume", f"slices of {slices.shape[1:]}", f"{own.shape}, those of roi={own.box}")
        return (ArraySpec((slices.shape[0], len(own.angles), own.n_x), "float32", "za."),)

    def cost(self, limits: Limits, *specs: ArraySpec) -> Cost:
        """Bytes in and out, and updates at the device's rate."""
        (lines,) = self.out_specs(*specs)
        return Cost(specs[0].nbytes + lines.nbytes, pair_flops(limits, len(self.geometry.angles) * specs[0].size), 2)

    def record(self, b: Builder, *refs: Ref) -> None:
        """Record the projection of a few slices at a time."""
        volume, out = refs
        x = b.bring(volume, "float32")
        table = b.const(self.geometry.table(weighted=False), "geometry", axes="a.", of=out)
        with b.deliver(out, "float32") as lines:
            project(b, x, table, lines)


def project(b: Builder, volume: Ref, table: Ref, lines: Ref) -> None:
    """Record the projection of ``volume`` into ``lines``, as many slices at a time as leave their turned copy small."""
    n_z, n_y, n_x = volume.spec.shape
    batch = batch_of(n_z, 4 * n_y * n_x)
    if batch >= n_z:
        b.launch("project", volume, table, lines)
        return
    with b.repeat(volume, batch) as loop:
        b.launch("project", volume.window(loop, batch), table, lines.window(loop, batch))


def pair_flops(limits: Limits, updates: float) -> float:
    """Operations' worth of time of so many updates of a pixel by an angle, in projection; backprojection takes half."""
    return 2 * updates / rates(limits).updates * rates(limits).flops
