"""The road from a scan's projections to slices: its steps, their plan, and what the ends of it are."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from functools import partial
from typing import Any

import numpy as np

from footprint.api._arrays import Array, output, receive
from footprint.api._call import meeting
from footprint.api._half import field_of, is_half
from footprint.api._scan import AHEAD, ScanJob, pixel_size_of
from footprint.api._tomo import angles_of, numbers, position
from footprint.api.fbp import Filtered
from footprint.api.iterative import Iterated
from footprint.api.rotation_axis import METHODS, per_slice, searches
from footprint.errors import ArgumentError, ShapeError, choose
from footprint.ops.backproject import Geometry
from footprint.ops.base import Table
from footprint.ops.fbp import METHODS as DIRECT
from footprint.ops.fbp import Fbp, plan_by_method
from footprint.ops.half_acquisition import HalfAcquisition
from footprint.ops.iterative import METHODS as ITERATIVE
from footprint.ops.iterative import Iterative
from footprint.ops.job import Meeting, job_of_op
from footprint.ops.pipeline import Pipeline
from footprint.ops.quantize import DTYPES, Quantize
from footprint.ops.reconstruct import Steps, default_steps, pipeline_of, rows_needed
from footprint.plan.comfort import starts
from footprint.plan.faces import Region, Taker
from footprint.plan.fit import Job, fit, fit_if_any
from footprint.plan.plan import Plan
from footprint.plan.tried import Known
from footprint.spec import ArraySpec, Limits
from footprint.units import kind_of

Last = Fbp | Iterative
"""What makes slices of sinograms."""
# What only a filtered backprojection is told, or only what iterates, and what it is told unless said otherwise.
_OF_FBP = {name: Filtered._field_defaults[name] for name in ("filter", "padding", "interpolation", "accuracy", "cutoff")}
# What a plan takes of the seconds of one with whole slices where it is worth cutting them.
_FAR = 0.5
_OF_ITERATIONS = {"iterations": None, "weight": None, "nonnegative": False}


class Way:
    """The steps of one call: from the rows of a scan that are needed to the result.

    Attributes
    ----------
    needed
        The first detector row that is read, and the one after the last.
    fbp
        The operation that makes slices of sinograms.
    field
        The operation that widens rows to the field of a half acquisition, None for a whole field. What iterates takes rows as they
        are, and only its slices are as large as the field.
    result
        Spec of all slices.
    """

    def __init__(
        self, job: ScanJob, fbp: Last, steps: Steps | None, field: HalfAcquisition | None, numbers: Quantize | None = None
    ) -> None:
        self._numbers = numbers
        last: Last = replace(fbp, turn=field is not None)
        self.job, self.fbp, self._change, self.field = job, last, steps, field
        whole = job.specs(0, job.scan.shape[1])
        self.needed = rows_needed(self.steps(self.fbp), whole["projections"], (job.start, job.stop))
        self._specs = job.specs(*self.needed)
        line = self.line(self.fbp)
        self.result: ArraySpec = line.out_specs(*(self._specs[name] for name in line.inputs))[0]

    def steps(self, fbp: Last) -> list[Any]:
        """As the caller wants them."""
        field = self.field if isinstance(fbp, Fbp) else None
        usual = default_steps(self.job.flat, fbp, self.job.shifts, self.job.log, field)
        last = [] if self._numbers is None else [self._numbers]
        if self._change is None:
            return [*usual, *last]
        wanted = "a function of the list of steps that returns a list"
        if not callable(self._change):
            raise ArgumentError("steps", kind_of(self._change), wanted)
        changed = self._change(usual)
        if not isinstance(changed, list | tuple):
            raise ArgumentError("steps", f"a function that returns {kind_of(changed)}", wanted)
        return [*changed, *last]

    def line(self, fbp: Last) -> Pipeline:
        """The pipeline of the needed rows with such a last step."""
        job = self.job
        others = {name: spec for name, spec in job.specs(0, job.scan.shape[1]).items() if name != "projections"}
        raw = job.specs(0, job.scan.shape[1])["projections"]
        return pipeline_of(self.steps(fbp), raw, others, (job.start, job.stop))

    def plan(self, limits: Limits, budget: int | None, out: Meeting) -> Plan:
        """The plan; where the budget is too small, the error names what the other method takes."""

        def by(fbp: Last) -> Plan:
            line, sources = self.line(fbp), self.job.streams(*self.needed)
            ins = [meeting(sources[name]) for name in line.inputs]
            notes = [fbp.note] if any(isinstance(stage.op, Fbp) for stage in line.stages) else []
            return self._decoding(limits, budget, job_of_op(limits, line, ins, [out], notes), line)

        return plan_by_method(self.fbp, by)

    def _decoding(self, limits: Limits, budget: int | None, whole: Job, line: Pipeline) -> Plan:
        """The plan with as many rows decoded ahead as leave slices whole; the fastest where none does, or it is far faster."""
        job, height = self.job, self.needed[1] - self.needed[0]
        if not job.decodes:
            return fit(limits, budget, "reconstruct", whole)
        found: list[Plan] = []
        # Apart from the rows that are kept, every search tries the same.
        known, reach = Known(), line.reach(line.inputs.index("projections"), "z")
        for blocks in AHEAD:
            kept = replace(whole, beside=partial(job.ahead, blocks, reach, height))
            plan = fit_if_any(limits, budget, "reconstruct", kept, known)
            if plan is None and not found and not blocks:
                plan = fit(limits, budget, "reconstruct", kept)
            if plan is None:
                continue
            found.append(job.decoded_ahead(plan, budget, height))
            if all(cut.axis == "z" for cut in plan.cuts):
                # Small parts take longer than is foretold: only if a scan is decoded far less often are they better than slices.
                least = min(found, key=_seconds)
                return least if _seconds(least) < _FAR * _seconds(found[-1]) else found[-1]
        # Parts of a slice read its rows once each: rows that are kept may be worth more than larger parts, or less.
        return min(found, key=_seconds)


def _seconds(plan: Plan) -> float:
    """What a plan is foretold to take, with what its parts take to start."""
    return float((max if len(plan.lanes) > 1 else sum)(t for _, t in plan.seconds)) + starts(plan)


@dataclass(frozen=True)
class How:
    """How slices are made, whatever their axis: arguments of `reconstruct`.

    Attributes
    ----------
    fbp
        Those that are `fbp`'s, too; the axis among them is not used. What iterates is told some of them.
    """

    fbp: Filtered
    half_acquisition: bool | None = None
    steps: Steps | None = None
    out_dtype: str = "float32"
    out_range: Any = None
    iterations: int | None = None
    weight: float | None = None
    nonnegative: bool = False

    @classmethod
    def of(cls, **settings: Any) -> How:
        """Of ``SETTINGS``, as they stand side by side in a call."""
        fbp = {name: settings.pop(name) for name in Filtered._fields if name in settings}
        return cls(Filtered(**fbp), **settings)

    def is_half(self, job: ScanJob) -> bool:
        """Whether the scan is a half acquisition."""
        return is_half(job.scan, self.half_acquisition, angles_of(job.scan.angles, job.scan.shape[0]))

    def way(self, job: ScanJob, axis: float | np.ndarray, half: bool) -> Way:
        """The steps about an axis, or that of every row of the detector; every argument checked."""
        n_angles, _, n_x = job.scan.shape
        moves = None
        if isinstance(axis, np.ndarray):
            # Slices are about the same pixel, so that what is above one another lies above one another.
            mean = float(axis.mean())
            axis, moves = mean, Table(axis - mean)
        angles, size = angles_of(job.scan.angles, n_angles), pixel_size_of(job.scan, self.fbp.pixel_size)
        field = field_of(half, n_x, n_angles, axis, self.fbp.axis_shifts, self.fbp.filter, moves)
        width, seen = (n_x, axis) if field is None else (field.width, field.axis)
        fbp: Last
        if isinstance(self.fbp.method, str) and self.fbp.method in ITERATIVE:
            fbp = self._iterative(angles, n_x, axis, size, field)
            fbp = fbp if moves is None else replace(fbp, geometry=replace(fbp.geometry, slice_shifts=moves))
        else:
            choose("method", self.fbp.method, (*DIRECT, *ITERATIVE))
            self._refuse(self, _OF_ITERATIONS, "which has none", "method='sirt' iterates")
            fbp = replace(self.fbp._replace(center=seen, pixel_size=size).op(angles, width), slice_shifts=moves)
        return Way(job, fbp, self.steps, field, self.numbers)

    def _iterative(self, angles: np.ndarray, n_x: int, axis: float, size: Any, field: HalfAcquisition | None) -> Iterative:
        """What iterates; slices of a half acquisition are the field's, seen by the detector where it is."""
        told = self.fbp
        self._refuse(told, _OF_FBP, "which filters nothing", "leave it out")
        width, offset = (n_x, 0) if field is None else (field.width, field.offset)
        roi, middle = told.box(width), told.middle(width)
        if field is not None:
            roi = (0, width, 0, width) if roi is None else Geometry(angles, n_x, axis, roi).box
            roi = tuple(end - field.offset for end in roi)
        how = Iterated(told.method, self.iterations, self.weight, self.nonnegative, axis, roi, size, told.circle, told.axis_shifts)
        op = how.op(angles, n_x)
        return op if middle is None else replace(op, geometry=replace(op.geometry, middle=middle - offset))

    def _refuse(self, told: Any, usual: dict[str, Any], why: str, fix: str) -> None:
        """Raise where the method is told what it has no use for."""
        for name, value in usual.items():
            given = getattr(told, name)
            if isinstance(given, np.ndarray) or given != value:
                other = "method='tv' has one" if name == "weight" else fix
                raise ArgumentError(name, repr(given), f"none with method={self.fbp.method!r}, {why}", other)

    @property
    def numbers(self) -> Quantize | None:
        """What makes whole numbers of slices; None for float32."""
        choose("out_dtype", self.out_dtype, ("float32", *DTYPES))
        if self.out_dtype == "float32":
            if self.out_range is not None:
                raise ArgumentError("out_range", repr(self.out_range), "none with out_dtype=float32", "give out_dtype='uint16'")
            return None
        wanted = "two numbers: the values that 0 and the largest number stand for"
        try:
            low, high = (float(value) for value in self.out_range)
        except (TypeError, ValueError, OverflowError):
            raise ArgumentError("out_range", repr(self.out_range), wanted, "value_range(scan) finds some") from None
        return Quantize(low, high, self.out_dtype)


