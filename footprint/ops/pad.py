"""Pad an array: one gathering pass, then in-place fills of the axes whose border is computed."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from footprint.dtypes import native
from footprint.errors import ArgumentError, ShapeError, choose
from footprint.kernels.common.borders import NUMPY
from footprint.ops.base import Op
from footprint.ops.gather import AXES, Continued, checked, gather
from footprint.plan.builder import Builder
from footprint.plan.slots import Given, Reach, Ref
from footprint.spec import ArraySpec, Limits

GATHERED = {theirs: ours for ours, theirs in NUMPY.items()} | {"empty": "constant"}
STATISTICS = ("maximum", "mean", "median", "minimum")
MODES = (*GATHERED, "linear_ramp", *STATISTICS)

Pairs = tuple[tuple[float, float], ...]


def _holds(kind: np.dtype, value: float) -> bool:
    return kind.kind not in "iu" or np.iinfo(kind).min <= value <= np.iinfo(kind).max  # NaN is in no range


@dataclass(frozen=True)
class Pad(Op):
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
    exact
        The values to the last bit: 0.0 equals -0.0, and NaN not even itself.
    """

    widths: tuple[tuple[int, int], ...]
    mode: str = "constant"
    odd: bool = False
    values: Pairs = field(default=(), compare=False)
    lengths: tuple[tuple[int | None, int | None], ...] = ()
    exact: str = field(default="", init=False, repr=False)

    units = {"z": "planes", "y": "rows", "x": "elements"}  # noqa: RUF012  shared, never changed

    def __post_init__(self) -> None:
        object.__setattr__(self, "exact", repr(self.values))

    @property
    def dims(self) -> str:
        """Names of the axes."""
        return AXES[-len(self.widths) :]

    @property
    def axes(self) -> tuple[str, ...]:  # type: ignore[override]
        """Of the array."""
        return (self.dims,)

    @property
    def cut(self) -> str:  # type: ignore[override]
        """Every axis, where borders are copies; what is computed of whole lines is not cut."""
        return "" if self.computed else self.dims

    def names(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The array and the result."""
        return ("array",), ("out",)

    def out_specs(self, *specs: ArraySpec) -> tuple[ArraySpec, ...]:
        """Shape of the padded array; its dtype is the image's, in native byte order."""
        (image,) = specs
        choose("mode", self.mode, MODES)
        checked(image)
        kind = np.dtype(native(image.dtype))
        if kind.kind == "b" and (self.mode == "linear_ramp" or self.odd):
            said = repr(self.mode) + (" with odd reflections" if self.odd else "")
            raise ArgumentError("mode", said, "a mode that makes sense for an array of bools", "use edge, reflect or maximum")
        for value in {value for pair in self.values for value in pair}:
            if not _holds(kind, value):
                raise ArgumentError(
                    "constant_values" if self.mode == "constant" else "end_values", value, f"a value that {kind.name} can hold"
                )
        for axis, (n, width) in enumerate(zip(image.shape, self.widths)):
            if n == 0 and max(width) and GATHERED.get(self.mode) != "constant":
                raise ShapeError("array", f"axis {axis} of length 0", f'at least one element to pad in mode "{self.mode}"',
                                 'use mode "constant"')  # fmt: skip
        shape = tuple(n + before + after for n, (before, after) in zip(image.shape, self.widths))
        return (ArraySpec(shape, kind.str, self.dims),)

    @property
    def computed(self) -> bool:
        """Whether borders hold numbers that are not in the array, so that they are filled axis by axis."""
        several = self.mode == "constant" and len({value for pair in self.values for value in pair}) > 1
        return several or self.mode not in GATHERED or (self.odd and self.mode in ("reflect", "symmetric"))

    def border(self, n: int) -> str:
        """What the gathering pass puts beyond an axis of ``n`` elements."""
        if not self.computed:
            return GATHERED[self.mode]
        # There is nothing to reflect: an odd reflection about the only element repeats it.
        return "nearest" if self.odd and n == 1 else "constant"

    def halo(self, axis: str) -> Reach:
        """Of an axis that is cut: what its part copies."""
        return Continued(self.widths[self.dims.index(axis)][0], GATHERED.get(self.mode, "constant"))

    def cuts_on(self, limits: Limits, ins: tuple[Given, ...]) -> str:
        """An array on a device is read where it lies."""
        return "" if ins[0].space == "device" else self.cut

    @property
    def fill(self) -> float:
        """The one constant of a gathering pass."""
        return self.values[0][0] if self.mode == "constant" and self.values and not self.computed else 0

    def record(self, b: Builder, *refs: Ref) -> None:
        """Record the pass and the fills."""
        image, out = refs
        kind = native(out.spec.dtype)
        if self.computed and kind[1:] == "f2":
            kind = "float32"
        x = b.bring(image, dtype=kind)
        befores, borders = [before for before, _ in self.widths], [self.border(n) for n in image.slot.spec.shape]
        with b.deliver(out, dtype=kind) as y:
            gather(b, x, y, out, befores, borders, self.fill, ())
            if self.computed:
                for axis in range(len(borders)):
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
            # A mean of bools is true where any is, their median where half of them are.
            bools = {"mean": "maximum", "median": "upper"} if np.dtype(out.spec.dtype).kind == "b" else {}
            mode = bools.get(self.mode, self.mode)
            b.launch("pad.statistic", y, lo=lo, hi=hi, statistic=mode, **sizes)
        else:
            b.launch("pad.odd", y, lo=lo, hi=hi, repeat=self.mode == "symmetric")
