"""Moments and boxes of labelled pixels."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass

from footprint.dtypes import kernel_dtype
from footprint.errors import ShapeError
from footprint.kernels.find_sources.contract import LOCAL_MOMENTS, MOMENTS
from footprint.kernels.measure.contract import turns
from footprint.ops.base import Op
from footprint.plan.builder import Builder
from footprint.plan.slots import Given, Ref
from footprint.spec import ArraySpec, Limits

# Bytes a label takes in the catalogue: eighteen columns of eight bytes and the number of its row; for sources snr, ra, dec, five
# errors and a name; over maps background and noise.
ROW, SOURCE_ROW, LOCAL_ROW = 152, 240, 256


def table_specs(count: int, local: bool = False) -> tuple[ArraySpec, ArraySpec]:
    """Moments and boxes of so many labels, ``local`` with background and noise."""
    return ArraySpec((count, LOCAL_MOMENTS if local else MOMENTS), "float64"), ArraySpec((count, 8), "int64")


@dataclass(frozen=True)
class Measure(Op):
    """Measures labels 1 to ``count``.

    With ``sky`` it also reads a clip's statistics, whose background it subtracts, and how many labels there are, and numbers anew
    those of at least ``min_area`` pixels with a peak over ``seed`` times the noise.
    """

    count: int
    sky: bool = False
    min_area: int = 1
    seed: float = 0.0

    cut = "y"
    again = "y"
    units = {"y": "rows"}  # noqa: RUF012  shared, never changed
    look = 5.0

    @property
    def axes(self) -> tuple[str, ...]:  # type: ignore[override]
        """Of image, labels, statistics and number of labels."""
        return ("yx", "yx", ".", ".") if self.sky else ("yx", "yx")

    def names(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Image, labels, statistics, number of labels; moments and boxes."""
        return ("image", "labels", "stats", "count")[: len(self.axes)], ("moments", "boxes")

    def out_specs(self, *specs: ArraySpec) -> tuple[ArraySpec, ...]:
        """Moments (count, 15) and boxes (count, 8)."""
        image, labels = specs[:2]
        if len(image.shape) != 2:
            raise ShapeError("image", f"shape {image.shape}", "(n_y, n_x)")
        if image.shape != labels.shape:
            raise ShapeError("labels", f"shape {labels.shape}", f"the image's {image.shape}")
        return table_specs(self.count)

    def cuts_on(self, limits: Limits, ins: tuple[Given, ...]) -> str:
        """Only who labels parts knows what joins across them: with a sky, kernels that are not on the host want the image."""
        return self.cut if limits.host or not self.sky else ""

    def record(self, b: Builder, *refs: Ref) -> None:
        """A launch on every part, as often as the device's kernel needs."""
        image, labels, *known, moments, boxes = refs
        kernel, height = "measure.islands" if self.sky else "measure", image.slot.spec.shape[0]
        keep = {"min_area": self.min_area, "seed": self.seed} if self.sky else {}
        dtype = kernel_dtype(image.spec.dtype)
        b.library("catalogue's columns", (SOURCE_ROW if self.sky else ROW) * self.count)
        with ExitStack() as stack:
            n, m = stack.enter_context(b.deliver(boxes)), stack.enter_context(b.deliver(moments))
            state: tuple[Ref, ...] = ()
            for turn in range(turns(b.limits, dtype) if b.several else 1):
                if turn:
                    b.next_phase()
                x, ids = b.bring(image, dtype=dtype), b.bring(labels, dtype="int32")
                state = state or b.state(kernel, x, ids, *known, m, n, height=height)
                place = {"first": b.first(x, "y"), "height": height} | ({} if self.sky else {"turn": turn})
                b.launch(kernel, x, ids, *known, m, n, *state, **keep, **place)


@dataclass(frozen=True)
class Renumber(Op):
    """Gives labels the numbers they have got in a table of boxes."""

    axes = ("yx", ".")
    cut = "y"
    in_place = True

    def names(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Labels and boxes; labels."""
        return ("pieces", "boxes"), ("labels",)

    def out_specs(self, *specs: ArraySpec) -> tuple[ArraySpec, ...]:
        """Labels of the same shape."""
        return (ArraySpec(specs[0].shape, "int32", "yx"),)

    def record(self, b: Builder, *refs: Ref) -> None:
        """One launch."""
        pieces, boxes, labels = refs
        with b.deliver(labels, dtype="int32") as out:
            b.launch("measure.renumber", b.bring(pieces, dtype="int32"), boxes, out)
