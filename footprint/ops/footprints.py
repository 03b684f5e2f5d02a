"""Measures on an image what was found in another, the image seen through a filter, while parts pass."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass

from footprint.dtypes import kernel_dtype
from footprint.ops.again import Values, measured_there
from footprint.ops.base import Op
from footprint.ops.deblend import turned
from footprint.ops.local_sources import OverMaps
from footprint.ops.measure import LOCAL_ROW, SOURCE_ROW, table_specs
from footprint.ops.residual import unit_noise
from footprint.plan.builder import Builder
from footprint.plan.slots import Ref
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

    def whole_first(self, limits: Limits) -> bool:
        """A GPU looks at parts several times, for whose labels are made each time, and at the whole once."""
        return not limits.host

    def record(self, b: Builder, *refs: Ref) -> None:
        """Pixels of every part."""
        image, labels, count, stats, *tables = refs
        b.library("catalogue's columns", (SOURCE_ROW + FILTERED_ROW) * self.capacity)

        dtype = kernel_dtype(image.spec.dtype)

        def values(last: bool) -> tuple[Ref, Callable[[Ref, Ref], None]]:
            x = b.bring(image, dtype=dtype)
            return turned(b, x, stats) if self.inverted else x, lambda boxes, moments: None

        with ExitStack() as stack:
            self.steps(b, values, dtype, labels, count, stats, tables, stack)

    def steps(
        self, b: Builder, values: Values, dtype: str, labels: Ref, count: Ref, stats: Ref, tables: list[Ref], stack: ExitStack
    ) -> None:
        """Launches on every part, over the background of ``stats``."""
        if not b.several:
            # How many there are is then told before the tables; of several parts the labels are gone with their part.
            b.next_phase()
        n, m = (stack.enter_context(b.deliver(ref)) for ref in reversed(tables))
        measured_there(b, values, dtype, labels, (stats, count, m, n))


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
        unit = unit_noise(b)
        with ExitStack() as stack:

            def values(last: bool) -> tuple[Ref, Callable[[Ref, Ref], None]]:
                x = b.bring(image, dtype=dtype)
                targets = {name: stack.enter_context(b.deliver(ref, dtype)) for name, ref in zip(self.saved, kept) if last}
                level, spread = self._maps(b, x, given, targets)
                x = turned(b, x, level) if self.inverted else x
                ranks, over = b.like(x, dtype, "noises over the background"), b.like(x, dtype, "over the background")
                b.launch("deblend.told", x, level, spread, ranks, over)
                first = b.first(x, "y")
                return over, lambda boxes, moments: b.launch("deblend.at_peaks", level, spread, boxes, moments, first=first)

            self.steps(b, values, dtype, given["labels"], given["count"], unit, [moments, boxes], stack)
