"""Find the rotation axis of a scan."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from footprint.api._arrays import Memory
from footprint.api._call import Face, Stream, call, planned
from footprint.api._scan import ScanJob, job_of
from footprint.errors import ArgumentError, BudgetError, choose, warn
from footprint.ops.base import Op, Table
from footprint.ops.dropouts import Dropouts
from footprint.ops.flatfield import DeadPixels, MinusLog, Rows, Sinograms
from footprint.ops.fourier_metric import FourierMetric
from footprint.ops.half_acquisition import is_turn
from footprint.ops.pipeline import Pipeline
from footprint.ops.rotation_axis import RotationAxis
from footprint.ops.untilt import Untilt
from footprint.plan.faces import Region, Taker
from footprint.plan.plan import Plan
from footprint.spec import ArraySpec
from footprint.units import counted

# Above this spread in pixels the caller is warned, as below an operation's own score.
_SPREAD = 0.3
# After a method: an axis of every row.
_PER_SLICE = ":per-slice"
METHODS = ("registration", "overlap", "sliding-window", "growing-window", "vo")
# Projections compared by the overlap search, and the least that are a search at all.
_OVERLAPS, _FEW = 64, 8
# The sliding window's share of the detector on both sides of the axis, and its least.
_WINDOW, _NARROW = 8, 8
# What each method's score is of.
_SAYS = {"vo": "the metric is {0:.0%} below its usual value there (for a clear axis, by more than half)"}
_USUAL = "the correlation of opposite projections is {0:.2f} (a perfect match has 1)"


class Axis(NamedTuple):
    """A rotation axis: where, how good the method's own score is there (0 to 1), how far single comparisons differ, in pixels.

    ``tried`` and ``values`` are the search: positions, and the method's measure there (correlation, or Vo's metric, which is low at
    the axis).
    """

    center: float
    score: float
    spread: float
    method: str = "registration"
    tried: np.ndarray = np.zeros(0)
    values: np.ndarray = np.zeros(0)


def searches(center: Any) -> str | None:
    """The method that ``center`` asks for: "auto" is registration; None where it is a position."""
    if not isinstance(center, str):
        return None
    center = center.removesuffix(_PER_SLICE)
    method = by_name(center.removesuffix(_PER_SLICE))
    return method if method in METHODS else None


def by_name(method: Any) -> Any:
    """A method's own name: "auto" is registration."""
    return METHODS[0] if isinstance(method, str) and method == "auto" else method


def per_slice(center: Any) -> bool:
    """Whether ``center`` asks for an axis of every row."""
    return searches(center) is not None and center.endswith(_PER_SLICE)


def rotation_axis(
    scan: Any,
    *,
    method: str = "registration",
    rows: Any = None,
    search: tuple[float, float] | None = None,
    i0: str | float = "auto",
    log: bool = True,
    memory: Memory = None,
) -> Axis:
    """Find the rotation axis, by registering projections with their mirrored opposites or by N. T. Vo's metric.

    For an axis at c, a projection's sample x and its opposite's sample 2c - x saw the same ray. The axis is where their normalised
    correlation over the samples both saw is highest, interpolated between samples by a parabola; the result is the median over up
    to four comparisons. If no projection is exactly opposite, as in a scan of 180 degrees minus a step, it is interpolated from two
    near ones. Uses at most 16 rows (the overlap search and Vo's metric 4), on the CPU.

    Parameters
    ----------
    scan : open scan
        See `open_scan`.
    method : {"registration", "overlap", "sliding-window", "growing-window", "vo"}
        "registration" (or "auto"): as above; "overlap": the mean correlation over 64 projections, for full turns and half
        acquisitions; "sliding-window": only an eighth of the detector on both sides of the axis counts; "growing-window":
        everything both saw counts, and the measure is 1 minus the variance of the difference over the sum of the variances, which
        also requires equal brightness; "vo": where the half turn and its mirror image join best, see `docs/axis.md`, for samples
        narrower than the detector.
    rows : slice or (first, stop), optional
        Detector rows; the search uses the middle ones.
    search : (first, last), optional
        Where to look, in pixels; by default the middle half of the detector, or nearly all of it if the scan says "Half".
    i0, log
        As in `reconstruct`.
    memory : str, int or float, optional
        The most memory it may take.

    Returns
    -------
    Axis
        ``center`` in pixels from the centre of pixel 0, ``score`` in [0, 1], ``spread`` in pixels.

    Raises
    ------
    ArgumentError, BudgetError
        No projections within 6 degrees of opposite, nothing to register, or too small a budget.

    Warns
    -----
    UserWarning
        A score below 0.5 (Vo's metric: 0.35), a spread above 0.3 pixels, or data that the method is not for.

    Examples
    --------
    >>> import tempfile, pathlib, footprint as fp
    >>> from footprint.io.phantom import write_scan
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     truth = write_scan(pathlib.Path(folder) / "scan.nx", n_angles=90, n_z=4, n_x=64)
    ...     with fp.open_scan(truth.path) as scan:
    ...         axis = fp.rotation_axis(scan)
    >>> abs(axis.center - truth.center) < 0.5
    True
    """
    task = Search.of(scan, rows, search, method=method, i0=i0, log=log, memory=memory)
    fix = f"look elsewhere with search=(lo, hi), pixels from 0 to {scan.shape[2] - 1}, or try another method"
    return _judged(task, "method", fix)


