"""Backprojection of a half-complex polar spectrum by the plain sum, in float64: what the fast transform must equal."""

import numpy as np


def fourier_backproject(  # type: ignore[no-untyped-def]
    spectrum, angles, weights, center, roi, axis_shifts=None
) -> np.ndarray:
    """Sum over angles and frequencies of weight S exp(2 pi i f h) / P at each pixel's detector position h."""
    n_f = spectrum.shape[-1]
    padded = 2 * (n_f - 1)
    x0, x1, y0, y1 = roi
    shifts = np.zeros(len(angles)) if axis_shifts is None else axis_shifts
    x, y = np.arange(x0, x1)[None, :] - center, np.arange(y0, y1)[:, None] - center
    gain = np.full(n_f, 2.0 / padded)
    gain[0] = gain[-1] = 1.0 / padded
    out = np.zeros((y1 - y0, x1 - x0))
    for row, t, weight, shift in zip(spectrum, angles, weights, shifts, strict=True):
        h = center + shift + np.cos(t) * x - np.sin(t) * y
        for f in range(n_f):
            out += weight * gain[f] * (row[f] * np.exp(2j * np.pi * f / padded * h)).real
    return out
