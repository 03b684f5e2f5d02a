"""The sum of several correlations of one image, each down its rows and then across them."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from footprint.dtypes import sum_dtype
from footprint.kernels.common.borders import NONE
from footprint.kernels.convolve.contract import stored_as
from footprint.kernels.separable.contract import in_sight, one_pass, read_as
from footprint.ops.base import Op, Table
from footprint.ops.families import ImageFilter, batch_of, led
from footprint.ops.pipeline import Pipeline, Stage
from footprint.ops.separable import Taps
from footprint.plan.builder import Builder
from footprint.plan.rates import Cost
from footprint.plan.slots import Halo, Number, Place, Reach, Ref
from footprint.spec import ArraySpec, Limits

_ONE = Taps("", Table(np.ones(1)), 0, NONE)
_PLACES = {"dst_start": (0, 0, 0), "dst_step": (1, 1, 1), "other_start": (0, 0, 0), "other_step": (1, 1, 1)}


@dataclass(frozen=True)
class Branches(ImageFilter):
    """Laplacians and the like: ``branches`` are weights down and across, the first of none on the axis "".

    An image's last two axes are filtered, of a stack every plane; ``dims`` names all.
    """

    branches: tuple[tuple[Taps, Taps], ...]
    dims: str = "yx"
    leads: str = ""

    def halo(self, axis: str) -> Reach:
        """The most that any branch reaches."""
        reaches = [taps.reach() for branch in self.branches for taps in branch if taps.axis == axis]
        return Halo(max((r.lo for r in reaches), default=0), max((r.hi for r in reaches), default=0), any(r.wrap for r in reaches))

    def flops(self, *specs: ArraySpec) -> float:
        """A multiplication and an addition a tap."""
        return 2.0 * specs[0].size * sum(len(taps.weights) for branch in self.branches for taps in branch)

    def cost(self, limits: Limits, *specs: ArraySpec) -> Cost:
        """In and out for every branch, and for adding them."""
        n, size = len(self.branches), self.out_specs(*specs)[0].nbytes
        if self._cross(limits) is not None:
            return Cost(specs[0].nbytes + size, self.flops(*specs))
        return Cost(n * (specs[0].nbytes + size) + (n - 1) * 3 * size, self.flops(*specs), 2 * n - 1)

    def record(self, b: Builder, *refs: Ref) -> None:
        """Record the branches, each added to what is there; of a stack a batch of planes at a time."""
        image, out = refs
        kind = sum_dtype(image.spec.dtype)
        if self._cross(b.limits) is not None:
            self._record_cross(b, image, out, kind)
            return
        x = b.bring(image, dtype=read_as(b.limits, image.spec.dtype, kind))
        down = self._between(b, x, kind)
        with b.deliver(out, dtype=kind) as y:
            if len(self.dims) < 3:
                self._sum(b, x, down, y, out)
                return
            planes, *plane = y.spec.shape
            if down is not None:
                # Sums along one axis alone are of one plane.
                with b.repeat(y) as loop:
                    self._sum(b, x.row(loop), down.row(loop), y.row(loop), out)
                return
            batch = batch_of(planes, max(1, math.prod(plane)) * np.dtype(kind).itemsize)
            with b.repeat(y, batch) as loop:
                self._sum(b, x.window(loop, batch), None, y.window(loop, batch), out)

    def _cross(self, limits: Limits) -> np.ndarray | None:
        """The weights of 3 x 3 neighbours, of which the corners have none, where a device sums them at once."""
        if len(self.branches) != 2 or not in_sight(limits, (3, 3)):
            return None
        mask, ways = np.zeros((3, 3)), []
        for tall, wide in self.branches:
            both = len(tall.weights), len(wide.weights)
            if sorted(both) != [1, 3]:
                return None
            long, (other,) = (tall, wide.weights.array) if both == (3, 1) else (wide, tall.weights.array)
            if long.first != -1 or (long.border == "constant" and long.cval != 0):
                return None
            ways.append(both)
            place = (slice(None), 1) if both == (3, 1) else (1, slice(None))
            mask[place] += long.weights.array.astype(float) * float(other)
        return mask if ways[0] != ways[1] else None

    def _record_cross(self, b: Builder, image: Ref, out: Ref, kind: str) -> None:
        """One launch, which reads the image as it is stored."""
        mask = self._cross(b.limits)
        assert mask is not None
        x = b.bring(image, dtype=stored_as(image.spec.dtype, kind))
        down = next(taps for branch in self.branches for taps in branch if taps.axis == "y" and len(taps.weights) == 3)
        across = next(taps for branch in self.branches for taps in branch if taps.axis == "x" and len(taps.weights) == 3)
        with b.deliver(out, dtype=kind) as y:
            (y0, border_y), (x0, border_x) = down.place(b, x, out), across.place(b, x, out)
            how: dict[str, Number] = {"y0": y0, "x0": x0, "border_y": border_y, "border_x": border_x, "cross": True}
            b.launch("separable.near", x.deep(3), b.const(mask.reshape(-1).astype(kind), "weights"), y.deep(3), **how)

    def _fits(self, limits: Limits, kind: str, tall: Taps, wide: Taps) -> bool:
        return one_pass(limits, (len(tall.weights), len(wide.weights)), np.dtype(kind).itemsize)

    def _between(self, b: Builder, x: Ref, kind: str) -> Ref | None:
        """Room for sums down that are then summed across, where a branch is not made in one pass."""
        if all(self._fits(b.limits, kind, *branch) for branch in self.branches):
            return None
        reach = {"x": self.halo("x")} if b.in_parts(x, "x") else {}
        return b.between(ArraySpec(x.slot.spec.shape, kind, self.dims), "sums down", reach)

    def _sum(self, b: Builder, x: Ref, down: Ref | None, y: Ref, out: Ref) -> None:
        for number, (tall, wide) in enumerate(self.branches):
            target = b.like(y, y.spec.dtype, "a branch") if number else y
            if down is None or self._fits(b.limits, y.spec.dtype, tall, wide):
                self._at_once(b, x, target, out, tall, wide)
            else:
                self._line(b, x, down, tall, tall.place(b, x, out), down=True)
                self._line(b, down, target, wide, wide.place(b, down, out), down=False)
            if number:
                b.launch("muladd", y.deep(3), target.deep(3), a=1.0, b=1.0, count=None, **_PLACES)

    def _at_once(self, b: Builder, x: Ref, target: Ref, out: Ref, tall: Taps, wide: Taps) -> None:
        (y0, border_y), (x0, border_x) = (taps.place(b, x, out) for taps in (tall, wide))
        weights = [self._weights(b, taps, target) for taps in (tall, wide)]
        how = {"y0": y0, "x0": x0, "border_y": border_y, "border_x": border_x, "cval": wide.cval}
        b.launch("separable", x.deep(3), *weights, target.deep(3), **how)

    def _line(self, b: Builder, x: Ref, target: Ref, taps: Taps, place: tuple[Place | int, str], *, down: bool) -> None:
        first, border = place
        weights = self._weights(b, taps, target)
        b.launch("separable.line", x.deep(2), weights, target.deep(2), first=first, border=border, cval=taps.cval, down=down)

    def _weights(self, b: Builder, taps: Taps, target: Ref) -> Ref:
        return b.const(taps.weights.array.astype(target.spec.dtype), f"weights along {taps.axis}")


@dataclass(frozen=True)
class Star(ImageFilter):
    """Three weights along each axis of a volume, each sum of the image itself; ``arms`` are in the order of ``dims``."""

    arms: tuple[Taps, ...]
    dims: str = "zyx"
    leads: str = ""

    def halo(self, axis: str) -> Reach:
        """What lies beside a voxel."""
        return next(taps.reach() for taps in self.arms if taps.axis == axis)

    def flops(self, *specs: ArraySpec) -> float:
        """A multiplication and an addition a tap."""
        return 2.0 * specs[0].size * sum(len(taps.weights) for taps in self.arms)

    def record(self, b: Builder, *refs: Ref) -> None:
        """Record the launch; a part lies where its window begins, and its borders are the volume's own."""
        image, out = refs
        kind = sum_dtype(image.spec.dtype)
        x, weights = b.bring(image, dtype=kind), np.concatenate([taps.weights.array for taps in self.arms])
        how: dict[str, Number] = {"cval": self.arms[0].cval}
        with b.deliver(out, dtype=kind) as y:
            for axis, taps in zip("zyx", self.arms):
                how[f"{axis}0"], how[f"border_{axis}"] = taps.place(b, x, out)
            b.launch("star", x, b.const(weights.astype(kind), "weights"), y, **how)


