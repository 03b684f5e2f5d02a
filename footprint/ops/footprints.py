"""Measures on an image what was found in another, the image seen through a filter, while parts pass."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass

from footprint.dtypes import kernel_dtype
from footprint.ops.base import Op
from footprint.ops.deblend import turned
from footprint.ops.local_sources import OverMaps
from footprint.ops.measure import LOCAL_ROW, SOURCE_ROW, table_specs
from footprint.ops.residual import unit_noise
from footprint.plan.builder import Builder
from footprint.plan.slots import Given, Ref
from footprint.spec import ArraySpec, Limits

# Bytes a row takes beside the catalogue's: peak, noise, label and pixels in the filtered image, and what is made of them.
FILTERED_ROW = 48


@dataclass(frozen=True)
class Footprints(Op):
    """Measures labels that the operation before has just made of the part; all count.

    ``capacity`` is how many there is room for, ``inverted`` whether the image is turned about its background.
    """

    capacity: int
    inverted: bool = False

    cut = "y"
    units = {"y": "rows"}  # noqa: RUF012  shared, never changed

    @property
    def axes(self) -> tuple[str, ...]:  # type: ignore[override]
        """Of image and labels; tables have none."""
        return ("yx", "yx", *("." for _ in self.names()[0][2:]))

    def names(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Image, labels, number of labels and statistics; moments and boxes."""
        return ("image", "labels", "count", "stats"), ("moments", "boxes")

    def out_specs(self, *specs: ArraySpec) -> tuple[ArraySpec, ...]:
        """Tables of so many rows."""
        return table_specs(self.capacity)

    def cuts_on(self, limits: Limits, ins: tuple[Given, ...]) -> str:
        """The host's kernels look at a part once."""
        return self.cut if limits.host else ""

    def record(self, b: Builder, *refs: Ref) -> None:
        """One launch."""
        image, labels, count, stats, *tables = refs
        b.library("catalogue's columns", (SOURCE_ROW + FILTERED_ROW) * self.capacity)
        x = b.bring(image, dtype=kernel_dtype(image.spec.dtype))
        with ExitStack() as stack:
            self.steps(b, turned(b, x, stats) if self.inverted else x, labels, count, stats, tables, stack)

    def steps(
        self, b: Builder, x: Ref, labels: Ref, count: Ref, stats: Ref, tables: list[Ref], stack: ExitStack
    ) -> tuple[Ref, Ref]:
        """Of the pixels of a part, from the background of ``stats``; boxes and moments as they are while parts pass."""
        if not b.several:
            # How many there are is then told before the tables; of several parts the labels are gone with their part.
            b.next_phase()
        n, m = (stack.enter_context(b.deliver(ref)) for ref in reversed(tables))
        ids = b.bring(labels, dtype="int32")
        state = b.state("measure.islands", x, ids, stats, count, m, n)
        place = {"first": b.first(x, "y"), "height": x.slot.spec.shape[0], "min_area": 1, "seed": 0.0}
        b.launch("measure.islands", x, ids, stats, count, m, n, *state, **place)
        return n, m


@dataclass(frozen=True)
class LocalFootprints(OverMaps, Footprints):  # type: ignore[misc]
    """`Footprints` over maps of background and noise."""

    @property
    def _reads(self) -> dict[str, str]:
        return super()._reads | {"labels": "yx", "count": "."}

    def out_specs(self, *specs: ArraySpec) -> tuple[ArraySpec, ...]:
        """Tables with background and noise; the maps that are saved."""
        one = ArraySpec(specs[0].shape, kernel_dtype(specs[0].dtype), "yx")
        return (*table_specs(self.capacity, local=True), *(one for _ in self.saved))

    def record(self, b: Builder, *refs: Ref) -> None:
        """Maps and values of every part, and the launch on them."""
        given, (moments, boxes, *kept) = dict(zip(self._reads, refs)), refs[len(self._reads) :]
        image, dtype = given["image"], kernel_dtype(given["image"].spec.dtype)
        b.library("catalogue's columns", (LOCAL_ROW + FILTERED_ROW) * self.capacity)
        with ExitStack() as stack:
            x = b.bring(image, dtype=dtype)
            targets = {name: stack.enter_context(b.deliver(ref, dtype)) for name, ref in zip(self.saved, kept)}
            level, spread = self._maps(b, x, given, targets)
            x = turned(b, x, level) if self.inverted else x
            ranks, values = b.like(x, dtype, "noises over the background"), b.like(x, dtype, "over the background")
            b.launch("deblend.told", x, level, spread, ranks, values)
            tables = self.steps(b, values, given["labels"], given["count"], unit_noise(b), [moments, boxes], stack)
            b.launch("deblend.at_peaks", level, spread, *tables, first=b.first(x, "y"))
