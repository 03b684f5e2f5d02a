"""Filtered backprojection of parallel-beam sinograms, by direct summation or by the Fourier method."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeVar

from footprint.errors import ArgumentError, BudgetError, ShapeError, choose
from footprint.kernels.fourier.taps import taps_of
from footprint.ops.backproject import Backproject, Geometry, check_length
from footprint.ops.base import Op, Table
from footprint.ops.fourier import FourierBackproject, check_reach
from footprint.ops.ramp_filter import RampFilter
from footprint.plan.builder import Builder
from footprint.plan.plan import Plan
from footprint.plan.rates import Cost, rates
from footprint.plan.slots import Ref
from footprint.spec import ArraySpec, Limits
from footprint.units import counted, format_bytes

Kind = TypeVar("Kind")
METHODS = ("direct", "fourier")
INTERPOLATIONS = ("linear", "sinc")
# Operations' worth of time: a sample of the polar spectrum, a cell of the grid. From a core of a 2.6 GHz Epyc (benchmarks/fbp.py),
# where they took 10 and 3 ns; by a GPU's rates they come to what an H100 takes (benchmarks/gpu_fbp.py), within a fifth. And
# the kernels that a slice starts.
_SAMPLE, _CELL, _STARTS = 1500, 450, 20


@dataclass(frozen=True)
class Fbp(Op):
    """Filter, backproject, mask.

    Attributes
    ----------
    angles, n_x, center, roi, axis_shifts, turn, slice_shifts, first, middle
        See `Geometry`.
    filter, padding, cutoff
        See `RampFilter`.
    method
        ``direct`` or ``fourier``.
    pixel_size
        The result is divided by it: in cm, it is in 1/cm.
    circle
        Zeros outside the circle that every projection has seen.
    interpolation
        Between samples of a row: ``linear``, or ``sinc`` (Fourier method).
    accuracy
        Of the Fourier method.
    """

    angles: Table
    n_x: int
    center: float
    filter: str | Table = "ramlak"
    padding: str = "constant"
    method: str = "direct"
    roi: tuple[int, int, int, int] | None = None
    pixel_size: float | None = None
    circle: bool = False
    axis_shifts: Table | None = None
    cutoff: float = 1.0
    turn: bool = False
    interpolation: str = "linear"
    accuracy: float = 1e-4
    slice_shifts: Table | None = None
    first: int = 0
    middle: float | None = None

    axes = ("zax",)
    cut = "zy"
    sums = "a"
    units = {"z": "slices", "a": "angles", "y": "rows of a slice"}  # noqa: RUF012  shared, never changed

    @cached_property
    def geometry(self) -> Geometry:
        """Where every projection falls on the slice."""
        shifts = self.axis_shifts, self.turn, self.slice_shifts, self.first, self.middle
        return Geometry(self.angles, self.n_x, self.center, self.roi, *shifts)

    def placed(self, first: int) -> Fbp:
        """Of slices that begin with another row of the detector."""
        return self if self.slice_shifts is None else replace(self, first=first)

    @cached_property
    def ramp(self) -> RampFilter:
        """The row filter."""
        return RampFilter(self.filter, self.padding, self.cutoff)

    @cached_property
    def _checks(self) -> dict[ArraySpec, tuple[ArraySpec, ...]]:
        """Results by sinograms; the operation's own, so that its tables go with it."""
        return {}

    @property
    def scale(self) -> float:
        """Factor of every weight."""
        return 1.0 if self.pixel_size is None else 1.0 / float(self.pixel_size)

    def names(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Sinograms and slices."""
        return ("sinogram",), ("slices",)

    def out_specs(self, *specs: ArraySpec) -> tuple[ArraySpec, ...]:
        """Slices of float32, and every check of the arguments."""
        if specs[0] not in self._checks:
            self._checks[specs[0]] = _checked(self, specs[0])
        return self._checks[specs[0]]

    def cost(self, limits: Limits, *specs: ArraySpec) -> Cost:
        """Bytes in and out, and a pixel's update by an angle at the device's rate."""
        (slices,), rate = self.out_specs(*specs), rates(limits)
        if self.method == "fourier":
            grid = self.by_fourier.grid
            flops = 1.0 * _SAMPLE * len(self.angles) * (grid.padded // 2 + 1) + _CELL * grid.cells_x * grid.cells_y
            # Every slice starts kernels of its own, in however many parts the job is.
            flops += _STARTS * rate.launch * rate.flops
            return Cost(3 * specs[0].nbytes + slices.nbytes, float(slices.shape[0] * flops), 4)
        seconds = len(self.angles) * slices.size / rate.updates
        return Cost(3 * specs[0].nbytes + slices.nbytes, seconds * rate.flops, 4)

    # -- recording -----------------------------------------------------------------------------------------------------
    def record(self, b: Builder, *refs: Ref) -> None:
        """Filter where the sinograms lie if nobody else reads them, sum the part's angles, mask what is complete."""
        sino, out = refs
        fourier = self.method == "fourier"
        if fourier:
            rows = b.bring(sino, "float32")
        elif b.spare(sino) and sino.slot.spec.dtype == ArraySpec(()).dtype:
            rows = sino
        else:
            rows = b.like(sino, "float32", "filtered sinogram")
        if not fourier:
            self.ramp.record(b, sino, rows)
        with b.deliver(out, "float32") as volume:
            step = self.by_fourier if fourier else Backproject(self.geometry, self.scale)
            step.record(b, rows, volume)
            if self.circle:
                with b.only("last"):
                    b.launch("slices.circle", volume, **self.geometry.seen, value=0.0, y0=b.first(volume, "y"))
        self._explain(b, sino)

    def _explain(self, b: Builder, sino: Ref) -> None:
        """Say how a slice was cut."""
        tile = b.at_a_time("y")
        if b.summing:
            done = "filtered and spread" if self.method == "fourier" else "filtered and summed"
            also = "" if tile is None else f", for one tile of {counted(tile, 'rows')} at a time"
            b.note(f"one slice does not fit, so its angles are {done} in groups, {sino.spec.shape[1]} angles at a time{also}")
        elif tile is not None:
            b.note(f"one slice does not fit, so it is made in tiles of {counted(tile, 'rows')}")

    # -- the method ----------------------------------------------------------------------------------------------------
    @cached_property
    def by_fourier(self) -> FourierBackproject:
        """The Fourier method's own part."""
        return FourierBackproject(self.geometry, self.ramp, self.scale, self.accuracy, self.interpolation == "linear")

    @property
    def note(self) -> str:
        """How slices are made, for the plan's table."""
        accuracy = f", accuracy {self.accuracy:.0e}" if self.method == "fourier" else ""
        return f"method: {self.method}, {self.interpolation} interpolation{accuracy}"


def plan_by_method(fbp: Kind, plan: Callable[[Kind], Plan]) -> Plan:
    """``plan(fbp)``; where the memory is too short for its method, the error says what the other would take.

    Of an operation that is none of the two, such as one that iterates, it is the plan and no more.
    """
    if not isinstance(fbp, Fbp):
        return plan(fbp)
    try:
        return plan(fbp)
    except BudgetError as error:
        other = replace(fbp, method="direct" if fbp.method == "fourier" else "fourier")
        try:
            other.out_specs(ArraySpec((1, len(fbp.angles), fbp.n_x)))
            needs = f"takes {format_bytes(plan(other).footprint.total)}"
        except BudgetError as its:
            if its.smallest >= error.smallest:
                # Whoever has too little memory for the one is not helped by what takes more.
                raise error from None
            needs = f"needs at least {format_bytes(its.smallest)}"
        except ArgumentError:
            raise error from None
        fix = f"give memory={error.smallest} ({format_bytes(error.smallest)}) or more, or method={other.method!r}, which {needs}"
        raise BudgetError(error.budget, error.terms, error.smallest, error.what, fix, *error.and_more(0)) from None


def _checked(fbp: Fbp, sino: ArraySpec) -> tuple[ArraySpec, ...]:
    if len(sino.shape) != 3:
        raise ShapeError("sinogram", f"shape {sino.shape}", "(n_angles, n_x) or (n_z, n_angles, n_x)")
    if sino.shape[2] != fbp.n_x or min(sino.shape) < 1:
        raise ShapeError("sinogram", f"shape {sino.shape}", f"at least one slice and angle of {fbp.n_x or 'some'} pixels")
    choose("method", fbp.method, METHODS)
    choose("interpolation", fbp.interpolation, INTERPOLATIONS)
    taps_of(fbp.accuracy)
    if fbp.method == "direct" and fbp.interpolation != "linear":
        raise ArgumentError("interpolation", "'sinc'", "'linear' with method='direct'", "give method='fourier' for 'sinc'")
    check_length(fbp.pixel_size)
    fbp.ramp.gains(fbp.n_x)
    fbp.geometry.checked().check_shifts().check_circle(fbp.circle)
    if fbp.method == "fourier":
        check_reach(fbp.geometry)
    (slices,) = Backproject(fbp.geometry).out_specs(sino)
    return (slices.named("zy."),)
