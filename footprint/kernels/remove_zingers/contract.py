"""Zingers off projections.

``launch("remove_zingers", images, out, size=, threshold=, z0=, y0=, total=)``: ``images`` (n, m, n_x) and ``out`` (n, k, n_x)
float32. A value v with v > (1 + threshold) times the median of the ``size`` by ``size`` values around it is replaced by that
median, all others are copied. The images begin with row ``z0`` of ``total``, the result with row ``y0``; the detector's outermost
values stand for those beyond it. ``size`` is odd. NaN counts as above everything, and stays.
"""

from __future__ import annotations

from footprint.kernels.rank_filter.contract import rank_filter_work
from footprint.spec import ArraySpec, Limits

MOST = 15
"""The widest window."""


def remove_zingers_work(limits: Limits, images: ArraySpec, out: ArraySpec, *, size: int, **_: object) -> tuple[ArraySpec, ...]:
    """What finding medians takes."""
    return rank_filter_work(limits, images, out, tall=size, wide=size, rank=size * size // 2)
