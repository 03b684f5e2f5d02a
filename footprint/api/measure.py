"""Measure labelled islands."""

from __future__ import annotations

from typing import Any

import numpy as np

from footprint.api._run import Memory, described, limits_and_budget, receive, run, where, whole
from footprint.errors import ArgumentError, ShapeError
from footprint.kernels.find_sources.contract import (
    LABEL,
    PEAK,
    PIXELS,
    SUM,
    SUM_X,
    SUM_Y,
    X_MAX,
    X_MIN,
    X_PEAK,
    Y_MAX,
    Y_MIN,
    Y_PEAK,
)
from footprint.ops.measure import Measure
from footprint.plan.builder import Builder
from footprint.plan.fit import Variant, fit
from footprint.plan.plan import Plan
from footprint.plan.slots import Given
from footprint.spec import ArraySpec, Limits

# Bytes a label takes in the catalogue: twelve columns of eight bytes, and the number of its row.
_ROW = 104


def measure(image: Any, labels: Any, count: int | None = None, *, memory: Memory = None, device: str = "auto") -> Any:
    """Measure each label's pixels: number, sum, peak, flux-weighted centre (SciPy's center_of_mass) and bounding box.

    Sums are float64 over all pixels of the label, negative ones included; a label whose sum is 0 has its centre at infinity
    or NaN, and NaN pixels make NaN sums.

    Parameters
    ----------
    image : array (n_y, n_x)
        Real numbers of any dtype.
    labels : integer array (n_y, n_x)
        0 outside islands; see `label`.
    count : int, optional
        Labels 1 to count are measured; the largest label unless given.
    memory : str, int or float, optional
        The most the run may take beside the arrays given.
    device : str
        "auto", "cpu", "cuda", "cuda:1", "opencl".

    Returns
    -------
    astropy.table.Table
        One row a label: label, x, y (counted from 0), peak, flux (the sum), npix, x_min, x_max, y_min, y_max (inclusive), x_peak,
        y_peak. A label without pixels has npix 0.

    Raises
    ------
    ShapeError, ArgumentError, BudgetError
        Shapes that differ, labels that are not integers, a budget that is too small.

    Examples
    --------
    >>> import numpy as np, footprint as fp
    >>> table = fp.measure(np.array([[1.0, 3.0, 0.0]]), np.array([[1, 1, 0]]))
    >>> float(table["flux"][0]), float(table["x"][0])
    (4.0, 0.75)
    """
    source, ids = receive(image, "image"), receive(labels, "labels")
    if np.dtype(ids.data.dtype).kind not in "iu":
        raise ShapeError("labels", f"dtype {ids.data.dtype}", "integers, as `label` gives")
    if ids.spec.size and not np.can_cast(ids.data.dtype, np.int32):
        # Kernels read int32: what that does not hold would come round as a label that was asked for.
        low, high = int(ids.data.min()), int(ids.data.max())
        if not -(2**31) <= low <= high < 2**31:
            raise ShapeError("labels", f"numbers {low} to {high}", "numbers an int32 holds", "number them anew, as `label` does")
    if count is None:
        count = max(int(ids.data.max()), 0) if ids.spec.size else 0
    op = _op(count)
    limits, budget = limits_and_budget(where(device, source, ids), memory)
    plan = _plan(limits, budget, op, (source.spec, source.given), (ids.spec, ids.given))
    columns: dict[str, np.ndarray] = {}
    moments: list[np.ndarray] = []

    def take(boxes: np.ndarray) -> None:
        # While the plan's memory is there: a copy of both tables would be as large as all columns.
        columns.update(table_columns(moments.pop(), boxes, np.arange(count)))

    run(plan, None, [whole(source), whole(ids)], [lambda *_: moments.append, lambda *_: take])
    from astropy.table import Table

    return Table(columns, copy=False)


def table_columns(moments: np.ndarray, boxes: np.ndarray, rows: np.ndarray) -> dict[str, np.ndarray]:
    """Columns of a catalogue from the rows of a table of moments and boxes."""
    flux = moments[rows, SUM]
    with np.errstate(invalid="ignore", divide="ignore"):
        columns = {"label": boxes[rows, LABEL], "x": moments[rows, SUM_X] / flux, "y": moments[rows, SUM_Y] / flux}
    columns |= {"peak": moments[rows, PEAK], "flux": flux, "npix": boxes[rows, PIXELS]}
    names = {"x_min": X_MIN, "x_max": X_MAX, "y_min": Y_MIN, "y_max": Y_MAX, "x_peak": X_PEAK, "y_peak": Y_PEAK}
    return columns | {name: boxes[rows, column] for name, column in names.items()}


def plan_measure(
    shape: tuple[int, int], dtype: str = "float32", *, count: int = 1000, memory: Memory = None, device: str = "auto"
) -> Plan:
    """Plan `measure` of an image of this shape and dtype with ``count`` int32 labels.

    Examples
    --------
    >>> import footprint as fp
    >>> fp.plan_measure((512, 512), count=100, device="cpu").nbytes
    9600
    """
    limits, budget = limits_and_budget(where(device), memory)
    image = described(shape, dtype)
    return _plan(limits, budget, _op(count), image, described(shape, "int32"))


def _op(count: Any) -> Measure:
    if isinstance(count, bool) or not isinstance(count, int | np.integer) or count < 0:
        raise ArgumentError("count", repr(count), "a whole number, 0 or more")
    # One row at least, because some devices have no arrays of none.
    return Measure(max(int(count), 1))


def _plan(limits: Limits, budget: int | None, op: Measure, image: tuple[ArraySpec, Given], labels: tuple[ArraySpec, Given]) -> Plan:
    def record(b: Builder, _: int) -> None:
        outs = [b.out(s, name, Given(owner="plan")) for s, name in zip(op.out_specs(image[0], labels[0]), ("moments", "boxes"))]
        op.record(b, b.inp(image[0], "image", image[1]), b.inp(labels[0], "labels", labels[1]), *outs)
        b.library("catalogue's columns", _ROW * op.count)

    return fit(limits, budget, "measure", [Variant("images", 1, record, inner=True)])
