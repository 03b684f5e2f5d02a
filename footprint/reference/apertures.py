"""Areas of pixels inside an ellipse, by integrating the lengths of its chords."""

import numpy as np


def areas(shape: tuple[int, int], y: float, x: float, a: float, b: float, degrees: float = 0.0, strips: int = 4000) -> np.ndarray:
    """Of every pixel, the area inside the ellipse with these half axes, ``a`` turned from x towards y; to about 1e-5 of a pixel."""
    turn = np.radians(degrees)
    c, s = np.cos(turn), np.sin(turn)
    xx, yy, xy = c * c / a**2 + s * s / b**2, s * s / a**2 + c * c / b**2, c * s * (1 / a**2 - 1 / b**2)
    left = np.arange(shape[1]) - 0.5
    found = np.zeros(shape)
    for row in range(shape[0]):
        dy = row - y + (np.arange(strips) + 0.5) / strips - 0.5
        inside = np.maximum((xy * dy) ** 2 - xx * (yy * dy * dy - 1), 0)
        middle, half = x - xy * dy / xx, np.sqrt(inside) / xx
        ends = np.clip((middle + half)[:, None] - left, 0, 1) - np.clip((middle - half)[:, None] - left, 0, 1)
        found[row] = ends.mean(0)
    return found


def kron_radius(values: np.ndarray, y: float, x: float, a: float, b: float, degrees: float, reach: float = 6.0) -> float:
    """The mean of the distance, in units of the axes, weighted by the light of the pixels within ``reach`` of them."""
    rows, columns = np.indices(values.shape)
    turn = np.radians(degrees)
    u = ((columns - x) * np.cos(turn) + (rows - y) * np.sin(turn)) / a
    v = ((rows - y) * np.cos(turn) - (columns - x) * np.sin(turn)) / b
    r = np.hypot(u, v)
    inside = r <= reach
    return float((r * values)[inside].sum() / values[inside].sum())
