"""Background and noise on a mesh, cell by cell with NumPy, spline by SciPy."""

import numpy as np
from scipy import special
from scipy.interpolate import CubicSpline, PPoly


def background(
    image: np.ndarray, box: int = 64, filter_size: int = 3, kappa: float = 3.0, robust: bool = True
) -> tuple[np.ndarray, np.ndarray]:
    """Return maps of background and noise in float64."""
    x = np.asarray(image, np.float64)
    corners = [(y, c) for y in range(0, x.shape[0], box) for c in range(0, x.shape[1], box)]
    shape = -(-x.shape[0] // box), -(-x.shape[1] // box)
    found = np.array([_cell(x[y : y + box, c : c + box], kappa, robust) for y, c in corners]).reshape(*shape, 2)
    level, noise = found[..., 0], found[..., 1]
    return _spline(_filtered(level, filter_size), x.shape, box), _noise(_filtered(noise, filter_size, True), x.shape, box)


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
    padded = _turned(_turned(full, width // 2, 1, noise), width // 2, 0, noise)
    return np.median(np.lib.stride_tricks.sliding_window_view(padded, (width, width)), axis=(2, 3))


def _turned(cells: np.ndarray, reach: int, axis: int, noise: bool) -> np.ndarray:
    """Cells turned about their ends; of a noise what is within counts as 1.5 times the end at most."""
    n, sides = cells.shape[axis], []
    for edge, inward in ((0, 1), (n - 1, -1)):
        end = cells.take([edge], axis)
        within = [cells.take([edge + inward * i], axis) if i < n else end for i in range(1, reach + 1)]
        sides.append([2 * end - (np.minimum(one, 1.5 * end) if noise else one) for one in within])
    return np.concatenate([*sides[0][::-1], cells, *sides[1]], axis)


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


def _bends(cells: np.ndarray, axis: int) -> np.ndarray:
    """Second derivatives of the natural spline."""
    n = cells.shape[axis]
    return CubicSpline(np.arange(n), cells, axis, bc_type="natural")(np.arange(n), 2) if n > 1 else np.zeros_like(cells)


def _noise(cells: np.ndarray, shape: tuple[int, int], mesh: int) -> np.ndarray:
    """As `_spline`, but second derivatives are at most twice the values, and beyond the outer centres no line
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
