"""Direct correlation of an image or a signal with a mask, whole or by parts along the first axis."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from footprint.dtypes import sum_dtype
from footprint.errors import ShapeError, choose
from footprint.kernels.common.borders import NONE
from footprint.kernels.convolve.contract import read_as
from footprint.ops.base import Op
from footprint.plan.builder import Builder
from footprint.plan.slots import NOTHING, Given, Halo, Reach, Ref
from footprint.spec import ArraySpec, Limits

MODES = ("same", "full", "valid")


@dataclass(frozen=True)
class Correlate(Op):
    """``out[y, x] = sum of weights[i, j] image[y + y0 + i, x + x0 + j]``, the weights being in this order.

    ``taps`` is the mask's shape, ``mode`` decides the offsets y0, x0 and the size of the result, ``boundary`` what lies outside;
    ``kind`` is what sums are formed in where that is not the image's own.
    """

    taps: tuple[int, ...]
    mode: str = "same"
    boundary: str = "constant"
    cval: float = 0.0
    kind: str = ""

    def summed(self, dtype: str) -> str:
        """What sums of an image of ``dtype`` are formed in."""
        return self.kind or sum_dtype(dtype)

    @property
    def axes(self) -> tuple[str, ...]:  # type: ignore[override]
        """Of image and mask."""
        return ("yx"[-len(self.taps) :], "." * len(self.taps))

    @property
    def cut(self) -> str:  # type: ignore[override]
        """The first axis."""
        return "yx"[-len(self.taps)]

    @property
    def units(self) -> dict[str, str]:  # type: ignore[override]
        """Rows of an image, samples of a signal."""
        return {"y": "rows", "x": "samples"}

    def cuts_on(self, limits: Limits, ins: tuple[Given, ...]) -> str:
        """An array on a device is read where it lies, and rows of its other end do not lie together with a part's."""
        return "" if self.boundary == "wrap" and ins[0].space == "device" else self.cut

    def names(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Image, mask and out."""
        return ("image", "mask"), ("out",)

    def offset(self, taps: int) -> int:
        """Sample the first tap of output 0 falls on, along an axis with so many taps."""
        return {"same": -(taps // 2), "full": 1 - taps, "valid": 0}[self.mode]

    def length(self, n: int, taps: int) -> int:
        """Outputs along an axis of ``n`` samples."""
        if n == 0 or self.mode == "same":
            return n
        return n + taps - 1 if self.mode == "full" else n - taps + 1

    def out_specs(self, *specs: ArraySpec) -> tuple[ArraySpec, ...]:
        """Shape and dtype of the result."""
        image, weights = specs
        choose("mode", self.mode, MODES)
        if len(image.shape) not in (1, 2):
            raise ShapeError("image", f"{len(image.shape)} dimensions", "1 (a signal) or 2 (an image)", "filter it plane by plane")
        if len(weights.shape) != len(image.shape):
            raise ShapeError("mask", f"{len(weights.shape)} dimensions", f"{len(image.shape)}, as many as the image")
        if weights.size == 0:
            raise ShapeError("mask", f"shape {weights.shape}", "at least one element")
        if weights.shape != self.taps:
            raise ShapeError("mask", f"shape {weights.shape}", f"{self.taps}, as the operation was made for")
        if self.mode == "valid" and any(k > n > 0 for k, n in zip(weights.shape, image.shape)):
            raise ShapeError(
                "mask", f"shape {weights.shape}", f'at most the image\'s {image.shape} in mode "valid"', "swap the two"
            )
        shape = tuple(self.length(n, k) for n, k in zip(image.shape, weights.shape))
        return (ArraySpec(shape, self.summed(image.dtype), self.axes[0]),)

    def halo(self, axis: str) -> Reach:
        """Rows before and after; borders that mirror may need one more, and one that wraps needs those of the other end."""
        if axis != self.cut:
            return NOTHING
        taps = self.taps[0]
        first = self.offset(taps)
        lo, hi = -first, first + taps - 1
        if self.boundary in ("reflect", "mirror"):
            # What mirrors reaches as far back from an end as it reached beyond it; "full" begins up to a mask beyond.
            lo, hi = (2 * taps, 2 * taps) if self.mode == "full" else (max(lo, hi + 1), max(hi, lo + 1))
        return Halo(lo, hi, self.boundary == "wrap")

    def flops(self, *specs: ArraySpec) -> float:
        """A multiplication and an addition a tap."""
        return 2.0 * specs[1].size * self.out_specs(*specs)[0].size

    def record(self, b: Builder, *refs: Ref) -> None:
        """Record one launch; a part's rows lie where its window begins, and its borders are the image's own."""
        image, weights, out = refs
        kind = self.summed(image.spec.dtype)
        x = b.bring(image, dtype=read_as(image.spec.dtype, kind, self.taps))
        w = b.bring(weights, dtype=kind)
        with b.deliver(out, dtype=kind) as y:
            self.launch(b, x, w, y, out)

    def launch(self, b: Builder, x: Ref, w: Ref, y: Ref, out: Ref) -> None:
        """Record the sums of ``x`` in ``y``, which lies where ``out`` does."""
        starts: list[Any] = [self.offset(k) for k in self.taps]
        borders = [self.boundary] * len(self.taps)
        place = b.first(out, self.cut)
        if not isinstance(place, int):
            starts[0] = place - b.first(x, self.cut) + self.offset(self.taps[0])
            if self.boundary == "wrap":
                borders[0] = NONE
        if len(self.taps) == 1:
            x, w, y = x.reshape(1, -1), w.reshape(1, -1), y.reshape(1, -1)
            starts, borders = [0, *starts], [NONE, *borders]
        b.launch("convolve", x, w, y, y0=starts[0], x0=starts[1], border_y=borders[0], border_x=borders[1], cval=float(self.cval))
