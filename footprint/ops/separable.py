"""Correlation along one axis of an array, and along its last two, or all three, in one pass."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from footprint.dtypes import sum_dtype
from footprint.kernels.common.borders import NONE
from footprint.kernels.convolve.contract import stored_as
from footprint.kernels.separable.contract import (
    BOX_TAPS,
    CUBED,
    FUSED,
    RINGED,
    averaged,
    countable,
    crowded,
    in_boxes,
    in_cubes,
    in_one_pass,
    in_sight,
    read_as,
)
from footprint.kernels.separable.rings import pairs_of, shared, with_sums
from footprint.ops.base import Op, Table
from footprint.ops.families import ImageFilter
from footprint.ops.pipeline import FUSIONS, Pipeline, Stage
from footprint.ops.windows import place, reach_of
from footprint.plan.builder import Builder
from footprint.plan.rates import Cost
from footprint.plan.slots import NOTHING, Halo, Number, Place, Reach, Ref
from footprint.spec import ArraySpec, Limits

AXES = "zyx"
# What sums of a pair at once take, in multiplications and additions (measured at 2048 x 2048).
_AT_ONCE = 8


@dataclass(frozen=True)
class Taps:
    """Weights along an axis, in order of correlation, and where the first lies, counted from the pixel."""

    axis: str
    weights: Table
    first: int
    border: str
    cval: float = 0.0
    exact: str = "0.0"

    @property
    def equal(self) -> bool:
        """Whether all are one number."""
        values = self.weights.array
        return bool((values == values[0]).all())

    def reach(self) -> Halo:
        """What they reach before and after."""
        return reach_of(self.first, len(self.weights), self.border)

    def place(self, b: Builder, into: Ref, out: Ref) -> tuple[Place | int, str]:
        """Where the first lies in a part of the input, for the part's first result, and the border there."""
        return place(b, self.axis, into, out, self.first, self.border)


_ONE = Taps("", Table(np.ones(1)), 0, NONE)


def pair_of(taps: tuple[Taps, ...], dims: str) -> tuple[Taps, Taps] | None:
    """Weights down and across, where there are none along other axes."""
    found = {some.axis: some for some in taps}
    if not set(found) <= set(dims[-2:]):
        return None
    return found.get("y", _ONE), found.get("x", _ONE)


def at_once(limits: Limits, image: ArraySpec, taps: tuple[Taps, ...], dims: str) -> str:
    """The kernel that makes a pair of sums in one pass over the image as it is stored, on a processor; "" where none does."""
    pair = pair_of(taps, dims)
    if pair is None or any(some.border == "constant" and some.cval != 0 for some in taps):
        return ""
    sizes = len(pair[0].weights), len(pair[1].weights)
    if in_sight(limits, sizes):
        return "separable.near"
    if not all(some.equal for some in pair):
        return ""
    if countable(limits, image, sizes):
        return "separable.counts"
    return "separable.means" if averaged(limits, sum_dtype(image.dtype), sizes) else ""


