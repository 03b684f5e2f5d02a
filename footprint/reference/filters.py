"""Gains of the row filters in plain float64, from their formulas, one frequency at a time."""

import math

import numpy as np


def ramp(f: float, padded: int) -> float:
    """Sum of the kernel 1/4 at 0, -1 / (pi k)^2 at odd k, over the ``padded`` samples from -P/2 + 1 to P/2."""
    k = np.arange(1, padded // 2 + 1, 2)
    both = np.where(2 * k == padded, 1, 2)
    return 0.25 - float((both * np.cos(2 * math.pi * f * k) / (math.pi * k) ** 2).sum())


def window(name: str, x: float) -> float:
    """Factor at the share ``x`` of the cutoff, 0 to 1."""
    if name == "shepp-logan":
        return math.sin(math.pi * x / 2) / (math.pi * x / 2) if x else 1.0
    if name == "lanczos":
        return math.sin(math.pi * x) / (math.pi * x) if x else 1.0
    if name == "cosine":
        return math.sin(math.pi / 2 * (1 - x))
    if name == "hamming":
        return 0.08 + 0.92 * math.cos(math.pi * x / 2) ** 2
    if name == "hann":
        return math.cos(math.pi * x / 2) ** 2
    if name == "tukey":
        return 1.0 if x <= 0.5 else math.sin(math.pi * (1 - x)) ** 2
    if name == "parzen":
        return 1 - 6 * x * x + 6 * x**3 if x <= 0.5 else 2 * (1 - x) ** 3
    assert name == "ramlak"
    return 1.0


def response(name: str, padded: int, cutoff: float = 1.0) -> np.ndarray:
    """``(P // 2 + 1,)`` complex gains at 0, 1/P, ..., 1/2 cycles a sample; nothing passes above ``cutoff`` times 1/2."""
    gains = np.zeros(padded // 2 + 1, complex)
    for i in range(len(gains)):
        f, x = i / padded, 2 * i / padded / cutoff
        if x > 1:
            continue
        if name == "none":
            gains[i] = 1
        elif name == "hilbert":
            # -i sgn(f) / 2 pi: what makes |f| of a signal that is already differentiated, as d/dx is 2 pi i f.
            gains[i] = -1j / (2 * math.pi) if f > 0 else 0
        else:
            gains[i] = ramp(f, padded) * window(name, x)
    return gains


def fast_length(n: int) -> int:
    """The least even number from ``n`` on without a prime factor above 7."""
    m = n + n % 2
    while True:
        rest = m
        for p in (2, 3, 5, 7):
            while rest % p == 0:
                rest //= p
        if rest == 1:
            return m
        m += 2
