"""FBP by the Fourier method: filtered polar spectra, and one adjoint non-uniform FFT a slice."""

from __future__ import annotations

import math
from dataclasses import dataclass

from footprint.kernels.fourier.contract import EPSILON, library_bytes
from footprint.ops.backproject import Geometry
from footprint.ops.ramp_filter import RampFilter
from footprint.plan.builder import Builder
from footprint.plan.slots import Ref


def least_length(geometry: Geometry) -> int:
    """The shortest padded row whose periods do not reach into the region: with a far axis, corners lie beyond twice the row."""
    low, high = geometry.reach
    return math.ceil(max(geometry.n_x - low, high)) + 2


@dataclass(frozen=True)
class FourierBackproject:
    """Filter and backproject sinograms; the source is the central slice theorem, with the filter as the polar weight."""

    geometry: Geometry
    ramp: RampFilter
    scale: float = 1.0

    def record(self, b: Builder, sino: Ref, out: Ref) -> None:
        """Record a loop over the slices of float32 ``sino`` ``(n_z, n_angles, n_x)``, which is left as it is.

        Where the job is cut along the angles, each part transforms its own, and its slices are added to ``out``.
        """
        _, n_a, n_x = sino.spec.shape
        n_y, width = self.geometry.shape
        gains = self.ramp.gains(n_x, least_length(self.geometry))
        n_f, padded = len(gains), 2 * (len(gains) - 1)
        response = b.const(gains, "filter")
        table = b.const(self.geometry.table(self.scale), "geometry", axes="a.", of=sino)
        where = b.scratch((n_a, 2 * n_f), "float32", "frequencies").like_rows(table).reshape(-1, 2)
        b.launch("fourier.coords", table, where, padded=padded)
        if b.summing:
            with b.only("first"):
                b.launch("slices.fill", out, value=0.0)
        with b.repeat(sino) as z:
            spectrum = b.scratch((n_a, n_f), "complex64", "spectrum").like_rows(table)
            wide = b.scratch((n_a, padded), name="padded rows").like_rows(table)
            self.ramp.forward(b, sino.row(z), wide, spectrum)
            b.launch("fourier.scale", spectrum, response, table, x0=width // 2, y0=n_y // 2)
            grid = b.scratch((n_y, width), "complex64", "grid")
            b.launch("fourier.nufft", spectrum.reshape(-1), where, grid, epsilon=EPSILON)
            b.launch("fourier.add" if b.summing else "fourier.real", grid, out.row(z))
        b.library("ducc0's non-uniform FFT", library_bytes(n_a * n_f, n_y, width, b.limits.threads))
