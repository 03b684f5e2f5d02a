"""Projection of slices onto the detector: the transpose of ``backproject`` with weights of 1.

``launch("project", volume (n_z, n_y, n_x'), table (n_angles, 4) float64, out (n_z, n_angles, n_x))``: ``out[z, a, s]`` is the sum
of all pixels, each times max(0, 1 - |h - s|), with h = offset_a + x cos_a + y nsin_a; a table row is ``(cos, nsin, offset, ...)``;
x, y count pixels of ``volume`` from 0. Every sum goes line by line through the slice: down its rows where a ray is steeper than 45
degrees, else along its columns, which are the rows of a turned copy. At most three pixels of a line fall on a bin.
"""

from __future__ import annotations

from footprint.spec import ArraySpec, Limits

MARGIN = 64
"""Zeros on both sides of a line: bins go by vectors, the last of which may look that far beyond."""
SLACK = 16
"""Bins beyond the last that a vector may write."""


def project_work(limits: Limits, volume: ArraySpec, table: ArraySpec, out: ArraySpec) -> tuple[ArraySpec, ...]:
    """Turned slices, and a line with its margins and a row of sums for each thread."""
    n_z, n_y, width = volume.shape
    line = max(n_y, width) + 2 * MARGIN + out.shape[2] + SLACK
    return ArraySpec((n_z, width, n_y), "float32"), ArraySpec((limits.threads, line), "float32")
