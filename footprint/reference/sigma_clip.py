"""Sigma clipping by sorting in float64."""

import numpy as np


def sigma_clip(image: np.ndarray, sigma: float = 3.0, maxiters: int | None = None, strict: bool = True) -> dict:
    """Return mean, median, std, low, high, count, iterations of the pixels left after clipping; ignores what is not finite.

    A clip that would leave nothing (a constant image) is not made.
    """
    x = np.sort(np.asarray(image, np.float64)[np.isfinite(image)], axis=None)
    low, high, iterations = -np.inf, np.inf, 0
    while True:
        median, std = np.median(x), np.std(x)
        if iterations == maxiters:
            break
        low, high = median - sigma * std, median + sigma * std
        iterations += 1
        kept = x[(x > low) & (x < high)] if strict else x[(x >= low) & (x <= high)]
        if kept.size in (0, x.size):
            break
        x = kept
    return {"mean": x.mean(), "median": median, "std": std, "low": low, "high": high, "count": x.size, "iterations": iterations}
