"""Sinograms brought to one level: less a parabola of every row, or less, or over, what is the same in all slices."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from footprint.errors import ShapeError
from footprint.ops.base import Op, Table
from footprint.plan.builder import Builder
from footprint.plan.slots import Ref
from footprint.spec import ArraySpec

METHODS = ("chebyshev", "subtraction", "division")


@dataclass(frozen=True)
class Normalize(Op):
    """Sinograms (n_z, n_angles, n_x) row by row.

    Attributes
    ----------
    method
        One of `METHODS`. ``chebyshev``: every row less the polynomial of degree 2 that lies nearest to it.
    table
        What the others take off, or divide by: float32 (1, n_x), or (n_angles, n_x), of all slices; above 0 where it divides.
    """

    method: str = "chebyshev"
    table: Table | None = None

    axes = ("zax",)
    cut = "za"
    in_place = True

    def of(self, n_a: int, n_x: int) -> Normalize:
        """The same kind for another scan, whatever the values."""
        return self if self.table is None else replace(self, table=Table(np.ones((n_a if len(self.table) > 1 else 1, n_x), "f4")))

    def out_specs(self, *specs: ArraySpec) -> tuple[ArraySpec, ...]:
        """The same shape, float32; raises where the table has another."""
        _, n_a, n_x = specs[0].shape
        if self.table is not None and self.table.array.shape not in ((1, n_x), (n_a, n_x)):
            fix = "a row for every projection that is reconstructed, a column for every pixel of it"
            raise ShapeError("normalization", f"shape {self.table.array.shape}", f"({n_x},) or ({n_a}, {n_x})", fix)
        return (ArraySpec(specs[0].shape, "float32", "zax"),)

    def flops(self, *specs: ArraySpec) -> float:
        """Three sums, and a polynomial."""
        return (14.0 if self.table is None else 1.0) * specs[0].size

    def record(self, b: Builder, *refs: Ref) -> None:
        """Record one launch, or one a slice."""
        lines, out = refs
        if self.table is None:
            x = b.bring(lines, "float32")
            with b.deliver(out, "float32") as y:
                b.launch("normalize", x, y)
            return
        each = len(self.table) == out.slot.spec.length("a")
        table = b.const(self.table.array, "normalization", axes="a." if each else "", of=lines)
        with b.deliver(out, "float32") as y:
            if lines is not out:
                b.fetch(lines, y)
            with b.repeat(y) as z:
                # A profile for every row, or one for all of them.
                rows = y.row(z).reshape(*((-1, 1) if each else (1, -1)), y.spec.shape[2])
                b.launch(f"remove_stripes.{'divide' if self.method == 'division' else 'subtract'}", rows, table)
