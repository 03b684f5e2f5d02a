"""What `label` is launched with.

``launch("label", mask, labels, count, connectivity=)``: ``mask`` uint8 (n_y, n_x), not zero where set; ``labels`` int32 of
its shape; ``count`` int64 (1,); connectivity 4 or 8. Components are numbered from 1 by the raster index of their first pixel.
"""

from __future__ import annotations

from footprint.spec import ArraySpec, Limits


def label_work(limits: Limits, mask: ArraySpec, labels: ArraySpec, count: ArraySpec, **_: object) -> tuple[ArraySpec, ...]:
    """Roots of each band of rows: one number a row is enough."""
    return (ArraySpec((mask.shape[0] + 1,), "int64"),)
