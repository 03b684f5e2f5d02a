"""Correlation with a mask that is a sum of a few outer products: sums down the columns, then across the rows."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from footprint.errors import ArgumentError
from footprint.kernels.convolve.contract import stored_as
from footprint.kernels.separable.contract import (
    BOX_TAPS,
    averaged,
    countable,
    in_boxes,
    in_one_pass,
    read_as,
)
from footprint.ops.convolve import Correlate
from footprint.ops.overlap_save import predicted
from footprint.ops.windows import place
from footprint.plan.builder import Builder
from footprint.plan.rates import Cost
from footprint.plan.slots import Number, Ref
from footprint.spec import ArraySpec, Limits
from footprint.units import format_seconds

TOLERANCE = {"float32": 2.0**-24, "float64": 2.0**-48}
"""Share of the sum of |w| that products may leave of a mask, by the smaller dtype of its own and the sums'.

A float32 mask was rounded: also for float64 sums its products are sought to no more digits, as it would be refused.
"""
# A term adds up to what is there, so it is no free one: a mask of more terms than this share of its taps is not worth it.
_WORTH = 0.5
# What "auto" takes for one product: every weight is one to so much of itself, so that what is left of a faint one is not lost
# beside a bright one. A float32 mask made of two float32 factors and divided by its sum is.
_EXACT = {"float32": 2.0**-22, "float64": 2.0**-48}
# Exponents of factors that lose no digits in the sums' dtype, nor overflow in sums of theirs.
_RANGE = {"float32": 100, "float64": 900}
# "auto" looks at the weights of masks of so many at most, where direct sums would take so many multiplications at least.
_LOOKED_AT, _LEAST = 1 << 16, 1 << 23
# Whether all are equal is looked at where a column and a row of that many are nothing beside the mask.
_ALIKE = 1 << 14
# Weights that are looked at together: no more of them are held beside the mask.
_TOGETHER = 1 << 13
# It takes products where they are predicted to need less than this share of the other method's time.
_QUICK = 0.85
# Operations of a pass, in proportion to the rate of direct sums, and the taps' worth of what a pass takes beside its taps (measured
# on a core and on an H100, at 512 x 512 to 8192 x 8192); and how much slower a core is at an image's edges,
# and quicker elsewhere.
_SLOWER, _BESIDE, _EDGES, _CORE = 1.4, 36, 10, 0.75
# Multiplications and additions a pixel that equal weights take in one pass: of integers, and of float32, with so many more a weight
# of the longer side (measured at 2048 x 2048 from 3 x 3 to 200 x 200).
_COUNTS, _MEANS = 16, (45, 0.3)


@dataclass(frozen=True)
class Separated(Correlate):
    """The sums of `Correlate`, the mask being the sum of ``tall[r, i] wide[r, j]`` over r, which stand in its place as inputs.

    ``rank`` is how many they are, ``beyond`` what lies beyond the sums down of each (see `beyond`), ``equal`` whether the columns'
    weights are all one number, and the rows', ``beside`` the bytes that finding them takes, ``why`` is said in the plan.
    """

    rank: int = 1
    beyond: tuple[float, ...] = (0.0,)
    equal: tuple[bool, ...] = (False, False)
    beside: int = 0
    why: str = ""

    @property
    def axes(self) -> tuple[str, ...]:  # type: ignore[override]
        """Of the image, the columns and the rows."""
        return ("yx", "..", "..")

    def names(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Image, columns, rows and out."""
        return ("image", "columns", "rows"), ("out",)

    def out_specs(self, *specs: ArraySpec) -> tuple[ArraySpec, ...]:
        """As of `Correlate`."""
        image = specs[0].named("yx")
        (out,) = super().out_specs(image, ArraySpec(self.taps, self.summed(image.dtype)))
        return (out.named("yx"),)

    def cost(self, limits: Limits, *specs: ArraySpec) -> Cost:
        """One pass or two a product, and a copy of an image that is not in the sums' dtype.

        A multiplication and an addition a tap of every product, and what a pass takes beside; equal weights count as a few.
        """
        (out,), image = self.out_specs(*specs), specs[0]
        if near := self._near(limits, image, out.dtype):
            adds = _COUNTS if near == "separable.counts" else _MEANS[0] + _MEANS[1] * max(self.taps)
            return Cost(image.nbytes + out.nbytes, 2.0 * adds * out.size)
        passes, boxes = 1 if self._one_pass(limits, out.itemsize) else 2, self._boxes(limits, image, out.dtype)
        taps = [BOX_TAPS if box else n for n, box in zip(self.taps, boxes)]
        flops = 2.0 * _SLOWER * self.rank * (sum(taps) + _BESIDE) * out.size
        if limits.host:
            longest = max((n for n, box in zip(self.taps, boxes) if not box), default=0)
            flops *= _CORE * (out.itemsize / 4) * (1 + _EDGES * longest / max(min(out.shape), 1))
        read = np.dtype(read_as(limits, image.dtype, out.dtype))
        cast = 0 if np.dtype(image.dtype) == read else image.nbytes + image.size * out.itemsize
        return Cost(cast + self.rank * passes * 2 * out.nbytes, flops, self.rank * passes)

    def _near(self, limits: Limits, image: ArraySpec, kind: str) -> str:
        """The kernel that makes the sums of a mask of one number in one pass over the image; "" where none does."""
        outside = self.boundary == "constant" and self.cval != 0
        if outside or self.rank != 1 or self.equal != (True, True) or np.dtype(kind) != np.float32:
            return ""
        tall, wide = self.taps
        if countable(limits, image, (tall, wide)):
            return "separable.counts"
        return "separable.means" if averaged(limits, kind, (tall, wide)) else ""

    def _one_pass(self, limits: Limits, itemsize: int) -> bool:
        """Whether both sums are made at once: where that is quicker, and what lies beyond the sums down lies beyond the image."""
        alike = self.boundary != "constant" or self.cval == 0
        return alike and in_one_pass(limits, self.taps, itemsize)

    def _boxes(self, limits: Limits, image: ArraySpec, kind: str) -> tuple[bool, ...]:
        """Which of the sums, down and across, are made in blocks of equal weights."""
        if self._one_pass(limits, np.dtype(kind).itemsize):
            return (False, False)
        both = zip(self.equal, self.taps)
        return tuple(same and in_boxes(limits, n, image.shape, axis, kind) for axis, (same, n) in enumerate(both))

    def record(self, b: Builder, *refs: Ref) -> None:
        """Record both sums of every product, in one pass where few weights lie on an axis."""
        image, columns, rows, out = refs
        kind = self.summed(image.spec.dtype)
        b.note(f"method: separable, {self.rank} product{'s'[: self.rank != 1]} of a column and a row of weights{self.why}")
        # They are found on the host before the job starts.
        b.library("products of the mask", self.beside if b.limits.host else 0)
        near = self._near(b.limits, image.slot.spec, kind)
        counts = near == "separable.counts"
        x = b.bring(image, dtype=stored_as(image.spec.dtype, kind) if counts else read_as(b.limits, image.spec.dtype, kind))
        tall, wide = (b.bring(ref, dtype=kind) for ref in (columns, rows))
        with b.deliver(out, dtype=kind) as y:
            first, border = place(b, "y", x, out, self.offsets()[0], self.boundary)
            if near:
                how: dict[str, Number] = {"y0": first, "x0": self.offsets()[1], "border_y": border, "border_x": self.boundary}
                if not counts:
                    how["start"] = b.first(out, "y") if b.in_parts(out, "y") else 0
                b.note("sums of equal weights in one pass, shared by neighbours")
                b.launch(near, x.deep(3), tall[0], wide[0], y.deep(3), **how)
                return
            for number in range(self.rank):
                target = y if number == 0 else b.like(y, kind, "another product")
                self._product(b, x, tall[number], wide[number], (target, out), first, border, number)
                if number:
                    whole: dict[str, Number] = {"dst_start": (0, 0, 0), "dst_step": (1, 1, 1), "count": None}
                    whole |= {"other_start": (0, 0, 0), "other_step": (1, 1, 1)}
                    b.launch("muladd", y.deep(3), target.deep(3), a=1.0, b=1.0, **whole)

    def _product(
        self, b: Builder, x: Ref, down: Ref, across: Ref, to: tuple[Ref, Ref], first: Any, border: str, number: int
    ) -> None:
        (y, out), left, cval = to, self.offsets()[1], float(self.cval)
        if self._one_pass(b.limits, down.spec.itemsize):
            how: dict[str, Number] = {"y0": first, "x0": left, "border_y": border, "border_x": self.boundary, "cval": cval}
            b.launch("separable", x.deep(3), down, across, y.deep(3), **how)
            return
        sums = b.like(y, down.spec.dtype, "sums down", shape=(y.spec.shape[0], x.spec.shape[1]))
        boxes = self._boxes(b.limits, x.slot.spec, down.spec.dtype)
        if any(boxes):
            b.note("sums of equal weights in blocks, each pixel added three times")
        above: dict[str, Number] = {"first": first, "border": border, "cval": cval}
        aside: dict[str, Number] = {"first": left, "border": self.boundary, "cval": self.beyond[number]}
        if boxes[0]:
            b.launch("separable.box", x, down, sums, axis=0, start=b.first(out, "y") if b.in_parts(out, "y") else 0, **above)
        else:
            b.launch("separable.line", x, down, sums, down=True, **above)
        if boxes[1]:
            b.launch("separable.box", sums, across, y, axis=1, start=0, **aside)
        else:
            b.launch("separable.line", sums, across, y, down=False, **aside)


