"""Rows of a half acquisition on the whole field, and the weights of angles of a whole turn."""

from __future__ import annotations

import numpy as np

FINE = 2000


def field(rows: np.ndarray, axes: np.ndarray, offset: int, width: int, extra: int, side: int, reach: float) -> np.ndarray:
    """Rows (n_angles, n_x) as (n_angles, width): twice the mean of the weight over FINE points of every pixel, 0 where unseen."""
    n_angles, n_x = rows.shape
    before, after = (extra, 0) if side < 0 else (0, extra)
    seen = np.pad(np.asarray(rows, np.float64), ((0, 0), (before, after)), "edge")
    points = (np.arange(FINE) + 0.5) / FINE - 0.5
    out = np.zeros((n_angles, width))
    for a in range(n_angles):
        for x in range(-before, n_x + after):
            u = side * (x - axes[a]) + points
            ramp = (reach - u) / (2 * reach) if reach > 0 else np.where(u < 0, 1.0, np.where(u > 0, 0.0, 0.5))
            out[a, x + offset] = 2 * np.clip(ramp, 0, 1).mean() * seen[a, x + before]
    return out


def turn_weights(angles: np.ndarray) -> np.ndarray:
    """A quarter of the gap between every angle's two neighbours on the circle: they add up to pi."""
    turned = np.mod(angles, 2 * np.pi)
    order = np.argsort(turned, kind="stable")
    weights = np.zeros(len(turned))
    for k, here in enumerate(order):
        before, after = turned[order[k - 1]], turned[order[(k + 1) % len(order)]]
        before -= 2 * np.pi if k == 0 else 0
        after += 2 * np.pi if k == len(order) - 1 else 0
        weights[here] = (after - before) / 4
    return weights
