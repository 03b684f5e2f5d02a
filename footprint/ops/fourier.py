"""FBP by the Fourier method: filtered polar spectra, and one adjoint non-uniform FFT a slice."""

from __future__ import annotations

import math
from collections.abc import Callable
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


@dataclass(frozen=True, eq=False)
class FourierBackproject:
    """Filter and backproject sinograms; the source is the central slice theorem, with the filter as the polar weight."""

    geometry: Geometry
    ramp: RampFilter
    scale: float = 1.0

    def record(self, b: Builder, sino: Ref, out: Ref) -> None:
        """Record a loop over the slices of float32 ``sino`` ``(n_z, n_angles, n_x)``, which is left as it is."""
        n_z, n_a, n_x = sino.spec.shape
        n_y, width = self.geometry.shape
        gains = self.ramp.gains(n_x, least_length(self.geometry))
        n_f, padded = len(gains), 2 * (len(gains) - 1)
        response, table = b.const(gains, "filter"), b.const(self.geometry.table(self.scale), "geometry")
        where = b.scratch((n_a * n_f, 2), "float32", "frequencies")
        b.launch("fourier.coords", table, where, padded=padded)
        with b.repeat(n_z) as z:
            spectrum = b.scratch((n_a, n_f), "complex64", "spectrum")
            wide = b.scratch((n_a, padded), name="padded rows")
            self.ramp.forward(b, sino.row(z), wide, spectrum)
            b.launch("fourier.scale", spectrum, response, table, x0=width // 2, y0=n_y // 2)
            grid = b.scratch((n_y, width), "complex64", "grid")
            b.launch("fourier.nufft", spectrum.reshape(-1), where, grid, epsilon=EPSILON)
            b.launch("fourier.real", grid, out.row(z))
        b.library("ducc0's non-uniform FFT", library_bytes(n_a * n_f, n_y, width, b.limits.threads))

    def record_groups(self, b: Builder, sino: Ref, out: Ref, angles: int, finish: Callable[[Ref], None]) -> None:
        """Record the same with ``angles`` rows at a time, whose slices add up; ``sino`` may be of any dtype and place.

        ``finish`` is handed each slice ``(1, n_y, n_x)`` when it is complete, to record what else is done to it.
        """
        n_z, n_a, n_x = sino.spec.shape
        n_y, width = self.geometry.shape
        gains = self.ramp.gains(n_x, least_length(self.geometry))
        n_f, padded = len(gains), 2 * (len(gains) - 1)
        response, table = b.const(gains, "filter"), b.const(self.geometry.table(self.scale), "geometry")
        with b.repeat(n_z) as z:
            with b.deliver(out.row(z)) as volume:
                b.launch("slices.fill", volume, value=0.0)
                with b.repeat(-(-n_a // angles)) as group:
                    window, place = sino.row(z).window(group, angles), table.window(group, angles)
                    where = b.scratch((angles, 2 * n_f), "float32", "frequencies").like_rows(window).reshape(-1, 2)
                    spectrum = b.scratch((angles, n_f), "complex64", "spectrum").like_rows(window)
                    wide = b.scratch((angles, padded), name="padded rows").like_rows(window)
                    self.ramp.forward(b, b.bring(window, "float32"), wide, spectrum)
                    b.launch("fourier.scale", spectrum, response, place, x0=width // 2, y0=n_y // 2)
                    b.launch("fourier.coords", place, where, padded=padded)
                    grid = b.scratch((n_y, width), "complex64", "grid")
                    b.launch("fourier.nufft", spectrum.reshape(-1), where, grid, epsilon=EPSILON)
                    b.launch("fourier.add", grid, volume)
                finish(volume.reshape(1, n_y, width))
        b.library("ducc0's non-uniform FFT", library_bytes(angles * n_f, n_y, width, b.limits.threads))