def in_lanes(limits: Limits, volume: ArraySpec, taps: tuple[int, int], equal: bool) -> bool:
    """Whether a processor sums so many small planes down and across that each has a lane of its own."""
    kind = sum_dtype(volume.dtype)
    whole = equal and (countable(limits, volume, taps) or averaged(limits, kind, taps))
    few = all(2 <= n <= FUSED // np.dtype(kind).itemsize for n in taps)
    return few and not whole and not in_sight(limits, taps) and crowded(volume.shape, volume.shape, np.dtype(kind).itemsize) > 0


def record_at_once(b: Builder, image: Ref, out: Ref, taps: tuple[Taps, ...], kernel: str) -> None:
    """Record it."""
    kind, (tall, wide) = sum_dtype(image.spec.dtype), pair_of(taps, "yx") or (_ONE, _ONE)
    x = b.bring(image, dtype=kind if kernel == "separable.means" else stored_as(image.spec.dtype, kind))
    with b.deliver(out, dtype=kind) as y:
        (y0, border_y), (x0, border_x) = (some.place(b, x, out) if some.axis else (0, NONE) for some in (tall, wide))
        how: dict[str, Number] = {"y0": y0, "x0": x0, "border_y": border_y, "border_x": border_x}
        if kernel == "separable.near":
            weights = [np.outer(tall.weights.array.astype(float), wide.weights.array.astype(float)).reshape(-1)]
            how["cross"] = False
        else:
            weights = [tall.weights.array, wide.weights.array]
            if kernel == "separable.means":
                how["start"] = b.first(out, "y") if b.in_parts(out, "y") else 0
        tables = [b.const(one.astype(kind), "weights") for one in weights]
        b.launch(kernel, x.deep(3), *tables, y.deep(3), **how)


@dataclass(frozen=True)
class Line(ImageFilter):
    """The sum of weights and neighbours along some axes, one after another: one, or the last two at once.

    Attributes
    ----------
    taps
        Weights, an axis.
    dims
        Names of the array's axes.
    leads
        See `ImageFilter`.
    """

    taps: tuple[Taps, ...]
    dims: str = "yx"
    leads: str = ""

    def halo(self, axis: str) -> Reach:
        """Of an axis with weights."""
        return next((taps.reach() for taps in self.taps if taps.axis == axis), NOTHING)

    def flops(self, *specs: ArraySpec) -> float:
        """A multiplication and an addition a tap."""
        return 2.0 * specs[0].size * sum(len(taps.weights) for taps in self.taps)

    def cost(self, limits: Limits, *specs: ArraySpec) -> Cost:
        """In and out once; equal weights as if they were few."""
        if at_once(limits, specs[0], self.taps, self.dims):
            return Cost(specs[0].nbytes + self.out_specs(*specs)[0].nbytes, 2.0 * specs[0].size * _AT_ONCE)
        taps = BOX_TAPS if self._in_boxes(limits, specs[0]) else sum(len(taps.weights) for taps in self.taps)
        return Cost(specs[0].nbytes + self.out_specs(*specs)[0].nbytes, 2.0 * specs[0].size * taps)

    def _in_boxes(self, limits: Limits, image: ArraySpec) -> bool:
        """Whether equal weights along one axis are summed in blocks."""
        if len(self.taps) != 1 or not self.taps[0].equal:
            return False
        (taps,) = self.taps
        return in_boxes(limits, len(taps.weights), image.shape, self.dims.index(taps.axis), sum_dtype(image.dtype))

    def record(self, b: Builder, *refs: Ref) -> None:
        """Record the launch; a part lies where its window begins, and its borders are the array's own."""
        image, out = refs
        if kernel := at_once(b.limits, image.slot.spec, self.taps, self.dims):
            record_at_once(b, image, out, self.taps, kernel)
            return
        kind = sum_dtype(image.spec.dtype)
        x = b.bring(image, dtype=read_as(b.limits, image.spec.dtype, kind))
        arrays = [taps.weights.array.astype(kind) for taps in self.taps]
        pairs = len(arrays) == 2 and shared(b.limits, *arrays)
        weights = [
            b.const(with_sums(array) if pairs else array, f"weights along {taps.axis}") for taps, array in zip(self.taps, arrays)
        ]
        with b.deliver(out, dtype=kind) as y:
            if len(self.taps) == 2:
                (y0, border_y), (x0, border_x) = (taps.place(b, x, out) for taps in self.taps)
                how: dict[str, Number] = {"y0": y0, "x0": x0, "border_y": border_y, "border_x": border_x, "cval": self.taps[0].cval}
                if pairs:
                    how |= {f"first_{axis}": b.first(out, axis) for axis in "yx"}
                    how |= {"taps": tuple(array.size for array in arrays), "pairs": tuple(map(pairs_of, arrays))}
                b.launch("separable.ring" if pairs else "separable", x.deep(3), *weights, y.deep(3), **how)
                return
            (taps,) = self.taps
            first, border = taps.place(b, x, out)
            how = {"first": first, "border": border, "cval": taps.cval}
            if self._in_boxes(b.limits, image.slot.spec):
                b.note(f"sums of {len(taps.weights)} equal weights along {taps.axis} in blocks, each pixel added three times")
                start = b.first(out, taps.axis) if b.in_parts(out, taps.axis) else 0
                b.launch("separable.box", x, weights[0], y, axis=self.dims.index(taps.axis), start=start, **how)
            else:
                n = max(len(self.dims), 2)
                how |= {"down": taps.axis != "x", "planes": n == 3 and taps.axis == "y"}
                b.launch("separable.line", x.deep(n), weights[0], y.deep(n), **how)


class Apart(Line):
    """The same in a pass of its own, whatever stands beside it."""


@dataclass(frozen=True)
class Together(Line):
    """Many weights along the last two axes, at once where a device does that; ``apart`` are the passes elsewhere."""

    apart: Op = field(kw_only=True)

    @property
    def cut(self) -> str:  # type: ignore[override]
        """As the passes may be cut."""
        return self.apart.cut

    def _at_once(self, limits: Limits, image: ArraySpec) -> bool:
        sizes = tuple(len(some.weights) for some in self.taps)
        found = at_once(limits, image, self.taps, self.dims)
        return found != "" or in_one_pass(limits, sizes, np.dtype(sum_dtype(image.dtype)).itemsize)

    def cost(self, limits: Limits, *specs: ArraySpec) -> Cost:
        """In and out once, or as often as there are passes."""
        return super().cost(limits, *specs) if self._at_once(limits, specs[0]) else self.apart.cost(limits, *specs)

    def record(self, b: Builder, *refs: Ref) -> None:
        """Record the launch, or the passes."""
        if self._at_once(b.limits, refs[0].slot.spec):
            super().record(b, *refs)
        else:
            self.apart.record(b, *refs)


@dataclass(frozen=True)
class Cube(Line):
    """The same along all three axes at once, where a device's chip holds a tile of planes; ``apart`` are the passes elsewhere."""

    apart: Op = field(kw_only=True)

    def _at_once(self, limits: Limits, volume: ArraySpec) -> bool:
        tall, wide, deep = (len(taps.weights) for taps in self.taps)
        return in_cubes(limits, (deep, tall, wide), volume, np.dtype(sum_dtype(volume.dtype)).itemsize)

    def cost(self, limits: Limits, *specs: ArraySpec) -> Cost:
        """In and out once, or as often as there are passes."""
        return super().cost(limits, *specs) if self._at_once(limits, specs[0]) else self.apart.cost(limits, *specs)

    def record(self, b: Builder, *refs: Ref) -> None:
        """Record the launch, or the passes; a part lies where its window begins, and its borders are the array's own."""
        image, out = refs
        if not self._at_once(b.limits, image.spec):
            self.apart.record(b, image, out)
            return
        kind = sum_dtype(image.spec.dtype)
        x = b.bring(image, dtype=read_as(b.limits, image.spec.dtype, kind))
        with b.deliver(out, dtype=kind) as y:
            weights: list[Ref] = []
            how: dict[str, Number] = {}
            for taps in sorted(self.taps, key=lambda one: AXES.index(one.axis)):
                weights.append(b.const(taps.weights.array.astype(kind), f"weights along {taps.axis}"))
                how[f"{taps.axis}0"], how[f"border_{taps.axis}"] = taps.place(b, x, out)
            b.launch("separable.cube", x, *weights, y, **how)


def _fuse(stages: tuple[Stage, ...]) -> Stage | None:
    """Down the rows and across them at once, where a tile with both halos fits on a chip."""
    one, two = stages
    assert isinstance(one.op, Line) and isinstance(two.op, Line)
    taps = (*one.op.taps, *two.op.taps)
    if [some.axis for some in taps] != ["y", "x"]:
        return None
    sizes, itemsize = [len(some.weights) for some in taps], taps[0].weights.array.itemsize
    if not all(2 <= n <= FUSED // itemsize for n in sizes):
        if all(some.equal for some in taps) or (itemsize == 4 and all(2 <= n <= RINGED for n in sizes)):
            apart = Pipeline.chain([Apart((some,), one.op.dims, one.op.leads) for some in taps], "input", "output")
            return Stage(Together(taps, one.op.dims, one.op.leads, apart=apart), one.reads, two.writes)
        return None
    return Stage(replace(one.op, taps=taps), one.reads, two.writes)


def _fuse_all(stages: tuple[Stage, ...]) -> Stage | None:
    """Down, across and through the planes at once."""
    ops = [stage.op for stage in stages]
    taps = tuple(some for op in ops if isinstance(op, Line) for some in op.taps)
    if [some.axis for some in taps] != ["y", "x", "z"] or any(not 2 <= len(some.weights) <= CUBED for some in taps):
        return None
    if any(some.border == "constant" and some.cval != 0 for some in taps):
        return None
    dims, leads = ops[0].dims, ops[0].leads  # type: ignore[attr-defined]
    apart = Pipeline.chain([Line(taps[:2], dims, leads), Line(taps[2:], dims, leads)], "input", "output")
    return Stage(Cube(taps, dims, leads, apart=apart), stages[0].reads, stages[-1].writes)


FUSIONS[(Line, Line, Line)] = _fuse_all
FUSIONS[(Line, Line)] = _fuse


def lines(taps: list[Taps], dims: str, leads: str = "") -> Op:
    """Weights along several axes, one after another; ``leads`` see `ImageFilter`."""
    ops = [Line((some,), dims, leads) for some in taps]
    return ops[0] if len(ops) == 1 else Pipeline.chain(ops, "input", "output")


def table(weights: np.ndarray, dtype: str) -> Table:
    """Weights in the dtype of the sums."""
    return Table(weights, sum_dtype(dtype))
