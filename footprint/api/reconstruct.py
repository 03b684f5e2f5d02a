"""Reconstruct a volume from a scan."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from footprint.api._arrays import Array, Memory, Progress, finished, limits_and_budget, output, receive, where
from footprint.api._call import Face, Stream, call, meeting
from footprint.api._half import field_of, is_half, say_of_field, search_of
from footprint.api._resume import done_by
from footprint.api._scan import AHEAD, ScanJob, job_of, pixel_size_of, say_of_logarithms, scan_of
from footprint.api._tomo import angles_of, in_slices, position
from footprint.api.fbp import fbp_of
from footprint.api.rotation_axis import rotation_axis
from footprint.errors import ArgumentError, BudgetError
from footprint.ops.fbp import Fbp, plan_by_method
from footprint.ops.half_acquisition import HalfAcquisition
from footprint.ops.job import Meeting
from footprint.ops.job import job_of as as_job
from footprint.ops.pipeline import Pipeline
from footprint.ops.reconstruct import Steps, default_steps, pipeline_of, rows_needed
from footprint.plan.builder import Builder
from footprint.plan.faces import Region, Taker
from footprint.plan.fit import Job, fit
from footprint.plan.plan import Plan
from footprint.plan.slots import Given
from footprint.spec import ArraySpec, Limits
from footprint.units import kind_of


def reconstruct(
    scan: Any,
    *,
    center: float | str = "auto",
    rows: Any = None,
    filter: str | np.ndarray = "ramlak",
    padding: str = "constant",
    method: str = "auto",
    roi: tuple[int, int, int, int] | None = None,
    pixel_size: float | str | None = None,
    circle: bool = False,
    shifts: Any = None,
    axis_shifts: Any = None,
    cutoff: float = 1.0,
    i0: str | float = "auto",
    log: bool = True,
    half_acquisition: bool | None = None,
    steps: Steps | None = None,
    out: Any = None,
    memory: Memory = None,
    device: str = "auto",
    fft: str = "auto",
    on_plan: Callable[[Plan], None] | None = None,
    progress: Progress | None = None,
) -> Any:
    """Reconstruct slices from raw projections, read and written by as many detector rows as memory allows.

    Transmission (p - dark) / (flat - dark), flats interpolated in time; dead pixels from their neighbours along x; line integrals
    -log of it, clipped to 1e-6 .. 10; vertical shifts; filtered backprojection. The result does not depend on ``memory``: to the
    last bit by direct summation of whole slices (on the CPU, of groups of angles too), to rounding in all other cases.

    Parameters
    ----------
    scan : open scan
        See `open_scan`, or any object with its attributes and methods.
    center : float or "auto"
        Rotation axis in pixels from the centre of pixel 0; "auto" searches it, see `rotation_axis`, in rows of the whole detector,
        whichever are reconstructed.
    rows : slice or (first, stop), optional
        Detector rows to reconstruct, all by default.
    filter, padding, method, roi, circle, axis_shifts, cutoff
        As in `fbp`.
    pixel_size : float or "auto", optional
        As in `fbp`; "auto" takes the scan's own, where it has one, in centimetres.
    shifts : array (n_angles,), optional
        Vertical shift of each projection in pixels; a positive one reads from larger z. Beyond the detector there is air.
    i0 : "auto", "border" or float
        The open beam where the scan has no flats: each row's mean over 1/32 of its pixels at both ends, or a number. "auto" is
        1 for floating-point projections, which are taken as corrected already, and "border" for counts.
    log : bool
        False where projections are line integrals already: then neither flats and darks nor the logarithm are taken.
    half_acquisition : bool, optional
        Whether the axis lies near the detector's edge and the projections of a whole turn see one half of the sample each: rows are
        then widened to the whole field, about twice the detector, rays seen twice blended along a line, and slices are as large
        as the field, with the axis in their middle. By default as the scan's ``field_of_view`` says.
    steps : callable, optional
        Given the list of the usual steps (`footprint.ops.reconstruct.default_steps`: open beam, minus log, dead pixels,
        transposition, vertical shifts and a half acquisition's field if any, FBP), returns the list to run: operations inserted,
        replaced or removed. Each works on what the one before it left, an ``Op`` with its axes, cut and halo, and may bring its
        own kernels.
    out : array (n_rows, n_y, n_x), or an object with ``write(slices, array)``, optional
        Where the volume goes, slices counted from 0; slices made in tiles come as ``write((slices, rows), array)``. A volume
        created with ``resume=True`` goes on where a stopped run of the same job was, to the same bits.
    memory : str, int or float, optional
        The most the run may take beside a volume that is an array: "2GB", bytes, or a share of the free memory. Slices are
        worked on in chunks; where not even one's sinogram fits, its angles are corrected, filtered and summed in groups; where
        the slice itself does not fit, it is made in tiles of rows, and its projections are read again for each. A step that needs
        all angles at once forbids groups.
    device, fft : str
        As in `fbp`.
    on_plan : callable, optional
        Called with the plan before anything is allocated or read.
    progress : callable, optional
        ``progress(slices_done, slices)``; rows of it where there is one slice, made in tiles.

    Returns
    -------
    array (n_rows, n_y, n_x)
        float32, or ``out``. Values are in 1/pixel, or 1 over the unit of ``pixel_size``.

    Raises
    ------
    FormatError
        The file is damaged, or its flats are all zero.
    ShapeError, ArgumentError, BudgetError, BackendError
        Where arguments do not fit the scan, or not even one slice fits ``memory``.

    Examples
    --------
    >>> import tempfile, pathlib, footprint as fp
    >>> from footprint.io.phantom import write_scan
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     truth = write_scan(pathlib.Path(folder) / "scan.nx", n_angles=90, n_z=4, n_x=64)
    ...     with fp.open_scan(truth.path) as scan:
    ...         volume = fp.reconstruct(scan, center=truth.center, memory="20MB")
    >>> volume.shape
    (4, 64, 64)

    A filter of one's own is an operation in a list; here the transmission's upper bound is lowered:

    >>> from footprint.ops.flatfield import MinusLog
    >>> lower = lambda steps: [MinusLog(highest=2.0) if isinstance(step, MinusLog) else step for step in steps]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     truth = write_scan(pathlib.Path(folder) / "scan.nx", n_angles=90, n_z=4, n_x=64)
    ...     with fp.open_scan(truth.path) as scan:
    ...         fp.reconstruct(scan, center=truth.center, steps=lower).shape
    (4, 64, 64)
    """
    job, angles = job_of(scan, rows, i0, shifts, log), angles_of(scan.angles, scan.shape[0])
    n_x, auto, size = scan.shape[2], isinstance(center, str) and center == "auto", pixel_size_of(scan, pixel_size)
    half = is_half(scan, half_acquisition, angles)
    if half and auto:
        # How wide slices are depends on where the axis is.
        center = rotation_axis(scan, search=search_of(half, n_x), i0=i0, log=log, memory=memory).center
    axis = _number(center, n_x)
    field = field_of(half, n_x, len(angles), axis, axis_shifts, filter)
    fbp = fbp_of(angles, *_seen(field, n_x, axis), filter, padding, method, roi, size, circle, axis_shifts, cutoff)
    way = _Way(job, fbp, steps, field)
    writer = out if hasattr(out, "write") and not isinstance(out, np.ndarray) else None
    target: Face = (
        Stream(_taker(writer, way.result), way.result, _writing(writer)) if writer is not None else _array(out, way.result)
    )
    on = where(device, *([target] if isinstance(target, Array) else []))
    limits, budget = limits_and_budget(on, memory, fft)
    plan = way.plan(limits, budget, meeting(target))
    if auto and not half:
        axis = rotation_axis(scan, i0=i0, log=log, memory=plan.footprint.total).center
        way = _Way(job, replace(fbp, center=axis), steps)
        plan = way.plan(limits, budget, meeting(target))
    if on_plan is not None:
        on_plan(plan)
    say_of_logarithms(scan, log, i0)
    say_of_field(field, angles, n_x, axis)
    line = way.line(fbp.method)
    sources = job.streams(*way.needed)
    watched = in_slices(progress, *way.result.shape[:2])
    done = done_by(writer, scan, line, way.needed, plan)
    with job.kept(plan):
        job.check_flats(plan.chunk.size if plan.chunk is not None else job.n_rows)
        ins = [sources[name] for name in line.inputs]
        call("reconstruct", line, ins, [target], on, memory, progress=watched, make=lambda: plan, done=done)
    return finished(target, out) if isinstance(target, Array) else out


def plan_reconstruct(
    scan: Any,
    angles: Any = None,
    *,
    dtype: str = "uint16",
    n_flat_groups: int = 1,
    center: float | str = "auto",
    rows: Any = None,
    filter: str | np.ndarray = "ramlak",
    padding: str = "constant",
    method: str = "auto",
    roi: tuple[int, int, int, int] | None = None,
    pixel_size: float | str | None = None,
    circle: bool = False,
    shifts: Any = None,
    axis_shifts: Any = None,
    cutoff: float = 1.0,
    i0: str | float = "auto",
    log: bool = True,
    half_acquisition: bool | None = None,
    steps: Steps | None = None,
    written: Any = False,
    memory: Memory = None,
    device: str = "auto",
    fft: str = "auto",
) -> Plan:
    """Plan `reconstruct`: every byte it will take, from the scan's description alone.

    Parameters
    ----------
    scan : open scan, or (n_angles, n_z, n_x)
        No pixel of it is read; "auto" as ``center`` takes the detector's middle, which changes no size, but for a half acquisition
        the detector's last pixel: the largest slices it can have.
    angles, dtype, n_flat_groups
        Of a scan given by its shape: radians or their number, the projections' dtype, and groups of flats (0 for none).
    center, rows, filter, padding, method, roi, pixel_size, circle, shifts, axis_shifts, cutoff, i0, log, half_acquisition, steps
        As in `reconstruct`.
    memory, device, fft
        As in `reconstruct`.
    written : bool, or an object with ``write``
        Whether the volume goes to a writer, whose blocks the plan then owns, and not to an array of the caller's; a writer with
        ``host_bytes`` says what it takes beside them.

    Returns
    -------
    Plan
        Its chunks are slices; where one does not fit, ``cuts`` says how it is cut further.

    Examples
    --------
    >>> import footprint as fp
    >>> plan = fp.plan_reconstruct((1500, 2048, 2048), memory="2GB", written=True, device="cpu")
    >>> plan.footprint.total < 2e9
    True
    """
    scan = scan_of(scan, angles, dtype, n_flat_groups)
    job = job_of(scan, rows, i0, shifts, log)
    known, n_x, size = angles_of(scan.angles, scan.shape[0]), scan.shape[2], pixel_size_of(scan, pixel_size)
    half = is_half(scan, half_acquisition, known)
    # A half acquisition whose axis is not known is planned for the widest field it can have.
    axis = n_x - 1.0 if half and isinstance(center, str) and center == "auto" else _number(center, n_x)
    field = field_of(half, n_x, len(known), axis, axis_shifts, filter)
    fbp = fbp_of(known, *_seen(field, n_x, axis), filter, padding, method, roi, size, circle, axis_shifts, cutoff)
    way = _Way(job, fbp, steps, field)
    limits, budget = limits_and_budget(where(device), memory, fft)
    return way.plan(limits, budget, (way.result, Given(owner="source", beside=_writing(written)) if written else Given()))


class _Way:
    """The steps of one call: from the rows of a scan that are needed to the result.

    Attributes
    ----------
    needed
        The first detector row that is read, and the one after the last.
    result
        Spec of all slices.
    """

    def __init__(self, job: ScanJob, fbp: Fbp, steps: Steps | None, field: HalfAcquisition | None = None) -> None:
        self.job, self.fbp, self._change, self._field = job, replace(fbp, turn=field is not None), steps, field
        whole = job.specs(0, job.scan.shape[1])
        self.needed = rows_needed(self.steps(self.fbp), whole["projections"], (job.start, job.stop))
        self._specs = job.specs(*self.needed)
        line = self.line(fbp.method)
        self.result: ArraySpec = line.out_specs(*(self._specs[name] for name in line.inputs))[0]

    def steps(self, fbp: Fbp) -> list[Any]:
        """As the caller wants them."""
        usual = default_steps(self.job.flat, fbp, self.job.shifts, self.job.log, self._field)
        if self._change is None:
            return usual
        wanted = "a function of the list of steps that returns a list"
        if not callable(self._change):
            raise ArgumentError("steps", kind_of(self._change), wanted)
        changed = self._change(usual)
        if not isinstance(changed, list | tuple):
            raise ArgumentError("steps", f"a function that returns {kind_of(changed)}", wanted)
        return list(changed)

    def line(self, method: str) -> Pipeline:
        """The pipeline of the needed rows by a method of FBP."""
        job = self.job
        others = {name: spec for name, spec in job.specs(0, job.scan.shape[1]).items() if name != "projections"}
        raw = job.specs(0, job.scan.shape[1])["projections"]
        return pipeline_of(self.steps(self.fbp.by(method)), raw, others, (job.start, job.stop))

    def plan(self, limits: Limits, budget: int | None, out: Meeting) -> Plan:
        """The plan, by the method that the budget allows."""

        def by(fbp: Fbp, note: str) -> Plan:
            line, sources = self.line(fbp.method), self.job.streams(*self.needed)
            ins = [meeting(sources[name]) for name in line.inputs]
            notes = [note] if any(isinstance(stage.op, Fbp) for stage in line.stages) else []
            return self._decoding(limits, budget, as_job(limits, line, ins, [out], notes))

        return plan_by_method(self.fbp, limits, by)

    def _decoding(self, limits: Limits, budget: int | None, whole: Job) -> Plan:
        """The plan with as many rows decoded ahead as leave slices whole."""
        job, reach = self.job, self.needed[1] - self.needed[0]
        if not job.decodes:
            return fit(limits, budget, "reconstruct", whole)
        found: Plan | None = None
        for blocks in AHEAD:

            def record(b: Builder, blocks: int = blocks) -> None:
                whole.record(b)
                job.decode_ahead(b, blocks, reach)

            try:
                plan = fit(limits, budget, "reconstruct", replace(whole, record=record))
            except BudgetError:
                if found is None and not blocks:
                    raise
                continue
            slices = all(cut.axis == "z" for cut in plan.cuts)
            found = plan if found is None or slices else found
            if slices:
                break
        assert found is not None
        return job.decoded_ahead(found, budget, reach)


def _seen(field: HalfAcquisition | None, n_x: int, axis: float) -> tuple[int, float]:
    """Pixels of the rows that are backprojected, and the axis there."""
    return (n_x, axis) if field is None else (field.width, field.axis)


def _writing(writer: Any) -> Callable[[ArraySpec], int] | None:
    """Bytes a writer takes beside the blocks it is given; None where it does not say."""
    return (lambda block: int(writer.host_bytes("float32"))) if hasattr(writer, "host_bytes") else None


def _array(out: Any, result: ArraySpec) -> Array:
    return output(out, result, receive(np.empty(0, np.float32), "out"))


def _taker(writer: Any, result: ArraySpec) -> Taker:
    """A sink that hands slices on, or tiles of them."""

    def take(region: Region, block: np.ndarray) -> None:
        whole = all(r.stop - r.start == n for r, n in zip(region[1:], result.shape[1:]))
        writer.write(region[0] if whole else (region[0], region[1]), block)

    return Taker(take, flush=getattr(writer, "flush", None))


def _number(center: Any, n_x: int) -> float:
    """The axis given, or the detector's middle until it is found."""
    middle = isinstance(center, str) and center == "auto"
    return (n_x - 1) / 2 if middle else position(center, "'auto' or a detector position in pixels")
