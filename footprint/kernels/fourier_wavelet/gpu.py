"""Launch shapes of Munch's filter: a group sums a rectangle, or takes a line through its levels."""

from __future__ import annotations

import numpy as np

from footprint.kernels.common.launch import MAX_GROUPS_Y, A, Launch, Program, W
from footprint.kernels.fourier_wavelet.contract import GROUP, longest
from footprint.spec import ArraySpec, Limits

TEXT = "fourier_wavelet.knl"
TALL, WIDE, STEP = 48, 128, 16
"""Of what a group sums, and the lines it has on the chip at a time; seven levels have 91 rows, and some 40 in common."""
# Groups that have a line each side by side, a core.
_BESIDE = 8


def _defines(length: int = 2) -> tuple[tuple[str, int], ...]:
    return (("TALL", TALL), ("WIDE", WIDE), ("STEP", STEP), ("GROUP", GROUP), ("LENGTH", length))


def combine_program(limits: Limits, lines: ArraySpec, weights: ArraySpec, found: ArraySpec, *, off: bool) -> Program:
    """A work-item has 6 x 4 of the sums."""
    (n, count, w), made = lines.shape, found.shape[1]
    if found.size == 0:
        return Program(())
    args = (A(0), A(1), A(2), np.int64(n), np.int64(count), np.int64(made), np.int64(w), np.int32(off))
    grid = (-(-w // WIDE), -(-made // TALL), min(n, MAX_GROUPS_Y))
    return Program((Launch(TEXT, "combine", grid, (256, 1, 1), args, (*_defines(), ("MIN_GROUPS", 2))),))


def details_program(limits: Limits, rows: ArraySpec, levels: ArraySpec, taps: ArraySpec) -> Program:
    """A group a line; what is between two levels stays in the caches."""
    n, m, w = rows.shape
    if rows.size == 0:
        return Program(())
    groups = min(n * m, max(limits.cores, 1) * _BESIDE)
    size = longest(w, taps.shape[1])
    args = (A(0), A(1), A(2), W(0), np.int64(n * m), np.int64(m), np.int64(w), np.int64(size))
    launch = Launch(TEXT, "details", (groups, 1, 1), (256, 1, 1), args, _defines(taps.shape[1]))
    return Program((launch,), (ArraySpec((groups, 2, size)),))
