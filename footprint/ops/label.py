"""Connected components of a mask."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from footprint.errors import ArgumentError, ShapeError
from footprint.kernels.label.contract import default_capacity, dtype_of
from footprint.ops.base import Op
from footprint.plan.builder import Builder
from footprint.plan.slots import Ref
from footprint.spec import ArraySpec
from footprint.units import kind_of


def check_connectivity(value: object) -> int:
    """4 or 8."""
    if isinstance(value, bool) or not isinstance(value, int | float | np.number) or value not in (4, 8):
        got = f"{kind_of(value)} of shape {value.shape}" if isinstance(value, np.ndarray) else repr(value)
        fix = "8 is structure=np.ones((3, 3)) in scipy.ndimage" if isinstance(value, np.ndarray) else ""
        fix = fix or ("1 and 2 of scikit-image are 4 and 8 here" if value in (1, 2) else "")
        raise ArgumentError("connectivity", got, "4 (edges) or 8 (edges and corners)", fix)
    return int(value)  # type: ignore[arg-type]


@dataclass(frozen=True)
class Label(Op):
    """Numbers the components from 1 in raster order of their first pixel.

    Where the job is cut there is room for ``capacity`` components of all parts together (0: the usual); where they are more, labels
    mean nothing and the count is minus their number. ``made`` tells that the mask was made for the job, and counts with it.
    """

    connectivity: int = 4
    capacity: int = 0
    made: bool = False

    axes = ("yx",)
    cut = "y"
    again = "y"
    units = {"y": "rows"}  # noqa: RUF012  shared, never changed
    look = 3.0

    def names(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Mask; labels and their number."""
        return ("mask",), ("labels", "count")

    def out_specs(self, *specs: ArraySpec) -> tuple[ArraySpec, ...]:
        """The label image and the number of components."""
        mask = specs[0]
        if len(mask.shape) != 2:
            raise ShapeError("mask", f"shape {mask.shape}", "(n_y, n_x) or (n_x,)")
        return ArraySpec(mask.shape, "int32" if mask.size < 2**31 - 1 else "int64", "yx"), ArraySpec((1,), "int64")

    def record(self, b: Builder, *refs: Ref) -> None:
        """One launch, or two on every part: what joins across parts is known when all were seen."""
        mask, labels, count = refs
        if self.made:
            b.library("mask as bytes", mask.spec.nbytes, bound=False)
        if b.several:
            self._by_parts(b, mask, labels, count)
            return
        marks = b.bring(mask, dtype="uint8")
        with b.deliver(labels, dtype=self.out_specs(mask.spec)[0].dtype) as ids, b.deliver(count) as n:
            b.launch("label", marks, ids, n, connectivity=self.connectivity)

    def _by_parts(self, b: Builder, mask: Ref, labels: Ref, count: Ref) -> None:
        """Parts are labelled by themselves and joined in a table; labelled again, they get the numbers that it gives them."""
        whole = mask.slot.spec
        dtype = dtype_of(b.limits, whole.size)
        capacity = min(self.capacity or default_capacity(whole.size), whole.size)
        table, seam = b.kept((capacity,), dtype, "components"), b.kept((whole.shape[1],), dtype, "last row of a part")
        met = b.kept((2,), "int64", "components met")
        marks = b.bring(mask, dtype="uint8")
        how = {"first": b.first(marks, "y"), "connectivity": self.connectivity}
        # Labels of a first kind are needed for a moment only: in the result's place, where that is an array.
        ids = labels if b.readable(labels, dtype) else b.like(marks, dtype, "labels of a part")
        b.launch("label.gather", marks, ids, table, seam, met, **how)
        with b.only("end"), b.deliver(count) as n:
            b.launch("label.settle", table, met, n)
        b.next_phase()
        marks = b.bring(mask, dtype="uint8")
        with b.deliver(labels, dtype=dtype) as ids:
            b.launch("label.paint", marks, ids, table, met, **how)
