"""Reconstruct a volume from a scan."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from footprint.api._arrays import Array, Memory, Progress, finished, limits_and_budget, where
from footprint.api._black import BlackFrames, Watch, counted_with, is_watched, look_now, with_light
from footprint.api._call import Face, Stream, call, meeting
from footprint.api._counts import PixelCounts, Tally
from footprint.api._half import say_of_axis, say_of_field, say_of_wedge, search_of
from footprint.api._resume import done_by
from footprint.api._scan import Taken, job_of, say_of_logarithms, scan_of
from footprint.api._tomo import angles_of, in_slices
from footprint.api._way import How, array, axis_of, taker, writing
from footprint.api.axis_by_row import axis_found
from footprint.api.fbp import Filtered
from footprint.api.rotation_axis import plan_rotation_axis, searches
from footprint.errors import ArgumentError, BudgetError, warn
from footprint.kernels.common.borders import shows_borders
from footprint.ops.dropouts import Dropouts
from footprint.ops.fbp import Fbp
from footprint.ops.flatfield import Flat, MinusLog
from footprint.ops.reconstruct import Steps
from footprint.plan.done import DoneSet
from footprint.plan.plan import Plan
from footprint.plan.slots import Given, Library

# Share of saturated values that is warned of.
_SATURATED = 0.01


@shows_borders("padding", "numpy")
def reconstruct(
    scan: Any,
    *,
    center: Any = "auto",
    rows: Any = None,
    filter: str | np.ndarray = "ramlak",
    padding: str = "constant",
    method: str = "direct",
    interpolation: str = "linear",
    accuracy: float = 1e-4,
    roi: tuple[int, int, int, int] | None = None,
    pixel_size: float | str | None = None,
    circle: bool = False,
    shifts: Any = None,
    axis_shifts: Any = None,
    cutoff: float = 1.0,
    i0: str | float = "auto",
    log: bool = True,
    half_acquisition: bool | None = None,
    black_frames: str = "exclude",
    steps: Steps | None = None,
    out_dtype: str = "float32",
    out_range: tuple[float, float] | None = None,
    iterations: int | None = None,
    weight: float | None = None,
    nonnegative: bool = False,
    centered: bool = False,
    margin: int = 0,
    out: Any = None,
    memory: Memory = None,
    device: str = "auto",
    fft: str = "auto",
    on_plan: Callable[[Plan], None] | None = None,
    on_counts: Callable[[PixelCounts], None] | None = None,
    progress: Progress | None = None,
) -> Any:
    """Reconstruct slices from raw projections, read and written as many detector rows at a time as memory allows.

    The steps: transmission (p - dark) / (flat - dark), with flats interpolated in time; dead pixels replaced from their neighbours
    along x; line integrals, -log of the transmission clipped to 1e-6 .. 10; vertical shifts; filtered backprojection. The result
    does not depend on ``memory``: to the last bit by direct summation of whole slices (on the CPU, of groups of angles too), to
    ``accuracy`` in tiles by the Fourier method, to rounding in all other cases.

    Parameters
    ----------
    scan : open scan
        See `open_scan`, or any object with its attributes and methods.
    center : float, str, or array (n_z,)
        Rotation axis in pixels from the centre of pixel 0; "auto", or a method of `rotation_axis`, searches for it in rows of the
        whole detector, whichever rows are reconstructed. An axis for every row of the detector, or "auto:per-slice" (or a method
        and ``:per-slice``), which is `axis_by_row`: slices then have their axes above one another, at the mean of all rows. An
        axis may lie up to n_x pixels off the detector, with a warning, as in `fbp`.
    rows : slice or (first, stop), optional
        Detector rows to reconstruct, all by default.
    filter, padding, method, interpolation, accuracy, roi, circle, axis_shifts, cutoff, centered, margin
        As in `fbp`; ``method`` may also be "sirt", "cgls" or "tv", which filter nothing.
    iterations, weight, nonnegative
        As in `sirt`, `cgls` and `tv`, and only for these methods.
    pixel_size : float or "auto", optional
        As in `fbp`; "auto" takes the scan's own, in centimetres, if it has one.
    shifts : array (n_angles,), optional
        Vertical shift of each projection in pixels; a positive one reads from larger z. Beyond the detector there is air.
    i0 : "auto", "border" or float
        The open beam if the scan has no flats: each row's mean over 1/32 of its pixels at both ends, or a number. "auto" is 1 for
        floating-point projections, which are taken as corrected already, and "border" for counts.
    log : bool
        False if projections are already line integrals: then neither flats and darks nor the logarithm are used.
    half_acquisition : bool, optional
        Whether the axis lies near the detector's edge, so that each projection of a full turn sees one half of the sample. Rows are
        then widened to the whole field, about twice the detector, with rays seen twice blended along a line, and slices are as
        large as the field, with the axis in their middle. By default as the scan's ``field_of_view`` says.
    black_frames : {"exclude", "keep"}
        With "exclude", projections without light (a closed shutter) are left out with a warning, and their neighbours in angle get
        more weight. They are searched for in one of the first rows that are read.
    steps : callable, optional
        Given the list of the usual steps (`footprint.ops.reconstruct.default_steps`: open beam, minus log, dead pixels,
        transposition, vertical shifts and a half acquisition's field if any, FBP), returns the list to run: operations inserted,
        replaced or removed. Each is an ``Op`` with its axes, cut and halo, works on what the one before it left, and may bring its
        own kernels.
    out_dtype : {"float32", "uint8", "uint16"}
        Dtype of the volume. Integers are scaled to ``out_range`` and rounded: value = low + number * (high - low) / largest number.
    out_range : (low, high)
        Values that 0 and the largest number stand for; values outside are clipped. `value_range` finds suitable ones. NaN becomes
        0.
    out : array (n_rows, n_y, n_x), or an object with ``write(slices, array)``, optional
        Where the volume goes, slices counted from 0; slices made in tiles come as ``write((slices, rows), array)``. A volume
        created with ``resume=True`` continues where a stopped run of the same job was, to the same bits.
    memory : str, int or float, optional
        The most memory the run may take, not counting a volume that is an array: "2GB", bytes, or a share of the free memory.
        Slices are processed in chunks; if not even one sinogram fits, its angles are corrected, filtered and summed in groups; if
        the slice itself does not fit, it is made in tiles of rows, and its projections are read again for each. A step that needs
        all angles at once rules out groups.
    device, fft : str
        As in `fbp`.
    on_plan : callable, optional
        Called with the plan before anything is allocated or read.
    on_counts : callable, optional
        Called at the end with the number of dead detector pixels and of saturated values: ``dead`` of ``pixels`` and ``saturated``
        of ``values``; ``str()`` of it is a sentence.
    progress : callable, optional
        ``progress(slices_done, slices)``; if one slice is made in tiles, it counts rows.

    Returns
    -------
    array (n_rows, n_y, n_x)
        ``out_dtype``, or ``out``. Values are in 1/pixel, or 1 over the unit of ``pixel_size``.

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
    fbp = Filtered(
        None, filter, padding, method, interpolation, accuracy, roi, pixel_size, circle, axis_shifts, cutoff, centered, margin
    )
    how = How(fbp, half_acquisition, steps, out_dtype, out_range, iterations, weight, nonnegative)
    taken, run = Taken(rows, i0, shifts, log), _Run(out, memory, device, fft, on_plan, on_counts, progress)
    if hasattr(scan, "check_headers"):
        scan.check_headers()
    try:
        return _reconstruct(scan, is_watched(black_frames, log), center, how, taken, run)
    except BlackFrames as found:
        row = found.row
    scan, shifts, axis_shifts = with_light(scan, row, shifts, axis_shifts)
    how, run = replace(how, fbp=fbp._replace(axis_shifts=axis_shifts)), run._replace(on_counts=counted_with(scan, on_counts))
    return _reconstruct(scan, False, center, how, taken._replace(shifts=shifts), run)


class _Run(NamedTuple):
    """Where slices go, where they are made, and who is told."""

    out: Any
    memory: Memory
    device: str
    fft: str
    on_plan: Callable[[Plan], None] | None
    on_counts: Callable[[PixelCounts], None] | None
    progress: Progress | None


def _reconstruct(scan: Any, look: bool, center: Any, how: How, taken: Taken, run: _Run) -> Any:
    """The job on the scan as it is; raises BlackFrames before anything is written where it is told to ``look``."""
    job, (out, memory, device, fft, on_plan, on_counts, progress) = taken.job(scan), run
    n_x, method, half = scan.shape[2], searches(center), how.is_half(job)
    search: dict[str, Any] = {"method": method, "search": search_of(half, n_x), "i0": taken.i0, "log": taken.log}
    if half and method:
        # How wide slices are depends on where the axis is.
        center = axis_found(scan, center, memory=memory, **search)
    axis = axis_of(center, scan.shape)
    way = how.way(job, axis, half)
    writer = out if hasattr(out, "write") and not isinstance(out, np.ndarray) else None
    target: Face = (
        Stream(taker(writer, way.result), way.result, writing(writer, how.out_dtype))
        if writer is not None
        else array(out, way.result)
    )
    on = where(device, *([target] if isinstance(target, Array) else []))
    limits, budget = limits_and_budget(on, memory, fft)
    plan = way.plan(limits, budget, meeting(target))
    if method and not half:
        room = _searched(plan, scan, budget, search).footprint.total
        axis = axis_found(scan, center, memory=room, **search)
        way = how.way(job, axis, half)
        plan = _searched(way.plan(limits, budget, meeting(target)), scan, budget, search)
    if on_plan is not None:
        on_plan(plan)
    line = way.line(way.fbp)
    kinds = {type(stage.op) for stage in line.stages}
    look = look and Flat in kinds
    if MinusLog in kinds or not taken.log:
        say_of_logarithms(scan, taken.log, taken.i0)
    angles = angles_of(scan.angles, scan.shape[0])
    say_of_field(way.field, angles, n_x, float(np.mean(axis)))
    if not half:
        say_of_axis(way.fbp.geometry)
    if Fbp in kinds:
        say_of_wedge(angles, half)
    if look and (plan.n_summed > 1 or getattr(writer, "resumable", False)):
        # A run that goes on would read other rows first, and a group of angles may be black as a whole.
        look_now(scan, sum(way.needed) // 2)
    watch = Watch(scan, way.needed[0], look, taken.log) if Dropouts in kinds else None
    tally = Tally(way.needed[1] - way.needed[0], getattr(job.scan, "saturation", None)) if Flat in kinds else None
    sources = job.streams(*way.needed, watch=watch, tally=tally)
    watched = in_slices(progress, *way.result.shape[:2])
    done = done_by(writer, scan, line, way.needed, plan)
    if tally is not None and isinstance(done, DoneSet):
        # What a stopped run has counted stays in the journal with its rows.
        tally.go_on(done.notes)
        done.note = tally.noted
    with ExitStack() as beside:
        beside.enter_context(job.kept(plan, way.needed[1]))
        rows = plan.chunk.size if plan.chunk is not None else job.n_rows
        job.check_flats(rows)
        ins = [sources[name] for name in line.inputs]
        held = sources["projections"]
        if isinstance(held, Array):
            # Nobody reads them for the job, which takes them from where they lie.
            if watch is not None:
                watch((slice(None), slice(0, rows), slice(None)), held.data[:, :rows])
            if tally is not None:
                beside.enter_context(tally.beside(held.data))
        call("reconstruct", line, ins, [target], on, memory, progress=watched, make=lambda: plan, done=done)
    if watch is not None:
        watch.say(str(getattr(scan, "path", "the scan")))
    if tally is not None:
        _say_of_pixels(str(getattr(scan, "path", "the scan")), tally.counts(), on_counts)
    return finished(target, out) if isinstance(target, Array) else out


def _say_of_pixels(path: str, counts: PixelCounts, on_counts: Callable[[PixelCounts], None] | None) -> None:
    """Tell what was counted, and warn where so much is saturated that it is more than a few pixels."""
    if counts.saturated > _SATURATED * counts.values:
        found = f"{counts.saturated / counts.values:.1%} of its values are saturated ({counts.level:g} and more)"
        what = f"{path}: {found} and were replaced from their neighbours; saturation='none' takes them as they are"
        warn(what)
    if on_counts is not None:
        on_counts(counts)


def _searched(plan: Plan, scan: Any, budget: int | None, search: dict[str, Any]) -> Plan:
    """The plan with room for a search of the axis, which comes first and may take more than what follows."""
    try:
        plan_rotation_axis(scan, memory=plan.footprint.total, **search)
    except BudgetError as error:
        if budget is not None and error.smallest > budget:
            raise
        more = Library("axis search, beyond the rest", error.smallest - plan.footprint.total, False)
        return replace(plan, libraries=(*plan.libraries, more))
    except ArgumentError:
        # What cannot be searched is refused when it is.
        pass
    return plan


@shows_borders("padding", "numpy")
def plan_reconstruct(
    scan: Any,
    angles: Any = None,
    *,
    dtype: str = "uint16",
    n_flat_groups: int = 1,
    center: Any = "auto",
    rows: Any = None,
    filter: str | np.ndarray = "ramlak",
    padding: str = "constant",
    method: str = "direct",
    interpolation: str = "linear",
    accuracy: float = 1e-4,
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
    out_dtype: str = "float32",
    out_range: tuple[float, float] | None = None,
    iterations: int | None = None,
    weight: float | None = None,
    nonnegative: bool = False,
    centered: bool = False,
    margin: int = 0,
    written: Any = False,
    memory: Memory = None,
    device: str = "auto",
    fft: str = "auto",
) -> Plan:
    """Plan `reconstruct`: every byte it will take, from the scan's description alone.

    Parameters
    ----------
    scan : open scan, or (n_angles, n_z, n_x)
        No pixel of it is read. With ``center="auto"`` the plan assumes the detector's middle, which changes no size, or for a half
        acquisition the detector's last pixel, which gives the largest slices possible.
    angles, dtype, n_flat_groups
        For a scan given by its shape: angles in radians or their number, the projections' dtype, and how many groups of flats (or
        0).
    center, rows, filter, padding, method, interpolation, accuracy, roi, pixel_size, circle, shifts, axis_shifts, cutoff, i0, log
        As in `reconstruct`.
    half_acquisition, steps, out_dtype, out_range, iterations, weight, nonnegative, centered, margin, memory, device, fft
        As in `reconstruct`.
    written : bool, or an object with ``write``
        Whether the volume goes to a writer, whose blocks the plan then owns, and not to an array of the caller's; the
        ``host_bytes`` of a writer are what it takes in addition.

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
    job, n_x = job_of(scan, rows, i0, shifts, log), scan.shape[2]
    fbp = Filtered(
        None, filter, padding, method, interpolation, accuracy, roi, pixel_size, circle, axis_shifts, cutoff, centered, margin
    )
    how = How(fbp, half_acquisition, steps, out_dtype, out_range, iterations, weight, nonnegative)
    half = how.is_half(job)
    # A half acquisition whose axis is not known is planned for the widest field it can have.
    axis = axis_of(center, scan.shape)
    if half and searches(center):
        axis = axis * 0 + (n_x - 1.0)
    way = how.way(job, axis, half)
    limits, budget = limits_and_budget(where(device), memory, fft)
    plan = way.plan(limits, budget, (way.result, Given(owner="source", beside=writing(written, out_dtype)) if written else Given()))
    by = searches(center)
    if by is None or half:
        return plan
    return _searched(plan, scan, budget, {"method": by, "search": search_of(half, n_x), "i0": i0, "log": log})
