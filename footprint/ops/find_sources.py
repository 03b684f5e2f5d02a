"""Clip, threshold, label and measure: a pipeline whose last three steps are one kernel where nothing stands between them."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

from footprint.dtypes import kernel_dtype
from footprint.kernels.find_sources.contract import turns
from footprint.ops.again import made_again
from footprint.ops.base import Op
from footprint.ops.deblend import turned
from footprint.ops.label import Label
from footprint.ops.matched import Pixels
from footprint.ops.measure import SOURCE_ROW, Measure, Renumber, table_specs
from footprint.ops.pipeline import FUSIONS, Stage
from footprint.plan.builder import Builder
from footprint.plan.slots import Ref
from footprint.spec import ArraySpec


@dataclass(frozen=True)
class Over(Op):
    """Marks what is over ``sigma`` times the noise that a clip left, above its background."""

    sigma: float = 5.0

    axes = ("yx", ".")
    cut = "y"
    units = {"y": "rows"}  # noqa: RUF012  shared, never changed

    def names(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Image and statistics; mask."""
        return ("image", "stats"), ("mask",)

    def out_specs(self, *specs: ArraySpec) -> tuple[ArraySpec, ...]:
        """One byte a pixel."""
        return (ArraySpec(specs[0].shape, "uint8", "yx"),)

    def record(self, b: Builder, *refs: Ref) -> None:
        """One launch."""
        image, stats, mask = refs
        x = b.bring(image, dtype=kernel_dtype(image.spec.dtype))
        with b.deliver(mask) as marks:
            b.launch("threshold.over", x, marks, stats, sigma=self.sigma)


@dataclass(frozen=True)
class Islands(Pixels):
    """`Over`, `Label` and `Measure` in one kernel, and `Renumber` where ``labels`` are wanted.

    ``inverted``: of the image turned about its background, without labels.
    """

    sigma: float
    connectivity: int
    min_area: int
    seed: float
    capacity: int
    labels: bool
    inverted: bool = False

    axes = ("yx", ".")
    cut = "y"
    again = "y"
    units = {"y": "rows"}  # noqa: RUF012  shared, never changed
    look = 4.0

    def names(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Image and statistics; count, moments, boxes and labels."""
        return ("image", "stats"), ("count", "moments", "boxes", "labels")[: 4 if self.labels else 3]

    def out_specs(self, *specs: ArraySpec) -> tuple[ArraySpec, ...]:
        """Components met, moments and boxes, and the label image if wanted."""
        image = ArraySpec(specs[0].shape, "int32", "yx")
        return (ArraySpec((1,), "int64"), *table_specs(self.capacity), *((image,) if self.labels else ()))

    def record(self, b: Builder, *refs: Ref) -> None:
        """The kernel on pixels and statistics."""
        image, stats, *results = refs
        b.library("catalogue's columns", SOURCE_ROW * self.capacity)
        with ExitStack() as stack:

            def seen(last: bool) -> tuple[Ref, ...]:
                x = self.pixels(b, image)
                return turned(b, x, stats) if self.inverted else x, stats

            self.steps(b, "find_sources", image, results, seen, stack)

    def steps(
        self, b: Builder, folder: str, image: Ref, results: list[Ref], seen: Callable[[bool], tuple[Ref, ...]], stack: ExitStack
    ) -> None:
        """A launch on what is ``seen`` of every part, as often as the device's kernel needs, the ``last`` time of them.

        Where the job is cut and labels are wanted, they are painted when the islands are known.
        """
        count, moments, boxes, *labels = results
        whole, cut = image.slot.spec, b.several
        most = turns(b.limits, kernel_dtype(whole.dtype)) if cut else 1
        kernel = f"{folder}.labelled" if labels and not cut else f"{folder}.table"
        how: dict[str, Any] = {"sigma": self.sigma, "connectivity": self.connectivity}
        keep = {"min_area": self.min_area, "seed": self.seed, "height": whole.shape[0]}
        # What is entered last is taken first: how many there are before all else.
        ids = [stack.enter_context(b.deliver(ref, dtype="int32")) for ref in labels if not cut]
        x, *sky = seen(most == 1)
        n, m, c = (stack.enter_context(b.deliver(ref)) for ref in (boxes, moments, count))
        state = b.state(kernel, x, *sky, c, m, n, height=whole.shape[0])
        how["first"] = b.first(x, "y")
        for turn in range(most):
            if turn:
                b.next_phase()
                x, *sky = seen(turn == most - 1)
            b.launch(kernel, x, *sky, c, m, n, *ids, *state, turn=turn, **keep, **how)
        stack.close()
        if labels and cut:

            def paint(x: Ref, sky: list[Ref], painted: Ref) -> Ref:
                b.launch(f"{folder}.paint", x, *sky, c, n, painted, *state, **how)
                return painted

            def once_more() -> Ref:
                x, *sky = seen(False)
                return paint(x, sky, b.like(x, "int32", "labels of a part"))

            b.next_phase()
            x, *sky = seen(False)
            with b.deliver(labels[0], dtype="int32") as painted:
                paint(x, sky, painted)
            made_again(b, labels[0], once_more)


def _fuse(group: tuple[Stage, ...]) -> Stage | None:
    over, label, measure, *renumber = group
    assert isinstance(over.op, Over) and isinstance(label.op, Label) and isinstance(measure.op, Measure)
    op = Islands(over.op.sigma, label.op.connectivity, measure.op.min_area, measure.op.seed, measure.op.count, bool(renumber))
    written = (label.writes[1], *measure.writes, *(name for stage in renumber for name in stage.writes))
    return Stage(op, over.reads, written)


FUSIONS[(Over, Label, Measure)] = FUSIONS[(Over, Label, Measure, Renumber)] = _fuse
