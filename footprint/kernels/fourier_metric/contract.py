"""How much of a half turn's sinogram, joined with itself mirrored about an axis, lies where no object's can: N. T. Vo's metric.

``launch("fourier_metric.columns", spectrum (n, n_f) complex64, columns (F, 2 n) complex64)``: the first ``F`` frequencies along x
become rows, in the order of the angles, with zeros behind.

``launch("fourier_metric", columns (n_z, F, 2 n), lines (n_z, n, n_x) float32, out (n_z, count + FINE + 2) float64, first=, padded=,
radius=, drop=)``: ``columns`` transformed along the angles. ``out[:, k]`` is the metric at ``(first + k) / 2``, from some of the
frequencies; the next `FINE` those about the least of their sum over z, one `STEP` apart and from all of them; then where the fine
ones begin, and how bright a row's ends are beside its brightest part.
"""

from __future__ import annotations

FINE, STEP = 81, 0.05
"""Positions about the least, and pixels between them."""


def highest(n_x: int, n_angles: int, padded: int, radius: float) -> int:
    """Frequencies along x that the region without any object has, of a row padded to a length."""
    return min(padded // 2, int(n_angles * padded / (2 * 3.141592653589793 * radius))) + 1
