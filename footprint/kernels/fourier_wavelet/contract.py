"""What is slow along the angle in the details of a wavelet transform; float32 and C-contiguous.

* ``combine(lines, weights, found, off=)``: (n, k, w) and (k, m) to (n, m, w), ``found[j, x] = sum_i weights[i, j] lines[i, x]``;
  with ``off`` that is taken off what ``found`` holds. Sums go by groups of `GROUP` lines, then over the groups.
* ``details(rows, levels, taps)``, in place: of every row of (n, m, w) the details of level ``levels[j]``, int32 (m,), alone: its
  wavelet transform as deep as that, and back with all other coefficients 0. ``taps`` (2, F), F even, are the low and the high
  decomposition filter. Lines are mirrored at their ends, d c b a | a b c d, and halved by
  ``low[k] = sum_j taps[0, j] line[2 k + 1 - j]``: a line of w gives (w + F - 1) // 2 values. Back,
  ``line[i] = sum_k taps[0, 2 k + 1 - i] low[k]``.
"""

from __future__ import annotations

from footprint.kernels.common.vectors import BYTES, REGISTERS
from footprint.spec import ArraySpec, Limits

GROUP = 128
"""Lines whose products are added up before their sum is."""
VECTORS = 2
"""Vectors beside each other that a thread sums on the CPU, of as many rows as there are `ROWS`."""
ROWS = REGISTERS // 4
WIDE = VECTORS * BYTES // 4
"""Columns of them."""
BESIDE = 4
"""Blocks of so many columns that are gathered at a time: lines of memory are read and written whole, one after the other."""


def longest(w: int, length: int) -> int:
    """Values that a line of any level may have: a short one grows to the filter's."""
    return max(w, length)


def combine_work(limits: Limits, lines: ArraySpec, weights: ArraySpec, found: ArraySpec, *, off: bool) -> tuple[ArraySpec, ...]:
    """Some columns of all lines, and their sums, per thread."""
    return (ArraySpec((limits.threads, (BESIDE * lines.shape[1] + ROWS) * WIDE)),)


def details_work(limits: Limits, rows: ArraySpec, levels: ArraySpec, taps: ArraySpec) -> tuple[ArraySpec, ...]:
    """A line before and after, and its even and odd values with what the filter reaches beyond, per thread."""
    return (ArraySpec((limits.threads, 4, longest(rows.shape[2], taps.shape[1]) + taps.shape[1])),)
