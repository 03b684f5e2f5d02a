"""Sigma clipping of an image that may come in parts of rows, once and again, until its kernel says it is done."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from footprint.errors import ArgumentError, ShapeError
from footprint.kernels.sigma_clip.contract import DONE, ends_at_once, glance_rows, rows_per_block, usual_passes
from footprint.ops.matched import Pixels
from footprint.plan.builder import Builder
from footprint.plan.slots import TURN, Ref
from footprint.spec import ArraySpec


def check_positive(name: str, value: object, wanted: str = "a finite number above 0") -> float:
    """A number above 0, such as one of sigmas."""
    try:
        number = float("nan") if isinstance(value, bool | np.bool_) else float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        number = float("nan")
    if not 0 < number < float("inf"):
        raise ArgumentError(name, repr(value), wanted)
    return number


def check_maxiters(value: int | None) -> int:
    """How often to clip; None is -1, until nothing changes."""
    if value is None:
        return -1
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 0:
        raise ArgumentError("maxiters", repr(value), "None or a whole number, 0 or more")
    return min(int(value), 2**31 - 1)


def as_rows(shape: tuple[int, ...], name: str = "image") -> tuple[int, int]:
    """Height and width of an array of any shape seen as rows of its last axis; one axis is a column."""
    if any(n == 0 for n in shape):
        raise ShapeError(name, f"shape {shape}", "at least one pixel")
    width = shape[-1] if len(shape) > 1 else 1
    size = int(np.prod(shape, dtype=np.int64))
    return size // width, width


@dataclass(frozen=True)
class SigmaClip(Pixels):
    """Bounds at median -+ ``sigma`` std, until nothing changes or ``maxiters`` (-1: no limit) clips were made.

    Writes statistics and counts, see `kernels.sigma_clip.contract`; ``zero`` takes the background as 0 for what follows.
    """

    sigma: float = 3.0
    maxiters: int = -1
    strict: bool = True
    zero: bool = False

    axes = ("yx",)
    cut = "y"
    again = "y"
    units = {"y": "rows"}  # noqa: RUF012  shared, never changed
    look = 5.5

    def names(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Image, statistics and counts."""
        return ("image",), ("stats", "counts")

    def out_specs(self, *specs: ArraySpec) -> tuple[ArraySpec, ...]:
        """Statistics and counts."""
        return ArraySpec((8,), "float64"), ArraySpec((8,), "int64")

    def grain(self, *specs: ArraySpec) -> int:
        """Whole strips, so that sums are the same however the image is cut."""
        return rows_per_block(specs[0].size, specs[0].shape[1])

    def record(self, b: Builder, *refs: Ref) -> None:
        """One launch, made again on all parts until it is done; what it knows of the image so far is kept.

        Of an image that comes in parts few rows are looked at before, where they can be had without the others.
        """
        image, stats, counts = refs
        whole, again = image.slot.spec, b.several or not ends_at_once(b.limits)
        glances = self._glances(b, image)
        if glances:
            b.next_phase(glances)
        x = self.pixels(b, image)
        numbers: dict[str, Any] = {"size": whole.size, "width": whole.shape[1], "sigma": self.sigma, "maxiters": self.maxiters}
        with b.deliver(stats) as s, b.deliver(counts) as c:
            state = b.state("sigma_clip", x, s, c, again=again, **numbers)
            numbers |= {"strict": self.strict, "zero": self.zero, "first": b.first(x, "y")}
            if glances:
                b.launch("sigma_clip.glance", x, s, c, *state, **numbers)
                b.next_phase()
                x = self.pixels(b, image)
            b.launch("sigma_clip", x, s, c, *state, turn=(TURN + 1 if glances else TURN) if again else 0, **numbers)
            if again:
                b.until(c, DONE, usual=1 if glances else usual_passes(b.limits))
        b.next_phase()

    def _glances(self, b: Builder, image: Ref) -> tuple[tuple[int, int], ...]:
        """Rows that are looked at first: of an array, or of a file that gives any of them for no more than their bytes."""
        spec, given = image.slot.spec, image.slot.given
        few = b.several and b.limits.host and (given.loose or given.owner == "caller")
        return glance_rows(spec.size, spec.shape[1]) if few else ()
