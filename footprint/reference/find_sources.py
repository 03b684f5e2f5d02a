"""Source finding by NumPy and SciPy: clip, threshold, label, drop the small."""

import numpy as np
from scipy import ndimage


def find_sources(
    image: np.ndarray, sigma: float = 5.0, kappa: float = 3.0, connectivity: int = 4, min_area: int = 1, lesson: bool = False
) -> tuple[np.ndarray, int, float, float]:
    """Return the label image, the number of islands, background and noise."""
    x = np.where(np.isfinite(image), image, np.nan).astype(np.float64)
    kept, size = x[np.isfinite(x)], -1
    while kept.size != size:
        size, median, std = kept.size, np.median(kept), np.std(kept)
        inside = kept[(kept > median - kappa * std) & (kept < median + kappa * std)]
        kept = inside if inside.size else kept
    background = 0.0 if lesson else median
    with np.errstate(invalid="ignore"):
        labels, count = ndimage.label(x - background > sigma * std, np.ones((3, 3)) if connectivity == 8 else None)
    keep = np.bincount(labels.ravel(), minlength=count + 1) >= min_area
    keep[0] = False
    return np.where(keep, np.cumsum(keep), 0)[labels].astype(np.int32), int(keep.sum()), float(background), float(std)
