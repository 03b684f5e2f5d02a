"""Reconstruct one detector row about many axes, to see which is right."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from footprint.answers import check_keywords
from footprint.api._arrays import Array, Memory, Progress, limits_and_budget, new, where
from footprint.api._black import is_watched, with_light
from footprint.api._call import meeting
from footprint.api._half import width_of
from footprint.api._held import Held, held_bytes
from footprint.api._scan import ScanJob, Taken, scan_of
from footprint.api._way import SETTINGS, How, array, writing
from footprint.api._window import whole
from footprint.api.reconstruct import reconstruct
from footprint.errors import ArgumentError, BudgetError
from footprint.kernels.common.borders import shows_borders
from footprint.plan.plan import Plan
from footprint.plan.slots import Given, Library
from footprint.spec import ArraySpec
from footprint.units import counted

# Axes of one call: more is a slip of the step.
_MOST = 4096


@shows_borders("padding", "numpy")
def try_axes(
    scan: Any,
    centers: Sequence[float],
    *,
    row: int | None = None,
    shifts: Any = None,
    axis_shifts: Any = None,
    black_frames: str = "exclude",
    i0: str | float = "auto",
    log: bool = True,
    out: Any = None,
    memory: Memory = None,
    device: str = "auto",
    fft: str = "auto",
    on_plan: Callable[[Plan], None] | None = None,
    progress: Progress | None = None,
    **settings: Any,
) -> Any:
    """Reconstruct one detector row about each of several rotation axes: ``out[k]`` is the slice about ``centers[k]``.

    Each slice is what `reconstruct` makes of that row about that axis, to the last bit. The rows it is made from are read once and
    kept if ``memory`` allows it, and otherwise read again for every axis.

    Parameters
    ----------
    scan : open scan
        See `open_scan`.
    centers : sequence of float
        Axes in pixels from the centre of pixel 0.
    row : int, optional
        The detector row, the middle one by default.
    shifts, axis_shifts, black_frames, i0, log, device, fft
        As in `reconstruct`.
    out : array (n_centers, n_y, n_x), or an object with ``write(slices, array)``, optional
        Where the slices go, in the order of ``centers``.
    memory : str, int or float, optional
        The most memory the run may take beyond ``out``.
    on_plan : callable, optional
        Called with the plan before anything is allocated or read.
    progress : callable, optional
        ``progress(axes_done, axes)``.
    **settings
        ``filter``, ``padding``, ``method``, ``interpolation``, ``accuracy``, ``roi``, ``pixel_size``, ``circle``, ``cutoff``,
        ``half_acquisition``, ``steps``, ``iterations``, ``weight``, ``nonnegative``, ``centered`` and ``margin`` of `reconstruct`.
        Slices of a half acquisition are as wide as the narrowest field.

    Returns
    -------
    array (n_centers, n_y, n_x)
        float32, or ``out``.

    Raises
    ------
    ArgumentError, ShapeError, BudgetError, FormatError
        As `reconstruct`, and if there are no axes.

    Examples
    --------
    >>> import tempfile, pathlib, footprint as fp
    >>> from footprint.io.phantom import write_scan
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     truth = write_scan(pathlib.Path(folder) / "scan.nx", n_angles=90, n_z=4, n_x=64)
    ...     with fp.open_scan(truth.path) as scan:
    ...         fp.try_axes(scan, [34.2, 35.2, 36.2], row=2, memory="20MB").shape
    (3, 64, 64)
    """
    taken, settings = Taken(None, i0, shifts, log), {"axis_shifts": axis_shifts, **settings}
    writer = out if hasattr(out, "write") and not isinstance(out, np.ndarray) else None
    trial = _prepare(scan, centers, row, taken, settings, _Where(writer or False, memory, device, fft))
    target = out if writer is not None else _target(out, trial.result)
    if on_plan is not None:
        on_plan(trial.plan)
    left = scan
    if is_watched(black_frames, log):
        left, shifts, axis_shifts = with_light(scan, trial.job.start, shifts, axis_shifts)
    held = Held(left, *trial.rows) if trial.held else left
    rows = trial.job.start, trial.job.stop
    how = settings | {"roi": trial.roi, "rows": rows, "i0": i0, "log": log, "shifts": shifts, "axis_shifts": axis_shifts}
    for k, center in enumerate(trial.centers):
        place = _Slice(target, k) if writer is not None else target[k : k + 1]
        with warnings.catch_warnings():
            # What is said of the scan is said once.
            if k:
                warnings.simplefilter("ignore", UserWarning)
            reconstruct(held, center=center, out=place, memory=trial.budget, **how)
        if progress is not None:
            progress(k + 1, len(trial.centers))
    return target


@shows_borders("padding", "numpy")
def plan_try_axes(
    scan: Any,
    centers: Sequence[float],
    angles: Any = None,
    *,
    dtype: str = "uint16",
    n_flat_groups: int = 1,
    row: int | None = None,
    shifts: Any = None,
    axis_shifts: Any = None,
    i0: str | float = "auto",
    log: bool = True,
    written: Any = False,
    memory: Memory = None,
    device: str = "auto",
    fft: str = "auto",
    **settings: Any,
) -> Plan:
    """Plan `try_axes`: one slice's memory, used for one axis after another, and the rows that are kept.

    Parameters
    ----------
    scan, angles, dtype, n_flat_groups, written
        As in `plan_reconstruct`.
    centers, row, shifts, axis_shifts, i0, log, memory, device, fft, **settings
        As in `try_axes`.

    Returns
    -------
    Plan
        Of the slice that takes most memory.

    Examples
    --------
    >>> import footprint as fp
    >>> plan = fp.plan_try_axes((1500, 2048, 2048), [1020, 1021], memory="200MB", written=True, device="cpu")
    >>> plan.footprint.total < 2e8
    True
    """
    scan = scan_of(scan, angles, dtype, n_flat_groups)
    taken, settings = Taken(None, i0, shifts, log), {"axis_shifts": axis_shifts, **settings}
    return _prepare(scan, centers, row, taken, settings, _Where(written, memory, device, fft)).plan


class _Where(NamedTuple):
    """Where slices go, and where they are made."""

    written: Any
    memory: Memory
    device: str
    fft: str


class _Trial(NamedTuple):
    """What one call comes to: the row and its axes, the rows it is made of and whether they are kept, and the budget of a slice."""

    centers: list[float]
    job: ScanJob
    rows: tuple[int, int]
    roi: tuple[int, int, int, int] | None
    result: ArraySpec
    held: bool
    budget: int | None
    plan: Plan


def _prepare(scan: Any, centers: Sequence[float], row: int | None, taken: Taken, settings: dict[str, Any], on: _Where) -> _Trial:
    axes = _checked(centers)
    if not hasattr(scan, "angles"):
        taken.job(scan)
    middle = scan.shape[1] // 2 if row is None else whole("row", row)
    job = taken._replace(rows=(middle, middle + 1)).job(scan)
    check_keywords("try_axes", settings, sorted(SETTINGS))
    how = How.of(**settings)
    half = how.is_half(job)
    if half and how.fbp.roi is None:
        width = min(width_of(scan, half, axis) for axis in axes)
        how = replace(how, fbp=how.fbp._replace(roi=how.fbp.box(width) or (0, width) * 2))
    # How large a field is depends on its axis, and on nothing else that differs; every axis is checked.
    ways = [how.way(job, axis, half) for axis in (axes if half else (min(axes), max(axes)))]
    way = max(ways, key=lambda one: one.field.width if one.field is not None else 0)
    limits, budget = limits_and_budget(where(on.device), on.memory, on.fft)
    result = ArraySpec((len(axes), *way.result.shape[1:]), "float32")
    out = Given(owner="source", beside=writing(on.written)) if on.written else meeting(array(None, way.result))[1]
    nbytes, named = held_bytes(job.scan, *way.needed), counted(way.needed[1] - way.needed[0], "rows")
    said = f"one slice after another, about {counted(len(axes), 'axes')}"
    if budget is None or budget > 2 * nbytes:
        rest = None if budget is None else budget - nbytes
        try:
            plan = way.plan(limits, rest, (way.result, out))
            kept = (*plan.libraries, Library(f"{named} of all projections", nbytes, False))
            plan = replace(plan, name="try_axes", libraries=kept, notes=(*plan.notes, said))
            return _Trial(axes, job, way.needed, how.fbp.roi, result, True, rest, plan)
        except BudgetError:
            pass
    plan = way.plan(limits, budget, (way.result, out))
    notes = (
        *plan.notes,
        said,
        f"the scan is read again for every axis; {counted(nbytes, 'bytes')} more would keep its {named} in memory",
    )
    return _Trial(axes, job, way.needed, how.fbp.roi, result, False, budget, replace(plan, name="try_axes", notes=notes))


def _checked(centers: Any) -> list[float]:
    wanted = f"1 to {_MOST} detector positions in pixels"
    try:
        axes = [float(center) for center in centers]
    except (TypeError, ValueError, OverflowError):
        raise ArgumentError("centers", repr(centers), wanted) from None
    if not 0 < len(axes) <= _MOST or not np.isfinite(axes).all():
        raise ArgumentError("centers", axes if axes else "none", wanted)
    return axes


def _target(out: Any, result: ArraySpec) -> Any:
    if out is None:
        return new(result)
    target: Array = array(out, result)
    return target.data


class _Slice:
    """Slice ``k`` of a writer, as a writer of one slice."""

    def __init__(self, writer: Any, k: int) -> None:
        self._writer, self._k = writer, k
        if hasattr(writer, "host_bytes"):
            self.host_bytes = writer.host_bytes

    def write(self, where: Any, block: np.ndarray) -> None:
        """Write the slice, or rows of it."""
        here = slice(self._k, self._k + 1)
        self._writer.write((here, where[1]) if isinstance(where, tuple) else here, block)
