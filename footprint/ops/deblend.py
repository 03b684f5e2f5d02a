"""Sources of an image whose clip is known, those that stand on one island taken apart."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from footprint.kernels.deblend.contract import BASINS, NO_POINTS, strip_rows
from footprint.kernels.measure.contract import turns
from footprint.kernels.sigma_clip.contract import rows_per_block
from footprint.ops.again import made_again
from footprint.ops.matched import Pixels
from footprint.ops.measure import SOURCE_ROW, table_specs
from footprint.ops.residual import without
from footprint.plan.builder import Builder
from footprint.plan.slots import Ref
from footprint.spec import ArraySpec, Limits

# Bytes a row takes in the catalogue beside those of an island: island, component and flags.
MEMBER_ROW = 24
# What is read of a search whose fits are taken off the image.
FITTED = ("fits", "count")


@dataclass(frozen=True)
class Deblend(Pixels):
    """Labels and measures the sources on islands of pixels over ``flood`` noises, by the tree of their summits and passes.

    The rules are those of `kernels.deblend.contract`. ``strip``: rows after which basins are cut (0: by the image's width); parts
    begin at multiples of it. ``inverted``: of the image turned about its background; ``residual``: of the
    image less its fits. ``summits``: how many there is room for (0: `BASINS` for every source). ``beamed``: of a
    branch as points are that touch, which stands where it is ``shallow`` noises over its pass instead of ``prominence``.
    """

    sigma: float
    flood: float
    connectivity: int
    min_area: int
    contrast: float
    capacity: int
    labels: bool
    prominence: float = 1.5
    strip: int = 0
    inverted: bool = False
    residual: bool = False
    summits: int = 0
    shallow: float = 0.6
    beamed: tuple[int, ...] = NO_POINTS

    cut = "y"
    again = "y"
    units = {"y": "rows"}  # noqa: RUF012  shared, never changed
    look = 12.0

    @property
    def axes(self) -> tuple[str, ...]:  # type: ignore[override]
        """Of image and tables."""
        return ("yx", *("." for _ in self.names()[0][1:]))

    def names(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Image and statistics, fits and their number; sources, their islands, moments, boxes and labels."""
        made = ("count", "members", "moments", "boxes", "labels")[: 5 if self.labels else 4]
        return ("image", "stats", *(FITTED if self.residual else ())), made

    def out_specs(self, *specs: ArraySpec) -> tuple[ArraySpec, ...]:
        """Number of sources, members, moments and boxes, and the label image if wanted."""
        image = ArraySpec(specs[0].shape, "int32", "yx")
        tables = ArraySpec((self.capacity, 4), "int64"), *table_specs(self.capacity)
        return (ArraySpec((1,), "int64"), *tables, *((image,) if self.labels else ()))

    def grain(self, *specs: ArraySpec) -> int:
        """Whole strips."""
        return self._strip(specs[0])

    def _strip(self, image: ArraySpec) -> int:
        width = image.shape[1]
        return self.strip or strip_rows(width, rows_per_block(image.size, width))

    def whole_first(self, limits: Limits) -> bool:
        """A GPU takes parts apart several times, and the whole once."""
        return not limits.host

    def record(self, b: Builder, *refs: Ref) -> None:
        """Basins and passes part by part; the tree; labels and moments part by part, of basins that are found again."""
        image, stats, *others = refs
        fitted, results = others[: len(others) - len(self.names()[1])], others[len(others) - len(self.names()[1]) :]
        if fitted:
            b.next_phase()

        def seen(again: bool) -> Seen:
            x = self.pixels(b, image)
            x = turned(b, x, stats) if self.inverted else without(b, x, *fitted) if fitted else x
            return Seen(x, x, stats, lambda boxes, moments: None)

        b.library("catalogue's columns", (SOURCE_ROW + MEMBER_ROW) * self.capacity)
        with ExitStack() as stack:
            self.steps(b, image, results, seen, stack)

    def steps(self, b: Builder, image: Ref, results: list[Ref], seen: Callable[[bool], Seen], stack: ExitStack) -> None:
        """Record the steps on what is ``seen`` of every part, once and ``again``."""
        count, members, moments, boxes, *labels = results
        whole, cut = image.slot.spec, b.several
        # What is entered last is taken first: how many there are before all else.
        who, n, m = (stack.enter_context(b.deliver(ref)) for ref in (members, boxes, moments))
        ids = [stack.enter_context(b.deliver(ref, dtype="int32")) for ref in labels if not cut]
        c = stack.enter_context(b.deliver(count))
        x, values, stats, at_peaks = seen(False)
        how: dict[str, Any] = {"height": whole.shape[0], "sigma": self.flood, "connectivity": self.connectivity}
        how |= {"strip": self._strip(whole), "first": b.first(x, "y")}
        rules: dict[str, Any] = {"seed": self.sigma, "prominence": self.prominence, "contrast": self.contrast}
        rules |= {"min_area": self.min_area, "beamed": (self.shallow, *self.beamed), "width": whole.shape[1]}
        nodes = self._nodes(b, x, ids)
        room = -(-self.summits // BASINS) or self.capacity
        state = b.state("deblend.gather", x, capacity=room, height=whole.shape[0])
        b.launch("deblend.gather", x, stats, nodes, *state, **how, seed=self.sigma)
        with b.only("end"):
            b.launch("deblend.settle", stats, c, who, *state, **rules)

        def paint(x: Ref, stats: Ref, ids: list[Ref], nodes: Ref) -> Ref:
            fits = np.dtype(nodes.spec.dtype) == np.int32
            painted = ids[0] if ids else nodes if fits else b.like(x, "int32", "labels of a part")
            b.launch("deblend.paint", x, stats, c, nodes, painted, *state, climb=cut, capacity=self.capacity, **how)
            return painted

        def once_more() -> Ref:
            x, _, stats, _ = seen(False)
            return paint(x, stats, [], self._nodes(b, x, []))

        place = {"first": how["first"], "height": whole.shape[0], "min_area": 1, "seed": 0.0, "connected": True}
        measured: tuple[Ref, ...] = ()
        most = turns(b.limits, values.spec.dtype) if cut else 1
        for turn in range(most):
            b.next_phase()
            if cut:
                x, values, stats, at_peaks = seen(turn + 1 == most)
                ids = [stack.enter_context(b.deliver(ref, dtype="int32")) for ref in labels if turn + 1 == most]
                nodes = self._nodes(b, x, ids)
            painted = paint(x, stats, ids, nodes)
            measured = measured or b.state("measure.islands", values, painted, stats, c, m, n, height=whole.shape[0])
            b.launch("measure.islands", values, painted, stats, c, m, n, *measured, turn=turn, **place)
        for ref in labels if cut else []:
            made_again(b, ref, once_more)
        at_peaks(n, m)

    def _nodes(self, b: Builder, x: Ref, ids: list[Ref]) -> Ref:
        """Where basins are found: in the labels' place where their numbers fit; a GPU numbers those of a part."""
        wide = "int32" if b.limits.family == "gpu" or x.slot.spec.size < 2**31 - 1 else "int64"
        return ids[0] if ids and wide == "int32" else b.like(x, wide, "basins of a part")


def turned(b: Builder, image: Ref, about: Ref) -> Ref:
    """The image turned about the background of a clip, or about a map of it."""
    out = b.like(image, image.spec.dtype, "turned about the background")
    b.launch("threshold.invert_over" if about.spec.shape == image.spec.shape else "threshold.invert", image, out, about)
    return out


class Seen(NamedTuple):
    """Of a part: what pixels are ranked by, what is measured, the statistics of both, and what is done with boxes and moments."""

    ranks: Ref
    values: Ref
    stats: Ref
    at_peaks: Callable[[Ref, Ref], None]
