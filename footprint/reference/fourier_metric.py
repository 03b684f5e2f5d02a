"""Vo's Fourier metric of an axis in plain float64: both halves of the turn joined, transformed in two dimensions, and summed."""

import numpy as np


def fourier_metric(sinogram: np.ndarray, center: float, padded: int, radius: float, drop: int) -> float:
    """Mean |FFT| outside of what an object within ``radius`` can have, of the joined turn over that of the first half alone.

    ``sinogram`` (n, n_x) is of n angles, pi / n apart. The other half is it mirrored about ``center``, between samples by its
    Fourier series; both are padded with zeros along x. Left out are frequencies up to ``drop`` along the angle, and the highest.
    """
    n, n_x = sinogram.shape
    first = np.zeros((n, padded))
    first[:, :n_x] = sinogram
    f = np.fft.fftfreq(padded, 1 / padded)
    x = 2 * center - np.arange(padded)
    waves = np.exp(2j * np.pi * np.outer(f, x) / padded)
    # The highest frequency of an even length has no sign; the region has none of it.
    mirrored = (np.fft.fft(first, axis=1) @ waves / padded).real
    k = np.fft.fftfreq(2 * n, 1 / (2 * n))
    outside = (np.abs(k)[:, None] > np.maximum(2 * np.pi * radius * np.abs(f) / padded, drop)[None]) & (f != 0) & (k[:, None] != -n)
    joined = np.abs(np.fft.fft2(np.vstack([first, mirrored])))
    alone = np.abs(np.fft.fft2(np.vstack([first, np.zeros_like(first)])))
    return float(joined[outside].sum() / alone[outside].sum())
