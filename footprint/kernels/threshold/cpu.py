"""Marks the pixels over a level."""

from __future__ import annotations

import numpy as np
from numba import njit, prange


@njit(cache=True, parallel=True, nogil=True)
def _threshold(image, mask, level, background, piece):
    for s in prange(-(-image.size // piece)):
        values, marks = image[s * piece : (s + 1) * piece], mask[s * piece : (s + 1) * piece]
        for i in range(values.size):
            v = np.float64(values[i])
            marks[i] = (v - background > level) & (v < np.inf)


def threshold(image, mask, *, level, background) -> None:
    """See `footprint.kernels.threshold.contract`."""
    _threshold(image.reshape(-1), mask.reshape(-1), level, background, 1 << 14)
