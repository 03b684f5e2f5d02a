"""A mean of each pixel's surroundings by the weights of a Gaussian, over the pixels that have data; plain NumPy and SciPy."""

from __future__ import annotations

import numpy as np
from scipy import ndimage


def matched(image: np.ndarray, covariance: np.ndarray) -> np.ndarray:
    """NaN where there is no data, or less than half the weights have some; ``covariance`` of (y, x), weights to 3 deviations."""
    half = [int(np.ceil(3 * np.sqrt(one))) for one in np.diag(covariance)]
    place = np.stack(np.meshgrid(*(np.arange(-n, n + 1) for n in half), indexing="ij"), -1)
    weights = np.exp(-np.einsum("yxi,ij,yxj->yx", place, np.linalg.inv(covariance), place) / 2)
    good = np.isfinite(image)
    sums = ndimage.correlate(np.where(good, image, 0).astype(float), weights, mode="constant")
    shares = ndimage.correlate(good.astype(float), weights, mode="constant")
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(good & (shares >= weights.sum() / 2), sums / shares, np.nan)
