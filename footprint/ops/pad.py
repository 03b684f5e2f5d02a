"""Pad an array: one gathering pass, then in-place fills of the axes whose border is computed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from footprint.errors import ArgumentError, ShapeError, choose
from footprint.kernels.common.borders import CODES, source_index
from footprint.plan.builder import Builder
from footprint.plan.slots import Ref
from footprint.spec import ArraySpec

GATHERED = {"constant": "constant", "empty": "constant", "edge": "nearest", "symmetric": "reflect", "reflect": "mirror",
            "wrap": "wrap"}  # fmt: skip
STATISTICS = ("maximum", "mean", "median", "minimum")
MODES = (*GATHERED, "linear_ramp", *STATISTICS)

Pairs = tuple[tuple[float, float], ...]


def _holds(kind: np.dtype, value: float) -> bool:
    return kind.kind not in "iu" or np.iinfo(kind).min <= value <= np.iinfo(kind).max  # NaN is in no range


@dataclass(frozen=True)
class Pad:
    """``numpy.pad`` of an array of 1 to 3 dimensions.

    Attributes
    ----------
    widths
        Elements added before and after, an axis.
    mode, odd
        The mode by numpy.pad's name, and whether reflections are odd.
    values
        Constants or end values, before and after, an axis.
    lengths
        Elements a statistic is taken of, before and after, an axis; None for all.
    index
        Instead of all this: for each axis the source of each output, or None for the axis as it is.
    """

    widths: tuple[tuple[int, int], ...]
    mode: str = "constant"
    odd: bool = False
    values: Pairs = ()
    lengths: tuple[tuple[int | None, int | None], ...] = ()
    index: tuple[tuple[int, ...] | None, ...] | None = None

    def out_specs(self, image: ArraySpec) -> tuple[ArraySpec, ...]:
        """Shape of the padded array; its dtype is the image's, in native byte order."""
        choose("mode", self.mode, MODES)
        if not 1 <= len(image.shape) <= 3:
            raise ShapeError("array", f"{len(image.shape)} dimensions", "1 to 3")
        kind = np.dtype(image.dtype).newbyteorder("=")
        if kind.kind == "b" and self.computed:
            raise ArgumentError(
                "mode", repr(self.mode), "a mode that copies for an array of bools", "use edge, reflect or constant"
            )
        if kind.itemsize > 8:
            raise ShapeError(
                "array", f"dtype {kind.name}", "numbers of at most 8 bytes", "convert it first: array.astype('float64')"
            )
        if self.index is not None:
            lengths = zip(image.shape, self.index)
            return (ArraySpec(tuple(n if index is None else len(index) for n, index in lengths), kind.str),)
        for value in {value for pair in self.values for value in pair}:
            if not _holds(kind, value):
                raise ArgumentError(
                    "constant_values" if self.mode == "constant" else "end_values", value, f"what {kind.name} can hold"
                )
        for axis, (n, width) in enumerate(zip(image.shape, self.widths)):
            if n == 0 and max(width) and GATHERED.get(self.mode) != "constant":
                raise ShapeError("array", f"axis {axis} of length 0", f'at least one element to pad in mode "{self.mode}"',
                                 'use mode "constant"')  # fmt: skip
        return (ArraySpec(tuple(n + before + after for n, (before, after) in zip(image.shape, self.widths)), kind.str),)

    @property
    def computed(self) -> bool:
        """Whether borders hold numbers that are not in the array, so that they are filled axis by axis."""
        if self.index is not None:
            return False
        several = self.mode == "constant" and len({value for pair in self.values for value in pair}) > 1
        return several or self.mode not in GATHERED or (self.odd and self.mode in ("reflect", "symmetric"))

    def table(self, n: int, axis: int) -> np.ndarray:
        """Source index of every output along an axis; -1 where it is not gathered."""
        if self.index is not None:
            index = self.index[axis]
            return np.arange(n) if index is None else np.array(index, np.int64)
        before, after = self.widths[axis]
        name = "constant" if self.computed else GATHERED[self.mode]
        if self.computed and self.odd and n == 1:
            name = "nearest"  # nothing to reflect: an odd reflection about the only element repeats it
        sides = [*range(-before, 0), *range(n, n + after)] if n else [-1] * (before + after)
        found = [source_index(i, n, CODES[name]) if n else -1 for i in sides]
        return np.concatenate([np.array(found[:before], np.int64), np.arange(n), np.array(found[before:], np.int64)])

    @property
    def fill(self) -> float:
        """The one constant of a gathering pass."""
        return self.values[0][0] if self.mode == "constant" and self.values and not self.computed else 0

    def record(self, b: Builder, image: Ref, out: Ref, *, block: bool = False) -> None:
        """Record the pass and the fills; with ``block`` the first axis of ``image`` is gathered already."""
        kind = np.dtype(out.spec.dtype).newbyteorder("=").str
        if self.computed and kind[1:] == "f2":
            kind = "float32"
        shape = image.spec.shape
        tables = [self.table(n, axis) for axis, n in enumerate(shape)]
        if block:
            tables[0] = np.arange(shape[0])
        lead = 3 - len(shape)
        tables = [np.zeros(1, np.int64)] * lead + tables
        names = ("planes", "rows", "columns")
        x = b.bring(image, dtype=kind)
        index = [b.const(table.astype(np.int64), name) for table, name in zip(tables, names)]
        with b.deliver(out, dtype=kind) as y:
            b.launch("pad", x.reshape(*(1,) * lead, *shape), *index, y.reshape(*(1,) * lead, *out.spec.shape), fill=self.fill)
            if self.computed:
                for axis in range(len(shape)):
                    self._fill(b, y, axis)

    def _fill(self, b: Builder, out: Ref, axis: int) -> None:
        shape, (before, after) = out.spec.shape, self.widths[axis]
        lo, hi = before, shape[axis] - after
        n = hi - lo
        if before + after == 0 or (self.odd and n == 1 and self.mode in ("reflect", "symmetric")):
            return
        outer, inner = int(np.prod(shape[:axis], dtype=int)), int(np.prod(shape[axis + 1 :], dtype=int))
        y = out.reshape(outer, shape[axis], inner)
        if self.mode in ("constant", "linear_ramp"):
            left, right = self.values[axis]
            b.launch("pad.ramp" if self.mode == "linear_ramp" else "pad.constant", y, lo=lo, hi=hi, left=left, right=right)
        elif self.mode in STATISTICS:
            first, last = self.lengths[axis] if self.lengths else (None, None)
            sizes = {"left": n if first is None else min(first, n), "right": n if last is None else min(last, n)}
            b.launch("pad.statistic", y, lo=lo, hi=hi, statistic=self.mode, **sizes)
        else:
            b.launch("pad.odd", y, lo=lo, hi=hi, repeat=self.mode == "symmetric")
