"""Stripes off one sinogram by the filter of Munch, Trtik, Marone and Stampanoni, Optics Express 17, 8567 (2009), in float64.

The transforms are dense matrices; every coefficient is kept, damped where the paper damps, and all are put together again.
"""

from __future__ import annotations

import numpy as np


def matrices(n: int, low: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Analysis of n samples mirrored at their ends by the low and high filter (h, n), and synthesis from them (n, h)."""
    length = len(low)
    high = low[::-1] * (-1.0) ** (np.arange(length) + 1)
    h = (n + length - 1) // 2
    ways = []
    for taps in (low, high):
        there, back = np.zeros((h, n)), np.zeros((n, h))
        for k in range(h):
            for j in range(length):
                i = 2 * k + 1 - j
                if 0 <= i < n:
                    back[i, k] = taps[j]
                i %= 2 * n
                there[k, i if i < n else 2 * n - 1 - i] += taps[j]
        ways.append((there, back))
    return ways[0][0], ways[1][0], ways[0][1], ways[1][1]


def fourier_wavelet(sinogram: np.ndarray, low: np.ndarray, level: int = 7, sigma: float = 1) -> np.ndarray:
    """Damp the details along x of each level by 1 - exp(-k^2 / 2 sigma^2), k the frequency along the angle."""
    image, kept = np.asarray(sinogram, np.float64), []
    for _ in range(level):
        a_low, a_high, a_back, a_back_high = matrices(image.shape[0], low)
        x_low, x_high, x_back, x_back_high = matrices(image.shape[1], low)
        vertical, horizontal, diagonal = a_low @ image @ x_high.T, a_high @ image @ x_low.T, a_high @ image @ x_high.T
        m = vertical.shape[0]
        damp = 1 - np.exp(-((np.fft.fftfreq(m) * m) ** 2) / (2 * sigma**2))
        vertical = np.fft.ifft(np.fft.fft(vertical, axis=0) * damp[:, None], axis=0).real
        details = a_back @ vertical @ x_back_high.T + a_back_high @ (horizontal @ x_back.T + diagonal @ x_back_high.T)
        kept.append((a_back, x_back, details))
        image = a_low @ image @ x_low.T
    for a_back, x_back, details in reversed(kept):
        image = a_back @ image @ x_back.T + details
    return image
