"""Noise over a mesh, which stays above 0 beside steps."""

import numpy as np
from scipy.interpolate import CubicSpline, PPoly


def turned(cells: np.ndarray, reach: int, axis: int, noise: bool) -> np.ndarray:
    """Cells turned about their ends; of a noise what is within counts as 1.5 times the end at most."""
    n, sides = cells.shape[axis], []
    for edge, inward in ((0, 1), (n - 1, -1)):
        end = cells.take([edge], axis)
        within = [cells.take([edge + inward * i], axis) if i < n else end for i in range(1, reach + 1)]
        sides.append([2 * end - (np.minimum(one, 1.5 * end) if noise else one) for one in within])
    return np.concatenate([*sides[0][::-1], cells, *sides[1]], axis)


def _bends(cells: np.ndarray, axis: int) -> np.ndarray:
    """Second derivatives of the natural spline."""
    n = cells.shape[axis]
    return CubicSpline(np.arange(n), cells, axis, bc_type="natural")(np.arange(n), 2) if n > 1 else np.zeros_like(cells)


def noise_map(cells: np.ndarray, shape: tuple[int, int], mesh: int) -> np.ndarray:
    """Natural splines, but second derivatives are at most twice the values, and beyond the outer centres no line
    falls by more than half of the outer cell in one.
    """
    down, across = np.minimum(_bends(cells, 0), 2 * cells), np.minimum(_bends(cells, 1), 2 * cells)
    rows = _pieces(cells, down, shape[0], mesh)
    bends = _pieces(across, _bends(down, 1), shape[0], mesh, bounded=False)
    return _pieces(rows.T, np.minimum(bends, 2 * rows).T, shape[1], mesh).T


def _pieces(cells: np.ndarray, bends: np.ndarray, length: int, mesh: int, bounded: bool = True) -> np.ndarray:
    """Cubics through cells along the first axis by their second derivatives, and lines beyond the ends."""
    n = len(cells)
    if n == 1:
        return np.repeat(cells, length, 0)
    rise = np.diff(cells, axis=0)
    cubics = PPoly(
        np.stack([np.diff(bends, axis=0) / 6, bends[:-1] / 2, rise - bends[:-1] / 3 - bends[1:] / 6, cells[:-1]]), np.arange(n)
    )
    at = (np.arange(length) + 0.5) / mesh - 0.5
    first, last = (np.minimum(rise[0], cells[0] / 2), np.maximum(rise[-1], -cells[-1] / 2)) if bounded else (rise[0], rise[-1])
    before, after = np.minimum(at, 0)[:, None] * first, np.maximum(at - n + 1, 0)[:, None] * last
    return cubics(np.clip(at, 0, n - 1)) + before + after
