"""Reconstruct a volume from a scan."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from footprint.api._run import Memory, Progress, described, finished, limits_and_budget, output, receive, run, where
from footprint.api._run import rows as rows_of
from footprint.api._scan import AHEAD, Described, Job, job_of
from footprint.api._tiles import Tiles, into
from footprint.api._tomo import angles_of, numbers, position
from footprint.api.rotation_axis import rotation_axis
from footprint.errors import ArgumentError, ShapeError
from footprint.ops.fbp import Fbp
from footprint.ops.reconstruct import TILES, Reconstruct
from footprint.plan.builder import Builder
from footprint.plan.fit import Variant, fit
from footprint.plan.plan import Plan
from footprint.plan.slots import Given, Ref
from footprint.spec import ArraySpec, Limits


def reconstruct(
    scan: Any,
    *,
    center: float | str = "auto",
    rows: Any = None,
    filter: str | np.ndarray = "ramlak",
    padding: str = "constant",
    method: str = "auto",
    roi: tuple[int, int, int, int] | None = None,
    pixel_size: float | None = None,
    circle: bool = False,
    shifts: Any = None,
    axis_shifts: Any = None,
    cutoff: float = 1.0,
    i0: str | float = "auto",
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
        Rotation axis in pixels from the centre of pixel 0; "auto" searches it, see `rotation_axis`.
    rows : slice or (first, stop), optional
        Detector rows to reconstruct, all by default.
    filter, padding, method, roi, pixel_size, circle, axis_shifts, cutoff
        As in `fbp`.
    shifts : array (n_angles,), optional
        Vertical shift of each projection in pixels; a positive one reads from larger z. Beyond the detector there is air.
    i0 : "auto", "border" or float
        The open beam where the scan has no flats: each row's mean over 1/32 of its pixels at both ends, or a number. "auto" is
        1 for floating-point projections, which are taken as corrected already, and "border" for counts.
    out : array (n_rows, n_y, n_x), or an object with ``write(slices, array)``, optional
        Where the volume goes, slices counted from 0; slices made in tiles come as ``write((slices, rows), array)``.
    memory : str, int or float, optional
        The most the run may take beside a volume that is an array: "2GB", bytes, or a share of the free memory. Slices are
        worked on in chunks; where not even one's sinogram fits, its angles are corrected, filtered and summed in groups; where
        the slice itself does not fit, it is made in tiles of rows, and its projections are read again for each.
    device, fft : str
        As in `fbp`.
    on_plan : callable, optional
        Called with the plan before anything is allocated or read.
    progress : callable, optional
        ``progress(done, total)`` in slices, or in rows of slices where they are made in tiles.

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
    """
    job = job_of(scan, rows, i0, shifts)
    angles = angles_of(scan.angles, scan.shape[0])
    axis = _number(center, scan.shape[2])
    moves = None if axis_shifts is None else numbers("axis_shifts", axis_shifts)
    fbp = Fbp(angles, scan.shape[2], axis, filter, padding, method, roi, pixel_size, circle, moves, cutoff)
    op = Reconstruct(job.flatfield, fbp)
    result = op.out_specs(ArraySpec(scan.shape), job.n_rows)[0]
    writer = out if hasattr(out, "write") and not isinstance(out, np.ndarray) else None
    target = None if writer is not None else output(out, result, receive(np.empty(0, np.float32), "out"))
    limits, budget = limits_and_budget(where(device, *([target] if target else [])), memory, fft)
    given = target.given if target else Given(owner="plan")
    writing = _writing(writer)
    plan = _plan(limits, budget, op, job, given, writing)
    if isinstance(center, str) and center == "auto":
        found = rotation_axis(scan, rows=(job.start, job.stop), i0=i0, memory=plan.footprint.total)
        op = Reconstruct(job.flatfield, replace(fbp, center=found.center))
        op.out_specs(ArraySpec(scan.shape), job.n_rows)
        plan = _plan(limits, budget, op, job, given, writing)
    if on_plan is not None:
        on_plan(plan)
    with job.kept(plan):
        return _run(plan, job, op, writer, target, out, progress)


