"""Beam matching in float64: the mask's widths by Wild's formula (1970), as AIPS and radio_beam have it, sums by SciPy."""

from __future__ import annotations

import math

import numpy as np
import scipy.signal


def gaussian_between(target: tuple[float, float, float], own: tuple[float, float, float]) -> tuple[float, float, float]:
    """Major, minor and angle in degrees of what ``own`` is convolved with to be ``target``."""
    (a, b, p), (c, d, q) = ((x, y, math.radians(z)) for x, y, z in (target, own))
    alpha = (a * math.cos(p)) ** 2 + (b * math.sin(p)) ** 2 - (c * math.cos(q)) ** 2 - (d * math.sin(q)) ** 2
    beta = (a * math.sin(p)) ** 2 + (b * math.cos(p)) ** 2 - (c * math.sin(q)) ** 2 - (d * math.cos(q)) ** 2
    gamma = 2 * ((b * b - a * a) * math.sin(p) * math.cos(p) - (d * d - c * c) * math.sin(q) * math.cos(q))
    s, t = alpha + beta, math.hypot(alpha - beta, gamma)
    angle = 0.5 * math.atan2(-gamma, alpha - beta) if t else 0.0
    return math.sqrt(0.5 * (s + t)), math.sqrt(max(0.5 * (s - t), 0.0)), math.degrees(angle)


def match_beam(
    image: np.ndarray, pixel: float, own: tuple[float, float, float], target: tuple[float, float, float], by_beam: bool
) -> np.ndarray:
    """Of square upright pixels of ``pixel`` degrees, east to the left."""
    major, minor, angle = gaussian_between(target, own)
    half = math.ceil(6 * major / pixel / 2.35)
    y, x = np.mgrid[-half : half + 1, -half : half + 1] * pixel
    north, east = y, -x
    along = north * math.cos(math.radians(angle)) + east * math.sin(math.radians(angle))
    across = -north * math.sin(math.radians(angle)) + east * math.cos(math.radians(angle))
    mask = np.exp(-4 * math.log(2) * ((along / major) ** 2 + (across / minor) ** 2))
    mask *= (target[0] * target[1] / (own[0] * own[1]) if by_beam else 1.0) / mask.sum()
    return scipy.signal.fftconvolve(image, mask, "same")
