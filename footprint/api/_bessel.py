"""Bessel functions of the errors of sums, without SciPy's: to import those takes as long as finding the sources of an image.

exp(-u) I_n(u) is u^n times the mean of exp(u (cos t - 1)) sin^2n t over half a turn, by a number that belongs to n. A few angles
give that mean to its last digits up to `_FAR`, and a series in 1 / u gives the rest.
"""

from __future__ import annotations

import math

import numpy as np

# Where either way has the last digits of a double.
_FAR, _ANGLES, _TERMS = 40.0, 32, 20
# So many arguments at a time: the means' own arrays stay small.
_ROWS = 128

_TURN = (np.arange(_ANGLES) + 0.5) * (math.pi / _ANGLES)
# cos t - 1, to its last digits where it is small.
_FALL = -2 * np.sin(_TURN / 2) ** 2
_WEIGHTS = [np.sin(_TURN) ** (2 * order) / _ANGLES / odd for order, odd in enumerate((1, 1, 3))]


def scaled_bessel(u: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """exp(-u) times the modified Bessel functions of orders 0, 1 and 2, for u >= 0."""
    flat = np.ravel(np.asarray(u, np.float64))
    found = np.empty((3, flat.size))
    for first in range(0, flat.size, _ROWS):
        part = slice(first, first + _ROWS)
        some = flat[part]
        rise = np.exp(some[:, None] * _FALL)
        for order, weights in enumerate(_WEIGHTS):
            found[order, part] = some**order * (rise * weights).sum(axis=1)
    far = np.flatnonzero(flat > _FAR)
    if far.size:
        found[:, far] = [_series(flat[far], order) for order in range(3)]
    found = found.reshape(3, *np.shape(u))
    return found[0], found[1], found[2]


def _series(u: np.ndarray, order: int) -> np.ndarray:
    total, term = np.ones_like(u), np.ones_like(u)
    for k in range(1, _TERMS):
        term = term * -(4 * order**2 - (2 * k - 1) ** 2) / (8 * k * u)
        total = total + term
    return total / np.sqrt(2 * math.pi * u)
