"""Correlation with a mask that is a sum of a few outer products: sums down the columns, then across the rows."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from footprint.errors import ArgumentError
from footprint.kernels.separable.contract import FUSED
from footprint.ops.base import Table
from footprint.ops.convolve import Correlate
from footprint.ops.windows import place
from footprint.plan.builder import Builder
from footprint.plan.slots import Number, Ref
from footprint.spec import ArraySpec

TOLERANCE = {"float32": 2.0**-24, "float64": 2.0**-48}
"""Share of the sum of |w| that products may leave of a mask, by the smaller dtype of its own and the sums'."""
# A term adds up to what is there, so it is no free one: a mask of more terms than this share of its taps is not worth it.
_WORTH = 0.5


@dataclass(frozen=True)
class Separated(Correlate):
    """The sums of `Correlate`, the mask being the sum of ``tall[r, i] wide[r, j]`` over r; its own input is the image alone."""

    tall: Table = Table(np.ones((1, 1)))  # noqa: RUF009  read-only
    wide: Table = Table(np.ones((1, 1)))  # noqa: RUF009
    beside: int = 0

    @property
    def axes(self) -> tuple[str, ...]:  # type: ignore[override]
        """Of the image."""
        return ("yx",)

    def names(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Image and out."""
        return ("image",), ("out",)

    def out_specs(self, *specs: ArraySpec) -> tuple[ArraySpec, ...]:
        """As of `Correlate`."""
        image = specs[0].named("yx")
        (out,) = super().out_specs(image, ArraySpec(self.taps, self.summed(image.dtype)))
        return (out.named("yx"),)

    def flops(self, *specs: ArraySpec) -> float:
        """A multiplication and an addition a tap of every product."""
        return 2.0 * len(self.tall) * sum(self.taps) * self.out_specs(*specs)[0].size

    def record(self, b: Builder, *refs: Ref) -> None:
        """Record both sums of every product, in one pass where few weights lie on an axis."""
        image, out = refs
        kind = self.summed(image.spec.dtype)
        b.note(f"method: separable, {len(self.tall)} product{'s'[: len(self.tall) != 1]} of a column and a row of weights")
        # They are found on the host before the job starts.
        b.library("products of the mask", self.beside if b.limits.host else 0)
        x = b.bring(image, dtype=kind)
        with b.deliver(out, dtype=kind) as y:
            first, border = place(b, "y", x, out, self.offsets()[0], self.boundary)
            for number, (tall, wide) in enumerate(zip(self.tall.array, self.wide.array)):
                target = y if number == 0 else b.like(y, kind, "another product")
                self._product(b, x, tall.astype(kind), wide.astype(kind), target, first, border)
                if number:
                    whole: dict[str, Number] = {"dst_start": (0, 0, 0), "dst_step": (1, 1, 1), "count": None}
                    whole |= {"other_start": (0, 0, 0), "other_step": (1, 1, 1)}
                    b.launch("muladd", y.deep(3), target.deep(3), a=1.0, b=1.0, **whole)

    def _product(self, b: Builder, x: Ref, tall: np.ndarray, wide: np.ndarray, y: Ref, first: Any, border: str) -> None:
        down, across = b.const(tall, "weights down"), b.const(wide, "weights across")
        left, cval = self.offsets()[1], float(self.cval)
        # One pass takes the same value for what lies beyond the sums down as for what lies beyond the image.
        alike = self.boundary != "constant" or cval == 0
        if alike and all(2 <= n <= FUSED // tall.itemsize for n in self.taps):
            how: dict[str, Number] = {"y0": first, "x0": left, "border_y": border, "border_x": self.boundary, "cval": cval}
            b.launch("separable", x.deep(3), down, across, y.deep(3), **how)
            return
        sums = b.like(y, tall.dtype.str, "sums down", shape=(y.spec.shape[0], x.spec.shape[1]))
        b.launch("separable.line", x, down, sums, down=True, first=first, border=border, cval=cval)
        beyond = cval * float(tall.sum(dtype=float))
        b.launch("separable.line", sums, across, y, down=False, first=left, border=self.boundary, cval=beyond)


def separated(op: Correlate, weights: np.ndarray, dtype: str) -> Separated:
    """The operation for a mask in order of correlation; ArgumentError where it is no sum of a few products.

    The rank is the smallest whose products leave at most `TOLERANCE` of the sum of |w|, by the singular values.
    """
    values = np.asarray(weights, float)
    if values.size and not np.isfinite(values).all():
        raise ArgumentError("mask", "weights that are NaN or infinite", "finite ones", "method='direct' takes any")
    small = "float32" in (np.dtype(dtype).name, np.asarray(weights).dtype.name)
    most = max(1, int(_WORTH * values.size / sum(values.shape)))
    allowed = TOLERANCE["float32" if small else "float64"] * np.abs(values).sum()
    # One product has all that it is in any row and column: found without the singular values, whose library wakes its threads.
    y, x = np.unravel_index(np.abs(values).argmax(), values.shape)
    root = math.sqrt(abs(values[y, x])) or 1.0
    column, row = values[:, x] / root, values[y] * math.copysign(1 / root, values[y, x])
    if np.abs(values - np.outer(column, row)).sum() <= allowed:
        return _made(op, column[None], row[None])
    columns, sizes, rows = np.linalg.svd(values, full_matrices=False)
    for rank in range(1, min(most, len(sizes)) + 1):
        values = values - np.outer(columns[:, rank - 1] * sizes[rank - 1], rows[rank - 1])
        if np.abs(values).sum() <= allowed:
            root = np.sqrt(sizes[:rank, None])
            return _made(op, columns[:, :rank].T * root, rows[:rank] * root)
    raise ArgumentError(
        "mask",
        f"one of {op.taps[0]} x {op.taps[1]} that is no sum of {most} product{'s'[: most != 1]} of a column and a row",
        "for method='separable' one that is",
        "use method='direct' or 'fft'",
    )


def separated_plan(op: Correlate) -> Separated:
    """The operation for a mask of which only the shape is known: a product of a column and a row."""
    return _made(op, *(np.ones((1, n)) for n in op.taps))


def separating_bytes(taps: tuple[int, ...]) -> int:
    """Bytes that finding the products of a mask takes, at most: the mask in float64, what is left of it, and its factors."""
    tall, wide = taps
    return 8 * (8 * tall * wide + 12 * min(taps) * max(min(taps), 32) + (1 << 14))


def _made(op: Correlate, tall: np.ndarray, wide: np.ndarray) -> Separated:
    shared = {field.name: getattr(op, field.name) for field in fields(Correlate)}
    return Separated(**shared, tall=Table(tall), wide=Table(wide), beside=separating_bytes(op.taps))
