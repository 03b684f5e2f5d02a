"""Backprojection of filtered rows into slices, and the geometry it shares with the Fourier method."""

from __future__ import annotations

import math
import operator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from footprint.errors import ArgumentError, ShapeError
from footprint.ops.base import Op, Table
from footprint.plan.builder import Builder
from footprint.plan.slots import Ref
from footprint.spec import ArraySpec
from footprint.units import counted

# A gap this many times the next largest is a missing wedge, not a widely spaced angle.
_WEDGE = 3.0
# Directions within this share of the mean gap are one.
_SAME = 0.05
# Radians between the first and the last angle beyond which they are taken for degrees: sixteen turns.
_LONGEST = 100.0


def angle_weights(angles: np.ndarray, turn: bool = False) -> np.ndarray:
    """Half the gap to both neighbours among the directions modulo pi, so that uneven angles and full turns weigh right.

    Weights add up to pi, but for a missing wedge: its two sides count with the gap on their other side. What is seen several
    times from one direction, as in several turns, shares its weight evenly. With ``turn`` a ray and its opposite are two, and gaps
    are those of the whole turn, halved.
    """
    if turn:
        return angle_weights(np.mod(angles, 2 * np.pi) / 2)
    directions = np.mod(angles, np.pi)
    if len(directions) < 2:
        return np.full(len(directions), np.pi)
    order, distinct, times = _distinct(directions)
    gaps = np.mod(np.diff(distinct, append=distinct[0] + np.pi), np.pi * (1 + 1e-12))
    if len(gaps) > 3:
        widest = int(np.argmax(gaps))
        others = np.delete(gaps, widest)
        if gaps[widest] > _WEDGE * others.max() > 0:
            gaps[widest] = (others[widest - 1] + others[widest % len(others)]) / 2
    weights = np.empty(len(directions))
    weights[order] = np.repeat((gaps + np.roll(gaps, 1)) / 2 / times, times)
    return weights


def is_one_direction(angles: np.ndarray) -> bool:
    """Whether all rays are parallel, so that weights add up to pi though nothing else was seen."""
    return len(angles) < 2 or len(_distinct(np.mod(angles, np.pi))[1]) < 2


