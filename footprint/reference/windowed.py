"""A centre in a Gaussian window about itself, as SExtractor's XWIN_IMAGE is told; plain NumPy."""

from __future__ import annotations

import numpy as np


def windowed(image: np.ndarray, noise: np.ndarray, x: float, y: float, size: float) -> tuple[float, float, float, float]:
    """Where it settles, x and y, and the errors of independent pixels; NaN where there is no light or it leaves its window."""
    rows, columns = np.indices(image.shape)
    start = x, y
    good = np.isfinite(image) & (noise > 0)
    value, noise = np.where(good, image, 0), np.where(good, noise, 0)
    for _ in range(16):
        dx, dy = columns - x, rows - y
        square = dx**2 + dy**2
        w = np.where(square <= (4 * size) ** 2, np.exp(-square / (2 * size**2)), 0)
        light = np.sum(w * value)
        step_x, step_y = np.sum(w * value * dx) / light, np.sum(w * value * dy) / light
        errors = [2 * np.sqrt(np.sum((w * noise * d) ** 2)) / light for d in (dx, dy)]
        x, y = x + 2 * step_x, y + 2 * step_y
        if not (light > 0 and np.hypot(x - start[0], y - start[1]) <= 4 * size):
            return (np.nan,) * 4
        if step_x**2 + step_y**2 < 2e-4**2:
            break
    return x, y, *errors
