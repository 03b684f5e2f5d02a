"""Paganin's filter of one projection by a two-dimensional transform, the projection continued far beyond its reach, in float64."""

from __future__ import annotations

import math

import numpy as np


def blur_length(delta_beta: float, energy: float, distance: float, pixel_size: float) -> float:
    """Pixels of sqrt(z delta / mu), mu = 4 pi beta / lambda (Paganin et al., Journal of Microscopy 206, 33, 2002)."""
    planck, light, charge = 6.62607015e-34, 299792458.0, 1.602176634e-19
    wavelength = planck * light / (energy * 1e3 * charge)
    return math.sqrt(distance * delta_beta * wavelength / (4 * math.pi)) / pixel_size


def paganin(projection: np.ndarray, length: float, padding: str = "edge") -> np.ndarray:
    """Transmission through 1 / (1 + length^2 k^2)."""
    beyond = math.ceil(14 * length) + 64
    values, constants = np.asarray(projection, np.float64), {"air": 1.0, "zeros": 0.0}
    if padding in constants:
        wide = np.pad(values, beyond, "constant", constant_values=constants[padding])
    else:
        wide = np.pad(values, beyond, padding)  # type: ignore[call-overload]
    ky, kx = (2 * np.pi * np.fft.fftfreq(n) for n in wide.shape)
    spectrum = np.fft.fft2(wide) / (1 + length**2 * (ky[:, None] ** 2 + kx**2))
    return np.fft.ifft2(spectrum).real[beyond:-beyond, beyond:-beyond]
