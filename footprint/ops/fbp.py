"""Filtered backprojection of parallel-beam sinograms: by direct summation or by the Fourier method, whole or in parts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from footprint.errors import ArgumentError, ShapeError, choose, missing_extra
from footprint.kernels.fourier.contract import available
from footprint.ops.backproject import Backproject, Geometry
from footprint.ops.filters import fast_length
from footprint.ops.fourier import FourierBackproject, least_length
from footprint.ops.ramp_filter import RampFilter
from footprint.plan.builder import Builder
from footprint.plan.fit import Variant
from footprint.plan.slots import Ref
from footprint.spec import ArraySpec, Limits

METHODS = ("auto", "direct", "fourier")
TOO_LARGE = "method: direct (memory is too short for the Fourier method)"
# Seconds a thread, measured on a 2.5 GHz Xeon (benchmarks/fbp.py): an update of a pixel by an angle, a sample of the polar
# spectrum, a pixel of the non-uniform FFT's grid. Only their ratios matter.
_UPDATE, _SAMPLE, _GRID = 0.55e-9, 90e-9, 60e-9
# Angles of one group where even a slice is cut into tiles: enough that a tile is read and written seldom.
_GROUP = 256


@dataclass(frozen=True, eq=False)
class Fbp:
    """Filter, backproject, mask.

    Attributes
    ----------
    angles, n_x, center, roi, axis_shifts
        See `Geometry`.
    filter, padding, cutoff
        See `RampFilter`.
    method
        ``direct`` or ``fourier``; `choose_method` resolves ``auto``.
    pixel_size
        The result is divided by it: in cm, it is in 1/cm.
    circle
        Zeros outside the circle that every projection has seen.
    """

    angles: np.ndarray
    n_x: int
    center: float
    filter: str | np.ndarray = "ramlak"
    padding: str = "constant"
    method: str = "direct"
    roi: tuple[int, int, int, int] | None = None
    pixel_size: float | None = None
    circle: bool = False
    axis_shifts: np.ndarray | None = None
    cutoff: float = 1.0

    @cached_property
    def geometry(self) -> Geometry:
        """Where every projection falls on the slice."""
        return Geometry(self.angles, self.n_x, self.center, self.roi, self.axis_shifts)

    @cached_property
    def ramp(self) -> RampFilter:
        """The row filter."""
        return RampFilter(self.filter, self.padding, self.cutoff)

    @property
    def scale(self) -> float:
        """Factor of every weight."""
        return 1.0 if self.pixel_size is None else 1.0 / self.pixel_size

    def out_specs(self, sino: ArraySpec) -> tuple[ArraySpec, ...]:
        """Slices of float32, and every check of the arguments."""
        if len(sino.shape) != 3:
            raise ShapeError("sinogram", f"shape {sino.shape}", "(n_angles, n_x) or (n_z, n_angles, n_x)")
        if sino.shape[2] != self.n_x or min(sino.shape) < 1:
            raise ShapeError("sinogram", f"shape {sino.shape}", f"at least one slice and angle of {self.n_x or 'some'} pixels")
        choose("method", self.method, METHODS)
        size = self.pixel_size
        if size is not None and not (isinstance(size, int | float | np.number) and np.isfinite(size) and size > 0):
            raise ArgumentError("pixel_size", repr(size), "a length above 0")
        self.ramp.gains(self.n_x)
        return Backproject(self.geometry).out_specs(sino)

    # -- one run -------------------------------------------------------------------------------------------------------
    def record(self, b: Builder, sino: Ref, out: Ref, *, consume: bool = False) -> None:
        """Record whole slices; with ``consume`` float32 ``sino`` is filtered in place, else it is left as it is."""
        n_z, n_a, n_x = sino.spec.shape
        if self.method == "fourier":
            self._need_fourier(b.limits)
            with b.deliver(out) as volume:
                FourierBackproject(self.geometry, self.ramp, self.scale).record(b, b.bring(sino, "float32"), volume)
                self.mask(b, volume)
            return
        rows = sino
        if not consume:
            rows = b.scratch((n_z, n_a, n_x), name="filtered sinogram")
            b.fetch(sino, rows)
        self.ramp.record(b, rows.reshape(-1, n_x))
        with b.deliver(out) as volume:
            Backproject(self.geometry, self.scale).record(b, rows, volume)
            self.mask(b, volume)

    def record_groups(self, b: Builder, sino: Ref, out: Ref, angles: int, tile: int | None = None) -> None:
        """Record slice by slice, ``angles`` rows filtered at a time, and ``tile`` rows of the slice (all by default)."""
        n_z, n_a, n_x = sino.spec.shape
        n_y, width = self.geometry.shape
        tile = n_y if tile is None else tile
        table = b.const(self.geometry.table(self.scale), "geometry")
        with b.repeat(n_z) as z:
            for y0 in range(0, n_y, tile):
                place = table
                if y0:
                    place = b.scratch(table.spec.shape, "float64", "geometry of the tile")
                    b.launch("slices.move", table, place, y0=y0)
                with b.deliver(out.row(z)[y0 : y0 + tile]) as part:
                    volume = part.reshape(1, -1, width)
                    b.launch("slices.fill", volume, value=0.0)
                    with b.repeat(-(-n_a // angles)) as group:
                        window = sino.row(z).window(group, angles)
                        rows = b.scratch((angles, n_x), name="filtered rows").like_rows(window)
                        b.fetch(window, rows)
                        self.ramp.record(b, rows)
                        b.launch("backproject", rows.reshape(1, -1, n_x), place.window(group, angles), volume, accumulate=True)
                    self.mask(b, volume, y0)

    def mask(self, b: Builder, volume: Ref, y0: int = 0) -> None:
        """Zeros outside the circle that every projection has seen, where that is wanted; ``volume`` starts ``y0`` rows down."""
        placed = self.circle_at(y0)
        if placed is not None:
            b.launch("slices.circle", volume, **placed, value=0.0)

    def circle_at(self, y0: int) -> dict[str, float] | None:
        """Centre and radius of the circle, seen from row ``y0`` of the slice; None where none is wanted."""
        if not self.circle:
            return None
        x0, _, top, _ = self.geometry.box
        radius = min(self.center, self.n_x - 1 - self.center) + 0.5
        return {"cx": self.center - x0, "cy": self.center - top - y0, "radius": radius}

    def _need_fourier(self, limits: Limits) -> None:
        if not available(limits):
            if not limits.host:
                raise ArgumentError("method", "'fourier'", f"'direct' on {limits.device}", "the Fourier method runs on the CPU")
            raise missing_extra("ducc0", "fourier", "method='fourier'")

    # -- ways to cut the job -------------------------------------------------------------------------------------------
    def variants(self, sino: ArraySpec, make: Callable[[Builder, int], tuple[Ref, Ref]], limits: Limits) -> list[Variant]:
        """Ways to run it, the one to prefer first: ``make(b, n_z)`` makes the input and output slots of ``n_z`` slices."""
        n_z, n_a, _ = sino.shape
        method, note = self.choose_method(limits)

        def whole(op: Fbp, said: str = note) -> Variant:
            return Variant("slices", n_z, lambda b, n: op.record(b, *make(b, n)), note=said)

        found = []
        if method == "fourier":
            found.append(whole(self.by("fourier")))
            # Every group transforms the whole grid: past a few groups direct summation is the faster.
            least = 1 if self.method == "fourier" else -(-n_a // 8)

            def polar(b: Builder, n: int) -> None:
                op = FourierBackproject(self.geometry, self.ramp, self.scale)
                op.record_groups(b, *make(b, n_z), max(n, least), lambda volume: self.mask(b, volume))

            parts = note + "; one slice does not fit, so its angles are transformed in groups"
            found.append(Variant("angles", n_a, polar, inner=True, note=parts))
            if self.method == "fourier":
                return found
        direct = self.by("direct")
        found.append(whole(direct, TOO_LARGE if method == "fourier" else note))

        def groups(b: Builder, n: int) -> None:
            direct.record_groups(b, *make(b, n_z), n)

        def tiles(b: Builder, n: int) -> None:
            direct.record_groups(b, *make(b, n_z), min(n_a, _GROUP), n)

        split = "one slice does not fit, so its angles are filtered and summed in groups"
        found.append(Variant("angles", n_a, groups, inner=True, note=split))
        found.append(Variant("rows", self.geometry.shape[0], tiles, inner=True, note=split + ", for one tile of rows at a time"))
        return found

    def by(self, method: str) -> Fbp:
        """The same by a given method."""
        return replace(self, method=method)

    def choose_method(self, limits: Limits) -> tuple[str, str]:
        """The method that ``auto`` takes on such a device, and the sentence that says why."""
        if self.method != "auto":
            if self.method == "fourier":
                self._need_fourier(limits)
            return self.method, f"method: {self.method} (requested)"
        if not available(limits):
            why = "the Fourier method runs on the CPU only" if not limits.host else "ducc0 (the extra fourier) is not installed"
            return "direct", f"method: direct ({why})"
        n_y, width = self.geometry.shape
        n_a = len(self.angles)
        direct = _UPDATE * n_a * n_y * width / limits.threads
        padded = fast_length(max(2 * self.n_x, least_length(self.geometry)))
        fourier = (_SAMPLE * n_a * (padded // 2 + 1) + _GRID * n_y * width) / limits.threads
        method = "fourier" if fourier < direct else "direct"
        return method, f"method: {method} (predicted: {direct:.2g} s per slice by direct summation, {fourier:.2g} s by Fourier)"
