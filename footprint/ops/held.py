"""Sources that are known, measured on an image: heights of Gaussians that are held, sums over the pixels of another's islands."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from footprint.dtypes import kernel_dtype
from footprint.errors import ShapeError
from footprint.kernels.find_sources.contract import LOCAL_MOMENTS, MOMENTS
from footprint.kernels.held.contract import FOUND, PLACE, ROW
from footprint.kernels.sigma_clip.contract import BACKGROUND, NOISE
from footprint.ops.again import Values, measured_there
from footprint.ops.base import Op
from footprint.ops.fit import correlation
from footprint.ops.local_sources import OverTables
from footprint.ops.residual import unit_noise
from footprint.plan.builder import Builder
from footprint.plan.slots import Ref
from footprint.spec import ArraySpec, Limits

# Bytes a row takes in a catalogue: of heights peak, flux, their errors, chi squared and pixels; of sums flux, peak, their errors,
# the ratio to the noise, background and noise.
HELD_ROW, SUM_ROW = 48, 64


@dataclass(frozen=True)
class Held(Op):
    """Heights of Gaussians, whose places and shapes a table of fits has, by linear least squares.

    ``radius`` is that of their windows; ``within`` and ``far`` as in `kernels.held.contract`. ``beam`` is the inverse of the
    image's, () where none is known, and ``change`` what is added to the shapes' covariances for it: yy, yx, xx. ``given`` bytes a
    source are held beside the plan by whoever gives the table.
    """

    capacity: int
    radius: int
    within: float
    far: float
    beam: tuple[float, ...] = ()
    change: tuple[float, ...] = (0.0, 0.0, 0.0)
    given: int = 0

    axes = ("yx", ".", ".", ".")
    cut = "y"
    again = "y"
    units = {"y": "rows"}  # noqa: RUF012  shared, never changed

    def names(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Image, statistics, number of sources and their fits; heights."""
        return ("image", "stats", "count", "fits"), ("held",)

    def out_specs(self, *specs: ArraySpec) -> tuple[ArraySpec, ...]:
        """A row a source."""
        return (ArraySpec((self.capacity, FOUND), "float64"),)

    def record(self, b: Builder, *refs: Ref) -> None:
        """Over one background."""
        image, stats, count, fits, held = refs

        def pixels() -> tuple[Ref, ...]:
            level, noise = (stats[at : at + 1].reshape(1, 1) for at in (BACKGROUND, NOISE))
            return b.bring(image, dtype=kernel_dtype(image.spec.dtype)), level, noise

        self.steps(b, [count, fits], held, pixels)

    def steps(self, b: Builder, tables: list[Ref], held: Ref, pixels: Callable[[], tuple[Ref, ...]]) -> None:
        """Windows part by part; heights at the end."""
        b.library("columns of heights", (HELD_ROW + self.given) * self.capacity)
        b.next_phase()
        seen, (count, fits) = pixels(), (b.bring(table) for table in tables)
        first = b.first(seen[0], "y")
        places = b.gathered((self.capacity, PLACE), "float64", "places")
        stamps = b.gathered((self.capacity, (2 * self.radius + 1) ** 2), seen[0].spec.dtype, "windows")
        noises = b.gathered((self.capacity,), "float64", "noise at places")
        beam = b.const(np.array(self.beam or (0.0, 0.0, 0.0)), "beam")
        change = b.const(np.array(self.change), "what another beam changes")
        rho = b.const(correlation(self.beam, 3 * self.radius if self.beam else 0), "noise from pixel to pixel")
        b.launch("held.places", count, fits, beam, change, places, first=first, beamed=bool(self.beam))
        b.launch("held.stamp", *seen, places, stamps, noises, first=first)
        with b.only("end"), b.deliver(held) as found:
            b.launch("held.solve", places, stamps, noises, rho, found, within=self.within, far=self.far)


@dataclass(frozen=True)
class LocalHeld(OverTables, Held):  # type: ignore[misc]
    """`Held` over maps of background and noise."""

    tables = (("count", "."), ("fits", "."))

    def record(self, b: Builder, *refs: Ref) -> None:
        """Maps of every part, and the steps of `Held`."""
        tables, pixels = self._told(b, refs)
        self.steps(b, tables, refs[-1], pixels)


