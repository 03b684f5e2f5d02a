"""A Gaussian fitted to pixels by SciPy's least squares, and its errors in noise that is correlated."""

from typing import Any

import numpy as np
from scipy.optimize import least_squares


def gaussian(p: np.ndarray, y: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Of height, place and inverse covariance (yy, yx, xx)."""
    dy, dx = y - p[1], x - p[2]
    return p[0] * np.exp(-(p[3] * dy * dy + 2 * p[4] * dy * dx + p[5] * dx * dx) / 2)


def fit(
    values: np.ndarray, y: np.ndarray, x: np.ndarray, start: np.ndarray, free: bool, rho: Any, noise: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return the six parameters and the covariance of those that were fitted; ``rho(dy, dx)`` is how noise is correlated."""
    start = np.asarray(start, np.float64)
    n = 6 if free else 3

    def residuals(q: np.ndarray) -> np.ndarray:
        return gaussian(np.concatenate([q, start[n:]]), y, x) - values

    found = least_squares(residuals, start[:n], x_scale=np.abs(start[:n]) + 0.1, xtol=1e-14, ftol=1e-14, gtol=1e-14)
    j = found.jac
    inverse = np.linalg.inv(j.T @ j)
    correlated = rho(y[:, None] - y, x[:, None] - x)
    return np.concatenate([found.x, start[n:]]), noise**2 * inverse @ (j.T @ correlated @ j) @ inverse