def axis_of(scan: Any, **how: Any) -> Axis:
    """The same, for a reconstruction whose ``center`` asks for it."""
    task = Search.of(scan, None, how.pop("search", None), **how)
    return _judged(task, "center", "give the axis as a number" + _may_be_half(scan))


def _judged(task: Search, name: str, fix: str) -> Axis:
    """The axis of a search; whoever asked for it by the argument ``name`` is told what to do where there is none."""
    axis, against = searched(task)
    if not math.isfinite(axis.center):
        # Opposites agree nowhere: nothing is seen in them, or the axis is not where it was looked for.
        first, last = task.op.first / 2, (task.op.first + task.op.count - 1) / 2
        wanted = f"opposite projections that agree somewhere from pixel {first:g} to {last:g}"
        raise ArgumentError(name, f"a search by {task.method}", wanted, fix)
    _judge(axis, task.op.doubtful, against, _may_be_half(task.job.scan))
    return axis


def _may_be_half(scan: Any) -> str:
    """What else is to be tried with a whole turn that nobody called a half acquisition."""
    if getattr(scan, "field_of_view", None) == "Half" or not is_turn(scan.angles):
        return ""
    return ", or half_acquisition=True if it lies near an end of the detector"


def searched(task: Search) -> tuple[Axis, str]:
    """The axis of a search, NaN where there is nothing to register, and what speaks against it."""
    task.job.check_flats(task.job.n_rows)
    found: list[Any] = []

    def look(region: Region, values: np.ndarray) -> None:
        found.extend((*task.op.axis(values), task.method, *task.op.curve(values)))
        found.append(task.op.said(values))

    kept = Taker(look, ordered=True)
    ins, out, plan = task.sources(), Stream(kept, task.result), task.plan
    call("rotation_axis", task.line, ins, [out], "cpu", task.memory, make=lambda: plan)
    *facts, against = found
    return Axis(*facts), against


def _judge(axis: Axis, doubtful: float, against: str, half: str) -> None:
    """Warn where the axis is not to be trusted."""
    others = "look at some with footprint.try_axes(scan, centers), try another method, or give center=N"
    if axis.score < doubtful:
        how = _SAYS.get(axis.method, _USUAL).format(axis.score)
        text = f"the rotation axis {axis.center:.2f} is doubtful: {how}; {others}{half}"
    elif axis.spread > _SPREAD:
        text = (
            f"the rotation axis {axis.center:.2f} is uncertain: the comparisons it is the median of differ by {axis.spread:.2f} "
            f"pixels (their standard deviation): has the stage, or the sample, moved? Check it: {others}"
        )
    elif against:
        text = f"the rotation axis {axis.center:.2f} is uncertain: {against}; {others}"
    else:
        return
    warn(text)


def plan_rotation_axis(
    scan: Any,
    *,
    method: str = "registration",
    rows: Any = None,
    search: tuple[float, float] | None = None,
    i0: str | float = "auto",
    log: bool = True,
    memory: Memory = None,
) -> Plan:
    """Plan `rotation_axis`.

    Parameters
    ----------
    scan, method, rows, search, i0, log, memory
        As in `rotation_axis`.

    Returns
    -------
    Plan
        What the search takes.
    """
    return Search.of(scan, rows, search, method=method, i0=i0, log=log, memory=memory).plan


class Search(NamedTuple):
    """Rows that are compared, how, and what that takes."""

    job: ScanJob
    op: RotationAxis | FourierMetric
    line: Pipeline
    plan: Plan
    method: str
    memory: Memory
    turned: Untilt | None

    @classmethod
    def of(
        cls,
        scan: Any,
        rows: Any,
        search: Any,
        *,
        method: str,
        i0: str | float,
        log: bool,
        memory: Memory,
        turned: Untilt | None = None,
    ) -> Search:
        """The search in as many rows as are compared at most and fit, of projections turned first or as they are."""
        return _prepare(scan, rows, search, i0, memory, log, by_name(method), turned)

    @property
    def result(self) -> ArraySpec:
        """Spec of what is searched in."""
        return _result(self.op, self.job.n_rows)

    def sources(self) -> list[Face]:
        """Inputs of the line."""
        return _sources(self.job, self.op, self.line, self.turned)


