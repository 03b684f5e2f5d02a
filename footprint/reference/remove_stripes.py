"""Stripes off one sinogram (n_angles, n_x) in float64, after Vo, Atwood and Drakopoulos, Optics Express 26, 28396 (2018).

A column that is divided by its ratio keeps its order of values, and is not divided by one that is not above 0; where neighbours
are all 0, its ratio is 1.
"""

from __future__ import annotations

import numpy as np
from scipy import ndimage


def median(values: np.ndarray, size: int) -> np.ndarray:
    """Along the last axis, mirrored at its ends; SciPy's reads beyond an array that is much shorter than the window."""
    before = size // 2
    padded = np.pad(values, [(0, 0)] * (values.ndim - 1) + [(before, size - 1 - before)], "symmetric")
    return np.sort(np.lib.stride_tricks.sliding_window_view(padded, size, axis=-1), axis=-1)[..., before]


def mean(sinogram: np.ndarray, sigma: float = 30, divide: bool = False) -> np.ndarray:
    """Less, or over, what of the mean over angles a Gaussian does not leave."""
    profile = sinogram.mean(axis=0)
    smooth = ndimage.gaussian_filter1d(profile, sigma, mode="reflect")
    return sinogram / (profile / smooth) if divide else sinogram - (profile - smooth)


def double_flatfield(sinogram: np.ndarray, sigma: float = 30) -> np.ndarray:
    """Less what a Gaussian does not leave of -log of the mean transmission."""
    profile = -np.log(np.exp(-sinogram).mean(axis=0))
    return sinogram - (profile - ndimage.gaussian_filter1d(profile, sigma, mode="reflect"))


def sorting(sinogram: np.ndarray, size: int = 21) -> np.ndarray:
    """Sort every column, take medians along rows of equal rank, put the values back where they came from."""
    order = np.argsort(sinogram, axis=0, kind="stable")
    smooth = median(np.take_along_axis(sinogram, order, 0), size)
    out = np.empty_like(sinogram)
    np.put_along_axis(out, order, smooth, 0)
    return out


def detect(values: np.ndarray, snr: float) -> np.ndarray:
    """Values that stand out above or below a straight line through the middle half of them, in order."""
    n = len(values)
    ranked, drop = np.sort(values)[::-1], int(0.25 * n)
    slope, top = np.polyfit(np.arange(n)[drop : -drop - 1], ranked[drop : -drop - 1], 1)
    bottom = top + slope * (n - 1)
    noise = max(abs(bottom - top), 1e-6)
    found = np.zeros(n, bool)
    if abs(ranked[0] - top) / noise >= snr:
        found |= values > top + noise * snr * 0.5
    if abs(ranked[-1] - bottom) / noise >= snr:
        found |= values <= bottom - noise * snr * 0.5
    return ndimage.binary_dilation(found)


def large(sinogram: np.ndarray, snr: float = 3, size: int = 61) -> np.ndarray:
    """Divide columns by what their mean is over that of their neighbours; those that stand out get their neighbours' values."""
    n, drop = len(sinogram), int(0.05 * len(sinogram))
    ranked = np.sort(sinogram, axis=0)
    smooth = median(ranked, size)
    own, usual = ranked[drop : n - drop].mean(axis=0), smooth[drop : n - drop].mean(axis=0)
    ratio = np.divide(own, usual, out=np.ones_like(own), where=usual != 0)
    found = detect(ratio, snr)
    out = sinogram / np.where(ratio > 0, ratio, 1)
    back = np.empty_like(out)
    np.put_along_axis(back, np.argsort(sinogram, axis=0, kind="stable"), smooth, 0)
    return np.where(found, back, out)


def dead(sinogram: np.ndarray, snr: float = 3, size: int = 61) -> np.ndarray:
    """Interpolate columns that fluctuate far less or more than their neighbours, then correct large stripes."""
    rough = np.abs(sinogram - ndimage.uniform_filter1d(sinogram, 10, axis=0, mode="reflect")).sum(axis=0)
    usual = median(rough, size)
    found = detect(np.divide(rough, usual, out=np.ones_like(rough), where=usual != 0), snr)
    found[:2] = found[-2:] = False
    x = np.arange(sinogram.shape[1])
    out = np.stack([np.interp(x, x[~found], row[~found]) for row in sinogram])
    return large(out, snr, size)


def every(sinogram: np.ndarray, snr: float = 3, size: int = 61, small: int = 21) -> np.ndarray:
    """All of them."""
    return sorting(dead(sinogram, snr, size), small)
