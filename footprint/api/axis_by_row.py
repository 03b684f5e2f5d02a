"""The rotation axis row by row: where it lies over the detector's height, and how it leans."""

from __future__ import annotations

import math
import warnings
from itertools import combinations, pairwise
from typing import Any, NamedTuple

import numpy as np

from footprint.api._arrays import Memory
from footprint.api.rotation_axis import Search, axis_of, by_name, per_slice, searched
from footprint.errors import ArgumentError, FormatError, warn
from footprint.units import counted

# Places over the detector's height where the axis is searched, and degrees that it may lean for them to be searched narrowly.
_BANDS, _LEAN = 12, 5.0
# Below this score a place says nothing; rows farther from the line than this, and than so many times the usual, are left out.
_DOUBTFUL, _NEAR, _FAR = 0.5, 0.1, 2.5
# Pixels of spread, and the share of places on the line, from which on the caller is warned.
_SPREAD, _AGREE = 0.3, 2 / 3


class AxisByRow(NamedTuple):
    """A rotation axis over the rows of a detector.

    Attributes
    ----------
    centers
        (n_z,) float64, the axis at every row, in pixels from the centre of pixel 0.
    degrees
        How much it leans: the angle whose tangent is its slope at the middle; positive where it is at larger x in rows of larger z.
    error
        The standard error of ``degrees``.
    score
        Median over the places used of the method's own score, 0 to 1.
    spread
        Standard deviation of the places used from the line, in pixels.
    method
        By which axes were searched.
    rows, found, used
        The places: their mean row, the axis found there, and whether the line was fitted to it.
    """

    centers: np.ndarray
    degrees: float
    error: float
    score: float
    spread: float
    method: str
    rows: np.ndarray
    found: np.ndarray
    used: np.ndarray


def axis_by_row(
    scan: Any,
    *,
    method: str = "registration",
    order: int = 1,
    search: tuple[float, float] | None = None,
    i0: str | float = "auto",
    log: bool = True,
    memory: Memory = None,
) -> AxisByRow:
    """Find the rotation axis at twelve heights of the detector, and the line through them.

    `rotation_axis` searches for the axis at each height, in at most 16 rows, near its position in the middle. Of all lines through
    two of the heights, the one with the smallest median distance from all decides which heights belong to the line, and a
    least-squares line through those is the result: fewer than half of the heights may be wrong.

    Parameters
    ----------
    scan : open scan
        See `open_scan`.
    method, search, i0, log
        As in `rotation_axis`.
    order : {1, 2}
        Order of the polynomial in z: a line, as for a rolled detector, or a parabola.
    memory : str, int or float, optional
        The most memory it may take: no more than `rotation_axis`.

    Returns
    -------
    AxisByRow
        ``centers`` (n_z,) for ``reconstruct(scan, center=...)``; ``degrees`` for `untilt` and ``steps(tilt=...)``.

    Raises
    ------
    ArgumentError, BudgetError
        Too few rows, or too few rows with something to register, or as `rotation_axis`.

    Warns
    -----
    UserWarning
        If the heights scatter by more than 0.3 pixels (standard deviation) about the line, or more than a third do not belong to
        it.

    Examples
    --------
    >>> import tempfile, pathlib, footprint as fp
    >>> from footprint.io.phantom import write_scan
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     truth = write_scan(pathlib.Path(folder) / "scan.nx", n_angles=90, n_z=12, n_x=64, drift=2.0)
    ...     with fp.open_scan(truth.path) as scan:
    ...         axis = fp.axis_by_row(scan)
    >>> bool(abs(axis.centers[-1] - axis.centers[0] - 2) < 0.5)
    True
    """
    if isinstance(order, bool) or not isinstance(order, int | np.integer) or order not in (1, 2):
        raise ArgumentError("order", repr(order), "1 for a line, 2 for a parabola")
    axis = by_row(scan, order, search, {"method": method, "i0": i0, "log": log, "memory": memory})
    _judge(axis)
    return axis


