"""Backprojection in plain float64: every row, continued by zeros, read by linear interpolation at each pixel's position."""

import numpy as np


def backproject(
    sinogram: np.ndarray,
    angles: np.ndarray,
    weights: np.ndarray,
    center: float,
    roi: tuple[int, int, int, int],
    axis_shifts: np.ndarray | None = None,
) -> np.ndarray:
    """Sum over angles of weight times the row at h = center + shift + cos t (x - center) - sin t (y - center)."""
    rows = np.asarray(sinogram, np.float64)
    n_a, n_x = rows.shape
    x0, x1, y0, y1 = roi
    x, y = np.arange(x0, x1) - center, np.arange(y0, y1) - center
    shifts = np.zeros(n_a) if axis_shifts is None else axis_shifts
    out = np.zeros((y1 - y0, x1 - x0))
    for row, t, weight, shift in zip(rows, angles, weights, shifts, strict=True):
        h = center + shift + np.cos(t) * x[None, :] - np.sin(t) * y[:, None]
        wide = np.concatenate([[0.0], row, [0.0]])
        out += weight * np.interp(h.ravel(), np.arange(-1, n_x + 1), wide, left=0, right=0).reshape(h.shape)
    return out


def angle_weights(angles: np.ndarray) -> np.ndarray:
    """Half the distance to both neighbours among the directions modulo pi, one by one; those that are one share it evenly."""
    t = np.mod(np.asarray(angles, np.float64), np.pi)
    if len(t) < 2:
        return np.full(len(t), np.pi)
    near = np.pi / len(t) / 20
    groups: list[list[int]] = []
    for index in np.argsort(t, kind="stable"):
        if groups and t[index] - t[groups[-1][-1]] <= near:
            groups[-1].append(index)
        else:
            groups.append([index])
    if len(groups) > 1 and t[groups[0][0]] + np.pi - t[groups[-1][-1]] <= near:
        t[groups[-1]] -= np.pi
        groups[0] = groups.pop() + groups[0]
    groups = [part for group in groups for part in ([group] if np.ptp(t[group]) <= near else [[index] for index in group])]
    middles, weights = [np.mean(t[group]) for group in groups], np.empty(len(t))
    for place, group in enumerate(groups):
        before, after = middles[place - 1], middles[(place + 1) % len(groups)]
        sides = np.mod(middles[place] - before, np.pi) + np.mod(after - middles[place], np.pi)
        weights[group] = (sides / 2 if len(groups) > 1 else np.pi) / len(group)
    return weights
