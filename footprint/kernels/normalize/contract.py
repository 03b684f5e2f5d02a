"""Rows of sinograms less the parabola that fits them best; no workspace.

``launch("normalize", rows, out)``: float32 (..., n_x), perhaps one array. Off every row goes the polynomial of degree 2 that lies
nearest to it, by least squares; sums are in float64. A row of 1 or 2 values is left with what degree 0 or 1 leaves of it: 0.
"""

from __future__ import annotations


def norms(n: int) -> tuple[float, float, float]:
    """Of ``n`` places x = (2 j + 1 - n) / n: the mean of x^2, and 1 over the sums of x^2 and of (x^2 - mean)^2, 0 where they are.

    1, x and x^2 - mean are orthogonal on these places, so each is fitted by itself.
    """
    mean = (n * n - 1) / (3 * n * n)
    squares = n * mean
    fourths = 4 * (n * n - 1) * (n * n - 4) / (45 * n**3)
    return mean, 1 / squares if n > 1 else 0.0, 1 / fourths if n > 2 else 0.0