Products = tuple[Separated, np.ndarray, np.ndarray]
"""The operation, and its columns and rows in the sums' dtype."""


def separated(op: Correlate, weights: np.ndarray, dtype: str) -> Products:
    """The operation for a mask in order of correlation; ArgumentError where it is no sum of a few products.

    The rank is the smallest whose products leave at most `TOLERANCE` of the sum of |w|, by the singular values.
    """
    values = np.asarray(weights, float)
    if values.size and not np.isfinite(values).all():
        raise ArgumentError("mask", "weights that are NaN or infinite", "finite ones", "method='direct' takes any")
    small = "float32" in (np.dtype(dtype).name, np.asarray(weights).dtype.name)
    most = most_products(op.taps)
    allowed = TOLERANCE["float32" if small else "float64"] * np.abs(values).sum()
    # One product is found without the singular values, whose library wakes its threads.
    column, row = _factors(values)
    if np.abs(values - np.outer(column, row)).sum() <= allowed:
        return made_of(op, column[None], row[None], dtype, separating_bytes(op.taps))
    columns, sizes, rows = np.linalg.svd(values, full_matrices=False)
    for rank in range(1, min(most, len(sizes)) + 1):
        values = values - np.outer(columns[:, rank - 1] * sizes[rank - 1], rows[rank - 1])
        if np.abs(values).sum() <= allowed:
            root = np.sqrt(sizes[:rank, None])
            return made_of(op, columns[:, :rank].T * root, rows[:rank] * root, dtype, separating_bytes(op.taps))
    what = "the product" if most == 1 else f"a sum of {most} products"
    raise ArgumentError(
        "mask",
        f"one of {op.taps[0]} x {op.taps[1]} that is not {what} of a column and a row",
        "for method='separable' one that is",
        "use method='direct' or 'fft'",
    )


