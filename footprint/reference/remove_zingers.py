"""Zingers off one projection (n_z, n_x) in float64."""

from __future__ import annotations

import numpy as np


def remove_zingers(projection: np.ndarray, threshold: float, size: int = 3) -> np.ndarray:
    """Values above (1 + threshold) times the median around them become that median."""
    values = np.asarray(projection, np.float64)
    wide = np.pad(values, size // 2, "edge")
    median = np.median(np.lib.stride_tricks.sliding_window_view(wide, (size, size)), axis=(2, 3))
    return np.where(values > (1 + threshold) * median, median, values)
