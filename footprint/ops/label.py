"""Connected components of a mask."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from footprint.errors import ArgumentError, ShapeError
from footprint.plan.builder import Builder
from footprint.plan.slots import Ref
from footprint.spec import ArraySpec


def check_connectivity(value: object) -> int:
    """4 or 8."""
    if isinstance(value, bool) or not isinstance(value, int | float | np.number) or value not in (4, 8):
        raise ArgumentError("connectivity", repr(value), "4 (edges) or 8 (edges and corners)")
    return int(value)  # type: ignore[arg-type]


@dataclass(frozen=True)
class Label:
    """Numbers the components from 1 in raster order of their first pixel."""

    connectivity: int = 4

    def out_specs(self, mask: ArraySpec) -> tuple[ArraySpec, ...]:
        """The label image and the number of components."""
        if len(mask.shape) != 2:
            raise ShapeError("mask", f"shape {mask.shape}", "(n_y, n_x) or (n_x,)")
        return ArraySpec(mask.shape, "int32" if mask.size < 2**31 - 1 else "int64"), ArraySpec((1,), "int64")

    def record(self, b: Builder, mask: Ref, labels: Ref, count: Ref) -> None:
        """One launch."""
        marks = b.bring(mask, dtype="uint8")
        with b.deliver(labels, dtype=self.out_specs(mask.spec)[0].dtype) as ids, b.deliver(count) as n:
            b.launch("label", marks, ids, n, connectivity=self.connectivity)
