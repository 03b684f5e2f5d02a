"""Where the rotation axis is, from opposite projections, in plain float64: one shift, one row, one sum at a time."""

import numpy as np


def registration(first: np.ndarray, opposite: np.ndarray, doubled: np.ndarray, window: int = 0, differ: bool = False) -> np.ndarray:
    """Normalised correlation of ``first[z, x]`` with ``opposite[z, m - x]`` where both are seen, for each m = 2 center.

    Row means over the overlap are taken off; covariances and variances are summed over rows. 0 where a variance is 0. A window
    leaves samples at most that far from m / 2; ``differ`` takes 1 - var(f - g) / (var f + var g).
    """
    n_z, n_x = first.shape
    found = np.zeros(len(doubled))
    for i, m in enumerate(doubled):
        x = np.arange(max(0, m - n_x + 1), min(n_x - 1, m) + 1)
        x = x[np.abs(x - m / 2) <= window] if window else x
        both = left = right = 0.0
        for z in range(n_z):
            if len(x):
                f, g = first[z, x].astype(float), opposite[z, m - x].astype(float)
                f, g = f - f.mean(), g - g.mean()
                both, left, right = both + f @ g, left + f @ f, right + g @ g
        if left > 0 and right > 0:
            found[i] = 1 - (left + right - 2 * both) / (left + right) if differ else both / np.sqrt(left * right)
    return found
