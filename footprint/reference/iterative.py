"""SIRT, CGLS and total variation in plain float64, of one slice, with the matrix of its projections."""

import numpy as np


def _inverse(sums: np.ndarray, least: float) -> np.ndarray:
    return np.where(sums >= least, 1 / np.maximum(sums, least), 0)


def sirt(a: np.ndarray, b: np.ndarray, iterations: int, nonnegative: bool = False, least: float = 1e-2) -> np.ndarray:
    """Steps x += C A' R (b - A x); sums below ``least`` do not count."""
    r, c, x = _inverse(a.sum(1), least), _inverse(a.sum(0), least), np.zeros(a.shape[1])
    for _ in range(iterations):
        x = x + c * (a.T @ (r * (b - a @ x)))
        x = np.maximum(x, 0) if nonnegative else x
    return x


def cgls(a: np.ndarray, b: np.ndarray, iterations: int) -> np.ndarray:
    """Conjugate gradients on a'a x = a'b."""
    x, r = np.zeros(a.shape[1]), np.array(b, np.float64)
    s = a.T @ r
    p, gamma = s, s @ s
    for _ in range(iterations):
        q = a @ p
        alpha = gamma / (q @ q)
        x, r = x + alpha * p, r - alpha * q
        s = a.T @ r
        p, gamma = s + (s @ s) / gamma * p, s @ s
    return x


def gradient(x: np.ndarray) -> np.ndarray:
    """(2, n_y, n_x): differences to the next column and to the next row, 0 at the last."""
    return np.stack([np.diff(x, axis=1, append=x[:, -1:]), np.diff(x, axis=0, append=x[-1:])])


def objective(a: np.ndarray, b: np.ndarray, x: np.ndarray, weight: float) -> float:
    """|a x - b|² / 2 + weight TV(x) of a slice (n_y, n_x)."""
    return float(0.5 * ((a @ x.ravel() - b) ** 2).sum() + weight * np.sqrt((gradient(x) ** 2).sum(0)).sum())


def tv(
    a: np.ndarray, b: np.ndarray, shape: tuple[int, int], weight: float, iterations: int, scale: float, nonnegative: bool = False
) -> np.ndarray:
    """Chambolle and Pock's method for ``objective``, the gradient times ``scale``, with diagonal steps; a slice of ``shape``."""
    sigma, tau = _inverse(a.sum(1), 1e-2), 1 / (a.sum(0) + 4 * scale).reshape(shape)
    x, ahead, p, q = np.zeros(shape), np.zeros(shape), np.zeros(len(b)), np.zeros((2, *shape))
    for _ in range(iterations):
        p = (p + sigma * (a @ ahead.ravel() - b)) / (1 + sigma)
        q = q + gradient(ahead) / 2
        q = q / np.maximum(1, np.sqrt((q**2).sum(0)) * scale / weight)
        # The transpose of the gradient, of duals that are 0 at the last.
        spread = -np.diff(q[0], axis=1, prepend=0) - np.diff(q[1], axis=0, prepend=0)
        old, x = x, x - tau * ((a.T @ p).reshape(shape) + scale * spread)
        x = np.maximum(x, 0) if nonnegative else x
        ahead = 2 * x - old
    return x
