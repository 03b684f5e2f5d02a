"""Moments of labelled pixels by SciPy."""

import numpy as np
from scipy import ndimage


def measure(image: np.ndarray, labels: np.ndarray, count: int) -> dict[str, np.ndarray]:
    """Return a dict of arrays, one entry a label 1 to count; a label without pixels has npix 0."""
    x = np.asarray(image, np.float64)
    index = np.arange(1, count + 1)
    places = [np.nonzero(labels == k) for k in index]
    values = [x[place] for place in places]
    flux = np.array([v.sum() for v in values])
    boxes = ndimage.find_objects(labels, max_label=count)
    box = [(b[1].start, b[1].stop - 1, b[0].start, b[0].stop - 1) if b else (0, -1, 0, -1) for b in boxes]
    peak = [max(range(len(v)), key=v.__getitem__) if len(v) else 0 for v in values]
    with np.errstate(all="ignore"):
        return {
            "label": index,
            "npix": np.array([len(v) for v in values]),
            "flux": flux,
            "peak": np.array([max((one for one in v if one == one), default=np.nan) for v in values]),
            "x": np.array([(v * p[1]).sum() for v, p in zip(values, places)]) / flux,
            "y": np.array([(v * p[0]).sum() for v, p in zip(values, places)]) / flux,
            "xx": np.array([_covariance(v, p[1], p[1]) for v, p in zip(values, places)]),
            "yy": np.array([_covariance(v, p[0], p[0]) for v, p in zip(values, places)]),
            "xy": np.array([_covariance(v, p[1], p[0]) for v, p in zip(values, places)]),
            "box": np.array(box).reshape(-1, 4),
            "x_peak": np.array([p[1][i] if len(p[1]) else -1 for p, i in zip(places, peak)]),
            "y_peak": np.array([p[0][i] if len(p[0]) else -1 for p, i in zip(places, peak)]),
        }


def _covariance(weight: np.ndarray, a: np.ndarray, b: np.ndarray) -> float:
    """Of two coordinates, weighted by the values."""
    total = weight.sum()
    mean_a, mean_b = (weight * a).sum() / total, (weight * b).sum() / total
    return (weight * (a - mean_a) * (b - mean_b)).sum() / total
