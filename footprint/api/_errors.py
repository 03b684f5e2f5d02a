"""Errors of sums and centres over islands, in noise that is correlated by the beam.

Noise that went through a Gaussian beam is correlated as exp(-d^2 / 4 s^2), whose volume is twice the beam's area A in pixels. With
u = n / A for a disc of n pixels, integrals over pairs of its pixels are Bessel functions of u. A threshold also moves the disc's
edge with the noise there: for a source of the beam's shape that is a ring of weight s^2, which ``edge`` adds. Without a beam every
pixel is taken for independent, and the edge for fixed.

A centre's error along each axis is that of a disc, stretched to an ellipse of as many pixels whose axes are as those of the light:
islands of the beam's own shape are discs where the beam is made round, and what is much larger than the beam has noise by its
second moments, as has noise of independent pixels.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from footprint.api._bessel import scaled_bessel

_Make = Callable[[np.ndarray, float | None, bool, Sequence[np.ndarray]], np.ndarray]
# Rows whose numbers of pixels are looked at together: of thousands of sources few differ, and Bessel functions take long.
_FEW, _ROWS = 256, 4096
# The variance of a place in a pixel, by which what is one pixel wide has a width.
_PIXEL = 1 / 12


def _each_once(n: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The numbers that there are, ascending, and which of them each is."""
    if n.dtype.kind not in "iu" or n.min() < 0 or n.max() >= 4 * _ROWS:
        return np.unique(n, return_inverse=True)
    # Small whole numbers need no sorting.
    there = np.bincount(n) > 0
    return np.flatnonzero(there), (np.cumsum(there) - 1)[n]


def _noises(makes: Sequence[_Make], npix: np.ndarray, beam_area: float | None, edge: bool) -> list[np.ndarray]:
    """What each of some functions makes of numbers of pixels, called once for those that are the same."""
    n = np.asarray(npix)

    def made(numbers: np.ndarray) -> list[np.ndarray]:
        numbers = numbers.astype(np.float64)
        bessel = scaled_bessel(numbers / beam_area) if beam_area else ()
        return [make(numbers, beam_area, edge, bessel) for make in makes]

    if not beam_area or n.size < _FEW:
        return made(n)
    found = [np.empty(n.size) for _ in makes]
    for first in range(0, n.size, _ROWS):
        part = slice(first, first + _ROWS)
        numbers, places = _each_once(n[part])
        for out, values in zip(found, made(numbers)):
            out[part] = values[places]
    return found


def noise_of_sums(npix: np.ndarray, beam_area: float | None, edge: bool = True) -> np.ndarray:
    """The standard deviation of a sum over a disc of so many pixels, in units of the noise of one."""
    return _noises((_of_sums,), npix, beam_area, edge)[0]


def noise_of_centres(npix: np.ndarray, beam_area: float | None, edge: bool = True) -> np.ndarray:
    """The standard deviation of a sum of noise times its distance from a disc's centre along an axis, in units of the noise.

    Divided by the sum over the disc it is that of a flux-weighted centre.
    """
    return _noises((_of_centres,), npix, beam_area, edge)[0]


def noise_of_both(npix: np.ndarray, beam_area: float | None) -> tuple[np.ndarray, np.ndarray]:
    """`noise_of_sums` and `noise_of_centres`."""
    sums, centres = _noises((_of_sums, _of_centres), npix, beam_area, True)
    return sums, centres


def _of_sums(n: np.ndarray, beam_area: float | None, edge: bool, bessel: Sequence[np.ndarray]) -> np.ndarray:
    if not beam_area:
        return np.sqrt(n)
    u, (zeroth, first, _) = n / beam_area, bessel
    inside = 1 - zeroth - first
    variance = 2 * beam_area * n * inside
    if edge:
        variance += 2 * beam_area * (n * first / u + beam_area * (inside + zeroth / 2))
    # A pixel has the noise of one, whatever the disc's integral.
    return np.sqrt(np.maximum(variance, n))


def _of_centres(n: np.ndarray, beam_area: float | None, edge: bool, bessel: Sequence[np.ndarray]) -> np.ndarray:
    if not beam_area:
        return n / np.sqrt(4 * np.pi)
    u, (zeroth, first, second) = n / beam_area, bessel
    # Where pixels are few against the beam the terms cancel, and their series is good.
    with np.errstate(all="ignore"):
        weight = np.where(u > 1e-3, 1 + 2 * (first / u - zeroth - first), u**2 / 8 * (1 - 2 * u / 3))
    variance = n**2 * weight
    if edge:
        variance += n**2 * 2 * second / u + n * beam_area * (2 * weight + first)
    return np.sqrt(variance * beam_area / (2 * np.pi))


def stretched(data: Mapping[str, np.ndarray], rows: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Second moments xx, yy and xy by the columns a, b and theta of some rows, over those of a disc of the same area.

    Of a light that has no axes they are a disc's.
    """
    a, b, theta = (data[name][rows] for name in ("a", "b", "theta"))
    with np.errstate(all="ignore"):
        mean, half, turn = (a * a + b * b) / 2 + _PIXEL, (a * a - b * b) / 2, np.radians(2 * theta)
        area = np.sqrt((mean - half) * (mean + half))
        along, both, round_ = half / area * np.cos(turn), half / area * np.sin(turn), mean / area
    known = np.isfinite(round_) & np.isfinite(along) & np.isfinite(both)
    if not known.all():
        along, both, round_ = np.where(known, along, 0), np.where(known, both, 0), np.where(known, round_, 1)
    return round_ + along, round_ - along, both


def stretch_centres(data: Mapping[str, np.ndarray]) -> np.ndarray:
    """Make x_err, of discs, that of ellipses, and return y_err."""
    other = np.empty_like(data["x_err"])
    for first in range(0, len(other), _ROWS):
        rows = slice(first, first + _ROWS)
        xx, yy, _ = stretched(data, rows)
        np.multiply(data["x_err"][rows], np.sqrt(yy), out=other[rows])
        data["x_err"][rows] *= np.sqrt(xx)
    return other


def tie_of(data: Mapping[str, np.ndarray], rows: Any) -> np.ndarray:
    """The correlation of the errors of x and y."""
    xx, yy, both = stretched(data, rows)
    return both / np.sqrt(xx * yy)
