"""Half acquisition: a whole turn about an axis near the detector's edge, seen as rows of the field that it covers."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from footprint.errors import ArgumentError, ShapeError
from footprint.ops.backproject import check_pixels, check_slices, slides
from footprint.ops.base import Op, Table
from footprint.plan.builder import Builder
from footprint.plan.slots import Ref
from footprint.spec import ArraySpec

# How far the axis may lie off the detector, as a share of it: what lies between was never seen, and is as the last pixel.
_OUTSIDE = 0.02
# Pixels on both sides of the axis that are blended at least: where fewer are seen twice, the last one stands for those beyond.
_LEAST = 5.0
# A gap this many times the usual one, and of so many radians, is a part of the turn that is missing.
_WIDE, _GAP = 3.0, math.radians(15.0)


@dataclass(frozen=True)
class HalfAcquisition(Op):
    """Rows (n_z, n_angles, n_x) widened to the field on both sides of the axis; rays seen twice are blended along a line.

    A ray on one side of the axis is seen at one angle, on the other half a turn later, and in the detector's part on the axis' far
    side at both: weights fall from 2 to 0 there, symmetrically about the axis, so that filtered backprojection over the whole turn
    (`Fbp` with ``turn``) counts every ray as often. What the detector never saw is 0.

    Attributes
    ----------
    n_x
        Detector pixels.
    center
        Rotation axis in pixels from the centre of pixel 0 of the detector.
    axis_shifts
        Its shift at each projection, if any.
    slice_shifts, first
        Its shift in each slice, if any, and the one of them that slices begin with. All are blended over the least overlap.
    """

    n_x: int
    center: float
    axis_shifts: Table | None = None
    slice_shifts: Table | None = None
    first: int = 0

    axes = ("zax",)
    cut = "za"

    def names(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Of the detector, and of the whole field."""
        return ("sinogram",), ("field",)

    def placed(self, first: int) -> HalfAcquisition:
        """Of slices that begin with another row of the detector."""
        return self if self.slice_shifts is None else replace(self, first=first)

    @property
    def side(self) -> int:
        """1 where the axis is nearer to the last pixel, -1 where it is nearer to the first."""
        return 1 if self.center >= (self.n_x - 1) / 2 else -1

    @cached_property
    def _ends(self) -> tuple[float, float]:
        """How far the axis lies from the end of the detector that it is near to, pixel included: the least and the most."""
        tables = [table.array for table in (self.axis_shifts, self.slice_shifts) if table is not None]
        shifts = sum(table.min() for table in tables), sum(table.max() for table in tables)
        ends = sorted(self.n_x - 0.5 - self.center - s if self.side > 0 else self.center + s + 0.5 for s in shifts)
        return float(ends[0]), float(ends[-1])

    @property
    def extra(self) -> int:
        """Pixels beyond the detector that its last one stands for: a step at the axis would not be the same from both sides."""
        return max(0, math.ceil(_LEAST - self._ends[0]))

    @property
    def unseen(self) -> float:
        """Pixels on both sides of the axis that no projection saw."""
        return max(0.0, -self._ends[0])

    @property
    def overlap(self) -> float:
        """Pixels on both sides of the axis that are blended."""
        return self._ends[0] + self.extra

    @property
    def width(self) -> int:
        """Pixels of the whole field: as many on the axis' far side as on the other."""
        return math.ceil(2 * (self.n_x - 0.5 - self._ends[0])) + 1

    @property
    def offset(self) -> int:
        """Where pixel 0 of the detector lies in the field."""
        return 0 if self.side > 0 else self.width - self.n_x

    @property
    def axis(self) -> float:
        """The rotation axis in the field."""
        return self.center + self.offset

    def out_specs(self, *specs: ArraySpec) -> tuple[ArraySpec, ...]:
        """Sinograms of the field's width; raises where the axis is too far off."""
        if len(specs[0].shape) != 3 or specs[0].shape[2] != self.n_x or self.n_x < 2:
            raise ShapeError("sinogram", f"shape {specs[0].shape}", f"(n_z, n_angles, n_x) of {max(self.n_x, 2)} pixels")
        n_z, n_angles, _ = specs[0].shape
        if self.axis_shifts is not None:
            check_pixels("axis_shifts", self.axis_shifts.array, n_angles)
        check_slices(self.slice_shifts, self.first, n_z)
        most = farthest(self.n_x)
        if not math.isfinite(self.center) or -self._ends[0] > most:
            low, high = -0.5 - most, self.n_x - 0.5 + most
            wanted = f"an axis on the detector, or at most {most:.3g} pixels off it, {low:.3g} to {high:.6g}, in a half acquisition"
            fix = "half_acquisition=False reconstructs only what the detector saw" if math.isfinite(self.center) else ""
            raise ArgumentError("center", self.center, wanted, fix)
        return (ArraySpec((n_z, n_angles, self.width), "float32", "zax"),)

    def record(self, b: Builder, *refs: Ref) -> None:
        """Record one launch; where the axis lies is cut with the angles, and with the slices."""
        rows, out = refs
        n_angles = rows.slot.spec.length("a")
        axes = np.full(n_angles, self.center) + (0 if self.axis_shifts is None else self.axis_shifts.array)
        table = b.const(axes, "axis of every angle", "a", of=rows)
        moves = slides(b, self.slice_shifts, self.first, rows)
        if moves is None:
            moves = b.const(np.zeros((1, 1)), "axis of all slices")
        x = b.bring(rows, "float32")
        with b.deliver(out, "float32") as y:
            settings = {"offset": self.offset, "extra": self.extra, "side": self.side}
            b.launch("half_acquisition", x, table, moves, y, reach=self.overlap, **settings)


def farthest(n_x: int) -> float:
    """Pixels that the axis of a half acquisition may lie off the detector."""
    return max(1.0, _OUTSIDE * n_x)


def check_turn(angles: np.ndarray) -> None:
    """Raise unless angles cover a whole turn."""
    directions = np.sort(np.mod(angles, 2 * np.pi))
    gaps = np.diff(directions, append=directions[:1] + 2 * np.pi)
    widest = float(gaps.max()) if len(gaps) else 2 * np.pi
    usual = float(np.median(gaps[gaps > 1e-9])) if len(gaps) else 0.0
    if widest > min(max(_GAP, _WIDE * usual), 3.0):
        wanted = "a whole turn of 360 degrees, as the far side of the axis is seen half a turn later"
        found = f"angles with a gap of {np.rad2deg(widest):.4g} degrees"
        fix = "half_acquisition=False reconstructs only what the detector saw"
        raise ArgumentError("half_acquisition", found, wanted, fix)


def is_turn(angles: np.ndarray) -> bool:
    """Whether angles cover a whole turn."""
    try:
        check_turn(angles)
    except ArgumentError:
        return False
    return True
