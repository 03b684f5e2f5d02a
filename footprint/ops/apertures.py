"""Sums over apertures: at places that are given, or of sources that were found."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from footprint.dtypes import kernel_dtype
from footprint.errors import ShapeError
from footprint.kernels.apertures.contract import PLACE, SUMS
from footprint.kernels.sigma_clip.contract import BACKGROUND, NOISE
from footprint.ops.base import Op
from footprint.plan.builder import Builder
from footprint.plan.slots import Ref
from footprint.spec import ArraySpec

# Nanoseconds of a core for one aperture, measured.
_APERTURE = 6e3

# Of Kron's apertures: the radius and the area, and then the sums.
KRON = 2
# Bytes a row takes in a catalogue: of every aperture flux, its error and area; of Kron's radius, flux, its error and flags. Of
# places that are given x, y and flags, and the table of them while it is made.
APERTURE_ROW, KRON_ROW, PLACE_ROW = 24, 32, 40 + 9 * PLACE


@dataclass(frozen=True)
class Apertures(Op):
    """Sums over discs of ``radii`` pixels at ``count`` places.

    ``level`` and ``spread`` are background and noise of every pixel; None for maps, which are inputs then.
    """

    count: int
    radii: tuple[float, ...]
    level: float | None = 0.0
    spread: float | None = 1.0

    cut = "y"
    units = {"y": "rows"}  # noqa: RUF012  shared, never changed

    @property
    def axes(self) -> tuple[str, ...]:  # type: ignore[override]
        """Of image, maps and places."""
        return tuple("." if name == "places" else "yx" for name in self.names()[0])

    def names(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Image, the maps there are, and places; sums."""
        maps = (("background", self.level), ("noise", self.spread))
        return ("image", *(name for name, value in maps if value is None), "places"), ("sums",)

    def out_specs(self, *specs: ArraySpec) -> tuple[ArraySpec, ...]:
        """Numbers of every place."""
        for name, spec in zip(self.names()[0][1:-1], specs[1:-1]):
            if spec.shape != specs[0].shape:
                raise ShapeError(name, f"shape {spec.shape}", f"the image's {specs[0].shape}")
        return (ArraySpec((self.count, SUMS * len(self.radii)), "float64"),)

    def looks(self, *specs: ArraySpec) -> float:
        """Of every place."""
        return self.count * _APERTURE * len(self.radii)

    def record(self, b: Builder, *refs: Ref) -> None:
        """One launch a part."""
        image, *maps, places, sums = refs
        dtype = kernel_dtype(image.spec.dtype)
        b.library("catalogue's columns", (APERTURE_ROW * len(self.radii) + PLACE_ROW) * self.count)
        where = b.bring(places, "float64")
        x = b.bring(image, dtype)
        given = [b.bring(ref, dtype) for ref in maps]
        level, spread = (given.pop(0) if value is None else one_value(b, value) for value in (self.level, self.spread))
        radii = b.const(np.array(self.radii), "radii")
        with b.deliver(sums) as found:
            b.launch("apertures.add", x, level, spread, where, radii, found, first=b.first(x, "y"), column=0)


@dataclass(frozen=True)
class Light(Op):
    """Sums over discs of ``radii`` pixels about the centres of sources, and over their Kron ellipses.

    ``kron`` times the Kron radius is theirs, ``least`` pixels at least; 0 for none.
    """

    capacity: int
    radii: tuple[float, ...]
    kron: float = 0.0
    least: float = 1.75

    axes = ("yx", ".", ".", ".", ".")
    cut = "y"
    again = "y"
    units = {"y": "rows"}  # noqa: RUF012  shared, never changed

    def names(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Image, statistics, number of sources, moments and boxes; their light."""
        return ("image", "stats", "count", "moments", "boxes"), ("light",)

    @property
    def columns(self) -> int:
        """Numbers of a source."""
        return SUMS * len(self.radii) + (KRON + SUMS if self.kron else 0)

    def out_specs(self, *specs: ArraySpec) -> tuple[ArraySpec, ...]:
        """A row a source."""
        return (ArraySpec((self.capacity, self.columns), "float64"),)

    def looks(self, *specs: ArraySpec) -> float:
        """Of a table half full."""
        return self.capacity / 2 * _APERTURE * (len(self.radii) + 2 * bool(self.kron))

    def record(self, b: Builder, *refs: Ref) -> None:
        """Over one background."""
        image, stats, *tables, light = refs

        def pixels() -> tuple[Ref, Ref, Ref]:
            level, noise = (stats[at : at + 1].reshape(1, 1) for at in (BACKGROUND, NOISE))
            return b.bring(image, dtype=kernel_dtype(image.spec.dtype)), level, noise

        self.steps(b, tables, light, pixels)

    def steps(self, b: Builder, tables: list[Ref], light: Ref, pixels: Callable[[], tuple[Ref, ...]]) -> None:
        """Discs and what tells Kron radii part by part; then the ellipses that these make."""
        at = SUMS * len(self.radii)
        b.library("columns of apertures", (APERTURE_ROW * len(self.radii) + KRON_ROW * bool(self.kron) + 8) * self.capacity)
        b.next_phase()
        (x, *sky), (count, moments, boxes) = pixels(), (b.bring(table) for table in tables)
        first = b.first(x, "y")
        with b.deliver(light) as sums:
            if self.radii:
                discs = b.gathered((self.capacity, PLACE), "float64", "discs")
                b.launch("apertures.discs", count, boxes, moments, discs, first=first)
                b.launch("apertures.add", x, *sky, discs, b.const(np.array(self.radii), "radii"), sums, first=first, column=0)
            if self.kron:
                ellipses = b.gathered((self.capacity, PLACE), "float64", "ellipses")
                b.launch("apertures.ellipses", count, boxes, moments, ellipses, first=first)
                b.launch("apertures.reach", x, *sky, ellipses, sums, first=first, column=at)
                b.next_phase()
                if b.several:
                    x, *sky = pixels()
                    first = b.first(x, "y")
                b.launch("apertures.kron", sums, ellipses, first=first, column=at, factor=self.kron, least=self.least)
                one = b.const(np.ones(1), "one")
                b.launch("apertures.add", x, *sky, ellipses, one, sums, first=first, column=at + KRON)


def one_value(b: Builder, value: float) -> Ref:
    """What kernels read in place of a map."""
    return b.const(np.full((1, 1), float(value)), "one value for all")
