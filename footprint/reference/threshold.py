"""Pixels over a level."""

import numpy as np


def threshold(image: np.ndarray, level: float, background: float = 0.0) -> np.ndarray:
    """True where the pixel is finite and ``image - background > level``."""
    x = np.asarray(image, np.float64)
    with np.errstate(invalid="ignore"):
        return np.isfinite(x) & (x - background > level)
