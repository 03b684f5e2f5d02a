"""Background and noise on a mesh, cell by cell with NumPy, spline by SciPy."""

import numpy as np
from scipy import special
from scipy.interpolate import CubicSpline

from footprint.reference.noise import noise_map, turned


def background(
    image: np.ndarray, box: int = 64, filter_size: int = 3, kappa: float = 3.0, robust: bool = True
) -> tuple[np.ndarray, np.ndarray]:
    """Return maps of background and noise in float64."""
    x = np.asarray(image, np.float64)
    corners = [(y, c) for y in range(0, x.shape[0], box) for c in range(0, x.shape[1], box)]
    shape = -(-x.shape[0] // box), -(-x.shape[1] // box)
    found = np.array([_cell(x[y : y + box, c : c + box], kappa, robust) for y, c in corners]).reshape(*shape, 2)
    level, noise = found[..., 0], found[..., 1]
    return _spline(_filtered(level, filter_size), x.shape, box), noise_map(_filtered(noise, filter_size, True), x.shape, box)


def _cell(part: np.ndarray, kappa: float, robust: bool) -> tuple[float, float]:
    values = part[np.isfinite(part)]
    if values.size == 0 or values.size < 0.3 * part.size:
        return np.nan, np.nan
    kept, size = values, -1
    while kept.size != size:
        size, middle, spread = kept.size, np.median(kept), np.std(kept)
        inside = kept[np.abs(kept - middle) <= kappa * spread]
        kept = inside if inside.size else kept
    middle, mean, spread = np.median(kept), np.mean(kept), np.std(kept)
    if spread == 0:
        return middle, spread
    if not robust or values.size < 64:
        return (2.5 * middle - 1.5 * mean if abs(mean - middle) < 0.3 * spread else middle), spread
    # Mean and variance of a normal distribution that is cut off one deviation over its mean.
    hazard = np.exp(-0.5) / np.sqrt(2 * np.pi) / special.ndtr(1)
    level, noise = middle, spread
    for _ in range(50):
        below = values[(values >= level - 5 * noise) & (values < level + noise)]
        if below.size < 16:
            return middle, spread
        wider = np.std(below) / np.sqrt(1 - hazard - hazard**2)
        higher = np.mean(below) + wider * hazard
        moved = abs(higher - level) + abs(wider - noise)
        level, noise = higher, wider
        if moved < 1e-4 * noise:
            break
    return level, noise


def _filtered(cells: np.ndarray, width: int, noise: bool = False) -> np.ndarray:
    full, (ny, nx) = cells.copy(), cells.shape
    for y, x in np.argwhere(np.isnan(cells)):
        for reach in range(1, max(ny, nx)):
            ring = cells[max(0, y - reach) : y + reach + 1, max(0, x - reach) : x + reach + 1]
            if np.isfinite(ring).any():
                full[y, x] = np.nanmedian(ring)
                break
    padded = turned(turned(full, width // 2, 1, noise), width // 2, 0, noise)
    return np.median(np.lib.stride_tricks.sliding_window_view(padded, (width, width)), axis=(2, 3))


def _spline(cells: np.ndarray, shape: tuple[int, int], mesh: int) -> np.ndarray:
    for axis in range(2):
        at = (np.arange(shape[axis]) + 0.5) / mesh - 0.5
        n = cells.shape[axis]
        if n == 1:
            cells = np.repeat(cells, shape[axis], axis)
            continue
        curve = CubicSpline(np.arange(n), cells, axis, bc_type="natural")
        values = curve(np.clip(at, 0, n - 1))
        # Beyond the outer centres, the line through the last two of them.
        low, high = cells.take([0], axis), cells.take([n - 1], axis)
        first, last = cells.take([1], axis) - low, high - cells.take([n - 2], axis)
        column = at.reshape([-1, 1] if axis == 0 else [1, -1])
        values = np.where(column < 0, low + first * column, values)
        cells = np.where(column > n - 1, high + last * (column - n + 1), values)
    return cells
