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


def find_local_sources(
    image: np.ndarray,
    background: np.ndarray,
    noise: np.ndarray,
    sigma: float = 5.0,
    seed: float = 0.0,
    connectivity: int = 4,
    min_area: int = 1,
) -> tuple[np.ndarray, int]:
    """Return the label image and the number of islands over maps; an island's brightest pixel is over ``seed`` times its noise."""
    with np.errstate(invalid="ignore"):
        flat, spread = image.astype(np.float64) - background, noise.astype(np.float64)
        labels, count = ndimage.label(
            (flat > sigma * spread) & (spread > 0) & np.isfinite(flat), np.ones((3, 3)) if connectivity == 8 else None
        )
    keep = np.bincount(labels.ravel(), minlength=count + 1) >= min_area
    keep[0] = False
    if seed > 0 and count:
        peaks = ndimage.maximum_position(flat, labels, np.arange(1, count + 1))
        keep[1:] &= np.array([flat[at] > seed * spread[at] for at in peaks])
    return np.where(keep, np.cumsum(keep), 0)[labels].astype(np.int32), int(keep.sum())
