"""Iterative reconstruction: SIRT, CGLS and total variation, by projection and its transpose."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from footprint.errors import ArgumentError, ShapeError, choose
from footprint.ops.backproject import Backproject, Geometry, check_length, slid, slides
from footprint.ops.base import Op
from footprint.ops.project import pair_flops, project
from footprint.plan.builder import Builder
from footprint.plan.rates import Cost
from footprint.plan.slots import Ref
from footprint.spec import ArraySpec, Limits
from footprint.units import counted

METHODS = ("sirt", "cgls", "tv")
ITERATIONS = {"sirt": 100, "cgls": 20, "tv": 200}
"""Of each method unless said otherwise."""
MOST = 1_000_000
"""Iterations: hundreds serve, and of float32 slices no more change anything but by rounding."""
# A sum of so much less than a pixel's worth does not count: what a ray, or a pixel, barely touches is known to the digits of a
# position only, and would be divided by them.
LEAST = 1e-2


@dataclass(frozen=True)
class Iterative(Op):
    """Slices whose projections come near the sinogram, every one by itself; A is `Project`, A' its transpose.

    Attributes
    ----------
    geometry
        Where every projection falls on the slice; slices about axes of their own are made one at a time, sums of A and all.
    method
        ``sirt``: x += C A' R (b - A x), R and C one over the sums of A along rows and columns. ``cgls``: conjugate gradients on
        A'A x = A' b. ``tv``: the least of |A x - b|² / 2 + ``weight`` TV(x), by the primal-dual method of Chambolle and Pock with
        steps from the same sums.
    iterations
        How many, from x = 0.
    weight
        Of the total variation.
    positive
        Nothing below 0; not with ``cgls``.
    pixel_size
        The result is divided by it.
    circle
        Zeros outside the circle that every projection has seen.
    turn
        Angles go round, and the axis lies near the detector's edge: that circle is the one that the farther edge describes.
    """

    geometry: Geometry
    method: str
    iterations: int
    weight: float | None = None
    positive: bool = False
    pixel_size: float | None = None
    circle: bool = False
    turn: bool = False

    axes = ("zax",)
    cut = "z"
    units = {"z": "slices"}  # noqa: RUF012  shared, never changed

    def names(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Sinograms and slices."""
        return ("sinogram",), ("slices",)

    def out_specs(self, *specs: ArraySpec) -> tuple[ArraySpec, ...]:
        """Slices of float32, and every check of the arguments."""
        (sino,) = specs
        self._check()
        if len(sino.shape) != 3 or sino.shape[2:] != (self.geometry.n_x,):
            raise ShapeError("sinogram", f"shape {sino.shape}", f"(n_z, n_angles, {self.geometry.n_x})")
        (slices,) = Backproject(self.geometry).out_specs(sino)
        self.geometry.check_shifts().check_circle(self.circle and not self.turn)
        return (slices.named("zy."),)

    def placed(self, first: int) -> Iterative:
        """Of slices that begin with another row of the detector."""
        return replace(self, geometry=self.geometry.placed(first))

    def _check(self) -> None:
        choose("method", self.method, METHODS)
        if not 1 <= self.iterations <= MOST:
            # Python writes no number of thousands of digits.
            many = abs(self.iterations).bit_length()
            found = self.iterations if many < 64 else f"a number of {many} bits"
            raise ArgumentError("iterations", found, f"a whole number from 1 to {MOST:,}")
        if self.method == "tv" and (self.weight is None or not 0 < self.weight < math.inf):
            got = "nothing" if self.weight is None else self.weight
            raise ArgumentError("weight", got, "a number above 0, that of the total variation", "try 0.1 to begin with")
        if self.method != "tv" and self.weight is not None:
            raise ArgumentError("weight", self.weight, f"none with method={self.method!r}", "method='tv' has one")
        if self.method == "cgls" and self.positive:
            raise ArgumentError("nonnegative", True, "False with method='cgls'", "method='sirt' and 'tv' keep values from below 0")
        check_length(self.pixel_size)

    def cost(self, limits: Limits, *specs: ArraySpec) -> Cost:
        """A projection and a backprojection an iteration, and what is moved between."""
        (slices,) = self.out_specs(*specs)
        updates = 1.5 * self.iterations * len(self.geometry.angles) * slices.size
        moved = self.iterations * (3.0 * specs[0].nbytes + 6.0 * slices.nbytes)
        return Cost(moved, pair_flops(limits, updates), 8 * self.iterations)

    @property
    def note(self) -> str:
        """How slices are made, for the plan's table."""
        more = f", weight {self.weight:g}" if self.weight is not None else ""
        more += ", nothing below 0" if self.positive else ""
        return f"method: {self.method}, {counted(self.iterations, 'iterations')}{more}"

    # -- recording -----------------------------------------------------------------------------------------------------
    def record(self, b: Builder, *refs: Ref) -> None:
        """Record a turn of the method, as often as asked for; nothing of it is waited for."""
        sino, out = refs
        lines = b.bring(sino, "float32")
        with b.deliver(out, "float32") as volume:
            b.launch("slices.fill", volume, value=0.0)
            iterate = {"sirt": self._sirt, "cgls": self._cgls, "tv": self._tv}[self.method]
            table = b.const(self.geometry.table(weighted=False), "geometry")
            moves = slides(b, self.geometry.slice_shifts, self.geometry.first, lines)
            if moves is None:
                iterate(b, table, lines, volume)
            else:
                with b.repeat(lines, 1) as z:
                    iterate(b, slid(b, table, moves.row(z)), lines.window(z, 1), volume.window(z, 1))
            if self.pixel_size is not None:
                b.launch("slices.scale", volume, factor=1.0 / float(self.pixel_size))
            if self.circle:
                b.launch("slices.circle", volume, **self._seen(), value=0.0)
        b.note(self.note)

    def _seen(self) -> dict[str, float]:
        if not self.turn:
            return self.geometry.seen
        shifts, last = self.geometry.slice_shifts, self.geometry.n_x - 1
        axes = self.geometry.center + (np.zeros(1) if shifts is None else np.asarray(shifts))
        return self.geometry.seen | {"radius": float(np.maximum(axes, last - axes).min()) + 0.5}

    def _sirt(self, b: Builder, table: Ref, lines: Ref, volume: Ref) -> None:
        rows, columns = self._gains(b, table, lines, volume)
        seen, step = b.like(lines, "float32", "projection"), b.like(volume, "float32", "step")
        with b.repeat(self.iterations):
            project(b, volume, table, seen)
            b.launch("iterative.residual", lines, rows, seen)
            _back(b, seen, table, step)
            b.launch("iterative.update", step, columns, volume, positive=self.positive)

    def _cgls(self, b: Builder, table: Ref, lines: Ref, volume: Ref) -> None:
        left, seen = b.like(lines, "float32", "residual"), b.like(lines, "float32", "projection")
        step, direction = b.like(volume, "float32", "gradient"), b.like(volume, "float32", "direction")
        old, new, curved = (b.like(volume, "float64", name, volume.spec.shape[:1], "z") for name in ("old", "new", "curvature"))
        b.copy(lines, left)
        _back(b, left, table, direction)
        b.launch("iterative.dots", direction, old)
        with b.repeat(self.iterations):
            project(b, direction, table, seen)
            b.launch("iterative.dots", seen, curved)
            b.launch("iterative.advance", direction, old, curved, volume, sign=1)
            b.launch("iterative.advance", seen, old, curved, left, sign=-1)
            _back(b, left, table, step)
            b.launch("iterative.dots", step, new)
            b.launch("iterative.redirect", step, new, old, direction)
            b.copy(new, old)

    def _tv(self, b: Builder, table: Ref, lines: Ref, volume: Ref) -> None:
        assert self.weight is not None
        # A gradient times so much has as large a share in a pixel's sum as its rays have: both converge as fast.
        scale = max(len(self.geometry.angles) / 4, 1.0)
        rows, columns = self._gains(b, table, lines, volume, 4 * scale)
        seen, dual = b.like(lines, "float32", "projection"), b.like(lines, "float32", "dual of the projection")
        step, bar = b.like(volume, "float32", "step"), b.like(volume, "float32", "slices ahead")
        n_z, n_y, n_x = volume.spec.shape
        slopes = b.like(volume, "float32", "dual of the gradient", (n_z, 2, n_y, n_x), "z...")
        for ref in (bar, dual, slopes):
            b.launch("slices.fill", ref, value=0.0)
        with b.repeat(self.iterations):
            project(b, bar, table, seen)
            b.launch("iterative.data_dual", lines, seen, rows, dual)
            b.launch("iterative.gradient_dual", bar, slopes, most=self.weight / scale)
            _back(b, dual, table, step)
            b.launch("iterative.primal", step, slopes, columns, volume, bar, scale=scale, positive=self.positive)

    def _gains(self, b: Builder, table: Ref, lines: Ref, volume: Ref, plus: float = 0.0) -> tuple[Ref, Ref]:
        """One over the sums of A along its rows, and along its columns and ``plus``: those of one slice, as all are alike."""
        ones_out, ones_in = b.scratch((1, *volume.spec.shape[1:]), name="ones"), b.scratch((1, *lines.spec.shape[1:]), name="ones")
        rows, columns = b.scratch(ones_in.spec.shape, name="row gains"), b.scratch(ones_out.spec.shape, name="column gains")
        b.launch("slices.fill", ones_out, value=1.0)
        project(b, ones_out, table, rows)
        b.launch("slices.fill", ones_in, value=1.0)
        _back(b, ones_in, table, columns)
        b.launch("iterative.reciprocal", rows, least=LEAST, plus=0.0)
        b.launch("iterative.reciprocal", columns, least=LEAST, plus=plus)
        return rows, columns


def _back(b: Builder, lines: Ref, table: Ref, volume: Ref) -> None:
    b.launch("backproject", lines, table, volume, accumulate=False)
