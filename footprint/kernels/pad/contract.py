"""Padding: the kernel ``pad`` gathers, ``pad.ramp``, ``pad.odd`` and ``pad.statistic`` fill one axis from what is
inside.

``launch("pad", image, out, *lists, fill=, border_z=, z0=, z_base=, z_n=, ...)``, the four numbers for each of z, y and x:
``out[z, y, x] = image[at(z), at(y), at(x)]``, or ``fill`` where one of the three positions is negative. Output ``i``
of an axis stands at ``i + i0`` of a line of ``n`` samples that ``border`` continues, and ``image`` holds that line from
``base`` on. Border "none" leaves positions as they are; "listed" takes them from the next of the int64 ``lists``, in
the order z, y, x. Both arrays are 3-D and of the same dtype, any of 1, 2, 4, 8 or 16 bytes.

The others work in place on ``out`` seen as (outer, n, inner), whose part ``[lo, hi)`` of the middle axis holds data::

    launch("pad.constant", out, lo=, hi=, left=, right=)    a value a side
    launch("pad.ramp", out, lo=, hi=, left=, right=)        linear from the edge's neighbourhood to the end values
    launch("pad.odd", out, lo=, hi=, repeat=)               2 edge - reflection; repeat: the edge itself is repeated
    launch("pad.statistic", out, lo=, hi=, statistic=, left=, right=)    of the left/right outermost elements; "upper" is the
                                                            median of which an even number has the upper of two
"""

from __future__ import annotations

from footprint.kernels.common.borders import CODES
from footprint.spec import ArraySpec, Limits

LISTED = "listed"
"""The border of an axis that is gathered by a list of positions."""
AT = {**CODES, LISTED: len(CODES)}
"""Border -> number, in kernels."""

BLOCK = 256
"""Neighbouring lines a thread takes the mean or extreme of together."""
ALONG = 64
"""Neighbouring elements of one line that are taken together, and that statistic is then taken of theirs."""


def statistic_work(limits: Limits, out: ArraySpec, *, lo: int, hi: int, statistic: str, **_: object) -> tuple[ArraySpec, ...]:
    """A thread's line, which the median is selected in, or its sums or extremes of some lines."""
    if statistic in ("median", "upper"):
        return (ArraySpec((limits.threads, hi - lo), out.dtype),)
    width = ALONG if out.shape[2] == 1 else min(BLOCK, max(out.shape[2], 1))
    return (ArraySpec((limits.threads, width), "float64" if statistic == "mean" else out.dtype),)
