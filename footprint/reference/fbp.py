"""Filtered backprojection in plain float64, and the line integrals of ellipses to hold it against."""

import numpy as np

from footprint.reference.backproject import angle_weights, backproject
from footprint.reference.ramp_filter import ramp_filter

# Shepp and Logan's head with Toft's contrasts: value, half axes, centre, tilt in degrees, in units of the half width.
SHEPP_LOGAN = (
    (1.0, 0.69, 0.92, 0.0, 0.0, 0.0),
    (-0.8, 0.6624, 0.874, 0.0, -0.0184, 0.0),
    (-0.2, 0.11, 0.31, 0.22, 0.0, -18.0),
    (-0.2, 0.16, 0.41, -0.22, 0.0, 18.0),
    (0.1, 0.21, 0.25, 0.0, 0.35, 0.0),
    (0.1, 0.046, 0.046, 0.0, 0.1, 0.0),
    (0.1, 0.046, 0.046, 0.0, -0.1, 0.0),
    (0.1, 0.046, 0.023, -0.08, -0.605, 0.0),
    (0.1, 0.023, 0.023, 0.0, -0.606, 0.0),
    (0.1, 0.023, 0.046, 0.06, -0.605, 0.0),
)


def fbp(  # type: ignore[no-untyped-def]
    sinogram, angles, response, center, roi, padding="constant", axis_shifts=None, weights=None
) -> np.ndarray:
    """Filter, then backproject with half-gap weights."""
    weights = angle_weights(angles) if weights is None else weights
    filtered = ramp_filter(sinogram, response, padding)
    return backproject(filtered, angles, weights, center, roi, axis_shifts)


def ellipse_sinogram(
    angles: np.ndarray, n_x: int, center: float, ellipses: tuple[tuple[float, ...], ...] = SHEPP_LOGAN
) -> np.ndarray:
    """Line integrals, in pixels, of ellipses scaled to half the width, as seen at h = c + cos t X - sin t Y."""
    h, half = np.arange(n_x) - center, n_x / 2
    sino = np.zeros((len(angles), n_x))
    for value, a, b, x, y, tilt in ellipses:
        tilt = np.deg2rad(tilt)
        for i, t in enumerate(angles):
            # the direction (cos t, -sin t) along which h grows, seen from the ellipse's own axes
            reach2 = (half * a * np.cos(t + tilt)) ** 2 + (half * b * np.sin(t + tilt)) ** 2
            s = h - half * (x * np.cos(t) - y * np.sin(t))
            sino[i] += value * 2 * half * a * half * b * np.sqrt(np.maximum(reach2 - s**2, 0)) / reach2
    return sino


def ellipse_image(n: int, center: float, ellipses: tuple[tuple[float, ...], ...] = SHEPP_LOGAN) -> np.ndarray:
    """The ellipses themselves on an n by n grid."""
    x, y = np.meshgrid((np.arange(n) - center) / (n / 2), (np.arange(n) - center) / (n / 2))
    image = np.zeros((n, n))
    for value, a, b, u, v, tilt in ellipses:
        c, s = np.cos(np.deg2rad(tilt)), np.sin(np.deg2rad(tilt))
        p, q = (x - u) * c + (y - v) * s, -(x - u) * s + (y - v) * c
        image += value * ((p / a) ** 2 + (q / b) ** 2 <= 1)
    return image
