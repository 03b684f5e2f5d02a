"""What the backprojection kernel needs: one tile of accumulators and a few staged row segments a thread.

``backproject(rows (n_z, n_angles, n_x), table (n_angles, 4) float64, out (n_z, n_y, n_x'), *, accumulate)``
writes, or with ``accumulate`` adds, sum_a weight_a row_a(offset_a + x cos_a + y nsin_a), where a table row is
``(cos, nsin, offset, weight)`` and x, y count pixels of ``out`` from 0. Rows are continued by zeros on both sides and read
by linear interpolation, so the value falls to 0 between the last sample and one pixel beyond it.
"""

from __future__ import annotations

import math

from footprint.spec import ArraySpec, Limits

TILE_Y, TILE_X = 64, 64
"""Pixels of a tile: 16 KiB of accumulators a slice, so that they stay in the first-level cache."""
ANGLES = 8
"""Angles swept at once over a tile: an accumulator is read and written once for all of them."""
SLICES = 4
"""Slices that share positions and weights."""
SEGMENT = 48 + math.ceil(math.hypot(TILE_X, TILE_Y))
"""Samples of a row that a tile can see, and room for two vectors read beyond the last."""


def backproject_work(limits: Limits, rows: ArraySpec, table: ArraySpec, out: ArraySpec, **numbers: object) -> tuple[ArraySpec, ...]:
    """Accumulators, segments, positions and steps of each thread."""
    slices = SLICES if rows.shape[0] >= SLICES else 1
    return (ArraySpec((limits.threads, slices * (TILE_Y * TILE_X + ANGLES * SEGMENT) + 4 * ANGLES), "float32"),)
