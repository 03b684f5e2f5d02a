"""Projection as a dense matrix in plain float64: every pixel shared by the two bins that it falls between."""

import numpy as np


def matrix(
    angles: np.ndarray, n_x: int, center: float, roi: tuple[int, int, int, int], axis_shifts: np.ndarray | None = None
) -> np.ndarray:
    """(n_angles n_x, pixels): max(0, 1 - |h - s|) with h = center + shift + cos t (x - center) - sin t (y - center)."""
    x0, x1, y0, y1 = roi
    x, y = np.meshgrid(np.arange(x0, x1) - center, np.arange(y0, y1) - center)
    shifts = np.zeros(len(angles)) if axis_shifts is None else axis_shifts
    found = np.empty((len(angles), n_x, x.size))
    for row, t, shift in zip(found, angles, shifts, strict=True):
        h = center + shift + np.cos(t) * x - np.sin(t) * y
        row[:] = np.maximum(0, 1 - np.abs(h.reshape(1, -1) - np.arange(n_x)[:, None]))
    return found.reshape(len(angles) * n_x, -1)
