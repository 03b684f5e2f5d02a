"""A simulated radio sky: noise that is correlated by the beam, sources with a power law of fluxes, a tenth of them extended."""

from __future__ import annotations

import numpy as np
from scipy.spatial import cKDTree

BANDS = ((5, 7), (7, 10), (10, 30), (30, np.inf))


def sky(n: int, sources: int, fwhm: float = 5.0, seed: int = 20240501) -> tuple[np.ndarray, np.ndarray]:
    """An image (n, n) in units of its noise; x, y, peak and flux (a point's is its peak) of the sources in it."""
    rng, s = np.random.default_rng(seed), fwhm / 2.3548
    ky, kx = np.fft.fftfreq(n), np.fft.rfftfreq(n)
    spectrum = np.fft.rfft2(rng.standard_normal((n, n))) * np.exp(-2 * (np.pi * s) ** 2 * (ky[:, None] ** 2 + kx**2))
    image = np.fft.irfft2(spectrum, (n, n))
    image /= image.std()
    x, y = rng.uniform(10, n - 10, (2, sources))
    peak = np.minimum(3 / (1 - rng.random(sources)), 3000)
    major = np.where(rng.random(sources) < 0.1, s * rng.uniform(1.2, 4, sources), s)
    turn = rng.uniform(0, np.pi, sources)
    for at in range(sources):
        reach = int(6 * major[at]) + 1
        left, top = max(int(x[at]) - reach, 0), max(int(y[at]) - reach, 0)
        part = image[top : int(y[at]) + reach + 1, left : int(x[at]) + reach + 1]
        dy, dx = np.indices(part.shape)
        dx, dy = dx + left - x[at], dy + top - y[at]
        along, across = dx * np.cos(turn[at]) + dy * np.sin(turn[at]), dy * np.cos(turn[at]) - dx * np.sin(turn[at])
        part += peak[at] * np.exp(-0.5 * ((along / major[at]) ** 2 + (across / s) ** 2))
    return image.astype(np.float32), np.stack([x, y, peak, peak * (major / s)], 1)


def nearest(xy: np.ndarray, truth: np.ndarray, reach: float = 2.5) -> np.ndarray:
    """The detection of its own that each source has near, the brightest choosing first; -1 where there is none."""
    tree, free, which = cKDTree(xy), np.ones(len(xy), bool), np.full(len(truth), -1)
    for at in np.argsort(-truth[:, 2]):
        near = [j for j in tree.query_ball_point(truth[at, :2], reach) if free[j]]
        if near:
            which[at] = min(near, key=lambda j: np.hypot(*(xy[j] - truth[at, :2])))
            free[which[at]] = False
    return which


def found(xy: np.ndarray, truth: np.ndarray, reach: float = 2.5) -> tuple[np.ndarray, int]:
    """Which sources have a detection of their own near; how many detections are left over."""
    which = nearest(xy, truth, reach)
    return which >= 0, len(xy) - int(np.sum(which >= 0))


def shares(hit: np.ndarray, truth: np.ndarray) -> np.ndarray:
    """Of the sources in each of `BANDS` of peaks in units of the noise, how many are hit."""
    return np.array([hit[(truth[:, 2] >= low) & (truth[:, 2] < high)].mean() for low, high in BANDS])
