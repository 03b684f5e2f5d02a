"""Centres of sources in windows of their own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from footprint.dtypes import kernel_dtype
from footprint.kernels.sigma_clip.contract import BACKGROUND, NOISE
from footprint.kernels.windowed.contract import COLUMNS
from footprint.ops.base import Op
from footprint.ops.local_sources import OverTables
from footprint.plan.builder import Builder
from footprint.plan.slots import TURN, Ref
from footprint.spec import ArraySpec

# Bytes a row takes in a catalogue: two places and their errors, and what these are made of.
WINDOWED_ROW = 48
# Passes that places mostly take.
_USUAL = 6


@dataclass(frozen=True)
class Windowed(Op):
    """Means of the light weighted by Gaussians of deviation ``sigma``, in pixels, about where they lie themselves.

    A deviation of 0 is each source's own, of ``least`` at least.
    """

    capacity: int
    sigma: float = 0.0
    least: float = 0.5

    axes = ("yx", ".", ".", ".", ".")
    cut = "y"
    again = "y"
    units = {"y": "rows"}  # noqa: RUF012  shared, never changed

    def names(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Image, statistics, number of sources, moments and boxes; their windows."""
        return ("image", "stats", "count", "moments", "boxes"), ("windows",)

    def out_specs(self, *specs: ArraySpec) -> tuple[ArraySpec, ...]:
        """A row a source."""
        return (ArraySpec((self.capacity, COLUMNS), "float64"),)

    def record(self, b: Builder, *refs: Ref) -> None:
        """Over one background."""
        image, stats, *tables, windows = refs

        def pixels() -> tuple[Ref, Ref, Ref]:
            level, noise = (stats[at : at + 1].reshape(1, 1) for at in (BACKGROUND, NOISE))
            return b.bring(image, dtype=kernel_dtype(image.spec.dtype)), level, noise

        self.steps(b, tables, windows, pixels)

    def steps(self, b: Builder, tables: list[Ref], windows: Ref, pixels: Callable[[], tuple[Ref, ...]]) -> None:
        """Where they begin; then all parts, again until they stay."""
        count, moments, boxes = tables
        b.library("columns of windows", WINDOWED_ROW * self.capacity)
        b.next_phase()
        x, *sky = pixels()
        if not b.several:
            # Maps of the one part are made once, before what is repeated.
            b.next_phase()
        table, flag = b.kept((self.capacity, COLUMNS), "float64", "windows"), b.kept((1,), "int64", "all stay")
        first = b.first(x, "y")
        with b.only("once"):
            b.launch("windowed.start", count, boxes, moments, table, first=first, size=self.sigma, least=self.least)
        b.launch("windowed.add", x, *sky, table, first=first)
        with b.only("end"):
            b.launch("windowed.move", table, flag, turn=TURN)
        b.until(flag, usual=_USUAL)
        b.next_phase()
        with b.deliver(windows) as found, b.only("end"):
            b.copy(table, found)


@dataclass(frozen=True)
class LocalWindowed(OverTables, Windowed):  # type: ignore[misc]
    """`Windowed` over maps of background and noise."""

    def record(self, b: Builder, *refs: Ref) -> None:
        """Maps of every part, and the steps of `Windowed`."""
        tables, pixels = self._told(b, refs)
        self.steps(b, tables, refs[-1], pixels)
