"""One rank of the window around every pixel: minimum, median, maximum and what lies between."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from footprint.dtypes import native
from footprint.kernels.common.borders import NONE
from footprint.kernels.extremes import contract as extremes
from footprint.kernels.rank_filter.networks import operations, picked
from footprint.ops.families import ImageFilter
from footprint.ops.windows import place, reach_of
from footprint.plan.builder import Builder
from footprint.plan.rates import Cost
from footprint.plan.slots import NOTHING, Reach, Ref
from footprint.spec import ArraySpec, Limits


def compared(dtype: str, limits: Limits) -> str:
    """What values of a dtype are brought as: themselves, but for bools, and for half floats where no kernel takes them."""
    kind = np.dtype(native(dtype))
    if kind.kind == "b":
        return "uint8"
    return "float32" if kind.str[1:] == "f2" and limits.family != "gpu" else kind.str


@dataclass(frozen=True)
class RankFilter(ImageFilter):
    """The ``rank``-th smallest, from 0, of the window ``size`` round every pixel.

    Attributes
    ----------
    size
        Of the window, along the image's last two axes; along its only one where it is a signal.
    rank
        From 0.
    first
        Where the window begins, counted from the pixel, an axis.
    borders, cval
        What lies outside, an axis; the constant as text, since 0.0 and -0.0 are equal.
    dims
        Names of the image's axes.
    places
        Of the window those that count, pairs of a row and a column one after another; none where all do.
    """

    size: tuple[int, ...]
    rank: int
    first: tuple[int, ...]
    borders: tuple[str, ...]
    cval: str = "0.0"
    dims: str = "yx"
    places: tuple[int, ...] = ()

    def made(self, dtype: str) -> str:
        """The image's, in native byte order."""
        return native(dtype)

    def _at(self, axis: str) -> int:
        """The axis of the window, counted from the last; below -2 where it has none."""
        return self.dims.index(axis) - len(self.dims)

    def _constant(self, kind: str) -> int | float:
        return int(self.cval) if np.dtype(kind).kind in "iu" else float(self.cval)

    def halo(self, axis: str) -> Reach:
        """What the window reaches before and after."""
        at = self._at(axis)
        if at < -len(self.size):
            return NOTHING
        return reach_of(self.first[at], self.size[at], self.borders[at])

    def flops(self, *specs: ArraySpec) -> float:
        """Minima and maxima."""
        found = picked(len(self.places) // 2, self.rank).operations if self.places else operations(*self.window, self.rank)
        return float(found) * specs[0].size

    def cost(self, limits: Limits, *specs: ArraySpec) -> Cost:
        """The image is read and the result written; extremes of large boxes take as few operations as their kernel does."""
        if not self._extreme(limits):
            return super().cost(limits, *specs)
        # Their comparisons written out would be as many as a box has pixels.
        moved = specs[0].nbytes + self.out_specs(*specs)[0].nbytes
        return Cost(moved, float(extremes.operations(*self.window)) * specs[0].size)

    def _extreme(self, limits: Limits) -> bool:
        """Whether the kernel of extremes finds this rank."""
        return not self.places and extremes.takes(limits, *self.window, self.rank)

    @property
    def window(self) -> tuple[int, int]:
        """Height and width."""
        return (1, *self.size)[-2:]  # type: ignore[return-value]

    def record(self, b: Builder, *refs: Ref) -> None:
        """Record one launch; a part lies where its window begins, and its borders are the image's own."""
        image, out = refs
        kind = compared(image.spec.dtype, b.limits)
        x = b.bring(image, dtype=kind)
        starts: dict[str, object] = {"y0": 0, "x0": 0}
        borders, extreme = {"border_y": NONE, "border_x": NONE}, self._extreme(b.limits)
        with b.deliver(out, dtype=kind) as y:
            for axis in self.dims[-len(self.size) :]:
                at = self._at(axis)
                border = extremes.seen(self.first[at], self.size[at], self.borders[at]) if extreme else self.borders[at]
                starts[f"{axis}0"], borders[f"border_{axis}"] = place(b, axis, x, out, self.first[at], border)
            tall, wide = self.window
            how = {"tall": tall, "wide": wide, "cval": self._constant(kind), **starts, **borders}
            if extreme:
                b.launch("extremes", x.deep(3), y.deep(3), largest=self.rank > 0, **how)  # type: ignore[arg-type]
                return
            how["rank"] = self.rank
            if self.places:
                places = b.const(np.array(self.places, np.int64).reshape(-1, 2), "places of the window")
                b.launch("rank_filter.chosen", x.deep(3), places, y.deep(3), count=len(self.places) // 2, **how)  # type: ignore[arg-type]
            else:
                b.launch("rank_filter", x.deep(3), y.deep(3), **how)  # type: ignore[arg-type]