def by_row(scan: Any, order: int, search: tuple[float, float] | None, how: dict[str, Any]) -> AxisByRow:
    """The same, and no warning; ``how`` is what `Search.of` takes beside rows and range."""
    n_z = int(scan.shape[1]) if hasattr(scan, "angles") else 0
    with warnings.catch_warnings():
        # What is doubtful of one place is judged by all.
        warnings.simplefilter("ignore", UserWarning)
        near = _near(scan, search, how)
        edges = np.linspace(0, n_z, min(_BANDS, n_z) + 1).round().astype(int)
        places = [_place(scan, (int(a), int(b)), near, how) for a, b in pairwise(edges)]
    rows, found, scores = (np.array(column, np.float64) for column in zip(*places))
    usable = np.isfinite(found) & (scores >= _DOUBTFUL)
    if usable.sum() < order + 2:
        had = f"an axis found at {usable.sum()} of {counted(len(rows), 'heights of the detector')}"
        wanted = f"one found at {order + 2} or more"
        raise ArgumentError("center", had, wanted, "search one axis for all rows, or give it as a number")
    scale = (n_z - 1) / 2
    line = fitted((rows - scale) / scale, found, usable, order)
    centers = np.polynomial.polynomial.polyval((np.arange(n_z) - scale) / scale, line.values)
    slope = line.values[1] / scale
    degrees, error = math.degrees(math.atan(slope)), math.degrees(line.error / scale / (1 + slope * slope))
    score = float(np.median(scores[line.used]))
    return AxisByRow(centers, degrees, error, score, line.spread, by_name(how["method"]), rows, found, line.used)


def axis_found(scan: Any, center: Any, **how: Any) -> float | np.ndarray:
    """The axis that ``center`` asks to be searched: one, or one for every row of the detector."""
    return axis_by_row(scan, **how).centers if per_slice(center) else axis_of(scan, **how).center


def _near(scan: Any, search: Any, how: dict[str, Any]) -> tuple[float, float] | None:
    """Where to search: as far from the middle's axis as one that leans may get, and not where it is told not to."""
    try:
        middle, _ = searched(Search.of(scan, None, search, **how))
    except FormatError:
        return search
    if not middle.score >= _DOUBTFUL:
        return search
    low, high = (0.0, float(scan.shape[2] - 1)) if search is None else search
    reach = 4 + math.tan(math.radians(_LEAN)) * scan.shape[1] / 2
    return max(middle.center - reach, low), min(middle.center + reach, high)


def _place(scan: Any, rows: tuple[int, int], near: Any, how: dict[str, Any]) -> tuple[float, float, float]:
    """The mean row that is looked at, the axis there, NaN where there is none, and its score."""
    task = Search.of(scan, rows, near, **how)
    middle = (task.job.start + task.job.stop - 1) / 2
    try:
        axis, _ = searched(task)
    except FormatError:
        # Rows without light.
        return middle, float("nan"), 0.0
    return middle, axis.center, axis.score


class _Line(NamedTuple):
    values: np.ndarray
    used: np.ndarray
    spread: float
    error: float


def fitted(heights: np.ndarray, found: np.ndarray, usable: np.ndarray, order: int) -> _Line:
    """A polynomial of heights from -1 to 1; the error is that of its slope."""
    powers, own = np.vander(heights, order + 1, increasing=True), np.flatnonzero(usable)
    least, best = math.inf, np.zeros(order + 1)
    for some in combinations(own, order + 1):
        values = np.linalg.solve(powers[list(some)], found[list(some)])
        median = float(np.median(np.abs(found[own] - powers[own] @ values)))
        if median < least:
            least, best = median, values
    # The factor makes a standard deviation of the median, and few places are given more room.
    usual = 1.4826 * (1 + 5 / max(len(own) - order - 1, 1)) * least
    used = usable & (np.abs(np.where(usable, found, 0) - powers @ best) <= max(_FAR * usual, _NEAR))
    table = powers[used]
    values = np.linalg.lstsq(table, found[used], rcond=None)[0]
    spread = math.sqrt(float(np.sum((found[used] - table @ values) ** 2)) / max(int(used.sum()) - order - 1, 1))
    return _Line(values, used, spread, spread * math.sqrt(np.linalg.pinv(table.T @ table)[1, 1]))


def _judge(axis: AxisByRow) -> None:
    """Warn where the line is not to be trusted."""
    share = float(axis.used.mean())
    others = "look at single rows with footprint.try_axes(scan, centers), or give center=N"
    if share < _AGREE:
        wrong = f"the axis was not found, or lies elsewhere, at {len(axis.used) - axis.used.sum()} of {len(axis.used)} heights"
        warn(f"the rotation axis by rows is doubtful: {wrong}; {others}")
    elif axis.spread > _SPREAD:
        wrong = f"heights lie {axis.spread:.2f} pixels from it (their standard deviation)"
        warn(f"the rotation axis by rows is uncertain: {wrong}; {others}")
