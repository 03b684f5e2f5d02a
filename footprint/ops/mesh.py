"""Background and noise on a mesh of cells, smooth at every pixel."""

from __future__ import annotations

from dataclasses import dataclass

from footprint.dtypes import kernel_dtype
from footprint.errors import ShapeError
from footprint.ops.base import Op
from footprint.plan.builder import Builder
from footprint.plan.slots import Ref
from footprint.spec import ArraySpec


@dataclass(frozen=True)
class Mesh(Op):
    """Clipped statistics of cells of ``size`` x ``size`` pixels, filtered by a median of ``width`` x ``width`` cells, as maps.

    ``kappa``, ``good`` and ``up`` are those of `kernels.mesh.contract`.
    """

    size: int = 64
    kappa: float = 3.0
    width: int = 3
    good: float = 0.3
    up: float = 1.0

    axes = ("yx",)
    cut = "y"
    units = {"y": "rows"}  # noqa: RUF012  shared, never changed

    def names(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Image; background and noise."""
        return ("image",), ("background", "noise")

    def out_specs(self, *specs: ArraySpec) -> tuple[ArraySpec, ...]:
        """Two maps of the image's shape."""
        (image,) = specs
        if len(image.shape) != 2 or image.size == 0:
            raise ShapeError("image", f"shape {image.shape}", "(n_y, n_x) with at least one pixel")
        return (ArraySpec(image.shape, kernel_dtype(image.dtype), "yx"),) * 2

    def grain(self, *specs: ArraySpec) -> int:
        """Whole cells."""
        return self.size

    def record(self, b: Builder, *refs: Ref) -> None:
        """Statistics part by part; when all are known, the maps part by part."""
        image, *maps = refs
        whole = image.slot.spec
        x = b.bring(image, dtype=kernel_dtype(image.spec.dtype))
        ny, nx = (-(-n // self.size) for n in whole.shape)
        cells, smooth = b.kept((2, ny, nx), "float64", "cells"), b.kept((4, ny, nx), "float64", "smooth cells")
        b.launch("mesh.cells", x, cells, first=b.first(x, "y"), size=self.size, kappa=self.kappa, good=self.good, up=self.up)
        with b.only("end"):
            b.launch("mesh.smooth", cells, smooth, width=self.width)
        b.next_phase()
        background, noise = maps
        with b.deliver(background, dtype=kernel_dtype(whole.dtype)) as level, b.deliver(noise, dtype=level.spec.dtype) as spread:
            b.launch("mesh.paint", smooth, level, spread, first=b.first(level, "y"), size=self.size)