SETTINGS = ({*Filtered._fields} | {field.name for field in fields(How)}) - {"center", "fbp"}
"""What `reconstruct` may be told beside the axis, the rows, and how transmissions are made."""


def axis_in_slices(job: ScanJob, center: Any, how: How) -> list[float]:
    """Column and row of the pixel of every slice that the axis lies on, counted from 0 in what is made of it."""
    seen = how.way(job, axis_of(center, job.scan.shape), how.is_half(job)).fbp.geometry.seen
    return [float(seen["cx"]), float(seen["cy"])]


def writing(writer: Any, dtype: str = "float32") -> Callable[[ArraySpec], int] | None:
    """Bytes a writer takes beside the blocks it is given; None where it does not say."""
    return (lambda block: int(writer.host_bytes(dtype))) if hasattr(writer, "host_bytes") else None


def array(out: Any, result: ArraySpec) -> Array:
    return output(out, result, receive(np.empty(0, np.float32), "out"))


def taker(writer: Any, result: ArraySpec) -> Taker:
    """A sink that hands slices on, or tiles of them."""

    def take(region: Region, block: np.ndarray) -> None:
        whole = all(r.stop - r.start == n for r, n in zip(region[1:], result.shape[1:]))
        writer.write(region[0] if whole else (region[0], region[1]), block)

    return Taker(take, flush=getattr(writer, "flush", None))


def axis_of(center: Any, shape: tuple[int, ...]) -> float | np.ndarray:
    """The axis given, one or one a row of the detector; the detector's middle until it is found."""
    _, n_z, n_x = shape
    if searches(center):
        return np.full(n_z, (n_x - 1) / 2) if per_slice(center) else (n_x - 1) / 2
    if isinstance(center, list | tuple | np.ndarray) and (found := numbers("center", center)).ndim:
        if found.shape != (n_z,) or not np.isfinite(found).all():
            got = f"shape {found.shape}" if found.shape != (n_z,) else "positions that are not finite"
            raise ShapeError("center", got, f"({n_z},) finite positions, one for every row of the detector")
        return found
    return position(center, f"'auto', {', '.join(METHODS)} or a detector position in pixels")
