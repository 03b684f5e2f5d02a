"""Gains of the row filter of filtered backprojection, by frequency."""

from __future__ import annotations

import numpy as np

from footprint.errors import ArgumentError, choose

NAMES = ("ramlak", "shepp-logan", "cosine", "hamming", "hann", "tukey", "lanczos", "hilbert", "parzen", "none")


def fast_length(n: int) -> int:
    """Return the smallest even 2^a 3^b 5^c 7^d at or over ``n``; even, so that the half-complex length names it."""
    best = 2
    while best < n:
        best *= 2
    for a in _powers(7, best):
        for b in _powers(5, best // a):
            for c in _powers(3, best // (a * b)):
                m = 2 * a * b * c
                while m < n:
                    m *= 2
                best = min(best, m)
    return best


def _powers(base: int, limit: int) -> list[int]:
    powers = [1]
    while powers[-1] * base <= limit:
        powers.append(powers[-1] * base)
    return powers


def ramp(padded: int) -> np.ndarray:
    """|f| in cycles a pixel at the P // 2 + 1 frequencies, from its band-limited kernel sampled in space.

    1/4 at 0, -1/(pi k)^2 at odd k: the finite kernel's gain at frequency zero is small but not 0, which is what keeps the mean
    right (Kak and Slaney, Principles of Computerized Tomographic Imaging, chapter 3, equation 61).
    """
    kernel = np.zeros(padded)
    kernel[0] = 0.25
    k = np.arange(1, padded // 2 + 1, 2)
    kernel[k] = kernel[-k] = -1 / (np.pi * k) ** 2
    return np.fft.rfft(kernel).real


def _window(name: str, x: np.ndarray) -> np.ndarray:
    """Apodisation at x = frequency over cutoff, 0 to 1."""
    if name == "shepp-logan":
        return np.sinc(x / 2)
    if name == "cosine":
        return np.cos(np.pi * x / 2)
    if name == "hamming":
        return 0.54 + 0.46 * np.cos(np.pi * x)
    if name == "hann":
        return 0.5 + 0.5 * np.cos(np.pi * x)
    if name == "tukey":
        return np.where(x <= 0.5, 1.0, 0.5 + 0.5 * np.cos(2 * np.pi * (x - 0.5)))
    if name == "lanczos":
        return np.sinc(x)
    if name == "parzen":
        return np.where(x <= 0.5, 1 - 6 * x**2 * (1 - x), 2 * (1 - np.minimum(x, 1)) ** 3)
    return np.ones_like(x)


def response(shape: str | np.ndarray, padded: int, cutoff: float = 1.0) -> np.ndarray:
    """Gains of a filter at the frequencies ``0, 1/P, ..., 1/2`` cycles a pixel.

    Parameters
    ----------
    shape
        One of `NAMES`, or ``(P // 2 + 1,)`` gains of your own, real or complex.
    padded
        The even padded length P.
    cutoff
        Share of the Nyquist frequency above which nothing passes; the windows stretch to it.

    Returns
    -------
    numpy.ndarray
        complex64, ``(P // 2 + 1,)``.
    """
    count = padded // 2 + 1
    if not isinstance(shape, str):
        own = np.asarray(shape)
        if own.shape != (count,) or own.dtype.kind not in "biufc" or not np.isfinite(own).all():
            fix = "its frequencies are numpy.fft.rfftfreq(P)"
            wanted = f"a name or {count} finite gains (P = {padded})"
            raise ArgumentError("filter", f"an array {own.dtype} {own.shape}", wanted, fix)
        return own.astype(np.complex64)
    choose("filter", shape, NAMES, "ramp of scikit-image is ramlak here" if shape.lower() == "ramp" else "")
    if not isinstance(cutoff, int | float | np.number) or not 0 < cutoff <= 1:
        raise ArgumentError("cutoff", cutoff, "a share of the Nyquist frequency above 0, at most 1")
    frequency = np.fft.rfftfreq(padded)
    if shape == "hilbert":
        # -i sgn f / 2 pi is the ramp of a signal already differentiated: |f| = 2 pi i f (-i sgn f / 2 pi).
        gains = np.where(frequency > 0, -0.5j / np.pi, 0)
    elif shape == "none":
        gains = np.ones(count)
    else:
        gains = ramp(padded) * _window(shape, frequency / (0.5 * cutoff))
    return np.where(frequency <= 0.5 * cutoff, gains, 0).astype(np.complex64)
