"""Measure labelled islands."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from footprint.api._arrays import Memory, described, receive, where
from footprint.api._blank import plain_of
from footprint.api._call import Face, Stream, call, planned
from footprint.api._image import foretold
from footprint.api._shapes import NAMES, shapes
from footprint.api._table import Columns
from footprint.errors import ArgumentError, ShapeError
from footprint.kernels.find_sources.contract import (
    LABEL,
    LEVEL,
    PEAK,
    PIXELS,
    SPREAD,
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
from footprint.ops.measure import Measure, table_specs
from footprint.plan.faces import Region, Taker
from footprint.plan.plan import Plan
from footprint.spec import ArraySpec

_WHOLE = {"label": LABEL, "npix": PIXELS, "x_min": X_MIN, "x_max": X_MAX, "y_min": Y_MIN, "y_max": Y_MAX, "x_peak": X_PEAK,
          "y_peak": Y_PEAK}  # fmt: skip
_LOCAL = {"background": LEVEL, "noise": SPREAD}
_NAMES = ("label", "x", "y", "peak", "flux", "npix", "x_min", "x_max", "y_min", "y_max", "x_peak", "y_peak", *NAMES, *_LOCAL)
# Rows worked on at a time: temporaries are small then, however many there are.
_ROWS = 1024


def measure(image: Any, labels: Any, count: int | None = None, *, memory: Memory = None, device: str = "auto") -> Any:
    """Measure each label's pixels: number, sum, peak, flux-weighted centre (SciPy's center_of_mass) and bounding box.

    Sums are float64 over all pixels of the label, negative ones included; a label whose sum is 0 has its centre at infinity or NaN,
    and NaN pixels make NaN sums. Peaks ignore NaN (SciPy's maximum would be NaN); a label with only NaN, or without pixels, has the
    peak NaN.

    Parameters
    ----------
    image : array (n_y, n_x), or a FITS HDU
        Real numbers of any dtype.
    labels : integer array (n_y, n_x), or a FITS HDU
        0 outside islands; see `label`.
    count : int, optional
        Labels 1 to count are measured; by default up to the largest label.
    memory : str, int or float, optional
        The most memory the run may take beyond the arrays you pass in.
    device : str
        "auto", "cpu", "cuda", "cuda:1", "opencl".

    Returns
    -------
    astropy.table.Table
        One row per label: label, x, y (counted from 0), peak, flux (the sum), npix, x_min, x_max, y_min, y_max (inclusive), x_peak,
        y_peak; a, b, theta (standard deviations of the light along its axes in pixels, degrees from x towards y); x_interp,
        y_interp, peak_interp (the vertex of a quadratic surface through the peak and its neighbours). A label without pixels has
        npix 0.

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
    source, ids = receive(plain_of(image, "image"), "image"), receive(plain_of(labels, "labels"), "labels")
    if np.dtype(ids.data.dtype).kind not in "iu":
        raise ShapeError("labels", f"dtype {ids.data.dtype}", "integers, as `label` gives")
    if ids.spec.size and not np.can_cast(ids.data.dtype, np.int32):
        # Kernels read int32: what that does not hold would come round as a label that was asked for.
        low, high = int(ids.data.min()), int(ids.data.max())
        if not -(2**31) <= low <= high < 2**31:
            raise ShapeError(
                "labels", f"numbers {low} to {high}", "numbers that an int32 can hold", "renumber them, as `label` does"
            )
    if count is None:
        count = max(int(ids.data.max()), 0) if ids.spec.size else 0
    op = _op(count)
    rows = Islands(int(count))
    call("measure", op, [source, ids], rows.sinks(op.count), where(device, source, ids), memory)
    return Columns(rows.columns, {"theta": "deg"}).table()


class Crowded(Exception):
    """More components, or summits of those, were met than a plan has room for; of such summits so many are ``bright``."""

    def __init__(self, rows: int, summits: int = 0, bright: int = 0) -> None:
        super().__init__(rows, summits, bright)
        self.rows, self.summits, self.bright = rows, summits, bright


class Islands:
    """Takes a plan's tables of moments and boxes, in this order, and keeps the columns of the rows that count.

    Parameters
    ----------
    count
        How many rows are used: a number, all of which count, or an array that the run writes it to before: then the rows of pieces
        and of islands that are too small do not.
    """

    def __init__(self, count: int | np.ndarray) -> None:
        self.count = count
        self.columns: dict[str, np.ndarray] = {}
        self.rows = np.empty(0, np.int64)

    def sinks(self, capacity: int, local: bool = False) -> list[Face]:
        """What takes them, ``local`` with background and noise."""
        specs = table_specs(capacity, local)
        return [self._table(take, spec) for take, spec in zip((self._sums, self._boxes), specs)]

    def _table(self, take: Callable[[Region, np.ndarray], None], spec: ArraySpec) -> Stream:
        """What takes one table, of which no more than the rows that are used need come from a device."""
        return Stream(Taker(take, rows=self._used), spec, key="catalogue")

    def _used(self) -> int:
        return max(int(self.count if isinstance(self.count, int) else self.count[0]), 0)

    def _sums(self, region: Region, moments: np.ndarray) -> None:
        count = int(self.count if isinstance(self.count, int) else self.count[0])
        if count > len(moments):
            raise Crowded(count)
        used = moments[:count]
        plain = {"peak": PEAK, "flux": SUM} | (_LOCAL if used.shape[1] > SPREAD else {})
        self.columns = found = {name: np.empty(count) for name in ("x", "y", *plain, *NAMES)}
        for first in range(0, count, _ROWS):
            part = slice(first, first + _ROWS)
            # A row is longer than what memory brings at once, so that each column by itself would be all of the table.
            m = np.ascontiguousarray(used[part].T)
            for name, column in plain.items():
                found[name][part] = m[column]
            with np.errstate(invalid="ignore", divide="ignore"):
                for name, column in (("x", SUM_X), ("y", SUM_Y)):
                    np.divide(m[column], m[SUM], out=found[name][part])
            for name, values in zip(NAMES, shapes(m)):
                found[name][part] = values

    def _boxes(self, region: Region, boxes: np.ndarray) -> None:
        boxes = boxes[: len(self.columns["flux"])]
        every = isinstance(self.count, int)
        rows = np.arange(len(boxes)) if every else np.flatnonzero((boxes[:, PIXELS] > 0) & (boxes[:, LABEL] > 0))
        self.rows = rows
        for name in self.columns if len(rows) < len(boxes) else ():
            self.columns[name] = self.columns[name][rows]
        # Columns of a table, as the plan has counted one table of them.
        whole = np.empty((len(_WHOLE), len(rows)), boxes.dtype)
        for first in range(0, len(rows), _ROWS):
            part = slice(first, first + _ROWS)
            whole[:, part] = boxes[rows[part] if len(rows) < len(boxes) else part].T[list(_WHOLE.values())]
        self.columns |= zip(_WHOLE, whole)
        for axis in "xy":
            self.columns[f"{axis}_interp"] += self.columns[f"{axis}_peak"]
        self.columns = {name: self.columns[name] for name in _NAMES if name in self.columns}


def plan_measure(
    shape: tuple[int, int], count: int = 1000, *, dtype: str = "float32", memory: Memory = None, device: str = "auto"
) -> Plan:
    """Plan `measure` of a C-contiguous image of this shape and dtype with int32 labels.

    Parameters
    ----------
    shape : tuple of int
        Of the image and the labels.
    dtype : str
        Of the image.
    count, memory, device
        As in `measure`.

    Returns
    -------
    Plan
        Its outputs are the tables that the columns are made of.

    Examples
    --------
    >>> import footprint as fp
    >>> fp.plan_measure((512, 512), count=100, device="cpu").nbytes
    22528
    """
    image, op = described(shape, dtype)[0], _op(count)
    ins = foretold(image, ArraySpec(image.shape, "int32"))
    return planned("measure", op, ins, Islands(op.count).sinks(op.count), where(device), memory)


def _op(count: Any) -> Measure:
    if isinstance(count, bool) or not isinstance(count, int | np.integer) or count < 0:
        raise ArgumentError("count", repr(count), "a whole number, 0 or more")
    # One row at least, because some devices have no arrays of none.
    return Measure(max(int(count), 1))
