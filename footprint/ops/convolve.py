"""Direct correlation of an image or a signal with a mask, whole or by blocks of rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from footprint.errors import ShapeError, choose
from footprint.kernels.common.borders import NONE
from footprint.plan.builder import Builder
from footprint.plan.slots import Ref
from footprint.spec import ArraySpec

MODES = ("same", "full", "valid")


def sum_dtype(dtype: str | np.dtype) -> str:
    """Dtype the sums of an image of ``dtype`` are formed in and returned as."""
    kind = np.dtype(dtype)
    small = kind.itemsize <= (4 if kind.kind == "f" else 2)
    return "float32" if small else "float64"


@dataclass(frozen=True)
class Correlate:
    """``out[y, x] = sum of weights[i, j] image[y + y0 + i, x + x0 + j]``, the weights being in this order.

    ``mode`` decides the offsets y0, x0 and the size of the result, ``boundary`` what lies outside.
    """

    mode: str = "same"
    boundary: str = "constant"
    cval: float = 0.0

    def offset(self, taps: int) -> int:
        """Sample the first tap of output 0 falls on, along an axis with so many taps."""
        return {"same": -(taps // 2), "full": 1 - taps, "valid": 0}[self.mode]

    def length(self, n: int, taps: int) -> int:
        """Outputs along an axis of ``n`` samples."""
        if n == 0 or self.mode == "same":
            return n
        return n + taps - 1 if self.mode == "full" else n - taps + 1

    def out_specs(self, image: ArraySpec, weights: ArraySpec) -> tuple[ArraySpec, ...]:
        """Shape and dtype of the result."""
        choose("mode", self.mode, MODES)
        if len(image.shape) not in (1, 2):
            raise ShapeError("image", f"{len(image.shape)} dimensions", "1 (a signal) or 2 (an image)", "filter it plane by plane")
        if len(weights.shape) != len(image.shape):
            raise ShapeError("mask", f"{len(weights.shape)} dimensions", f"{len(image.shape)}, as many as the image")
        if weights.size == 0:
            raise ShapeError("mask", f"shape {weights.shape}", "at least one element")
        if self.mode == "valid" and any(k > n > 0 for k, n in zip(weights.shape, image.shape)):
            raise ShapeError(
                "mask", f"shape {weights.shape}", f'at most the image\'s {image.shape} in mode "valid"', "swap the two"
            )
        shape = tuple(self.length(n, k) for n, k in zip(image.shape, weights.shape))
        return (ArraySpec(shape, sum_dtype(image.dtype)),)

    def record(self, b: Builder, image: Ref, weights: Ref, out: Ref, *, block: bool = False) -> None:
        """Record one launch; with ``block`` the halo of the first axis is part of ``image``, so it has no border."""
        kind = sum_dtype(image.spec.dtype)
        taps = weights.spec.shape
        starts = [self.offset(k) for k in taps]
        borders = [self.boundary] * len(taps)
        if block:
            starts[0], borders[0] = 0, NONE
        x = b.bring(image, dtype=kind)
        w = b.bring(weights, dtype=kind)
        with b.deliver(out, dtype=kind) as y:
            if len(taps) == 1:
                x, w, y = x.reshape(1, -1), w.reshape(1, -1), y.reshape(1, -1)
                starts, borders = [0, *starts], [NONE, *borders]
            b.launch(
                "convolve", x, w, y, y0=starts[0], x0=starts[1], border_y=borders[0], border_x=borders[1], cval=float(self.cval)
            )
