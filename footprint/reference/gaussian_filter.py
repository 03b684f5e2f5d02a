"""Sums along axes, one tap at a time in float64."""

from __future__ import annotations

import numpy as np

_NUMPY_NAME = {"nearest": "edge", "reflect": "symmetric", "mirror": "reflect", "wrap": "wrap"}


def line(image: np.ndarray, weights: np.ndarray, axis: int, mode: str = "reflect", cval: float = 0, origin: int = 0) -> np.ndarray:
    """Correlate along one axis; origin moves the weights to smaller indices."""
    image, k = np.moveaxis(np.asarray(image, np.float64), axis, -1), len(weights)
    widths = [(0, 0)] * (image.ndim - 1) + [(k // 2 + origin, k - 1 - k // 2 - origin)]
    if mode == "constant":
        padded = np.pad(image, widths, constant_values=cval)
    else:
        padded = np.pad(image, widths, mode=_NUMPY_NAME[mode])  # type: ignore[call-overload]
    out = sum(weights[i] * padded[..., i : i + image.shape[-1]] for i in range(k))
    return np.moveaxis(out, -1, axis)


def gaussian_filter(image: np.ndarray, sigma: tuple[float, ...], mode: str = "reflect", cval: float = 0) -> np.ndarray:
    """The mean weighted by a Gaussian, to four standard deviations."""
    for axis, width in enumerate(sigma):
        if width > 0:
            x = np.arange(-int(4 * width + 0.5), int(4 * width + 0.5) + 1)
            weights = np.exp(-(x**2) / (2 * width**2))
            image = line(image, weights / weights.sum(), axis, mode, cval)
    return np.asarray(image, np.float64)