def star(taps: list[Taps], dims: str, leads: str = "") -> Star | None:
    """The operation for weights along one axis each, where those are the three axes of a volume, each with a voxel's neighbours."""
    arms = {one.axis: one for one in taps}
    alike = len(taps) == len(arms) == len(dims) == 3 and all(len(one.weights) == 3 and one.first == -1 for one in taps)
    return Star(tuple(arms[axis] for axis in dims), dims, leads) if alike else None


@dataclass(frozen=True)
class Sum(Op):
    """The sum of ``n`` arrays of one shape and dtype."""

    n: int
    dims: str
    leads: str = ""

    units = ImageFilter.units

    @property
    def axes(self) -> tuple[str, ...]:  # type: ignore[override]
        """Of all of them."""
        return (self.dims,) * self.n

    @property
    def cut(self) -> str:  # type: ignore[override]
        """As all of them are cut."""
        return led(self.dims, self.leads)

    def names(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The arrays and the sum."""
        return tuple(f"branch {i}" for i in range(1, self.n + 1)), ("output",)

    def out_specs(self, *specs: ArraySpec) -> tuple[ArraySpec, ...]:
        """As each of them."""
        return (ArraySpec(specs[0].shape, specs[0].dtype, self.dims),)

    def cost(self, limits: Limits, *specs: ArraySpec) -> Cost:
        """A copy, and what is read and written to add the others."""
        return Cost((3 * self.n - 1) * specs[0].nbytes, specs[0].size * (self.n - 1.0), self.n)

    def record(self, b: Builder, *refs: Ref) -> None:
        """Record a copy of the first, to which the others are added."""
        first, *others, out = refs
        with b.deliver(out, dtype=first.spec.dtype) as y:
            b.copy(first, y)
            for other in others:
                b.launch("muladd", y.deep(3), other.deep(3), a=1.0, b=1.0, count=None, **_PLACES)


def summed(ops: list[Op], dims: str, leads: str = "") -> Op:
    """The sum of what several operations make of one array."""
    total = Sum(len(ops), dims, leads)
    names = total.names()[0]
    stages = [Stage(op, ("input",), (name,)) for op, name in zip(ops, names)]
    return Pipeline((*stages, Stage(total, names, ("output",))), ("input",), ("output",))
