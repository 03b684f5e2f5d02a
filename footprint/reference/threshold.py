"""Pixels over a level."""

import numpy as np


def threshold(image, level, background=0.0):
    """True where the pixel is finite and ``image - background > level``."""
    x = np.asarray(image, np.float64)
    with np.errstate(invalid="ignore"):
        return np.isfinite(x) & (x - background > level)