@dataclass(frozen=True)
class OnIslands(Op):
    """The pixels of another image's islands, by its ``labels``, summed on this one."""

    capacity: int

    axes = ("yx", "yx", ".", ".")
    cut = "y"
    units = {"y": "rows"}  # noqa: RUF012  shared, never changed

    def names(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Image, labels, statistics of the image, number of rows of the islands' table; moments by label."""
        return ("image", "labels", "stats", "count"), ("sums",)

    def out_specs(self, *specs: ArraySpec) -> tuple[ArraySpec, ...]:
        """A row a label."""
        if specs[0].shape != specs[1].shape:
            raise ShapeError("measure_on", f"shape {specs[0].shape}", f"the image's {specs[1].shape}")
        return (ArraySpec((self.capacity, MOMENTS), "float64"),)

    def whole_first(self, limits: Limits) -> bool:
        """A GPU looks at parts several times, for whose labels are made each time, and at the whole once."""
        return not limits.host

    def record(self, b: Builder, *refs: Ref) -> None:
        """Over one background."""
        image, labels, stats, count, sums = refs

        dtype = kernel_dtype(image.spec.dtype)

        def values(last: bool) -> tuple[Ref, Callable[[Ref, Ref], None]]:
            return b.bring(image, dtype=dtype), lambda boxes, sums: None

        self.steps(b, values, dtype, labels, stats, count, sums)

    def steps(self, b: Builder, values: Values, dtype: str, labels: Ref, stats: Ref, count: Ref, sums: Ref) -> None:
        """Launches on every part, where the labels are."""
        if not b.several:
            # How many there are is told before this reads it.
            b.next_phase()
        boxes = b.gathered((self.capacity, 8), "int64", "boxes by label")
        with b.deliver(sums) as m:
            measured_there(b, values, dtype, labels, (stats, count, m, boxes))


@dataclass(frozen=True)
class LocalOnIslands(OverTables, OnIslands):  # type: ignore[misc]
    """`OnIslands` over maps of background and noise."""

    tables = (("labels", "yx"), ("count", "."))

    def out_specs(self, *specs: ArraySpec) -> tuple[ArraySpec, ...]:
        """As `OnIslands`, with background and noise at the peak."""
        return (ArraySpec((self.capacity, LOCAL_MOMENTS), "float64"),)

    def record(self, b: Builder, *refs: Ref) -> None:
        """Maps of every part, and the steps of `OnIslands` on what is over them."""
        (labels, count), pixels = self._told(b, refs)
        sums = refs[-1]

        def values(last: bool) -> tuple[Ref, Callable[[Ref, Ref], None]]:
            x, level, spread = pixels()
            ranks, over = (b.like(x, x.spec.dtype, name) for name in ("noises over the background", "over the background"))
            b.launch("deblend.told", x, level, spread, ranks, over)
            place = {"first": b.first(x, "y")}
            return over, lambda boxes, sums: b.launch("deblend.at_peaks", level, spread, boxes, sums, **place)

        self.steps(b, values, kernel_dtype(refs[0].spec.dtype), labels, unit_noise(b), count, sums)


@dataclass(frozen=True)
class Rows(Op):
    """Of every row of a table of sources what was summed up by its label."""

    capacity: int

    axes = ("yx", ".", ".")
    cut = "y"
    units = {"y": "rows"}  # noqa: RUF012  shared, never changed

    def names(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Image, moments by label, boxes; rows."""
        return ("image", "sums", "boxes"), ("rows",)

    def out_specs(self, *specs: ArraySpec) -> tuple[ArraySpec, ...]:
        """Sum, peak, background and noise of every row."""
        return (ArraySpec((self.capacity, ROW), "float64"),)

    def record(self, b: Builder, *refs: Ref) -> None:
        """One launch, when all is known."""
        _, sums, boxes, rows = refs
        b.library("columns of sums", SUM_ROW * self.capacity)
        with b.only("end"), b.deliver(rows) as out:
            b.launch("held.rows", sums, boxes, out)
