"""Convolution and correlation, one tap at a time in float64."""

from __future__ import annotations

import numpy as np

_NUMPY_NAME = {"nearest": "edge", "reflect": "symmetric", "mirror": "reflect", "wrap": "wrap"}


def correlate(
    image: np.ndarray,
    mask: np.ndarray,
    mode: str = "same",
    boundary: str = "constant",
    cval: float = 0.0,
    nan: str = "propagate",
) -> np.ndarray:
    """Sum of mask[i] image[x + i - first], where ``first`` is k//2, k-1 or 0 for mode same, full or valid.

    With ``nan`` "ignore" over what is a number; "interpolate" divides that by the share of the mask's sum that fell on numbers.
    """
    image, mask = np.asarray(image, np.float64), np.asarray(mask, np.float64)
    first = [{"same": k // 2, "full": k - 1, "valid": 0}[mode] for k in mask.shape]
    shape = [{"same": n, "full": n + k - 1, "valid": n - k + 1}[mode] for n, k in zip(image.shape, mask.shape)]
    widths = [(f, s + k - 1 - f - n) for f, s, k, n in zip(first, shape, mask.shape, image.shape)]
    kept = tuple(slice(0, n + min(after, 0)) for (_, after), n in zip(widths, image.shape))
    widths = [(before, max(after, 0)) for before, after in widths]
    if boundary == "constant":
        padded = np.pad(image[kept], widths, constant_values=cval)
    else:
        padded = np.pad(image[kept], widths, mode=_NUMPY_NAME[boundary])  # type: ignore[call-overload]
    out, below = np.zeros(shape), np.zeros(shape)
    for tap in np.ndindex(*mask.shape):
        window = padded[tuple(slice(i, i + s) for i, s in zip(tap, shape))]
        if nan != "propagate":
            below += mask[tap] * ~np.isnan(window)
            window = np.where(np.isnan(window), 0, window)
        out += mask[tap] * window
    if nan == "interpolate":
        return np.divide(out * mask.sum(), below, out=np.full(out.shape, np.nan), where=below != 0)
    return out


def convolve(image: np.ndarray, mask: np.ndarray, *args: object, **options: object) -> np.ndarray:
    """Correlation with the flipped mask; in mode same the result is the middle of mode full, as in scipy.signal."""
    return correlate(image, np.flip(np.asarray(mask)), *args, **options)  # type: ignore[arg-type]