def _distinct(directions: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The order of directions, those that are apart in that order, and how often each was seen.

    Half the gap would fall to the first and the last of those that are one, and nothing to all between them.
    """
    near = _SAME * np.pi / len(directions)
    order = np.argsort(directions, kind="stable")
    along = directions[order]
    again = np.diff(along, append=along[0] + np.pi) <= near
    if again[-1]:
        # Those at 0 and at pi are one: what comes first lies behind a gap.
        start = int(np.argmin(again)) + 1
        order, again = np.roll(order, -start), np.roll(again, -start)
        along = np.concatenate([along[start:], along[:start] + np.pi])
    first = np.flatnonzero(np.concatenate([[True], ~again[:-1]]))
    times = np.diff(first, append=len(along))
    # Many that lie densely, each near the next, are not one.
    again &= ~np.repeat(along[first + times - 1] - along[first] > near, times)
    first = np.flatnonzero(np.concatenate([[True], ~again[:-1]]))
    times = np.diff(first, append=len(along))
    return order, np.add.reduceat(along, first) / times, times


def check_pixels(name: str, shifts: np.ndarray, n_angles: int) -> None:
    """Raise unless shifts are finite pixels, one per projection."""
    if shifts.shape != (n_angles,):
        raise ShapeError(name, f"shape {shifts.shape}", f"({n_angles},), one per projection")
    bad = np.flatnonzero(~np.isfinite(shifts))
    if bad.size:
        more = f" and {bad.size - 1} more" if bad.size > 1 else ""
        raise ArgumentError(name, f"{shifts[bad[0]]} at projection {bad[0]}{more}", "finite pixels")


def limits_of_axis(n_x: int) -> tuple[float, float, str]:
    """Between which positions the axis of a detector of so many pixels may lie, and that in words."""
    low, high = -0.5 - n_x, 2 * n_x - 0.5
    return low, high, f"at most {counted(n_x, 'pixels')}, the detector's width, off either end of it: {low:.6g} to {high:.6g}"


# Lengths that slices of float32 are divided by and stay what they are.
_FINEST, _COARSEST = 1e-30, 1e30


def check_length(size: object) -> None:
    """Raise unless slices can be divided by this length of a pixel, or by none."""
    wanted = f"a length above 0, from {_FINEST:g} to {_COARSEST:g}"
    try:
        sound = size is None or (isinstance(size, int | float | np.integer | np.floating) and _FINEST <= float(size) <= _COARSEST)
    except OverflowError:
        sound = False
    if not sound:
        raise ArgumentError("pixel_size", repr(size), wanted)


@dataclass(frozen=True)
class Geometry:
    """Parallel-beam geometry of one slice: h = center + shift_a + cos t (x - middle) - sin t (y - middle).

    Attributes
    ----------
    angles
        Radians, one per projection.
    n_x
        Detector pixels.
    center
        Rotation axis, in pixels from the centre of pixel 0.
    roi
        (x0, x1, y0, y1), end-exclusive; the whole square by default.
    axis_shifts
        Detector shift of each projection in pixels.
    turn
        Weigh angles over the whole turn: opposite rows say different things, as those of a half acquisition.
    slice_shifts
        How far each slice's axis lies from ``center`` on the detector: slices are about the same pixel all the same.
    first
        The one of them that slices begin with.
    middle
        The column and the row of the slice that the axis lies on; ``center`` where it is None.

    Arrays given become tables, so that equal geometries are equal.
    """

    angles: Any
    n_x: int
    center: float
    roi: tuple[int, int, int, int] | None = None
    axis_shifts: Any = None
    turn: bool = False
    slice_shifts: Any = None
    first: int = 0
    middle: float | None = None

    def __post_init__(self) -> None:
        for name in ("angles", "axis_shifts", "slice_shifts"):
            given = getattr(self, name)
            if given is not None and not isinstance(given, Table):
                object.__setattr__(self, name, Table(np.asarray(given, np.float64)))
        if isinstance(self.roi, list | np.ndarray):
            object.__setattr__(self, "roi", tuple(self.roi))

    def checked(self) -> Geometry:
        """Return this geometry, or the sentence that says what is wrong with it."""
        angles = np.asarray(self.angles, np.float64)
        if angles.ndim != 1 or len(angles) < 1:
            raise ShapeError("angles", f"shape {angles.shape}", "(n_angles,)")
        if not np.isfinite(angles).all():
            at = int(np.flatnonzero(~np.isfinite(angles))[0])
            raise ArgumentError("angles", f"{angles[at]} at projection {at}", "finite radians")
        if (span := float(np.ptp(angles))) > _LONGEST:
            fix = "convert degrees with numpy.deg2rad, or give what is left after whole turns: numpy.mod(angles, 2 * numpy.pi)"
            raise ArgumentError("angles", f"values from {angles.min():.4g} to {angles.max():.4g}, {span:.4g} apart", "radians", fix)
        x0, x1, y0, y1 = self.box
        if not (x0 < x1 and y0 < y1):
            raise ArgumentError("roi", self.roi, "(x0, x1, y0, y1) with x0 < x1 and y0 < y1")
        shifts = self.axis_shifts
        if shifts is not None:
            check_pixels("axis_shifts", np.asarray(shifts), len(angles))
        lowest, highest = (self.center + end for end in self.ends)
        low, high, wanted = limits_of_axis(self.n_x)
        # Of NaN both comparisons are false.
        if not (low <= lowest and highest <= high):
            found = f"{lowest:.6g}" if lowest == highest or np.isnan(lowest) else f"positions from {lowest:.6g} to {highest:.6g}"
            raise ArgumentError("center", found, wanted)
        return self

    def check_shifts(self) -> Geometry:
        """Raise where some shift is longer than from the first to the last place where an axis may lie: it would see nothing."""
        if self.axis_shifts is not None:
            shifts, most = np.asarray(self.axis_shifts), 3 * self.n_x
            far = np.flatnonzero(np.abs(shifts) > most)
            if far.size:
                wanted = f"at most {counted(most, 'pixels')}, three times the detector's width"
                raise ArgumentError("axis_shifts", f"{shifts[far[0]]:g} at projection {far[0]}", wanted)
        return self

    def check_circle(self, circle: bool) -> None:
        """Raise where a circle is asked for and there is none: nothing would be left of the slices."""
        if circle and self.inside < 0:
            wanted = "one on it: no pixel was seen by all projections"
            raise ArgumentError("circle", "an axis off the detector", wanted, "leave circle out")

    def placed(self, first: int) -> Geometry:
        """Of slices that begin with another of those the shifts are for."""
        return self if self.slice_shifts is None else replace(self, first=first)

    @cached_property
    def ends(self) -> tuple[float, float]:
        """The least and the greatest shift of a slice's axis."""
        shifts = (0.0,) if self.slice_shifts is None else np.asarray(self.slice_shifts)
        return float(np.min(shifts)), float(np.max(shifts))

    @property
    def box(self) -> tuple[int, int, int, int]:
        """The region of interest as four ints."""
        if self.roi is None:
            return (0, self.n_x, 0, self.n_x)
        try:
            x0, x1, y0, y1 = (operator.index(v) for v in self.roi)
        except (TypeError, ValueError, OverflowError):
            raise ArgumentError("roi", repr(self.roi), "four whole numbers (x0, x1, y0, y1)") from None
        return (x0, x1, y0, y1)

    @property
    def shape(self) -> tuple[int, int]:
        """(n_y, n_x) of a slice."""
        x0, x1, y0, y1 = self.box
        return (y1 - y0, x1 - x0)

    @property
    def reach(self) -> tuple[float, float]:
        """The lowest and the highest detector position that any pixel of the region falls on."""
        n_y, width = self.shape
        cos, nsin, offset, _ = self.table().T
        low = offset + np.minimum(0, (width - 1) * cos) + np.minimum(0, (n_y - 1) * nsin)
        high = offset + np.maximum(0, (width - 1) * cos) + np.maximum(0, (n_y - 1) * nsin)
        least, most = self.ends
        return float(low.min()) + least, float(high.max()) + most

    @property
    def seen(self) -> dict[str, float]:
        """Centre and radius, in the slice, of the circle that every projection has seen: what ``slices.circle`` is told."""
        x0, _, top, _ = self.box
        return {"cx": self._axis - x0, "cy": self._axis - top, "radius": max(0.0, self.inside)}

    @cached_property
    def _axes(self) -> tuple[float, float]:
        """Where the axis of any slice lies in any projection: the lowest and the highest detector position."""
        shifts = np.zeros(1) if self.axis_shifts is None else np.asarray(self.axis_shifts)
        least, most = self.ends
        return self.center + least + float(shifts.min()), self.center + most + float(shifts.max())

    @property
    def inside(self) -> float:
        """How far the axis lies inside the detector's ends, in all slices and projections; below 0 where it lies off it."""
        low, high = self._axes
        return min(low, self.n_x - 1 - high) + 0.5

    @property
    def field(self) -> tuple[int, int]:
        """The first column and row, and the ones after the last, of the square about the axis that holds all that was seen."""
        low, high = self._axes
        radius = max(high, self.n_x - 1 - low) + 0.5
        return math.floor(self._axis - radius), math.ceil(self._axis + radius) + 1

    @property
    def _axis(self) -> float:
        return self.center if self.middle is None else self.middle

    def table(self, scale: float = 1.0, weighted: bool = True) -> np.ndarray:
        """(n_angles, 4) float64: cos, -sin, detector position of the first pixel, weight (or 1) times ``scale``."""
        found = self._rays * (1.0, 1.0, 1.0, scale)
        if not weighted:
            found[:, 3] = scale
        return found

    @cached_property
    def _rays(self) -> np.ndarray:
        """The table with weights as they are: a job that is fitted to its budget asks for it many times."""
        angles = np.asarray(self.angles, np.float64)
        cos, nsin = np.cos(angles), -np.sin(angles)
        x0, _, y0, _ = self.box
        shifts = 0.0 if self.axis_shifts is None else np.asarray(self.axis_shifts, np.float64)
        offset = self.center + shifts + cos * (x0 - self._axis) + nsin * (y0 - self._axis)
        return np.stack([cos, nsin, offset, angle_weights(angles, self.turn)], axis=1)


def slides(b: Builder, shifts: Any, first: int, rows: Ref) -> Ref | None:
    """How far the axis of each slice of ``rows`` is moved, (n_z, 1), cut with them; None where all have the same axis."""
    if shifts is None:
        return None
    own = np.asarray(shifts)[first:][: rows.slot.spec.length("z")]
    return b.const(own[:, None], "axis of every slice", axes="z.", of=rows)


def check_slices(shifts: Any, first: int, n_z: int) -> None:
    """Raise unless there is a shift for every slice."""
    if shifts is not None and len(shifts) < n_z + first:
        raise ShapeError("center", f"{len(shifts)} positions", "one for every row of the detector")


def slid(b: Builder, table: Ref, slide: Ref) -> Ref:
    """The geometry of a slice whose axis is moved."""
    moved = b.like(table, "float64", "geometry of the slice")
    b.launch("slices.slide", table, slide, moved)
    return moved


@dataclass(frozen=True)
class Backproject(Op):
    """Sum rows into slices: out[z, y, x] = sum of weight_a row_a(h_a(x, y)), by linear interpolation, zeros outside.

    Slices and rows of them may be made apart; sums over angles add up. Not ``weighted``, it is the transpose of `Project`.
    """

    geometry: Geometry
    scale: float = 1.0
    weighted: bool = True

    axes = ("za.",)
    cut = "zy"
    sums = "a"
    units = {"z": "slices", "a": "angles", "y": "rows"}  # noqa: RUF012  shared, never changed

    def names(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Sinograms and slices."""
        return ("sinogram",), ("slices",)

    def out_specs(self, *specs: ArraySpec) -> tuple[ArraySpec, ...]:
        """Slices of float32."""
        (rows,) = specs
        if len(rows.shape) != 3:
            raise ShapeError("sinogram", counted(len(rows.shape), "dimensions"), "(n_z, n_angles, n_x)")
        if min(rows.shape) < 1:
            raise ShapeError("sinogram", f"shape {rows.shape}", "at least one slice, angle and pixel")
        if rows.shape[1] != len(self.geometry.angles):
            raise ShapeError("angles", f"{len(self.geometry.angles)} values", f"{rows.shape[1]}, one per projection")
        geometry = self.geometry.checked()
        check_slices(geometry.slice_shifts, geometry.first, rows.shape[0])
        return (ArraySpec((rows.shape[0], *self.geometry.shape), "float32", "zy."),)

    def flops(self, *specs: ArraySpec) -> float:
        """Three multiplications and additions a pixel and angle."""
        n_z, n_a, _ = specs[0].shape
        n_y, n_x = self.geometry.shape
        return 6.0 * n_z * n_a * n_y * n_x

    def record(self, b: Builder, *refs: Ref) -> None:
        """Record one launch; a part's table is that of its angles, seen from its first row."""
        rows, out = refs
        x = b.bring(rows, "float32")
        table = b.const(self.geometry.table(self.scale, self.weighted), "geometry", axes="a.", of=x)
        y0 = b.first(out, "y")
        if not isinstance(y0, int):
            moved = b.like(table, "float64", "geometry of the part")
            b.launch("slices.move", table, moved, y0=y0)
            table = moved
        with b.deliver(out, "float32") as volume:
            if b.summing:
                with b.only("first"):
                    b.launch("slices.fill", volume, value=0.0)
            moves = slides(b, self.geometry.slice_shifts, self.geometry.first, x)
            if moves is None:
                b.launch("backproject", x, table, volume, accumulate=b.summing)
                return
            with b.repeat(x, 1) as z:
                own = slid(b, table, moves.row(z))
                b.launch("backproject", x.window(z, 1), own, volume.window(z, 1), accumulate=b.summing)
