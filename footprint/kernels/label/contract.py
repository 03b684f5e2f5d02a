"""What `label` is launched with.

``launch("label", mask, labels, count, connectivity=)``: ``mask`` uint8 (n_y, n_x), not zero where set; ``labels`` int32 of
its shape; ``count`` int64 (1,); connectivity 4 or 8. Components are numbered from 1 by the raster index of their first pixel.

In parts of rows: ``launch("label.gather", mask, labels, table, seam, met, first=, connectivity=)`` for every part
in order, ``launch("label.settle", table, met, count)``, then ``launch("label.paint", mask, labels, table, met, first=,
connectivity=)`` for every part again. ``table`` (capacity,) has what components of all parts belong to, ``seam`` (n_x,) the
last row of labels, all three of the dtype that `dtype_of` says, ``met`` int64 (2,) the components met and those painted; all
but the labels are kept. Where more are met than ``table`` holds, ``count`` is minus their number.
"""

from __future__ import annotations

from footprint.spec import ArraySpec, Limits


def default_capacity(size: int) -> int:
    """Components of all parts that there is room for unless told otherwise: a sixteenth of a mask's bytes."""
    return 64 + size // 64


def dtype_of(limits: Limits, size: int) -> str:
    """Of the labels of an image of so many pixels in parts: those of a GPU are of components, of which there are fewer."""
    return "int32" if limits.family == "gpu" or size < 2**31 - 1 else "int64"


def label_work(limits: Limits, mask: ArraySpec, *rest: ArraySpec, **_: object) -> tuple[ArraySpec, ...]:
    """Roots of each band of rows: one number a row is enough."""
    return (ArraySpec((mask.shape[0] + 1,), "int64"),)


gather_work = paint_work = label_work
