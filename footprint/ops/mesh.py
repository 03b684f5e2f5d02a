"""Background and noise on a mesh of cells, smooth at every pixel."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from footprint.dtypes import kernel_dtype
from footprint.errors import ShapeError
from footprint.ops.base import Op
from footprint.ops.matched import Pixels
from footprint.plan.builder import Builder
from footprint.plan.slots import Ref
from footprint.spec import ArraySpec

# What a table of smooth cells has of each of its two maps: values, and second derivatives along y, along x, along both.
SPLINES = 4
# A cell tells its noise about a level of its own few beams, and so too low: by this share times the beams' area over its own, as
# measured of beams from 3 to 30 pixels in cells of 32 to 128; and where that is no longer so.
SHORT, FEWEST = 2.2, 4


@dataclass(frozen=True)
class Cells(Pixels):
    """Clipped statistics of cells of ``size`` x ``size`` pixels, filtered by a median of ``width`` x ``width`` cells, as splines.

    ``kappa``, ``good`` and ``up`` are those of `kernels.mesh.contract`; ``alike`` is the area of a beam that correlates the
    noise, 0 where none is known.
    """

    size: int = 64
    kappa: float = 3.0
    width: int = 3
    good: float = 0.3
    up: float = 1.0
    alike: float = 0.0

    axes = ("yx",)
    cut = "y"
    units = {"y": "rows"}  # noqa: RUF012  shared, never changed
    look = 10.0

    def names(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Image; smooth cells."""
        return ("image",), ("cells",)

    def out_specs(self, *specs: ArraySpec) -> tuple[ArraySpec, ...]:
        """A table of the cells."""
        image = specs[0]
        if len(image.shape) != 2 or image.size == 0:
            raise ShapeError("image", f"shape {image.shape}", "(n_y, n_x) with at least one pixel")
        return (ArraySpec((2 * SPLINES, *(-(-n // self.size) for n in image.shape)), "float64"),)

    def grain(self, *specs: ArraySpec) -> int:
        """Whole cells."""
        return self.size

    def record(self, b: Builder, *refs: Ref) -> None:
        """Statistics part by part; what is smooth when all are known."""
        image, table = refs
        self.steps(b, self.pixels(b, image), table)

    def steps(self, b: Builder, x: Ref, table: Ref) -> None:
        """Record them, of the pixels of a part."""
        cells = b.kept((2, *table.spec.shape[1:]), "float64", "cells")
        how: dict[str, Any] = {"size": self.size, "kappa": self.kappa, "good": self.good, "up": self.up}
        how["more"] = 1 + SHORT * min(self.alike / self.size**2, 1 / FEWEST)
        b.launch("mesh.cells", x, cells, first=b.first(x, "y"), **how)
        with b.deliver(table) as smooth, b.only("end"):
            b.launch("mesh.smooth", cells, smooth, width=self.width)
        b.next_phase()


@dataclass(frozen=True)
class Paint(Op):
    """The maps that smooth ``cells`` make of an image of this shape."""

    size: int

    axes = ("yx", "...")
    cut = "y"
    units = {"y": "rows"}  # noqa: RUF012  shared, never changed

    def names(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Image and cells; background and noise."""
        return ("image", "cells"), ("background", "noise")

    def out_specs(self, *specs: ArraySpec) -> tuple[ArraySpec, ...]:
        """Two maps of the image's shape."""
        return (ArraySpec(specs[0].shape, kernel_dtype(specs[0].dtype), "yx"),) * 2

    def record(self, b: Builder, *refs: Ref) -> None:
        """A launch a map."""
        image, cells, *maps = refs
        for which, one in enumerate(maps):
            with b.deliver(one, dtype=kernel_dtype(image.slot.spec.dtype)) as painted:
                b.launch("mesh.paint", cells, painted, first=b.first(painted, "y"), size=self.size, which=which)
