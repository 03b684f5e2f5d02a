"""Unsharp mask of one projection (n_z, n_x) in float64."""

from __future__ import annotations

import numpy as np
from scipy import ndimage


def unsharp(projection: np.ndarray, amount: float, sigma: float = 1) -> np.ndarray:
    """(1 + amount) times the projection, less amount times a Gaussian's blur of it."""
    values = np.asarray(projection, np.float64)
    return (1 + amount) * values - amount * ndimage.gaussian_filter(values, sigma, mode="reflect")
