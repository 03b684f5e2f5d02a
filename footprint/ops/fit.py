"""Gaussians fitted to sources that are known: pixels round peaks are put aside part by part, and fitted when all are there."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from footprint.dtypes import kernel_dtype
from footprint.kernels.fit.contract import COLUMNS
from footprint.ops.base import Op
from footprint.plan.builder import Builder
from footprint.plan.slots import Ref
from footprint.spec import ArraySpec

# Nanoseconds of a core for a source, measured: of the beam's shape, and of its own.
_POINT, _SHAPE = 4e3, 3e4

# What fits begin with that are patient.
KNOWN = "known fits"

# Bytes a row takes in the catalogue: its columns, and positions on the sky with their errors; and shapes without the beam.
FIT_ROW, SHAPE_ROW = 8 * (COLUMNS + 4), 8 * 6


@dataclass(frozen=True)
class Fit(Op):
    """Fits a Gaussian to every source of a table, with a shape of its own where ``free``, else with the beam's.

    ``beam`` is the inverse of its covariance in square pixels, yy, yx and xx, () where none is known; ``radius`` of the windows;
    ``patient`` where sources share much light: from the fits that are ``known``, where there are any, and more often.
    """

    capacity: int
    free: bool
    radius: int
    beam: tuple[float, ...] = ()
    patient: bool = False

    cut = "y"
    again = "y"
    units = {"y": "rows"}  # noqa: RUF012  shared, never changed

    @property
    def axes(self) -> tuple[str, ...]:  # type: ignore[override]
        """Of the image; tables have none."""
        return ("yx", *("." for _ in self.names()[0][1:]))

    def names(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Image, statistics, number of sources, moments and boxes, and fits that are known; fits."""
        return ("image", "stats", "count", "moments", "boxes", *((KNOWN,) if self.patient else ())), ("fits",)

    def out_specs(self, *specs: ArraySpec) -> tuple[ArraySpec, ...]:
        """A row a source."""
        return (ArraySpec((self.capacity, COLUMNS), "float64"),)

    def looks(self, *specs: ArraySpec) -> float:
        """Of a table half full."""
        return self.capacity / 2 * (_SHAPE if self.free else _POINT)

    def record(self, b: Builder, *refs: Ref) -> None:
        """Windows part by part; fits at the end."""
        image, stats, *tables, fits = refs

        def pixels() -> tuple[Ref, ...]:
            return (b.bring(image, dtype=kernel_dtype(image.spec.dtype)),)

        self.steps(b, stats, tables, fits, "fit.stamp", pixels)

    def steps(
        self,
        b: Builder,
        stats: Ref,
        tables: list[Ref],
        fits: Ref,
        stamp: str,
        pixels: Callable[[], tuple[Ref, ...]],
        **numbers: int,
    ) -> None:
        """Record them, with what the kernel that puts ``pixels`` aside reads of a part, and its ``numbers``."""
        count, moments, boxes, *known = tables
        b.next_phase()
        seen = pixels()
        shape, dtype = (self.capacity, (2 * self.radius + 1) ** 2), seen[0].spec.dtype
        stamps = b.gathered(shape, dtype, "windows")
        b.library("columns of fits", (FIT_ROW + SHAPE_ROW * self.free) * self.capacity)
        b.launch(stamp, *seen, boxes, count, stamps, first=b.first(seen[0], "y"), **numbers)
        beam = b.const(np.array(self.beam or (0.0, 0.0, 0.0)), "beam")
        rho = b.const(self.correlation(), "noise from pixel to pixel")
        how = {"radius": self.radius, "free": self.free, "beamed": bool(self.beam), "patient": self.patient}
        with b.only("end"), b.deliver(fits) as found:
            for table in known:
                b.copy(table, found)
            b.launch("fit.solve", stats, count, moments, boxes, stamps, beam, rho, found, **how)

    def correlation(self) -> np.ndarray:
        """How noise that went through the beam is correlated over so many pixels; not at all where no beam is known."""
        return correlation(self.beam, 2 * self.radius)


def correlation(beam: tuple[float, ...], most: int) -> np.ndarray:
    """How noise is correlated from pixel to pixel, up to ``most`` along either axis: by an inverse beam, () for not at all."""
    d = np.arange(-most, most + 1, dtype=np.float64)
    if not beam:
        return ((d[:, None] == 0) & (d == 0)).astype(np.float64)
    yy, yx, xx = beam
    return np.exp(-(yy * d[:, None] ** 2 + 2 * yx * d[:, None] * d + xx * d**2) / 4)
