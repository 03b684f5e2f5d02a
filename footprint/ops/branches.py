"""The sum of several correlations of one image, each down its rows and then across them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from footprint.dtypes import sum_dtype
from footprint.errors import ArgumentError, ShapeError
from footprint.kernels.common.borders import NONE
from footprint.kernels.separable.contract import chip_bytes
from footprint.ops.base import Op, Table
from footprint.ops.separable import Taps, readable_cuts
from footprint.plan.builder import Builder
from footprint.plan.rates import Cost
from footprint.plan.slots import Given, Halo, Reach, Ref
from footprint.spec import ArraySpec, Limits

_ONE = Taps("", Table(np.ones(1)), 0, NONE)
_PLACES = {"dst_start": (0, 0, 0), "dst_step": (1, 1, 1), "other_start": (0, 0, 0), "other_step": (1, 1, 1)}


@dataclass(frozen=True)
class Branches(Op):
    """Laplacians and the like: ``branches`` are weights down and across, the first of none on the axis "".

    An image's last two axes are filtered, of a stack every plane; ``dims`` names all.
    """

    branches: tuple[tuple[Taps, Taps], ...]
    dims: str = "yx"

    units = {"z": "planes", "y": "rows", "x": "pixels"}  # noqa: RUF012  shared, never changed

    @property
    def axes(self) -> tuple[str, ...]:  # type: ignore[override]
        """Of the image."""
        return (self.dims,)

    @property
    def cut(self) -> str:  # type: ignore[override]
        """Every axis."""
        return self.dims

    def cuts_on(self, limits: Limits, ins: tuple[Given, ...]) -> str:
        """All that can be read in parts; see `readable_cuts`."""
        return readable_cuts(self, ins[0])

    def names(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Image and result."""
        return ("input",), ("output",)

    def out_specs(self, *specs: ArraySpec) -> tuple[ArraySpec, ...]:
        """As large, in the dtype of sums."""
        (image,) = specs
        if len(image.shape) != len(self.dims):
            raise ShapeError("input", f"{len(image.shape)} dimensions", f"{len(self.dims)}")
        return (ArraySpec(image.shape, sum_dtype(image.dtype), self.dims),)

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
        return Cost(n * (specs[0].nbytes + size) + (n - 1) * 3 * size, self.flops(*specs), 2 * n - 1)

    def record(self, b: Builder, *refs: Ref) -> None:
        """Record the branches, each added to what is there."""
        image, out = refs
        kind = sum_dtype(image.spec.dtype)
        x = b.bring(image, dtype=kind)
        with b.deliver(out, dtype=kind) as y:
            for number, (tall, wide) in enumerate(self.branches):
                target = b.like(y, kind, "a branch") if number else y
                self._pass(b, x, target, out, tall, wide)
                if number:
                    b.launch("muladd", y.deep(3), target.deep(3), a=1.0, b=1.0, count=None, **_PLACES)

    def _pass(self, b: Builder, x: Ref, target: Ref, out: Ref, tall: Taps, wide: Taps) -> None:
        """Down and across at once, or where that does not fit on a chip, one after the other."""
        room, size = b.limits.local_mem, np.dtype(target.spec.dtype).itemsize
        need = lambda down, across: chip_bytes(len(down.weights), len(across.weights), 32, size)
        if room == 0 or need(tall, wide) <= room:
            self._launch(b, x, target, out, tall, wide, (x, x))
            return
        if max(need(tall, _ONE), need(_ONE, wide)) > room:
            most = max(len(tall.weights), len(wide.weights))
            raise ArgumentError("sigma", f"{most} weights along an axis", "as many as fit on this device's chip", "use the CPU")
        reach = {"x": self.halo("x")} if "x" in dict(x.slot.reach) else {}
        down = b.between(ArraySpec(x.slot.spec.shape, target.spec.dtype, self.dims), "sums down", reach)
        self._launch(b, x, down, out, tall, _ONE, (x, x))
        self._launch(b, down, target, out, _ONE, wide, (out, down))

    def _launch(self, b: Builder, x: Ref, target: Ref, out: Ref, tall: Taps, wide: Taps, of: tuple[Ref, Ref]) -> None:
        (y0, border_y), (x0, border_x) = (taps.place(b, into, out) for taps, into in zip((tall, wide), of))
        weights = [b.const(taps.weights.array.astype(target.spec.dtype), f"weights along {taps.axis}") for taps in (tall, wide)]
        how = {"y0": y0, "x0": x0, "border_y": border_y, "border_x": border_x, "cval": wide.cval}
        b.launch("separable", x.deep(3), *weights, target.deep(3), **how)
