"""Linear equations by BiCGSTAB (van der Vorst 1992), in vectors that are given and one order, so that threads change no digit."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from footprint.kernels.common.jit import njit
from footprint.kernels.held.contract import LEFT, SETTLED, TURNS


@njit(cache=True, nogil=True)
def _dot(a, b):
    s = 0.0
    for i in range(a.size):
        s += a[i] * b[i]
    return s


def together(
    times: Callable[[np.ndarray, np.ndarray], None], right: np.ndarray, eased: np.ndarray, vectors: np.ndarray
) -> np.ndarray:
    """What solves the equations, NaN where it is not settled.

    ``times(of, out)`` leaves in ``eased`` about what has ``of`` for its right side, and in ``out`` what that has.
    """
    a, r, shadow, p, v, s, t = vectors
    times(right, v)
    a[:] = eased
    np.subtract(right, v, out=r)
    shadow[:] = r
    v[:] = p[:] = 0.0
    rho = alpha = omega = 1.0
    enough = LEFT**2 * _dot(right, right)
    for _ in range(TURNS):
        now = _dot(shadow, r)
        if not _dot(r, r) > enough or now == 0 or omega == 0:
            break
        _step(p, r, v, now / rho * (alpha / omega), omega)
        rho = now
        times(p, v)
        along = _dot(shadow, v)
        if along == 0:
            break
        alpha = rho / along
        _less(a, -alpha, eased, a)
        _less(r, alpha, v, s)
        times(s, t)
        size = _dot(t, t)
        omega = _dot(t, s) / size if size > 0 else 0.0
        _less(a, -omega, eased, a)
        _less(s, omega, t, r)
    if _dot(r, r) > enough:
        _forget(a, r, right)
    return a


@njit(cache=True, nogil=True)
def _forget(a, r, right):
    usual = math.sqrt(_dot(right, right) / a.size)
    for i in range(a.size):
        if not abs(r[i]) <= SETTLED * max(abs(right[i]), usual):
            a[i] = np.nan


@njit(cache=True, nogil=True)
def _step(p, r, v, beta, omega):
    for i in range(p.size):
        p[i] = r[i] + beta * (p[i] - omega * v[i])


@njit(cache=True, nogil=True)
def _less(a, factor, b, out):
    for i in range(a.size):
        out[i] = a[i] - factor * b[i]
