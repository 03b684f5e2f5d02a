"""Heights of Gaussians whose places and shapes are held, by linear least squares, and their errors in noise that is correlated."""

from typing import Any

import numpy as np

from footprint.reference.fit import gaussian


def heights(
    image: np.ndarray, places: np.ndarray, within: float, least: float, rho: Any, noise: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return heights and errors; a row of ``places`` is y, x and the inverse covariance yy, yx, xx; ``rho(dy, dx)``.

    Each height's equation is over the finite pixels where its exponent is up to ``within``, and those within ``least`` pixels.
    """
    n, (y, x) = len(places), (grid.ravel() for grid in np.indices(image.shape))
    values = image.ravel()
    bells = np.array([gaussian(np.array([1.0, *place]), y, x) for place in places])
    weights = np.zeros((n, values.size))
    for k, (y0, x0, *_) in enumerate(places):
        near = (bells[k] >= np.exp(-within / 2)) | ((y - y0) ** 2 + (x - x0) ** 2 <= least**2)
        weights[k] = np.where(near & np.isfinite(values), bells[k], 0)
    solved = np.linalg.solve(weights @ bells.T, weights)
    used = weights.any(0)
    correlated = rho(y[used][:, None] - y[used], x[used][:, None] - x[used])
    found = solved[:, used] @ values[used]
    return found, noise * np.sqrt(np.einsum("kp,pq,kq->k", solved[:, used], correlated, solved[:, used]))
