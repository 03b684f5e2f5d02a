"""Zingers off projections.

``launch("remove_zingers", images, out, size=, threshold=, z0=, y0=, total=)``: ``images`` (n, m, n_x) and ``out`` (n, k, n_x)
float32. A value v with v > (1 + threshold) times the median of the ``size`` by ``size`` values around it is replaced by that
median, all others are copied. The images begin with row ``z0`` of ``total``, the result with row ``y0``; the detector's outermost
values stand for those beyond it. ``size`` is odd. NaN counts as above everything, and stays.
"""

from __future__ import annotations

from footprint.spec import ArraySpec, Limits

MOST = 15
"""The widest window."""


def remove_zingers_work(limits: Limits, images: ArraySpec, out: ArraySpec, **_: object) -> tuple[ArraySpec, ...]:
    """How many of its neighbours every value of a row passes, per thread."""
    return (ArraySpec((limits.threads, images.shape[2]), "int32"),)
