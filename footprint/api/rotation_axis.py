"""Find the rotation axis of a scan."""

from __future__ import annotations

import math
import warnings
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from footprint.api._arrays import Memory
from footprint.api._call import Stream, call, planned
from footprint.api._scan import ScanJob, job_of
from footprint.errors import ArgumentError, BudgetError
from footprint.ops.base import Table
from footprint.ops.flatfield import DeadPixels, Flat, MinusLog, Sinograms
from footprint.ops.pipeline import Pipeline
from footprint.ops.rotation_axis import RotationAxis
from footprint.plan.faces import Taker
from footprint.plan.plan import Plan
from footprint.spec import ArraySpec

# Rows compared at most, from the middle of those asked for: more add time and little certainty.
_ROWS = 16
# Below this score, and above this spread in pixels, the caller is warned.
_DOUBTFUL, _SPREAD = 0.5, 0.3


class Axis(NamedTuple):
    """A rotation axis: where, how well opposite projections agree there (0 to 1), how far single comparisons differ, in pixels."""

    center: float
    score: float
    spread: float


def rotation_axis(
    scan: Any,
    *,
    rows: Any = None,
    search: tuple[float, float] | None = None,
    i0: str | float = "auto",
    log: bool = True,
    memory: Memory = None,
) -> Axis:
    """Find the rotation axis by registering projections on their mirrored opposites.

    For an axis at c, a projection's sample x and its opposite's sample 2c - x saw the same ray. The axis is where their normalised
    correlation over the samples both saw is highest, between samples by a parabola; the median over up to four comparisons. Where
    no projection is exactly opposite, as in a scan of 180 degrees less a step, two near ones give it by proportion. Works on at
    most 16 rows, on the processor.

    Parameters
    ----------
    scan : open scan
        See `open_scan`.
    rows : slice or (first, stop), optional
        Detector rows to take the middle of.
    search : (first, last), optional
        Where to look, in pixels; the middle half of the detector, or nearly all of it where the scan says "Half".
    i0, log
        As in `reconstruct`.
    memory : str, int or float, optional
        The most it may take.

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
        A score below 0.5, or a spread above 0.3 pixels.

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
    task = _prepare(scan, rows, search, i0, memory, log)
    task.job.check_flats(task.job.n_rows)
    found: list[float] = []
    kept = Taker(lambda region, correlations: found.extend(task.op.axis(correlations)), ordered=True)
    ins, out, plan = task.sources(), Stream(kept, task.result), task.plan
    call("rotation_axis", task.line, ins, [out], "cpu", memory, make=lambda: plan)
    center, score, spread = found
    if not math.isfinite(center):
        wanted, fix = "projections with structure to register; these have none", "give the axis as a number"
        raise ArgumentError("center", "auto", wanted, fix)
    if score < _DOUBTFUL:
        warnings.warn(
            f"the rotation axis {center:.2f} is doubtful: opposite projections correlate at {score:.2f} (1 is perfect); "
            "check it, or give center=N",
            UserWarning,
            stacklevel=2,
        )
    elif spread > _SPREAD:
        warnings.warn(
            f"the rotation axis {center:.2f} is unsure: the comparisons it is the median of differ by {spread:.2f} pixels "
            "(their standard deviation): has the stage, or the sample, moved? Check it, or give center=N",
            UserWarning,
            stacklevel=2,
        )
    return Axis(center, score, spread)


def plan_rotation_axis(
    scan: Any,
    *,
    rows: Any = None,
    search: tuple[float, float] | None = None,
    i0: str | float = "auto",
    log: bool = True,
    memory: Memory = None,
) -> Plan:
    """Plan `rotation_axis`.

    Parameters
    ----------
    scan, rows, search, i0, log, memory
        As in `rotation_axis`.

    Returns
    -------
    Plan
        What the search takes.
    """
    return _prepare(scan, rows, search, i0, memory, log).plan


class _Search(NamedTuple):
    """Rows that are compared, how, and what that takes."""

    job: ScanJob
    op: RotationAxis
    line: Pipeline
    plan: Plan

    @property
    def result(self) -> ArraySpec:
        """Spec of the correlations."""
        return self.op.out_specs()[0]

    def sources(self) -> list[Stream]:
        """Inputs of the line."""
        return _sources(self.job, self.op, self.line)


def _sources(job: ScanJob, op: RotationAxis, line: Pipeline) -> list[Stream]:
    streams = job.streams(job.start, job.stop, op.frames)
    return [streams[name] for name in line.inputs]


def _prepare(
    scan: Any, rows: Any, search: tuple[float, float] | None, i0: str | float, memory: Memory, log: bool = True
) -> _Search:
    job = job_of(scan, rows, i0, log=log)
    first, last = _range(scan, search)
    op = RotationAxis(Table(scan.angles, np.float64), first, last - first + 1)
    result, frames = op.out_specs()[0], op.frames
    lower, upper, weight = (Table(table.array[frames]) for table in (job.flat.lower, job.flat.upper, job.flat.weight))
    flat = Flat(lower, upper, weight, job.flat.border)
    steps = [flat, *([MinusLog()] if log else []), DeadPixels(), Sinograms(), op]
    line = Pipeline.chain(steps, "projections", "correlations")
    n = min(_ROWS, job.n_rows)
    while True:
        start = job.start + (job.n_rows - n) // 2
        part = replace(job, start=start, stop=start + n)
        try:
            plan = planned("rotation_axis", line, _sources(part, op, line), [Stream(None, result)], "cpu", memory)
            return _Search(part, op, line, plan)
        except BudgetError:
            if n == 1:
                raise
        n //= 2


def _range(scan: Any, search: tuple[float, float] | None) -> tuple[int, int]:
    """First and last doubled axis to try, with one more on both sides so that a peak at an end is seen as one."""
    n_x = scan.shape[2]
    if n_x < 4:
        raise ArgumentError("center", "auto", f"a detector of at least 4 pixels, this one has {n_x}", "give the axis as a number")
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