def _run(plan: Plan, job: Job, op: Reconstruct, writer: Any, target: Any, out: Any, progress: Progress | None) -> Any:
    assert plan.chunk is not None
    tiled = plan.chunk.unit == TILES
    job.check_flats(1 if tiled else plan.chunk.size)
    if tiled:
        tiles = Tiles(job, op.fbp, writer.write if writer is not None else into(target))
        run(plan, None, tiles.inputs, [tiles.take], progress)
        return finished(target, out) if target else out
    fills = [lambda start, stop, k=k: job.fill(start, stop)[k] for k in range(3)]
    if writer is not None:
        taken: Any = lambda start, stop: lambda block: writer.write(slice(start, stop), block)
    else:
        assert target is not None
        taken = rows_of(target)
    run(plan, None, fills, [taken], progress)
    return finished(target, out) if target else out


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
    pixel_size: float | None = None,
    circle: bool = False,
    shifts: Any = None,
    axis_shifts: Any = None,
    cutoff: float = 1.0,
    i0: str | float = "auto",
    written: Any = False,
    memory: Memory = None,
    device: str = "auto",
    fft: str = "auto",
) -> Plan:
    """Plan `reconstruct`: every byte it will take, from the scan's description alone.

    Parameters
    ----------
    scan : open scan, or (n_angles, n_z, n_x)
        No pixel of it is read; "auto" as ``center`` takes the detector's middle, which changes no size.
    angles, dtype, n_flat_groups
        Of a scan given by its shape: radians or their number, the projections' dtype, and groups of flats (0 for none).
    center, rows, filter, padding, method, roi, pixel_size, circle, shifts, axis_shifts, cutoff, i0, memory, device, fft
        As in `reconstruct`.
    written : bool, or an object with ``write``
        Whether the volume goes to a writer, whose blocks the plan then owns, and not to an array of the caller's; a writer with
        ``host_bytes`` says what it takes beside them.

    Returns
    -------
    Plan
        Its chunks are slices, or rows of a slice where one is made in tiles.

    Examples
    --------
    >>> import footprint as fp
    >>> plan = fp.plan_reconstruct((1500, 2048, 2048), memory="2GB", written=True, device="cpu")
    >>> plan.footprint.total < 2e9
    True
    """
    if not hasattr(scan, "shape"):
        spec, _ = described(scan, dtype, "scan")
        if len(spec.shape) != 3:
            raise ShapeError("scan", f"shape {spec.shape}", "(n_angles, n_z, n_x)")
        if not isinstance(n_flat_groups, int | np.integer) or n_flat_groups < 0:
            raise ArgumentError("n_flat_groups", repr(n_flat_groups), "a whole number, 0 or more")
        n_a, n_z, n_x = spec.shape
        scan = Described((n_a, n_z, n_x), spec.dtype, angles_of(angles, n_a), min(n_flat_groups, 1), n_flat_groups)
    job = job_of(scan, rows, i0, shifts)
    axis, known = _number(center, scan.shape[2]), angles_of(scan.angles, scan.shape[0])
    moves = None if axis_shifts is None else numbers("axis_shifts", axis_shifts)
    fbp = Fbp(known, scan.shape[2], axis, filter, padding, method, roi, pixel_size, circle, moves, cutoff)
    op = Reconstruct(job.flatfield, fbp)
    op.out_specs(ArraySpec(scan.shape), job.n_rows)
    limits, budget = limits_and_budget(where(device), memory, fft)
    return _plan(limits, budget, op, job, Given(owner="plan") if written else Given(), _writing(written))


def _number(center: Any, n_x: int) -> float:
    """The axis given, or the detector's middle until it is found."""
    middle = isinstance(center, str) and center == "auto"
    return (n_x - 1) / 2 if middle else position(center, "'auto' or a detector position in pixels")


def _writing(writer: Any) -> int:
    """Bytes a writer takes beside the blocks it is given; none where it does not say."""
    return int(writer.host_bytes("float32")) if hasattr(writer, "host_bytes") else 0


def _plan(limits: Limits, budget: int | None, op: Reconstruct, job: Job, out: Given, writing: int = 0) -> Plan:
    n_angles = job.scan.shape[0]
    # Where kernels write a slice straight into the caller's array, a tile of it would save nothing.
    straight = out.owner == "caller" and (out.space == "device" or (limits.host and out.direct))

    def variants(job: Job) -> list[Variant]:
        def make(b: Builder, n: int) -> tuple[Ref, Ref, Ref, Ref]:
            raw, flats, dark = job.slots(b, n_angles, n)
            b.library("file writer", writing, bound=False)
            return raw, flats, dark, b.out(ArraySpec((n, *op.fbp.geometry.shape)), "slices", out)

        def tile(b: Builder, n: int) -> tuple[Ref, Ref, Ref, Ref]:
            raw, flats, dark = job.slots(b, n_angles, 1)
            b.library("file writer", writing, bound=False)
            return raw, flats, dark, b.out(ArraySpec((1, n, op.fbp.geometry.shape[1])), "tile", Given(owner="plan"))

        return op.variants(job.n_rows, make, limits, None if straight else tile)

    ways = [variants(replace(job, ahead=n)) for n in (AHEAD if job.decodes else (0,))]
    plan = fit(limits, budget, "reconstruct", [one for alike in zip(*ways) for one in alike])
    return job.decoded_ahead(plan, budget)


def volume_shape(plan: Plan) -> tuple[int, int, int]:
    """(n_rows, n_y, n_x) of the volume that a plan of `reconstruct` makes, in however many runs."""
    _, n_y, n_x = plan.outputs[0].spec.shape
    assert plan.chunk is not None
    return (plan.chunk.times, plan.chunk.total, n_x) if plan.chunk.unit == TILES else (plan.chunk.total, n_y, n_x)
