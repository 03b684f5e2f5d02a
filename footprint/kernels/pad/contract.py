"""Padding: the kernel ``pad`` gathers, ``pad.ramp``, ``pad.odd`` and ``pad.statistic`` fill one axis from what is
inside.

``launch("pad", image, planes, rows, cols, out, fill=0.0)``: ``out[z, y, x] = image[planes[z], rows[y], cols[x]]``, or
``fill`` where one of the three int64 index vectors is negative. Both arrays are 3-D and of the same dtype, any of 1,
2, 4, 8 or 16 bytes.

The others work in place on ``out`` seen as (outer, n, inner), whose part ``[lo, hi)`` of the middle axis holds data::

    launch("pad.constant", out, lo=, hi=, left=, right=)    a value a side
    launch("pad.ramp", out, lo=, hi=, left=, right=)        linear from the edge's neighbourhood to the end values
    launch("pad.odd", out, lo=, hi=, repeat=)               2 edge - reflection; repeat: the edge itself is repeated
    launch("pad.statistic", out, lo=, hi=, statistic=, left=, right=)    of the left/right outermost elements
"""

from __future__ import annotations

from footprint.spec import ArraySpec, Limits

BLOCK = 256
"""Neighbouring lines a thread takes the mean or extreme of together."""


def statistic_work(limits: Limits, out: ArraySpec, *, lo: int, hi: int, statistic: str, **_: object) -> tuple[ArraySpec, ...]:
    """A thread's line, which the median is selected in, or its sums or extremes of some lines."""
    if statistic == "median":
        return (ArraySpec((limits.threads, hi - lo), out.dtype),)
    width = min(BLOCK, max(out.shape[2], 1))
    return (ArraySpec((limits.threads, width), "float64" if statistic == "mean" else out.dtype),)