def _result(op: RotationAxis | FourierMetric, n_rows: int) -> ArraySpec:
    return op.out_specs(ArraySpec((n_rows, len(op.frames), 1), "float32", "zax"))[0]


def _read(job: ScanJob, turned: Untilt | None) -> tuple[int, int]:
    """The rows that are read."""
    return (job.start, job.stop) if turned is None else turned.halo("z").window(job.start, job.stop, job.scan.shape[1])


def _turning(job: ScanJob, turned: Untilt | None, log: bool) -> list[Op]:
    """From projections of the rows that are read to sinograms of those that are compared."""
    # As in a reconstruction: columns without light are the brightest lines, and agree best with their own mirror image.
    sinograms = [Sinograms(), Dropouts() if log else Dropouts(0.0)]
    if turned is None:
        return sinograms
    first = _read(job, turned)[0]
    return [turned.placed(first), *sinograms, Rows(job.start - first, job.n_rows, "zax")]


def _sources(job: ScanJob, op: RotationAxis | FourierMetric, line: Pipeline, turned: Untilt | None) -> list[Face]:
    streams = job.streams(*_read(job, turned), op.frames)
    return [streams[name] for name in line.inputs]


def _operation(method: str, angles: np.ndarray, n_x: int, first: int, count: int) -> RotationAxis | FourierMetric:
    choose("method", method, METHODS)
    table = Table(angles, np.float64)
    if method == "vo":
        return FourierMetric(table, n_x, first, count)
    settings: dict[str, dict[str, Any]] = {
        "overlap": {"bases": _OVERLAPS, "joined": True},
        "sliding-window": {"window": max(_NARROW, n_x // _WINDOW)},
        "growing-window": {"differ": True},
    }
    op = RotationAxis(table, first, count, **settings.get(method, {}))
    if method == "overlap" and len(op.chosen) < _FEW:
        wanted = "projections of a whole turn, as each is compared with its opposite"
        raise ArgumentError("center", "'overlap'", wanted, "use center='registration'")
    return op


def _prepare(
    scan: Any,
    rows: Any,
    search: tuple[float, float] | None,
    i0: str | float,
    memory: Memory,
    log: bool,
    method: str,
    turned: Untilt | None = None,
) -> Search:
    job = job_of(scan, rows, i0, log=log)
    first, last = _range(scan, search)
    op = _operation(method, scan.angles, scan.shape[2], first, last - first + 1)
    _, frames = op.out_specs()[0], op.frames
    steps = [job.flat.of(frames), *([MinusLog()] if log else []), DeadPixels()]
    n = min(op.rows, job.n_rows)
    while True:
        start = job.start + (job.n_rows - n) // 2
        part = replace(job, start=start, stop=start + n)
        line = Pipeline.chain([*steps, *_turning(part, turned, log), op], "projections", "measures")
        try:
            out = Stream(None, _result(op, n))
            plan = planned("rotation_axis", line, _sources(part, op, line, turned), [out], "cpu", memory)
            return Search(part, op, line, plan, method, memory, turned)
        except BudgetError:
            if n == 1:
                raise
        n //= 2


def _range(scan: Any, search: tuple[float, float] | None) -> tuple[int, int]:
    """First and last doubled axis to try, with one more on both sides so that a peak at an end is seen as one."""
    n_x = scan.shape[2]
    if n_x < 4:
        found, wanted = f"a detector of {counted(n_x, 'pixels')}", "at least 4 pixels to find the axis in"
        raise ArgumentError("center", found, wanted, "give the axis as a number")
    if search is None:
        edge = 0.05 if getattr(scan, "field_of_view", None) == "Half" else 0.25
        low, high = edge * (n_x - 1), (1 - edge) * (n_x - 1)
    else:
        try:
            low, high = (float(v) for v in search)
        except (TypeError, ValueError, OverflowError):
            raise ArgumentError("search", repr(search), "a pair of pixels (first, last)") from None
        if not 0 <= low <= high <= n_x - 1:
            raise ArgumentError("search", search, f"first <= last, both from 0 to {n_x - 1}")
    return max(math.floor(2 * low) - 1, 2), min(math.ceil(2 * high) + 1, 2 * n_x - 4)
