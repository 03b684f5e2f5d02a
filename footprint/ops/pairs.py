"""What fits leave round each of them, and which of them are two: windows from any device, and a look at them on the host."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from footprint.dtypes import kernel_dtype
from footprint.kernels.fit.contract import COLUMNS
from footprint.kernels.pairs.contract import GIVEN, RESULT
from footprint.ops.base import Op
from footprint.ops.deblend import MEMBER_ROW
from footprint.ops.fit import FIT_ROW, SHAPE_ROW
from footprint.ops.local_sources import OverMaps
from footprint.ops.measure import LOCAL_ROW
from footprint.ops.residual import RestCells, without
from footprint.plan.builder import Builder
from footprint.plan.slots import Ref
from footprint.spec import ArraySpec

# Bytes of a catalogue's row, and of another one that it may become.
_ROW = LOCAL_ROW + MEMBER_ROW + FIT_ROW + SHAPE_ROW
# Of its fit, its window's box, what else is given of it, and what is found.
WINDOW_ROW = 8 * (COLUMNS + 8 + GIVEN + RESULT)


@dataclass(frozen=True)
class Rests(Op):
    """Windows of an image less its fits, of this ``radius``, round ``places`` places, as boxes have them.

    ``beside`` bytes more are held beside the plan.
    """

    places: int
    radius: int
    beside: int = 0

    axes = ("yx", ".", ".", ".", ".")
    cut = "y"
    again = "y"
    units = {"y": "rows"}  # noqa: RUF012  shared, never changed

    def names(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Image, fits and their number, boxes and their number; windows."""
        return ("image", "fits", "count", "boxes", "number"), ("rests",)

    def out_specs(self, *specs: ArraySpec) -> tuple[ArraySpec, ...]:
        """A row a place."""
        return (ArraySpec((self.places, (2 * self.radius + 1) ** 2), kernel_dtype(specs[0].dtype)),)

    def record(self, b: Builder, *refs: Ref) -> None:
        """Windows part by part."""
        image, *tables, rests = refs
        self.steps(b, tables, rests, "fit.stamp", lambda: (b.bring(image, dtype=kernel_dtype(image.spec.dtype)),))

    def steps(self, b: Builder, tables: list[Ref], rests: Ref, stamp: str, pixels: Callable[[], tuple[Ref, ...]]) -> None:
        """Record them, with what the kernel that puts ``pixels`` aside reads of a part."""
        fits, count, boxes, number = (b.bring(table) for table in tables)
        rows, kept = fits.spec.shape[0], rests.spec.nbytes
        b.library("catalogue, windows and their tables", 2 * _ROW * rows + 2 * kept + self.beside)
        with b.deliver(rests) as stamps:
            image, *sky = pixels()
            b.launch(stamp, without(b, image, fits, count), *sky, boxes, number, stamps, first=b.first(image, "y"))


@dataclass(frozen=True)
class GivenCells(RestCells):
    """`RestCells` of fits that are given."""

    def record(self, b: Builder, *refs: Ref) -> None:
        """As `Cells`, at once."""
        image, fits, count, table = refs
        x = b.bring(image, dtype=kernel_dtype(image.spec.dtype))
        self.steps(b, without(b, x, b.bring(fits), b.bring(count)), table)


@dataclass(frozen=True)
class LocalRests(OverMaps, Rests):  # type: ignore[misc]
    """`Rests` over maps of background and noise: of what is over the background, NaN where there is no noise."""

    tables: ClassVar[tuple[str, ...]] = ("fits", "count", "boxes", "number")

    @property
    def _reads(self) -> dict[str, str]:
        """The tables, too."""
        return super()._reads | dict.fromkeys(self.tables, ".")

    def record(self, b: Builder, *refs: Ref) -> None:
        """Maps of every part, and the steps of `Rests`."""
        given = dict(zip(self._reads, refs))
        given |= {name: b.bring(given[name]) for name in ("stats",) if name in given}

        def pixels() -> tuple[Ref, ...]:
            x = b.bring(given["image"], dtype=kernel_dtype(given["image"].spec.dtype))
            return x, *self._maps(b, x, given, {})

        self.steps(b, [given[name] for name in self.tables], refs[-1], "fit.stamp_over", pixels)


@dataclass(frozen=True)
class Split(Op):
    """Which of the sources in windows are two, and where: see `kernels.pairs.contract`, ``step`` and ``first`` as there."""

    step: int
    first: int = 0

    axes = (".", ".", ".", ".")

    def names(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Windows, what is known of them, beam and noise; what was found."""
        return ("rests", "given", "beam", "noise"), ("found",)

    def out_specs(self, *specs: ArraySpec) -> tuple[ArraySpec, ...]:
        """A row a window that a source is in."""
        return (ArraySpec((specs[0].shape[0], RESULT), "float64"),)

    def record(self, b: Builder, *refs: Ref) -> None:
        """One launch."""
        *tables, found = refs
        given = [b.bring(ref) for ref in tables]
        with b.deliver(found) as out:
            b.launch("pairs.split", *given, out, step=self.step, first=self.first)
