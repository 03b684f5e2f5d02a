"""Moments of labelled pixels by SciPy."""

import numpy as np
from scipy import ndimage


def measure(image: np.ndarray, labels: np.ndarray, count: int) -> dict[str, np.ndarray]:
    """Return a dict of arrays, one entry a label 1 to count; a label without pixels has npix 0."""
    x = np.asarray(image, np.float64)
    index = np.arange(1, count + 1)
    grid = np.indices(x.shape)
    y_grid, x_grid = grid[0], grid[1]
    flux = np.array([x[labels == k].sum() for k in index])
    boxes = ndimage.find_objects(labels, max_label=count)
    box = [(b[1].start, b[1].stop - 1, b[0].start, b[0].stop - 1) if b else (0, -1, 0, -1) for b in boxes]
    peak = [max(range(n), key=lambda i: x[labels == k][i]) if (n := (labels == k).sum()) else 0 for k in index]
    with np.errstate(all="ignore"):
        return {
            "label": index,
            "npix": np.array([(labels == k).sum() for k in index]),
            "flux": flux,
            "peak": np.array([max((v for v in x[labels == k] if v == v), default=np.nan) for k in index]),
            "x": np.array([(x * x_grid)[labels == k].sum() for k in index]) / flux,
            "y": np.array([(x * y_grid)[labels == k].sum() for k in index]) / flux,
            "xx": np.array([_covariance(x, x_grid, x_grid, labels == k) for k in index]),
            "yy": np.array([_covariance(x, y_grid, y_grid, labels == k) for k in index]),
            "xy": np.array([_covariance(x, x_grid, y_grid, labels == k) for k in index]),
            "box": np.array(box).reshape(-1, 4),
            "x_peak": np.array([x_grid[labels == k][p] if (labels == k).any() else -1 for k, p in zip(index, peak)]),
            "y_peak": np.array([y_grid[labels == k][p] if (labels == k).any() else -1 for k, p in zip(index, peak)]),
        }


def _covariance(x: np.ndarray, a: np.ndarray, b: np.ndarray, inside: np.ndarray) -> float:
    """Of two coordinates, weighted by the values."""
    weight, total = x[inside], x[inside].sum()
    mean_a, mean_b = (weight * a[inside]).sum() / total, (weight * b[inside]).sum() / total
    return (weight * (a[inside] - mean_a) * (b[inside] - mean_b)).sum() / total
