"""Windows of neighbours along an axis: what they reach, and where they lie in a part."""

from __future__ import annotations

from footprint.kernels.common.borders import NONE
from footprint.plan.builder import Builder
from footprint.plan.slots import Halo, Place, Ref


def reach_of(first: int, size: int, border: str) -> Halo:
    """What ``size`` neighbours reach before and after a pixel, the first of them counted from it.

    Borders that mirror reach as far back, and one that wraps needs the array's other end.
    """
    lo, hi = -first, first + size - 1
    if border in ("reflect", "mirror"):
        lo, hi = max(lo, hi + 1), max(hi, lo + 1)
    return Halo(lo, hi, border == "wrap")


def place(b: Builder, axis: str, into: Ref, out: Ref, first: int, border: str) -> tuple[Place | int, str]:
    """Where the first neighbour of a part's first result lies in that part of the input, and the border there."""
    if not b.in_parts(out, axis):
        return first, border
    # What comes from the other end lies beside the part.
    return b.first(out, axis) - b.first(into, axis) + first, NONE if border == "wrap" else border