def product_of(weights: np.ndarray, dtype: str) -> tuple[np.ndarray, np.ndarray] | None:
    """Column and row of a mask every weight of which is their product but for rounding; None of any other.

    Sums by them are as near to the truth as sums tap by tap: a weight that is faint beside the others counts as it does there. Of
    masks that are too large to be taken apart only those of one number are found.
    """
    kind = np.dtype(dtype).name
    with np.errstate(all="ignore"):
        if of_one_number(weights):
            column, row = factors_of(float(weights[0, 0]), weights.shape)
        elif weights.size > _LOOKED_AT or _differs(weights, 8 * _EXACT[kind]):
            return None
        else:
            column, row = _factors(weights)
        sizes = np.abs(np.concatenate([column, row]))
        sizes = sizes[sizes != 0]
        if not sizes.size or not 2.0 ** -_RANGE[kind] <= sizes.min() <= sizes.max() <= 2.0 ** _RANGE[kind]:
            return None
        some = max(1, _TOGETHER // weights.shape[1])
        for start in range(0, len(weights), some):
            part = weights[start : start + some].astype(float)
            if not (np.abs(part - column[start : start + some, None] * row) <= _EXACT[kind] * np.abs(part)).all():
                return None
    return column, row


def _differs(weights: np.ndarray, close: float) -> bool:
    """Whether four weights tell that a mask is no product of a column and a row, as most that are none do at once."""
    i, j = weights.shape[0] // 2, weights.shape[1] // 2
    (a, b), (c, d) = [[float(weights[y, x]) for x in (0, j)] for y in (0, i)]
    one, other = a * d, b * c
    most = max(abs(one), abs(other))
    # Of numbers so small or large that their products have lost digits nothing is said.
    return 1e-280 < most < math.inf and abs(one - other) > close * most


def of_one_number(weights: np.ndarray) -> bool:
    """Whether all weights are equal; most masks tell by their first row."""
    if weights[0, 0] != weights[0, -1]:
        return False  # before anything is made for it
    some = max(1, _TOGETHER // weights.shape[1])
    return all((weights[start : start + some] == weights[0, 0]).all() for start in range(0, len(weights), some))


def factors_of(weight: float, shape: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray]:
    """Column and row of a mask of one number."""
    root = abs(weight) ** 0.5
    return np.full(shape[0], root), np.full(shape[1], np.copysign(root, weight))


def _factors(weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Column and row whose product a mask is, if it is one: of either, what is nearest to the mask for the other given.

    All that a product is lies in any column and row of it, but with their rounding; so what all weights say is taken.
    """
    peak, place = max((abs(float(weights.flat[at])), at) for at in (int(weights.argmax()), int(weights.argmin())))
    peak = peak or 1.0
    row = weights[place // weights.shape[1]].astype(float) / peak
    column = np.einsum("ij,j->i", weights, row) / (peak * (row @ row or 1.0))
    row = np.einsum("ij,i->j", weights, column) / (peak * (column @ column or 1.0))
    root = peak**0.5
    return column * root, row * root


def is_looked_at(image: tuple[int, ...], mask: tuple[int, ...], equal: bool = False) -> bool:
    """Whether "auto" looks at the weights of masks of a shape at all, for images of a shape: where it costs next to nothing.

    Whether they are ``equal`` is seen of larger ones, too.
    """
    if len(mask) != 2 or len(image) != 2 or min(mask) < 2:
        return False
    size = mask[0] * mask[1]
    return (size <= _LOOKED_AT or (equal and max(mask) <= _ALIKE)) and image[0] * image[1] * size >= _LEAST


def quicker(op: Correlate, other: Correlate, image: ArraySpec, limits: Limits, equal: bool = False) -> str | None:
    """Why one product would be taken in place of another method that "auto" chose by the shapes; None where it would not.

    ``equal`` tells of a mask of one number.
    """
    if not is_looked_at(image.shape, op.taps, equal and limits.family == "cpu"):
        return None
    kind = op.summed(image.dtype)
    spent = predicted(replace(separated_plan(op), equal=(equal, equal)), limits, image)
    else_ = predicted(other, limits, image, ArraySpec(op.taps, kind))
    if spent > _QUICK * else_:
        return None
    name = "direct sums" if type(other) is Correlate else "transforms of tiles"
    return f"; predicted {format_seconds(spent)}, {name} {format_seconds(else_)}"


def most_products(taps: tuple[int, ...]) -> int:
    """Products that a mask of a shape is taken for, at most: with more, sums over the whole mask are as quick."""
    return max(1, int(_WORTH * taps[0] * taps[1] / sum(taps)))


def separated_plan(op: Correlate, rank: int = 1) -> Separated:
    """The operation for a mask of which only the shape is known: so many products of a column and a row."""
    tall, wide = (np.ones((rank, n)) for n in op.taps)
    return replace(made_of(op, tall, wide, "float64", separating_bytes(op.taps))[0], equal=(False, False))


def separating_bytes(taps: tuple[int, ...]) -> int:
    """Bytes that finding the products of a mask takes, at most: the mask in float64, what is left of it, and its factors."""
    tall, wide = taps
    return 8 * (8 * tall * wide + 12 * min(taps) * max(min(taps), 32) + (1 << 14))


def looking_bytes(taps: tuple[int, ...]) -> int:
    """Bytes that `product_of` takes, at most."""
    return 8 * (5 * max(_TOGETHER, taps[1]) + 8 * sum(taps))


def alike(product: tuple[np.ndarray, np.ndarray]) -> tuple[bool, ...]:
    """Whether a column's weights are all one number, and a row's."""
    return tuple(bool((factor == factor.flat[0]).all()) for factor in product)


def beyond(cval: float, column: np.ndarray) -> float:
    """What lies beyond the sums down of an image beyond which lies ``cval``."""
    return float(cval) * float(column.sum(dtype=float)) if cval else 0.0


def in_rows(product: tuple[np.ndarray, np.ndarray], dtype: str) -> tuple[np.ndarray, np.ndarray]:
    """Column and row as a product's inputs."""
    return product[0][None].astype(dtype), product[1][None].astype(dtype)


def made_of(op: Correlate, tall: np.ndarray, wide: np.ndarray, dtype: str, beside: int, why: str = "") -> Products:
    """The operation for such columns and rows, one a row of each."""
    shared = {field.name: getattr(op, field.name) for field in fields(Correlate)}
    outside, equal = tuple(beyond(op.cval, one) for one in tall), alike((tall, wide)) if len(tall) == 1 else (False, False)
    found = Separated(**shared, rank=len(tall), beyond=outside, equal=equal, beside=beside, why=why)
    return found, tall.astype(dtype, order="C"), wide.astype(dtype, order="C")
