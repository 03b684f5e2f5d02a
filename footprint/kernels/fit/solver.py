"""A Gaussian fitted to pixels by Levenberg and Marquardt, and its errors."""

from __future__ import annotations

import math

import numpy as np

from footprint.kernels.common.jit import njit
from footprint.kernels.fit.contract import ENOUGH, ERRORS, HEIGHT, MAJOR, MINOR, NOTHING, STEPS, SUM, THETA, X, Y

# Halvings of the exponent beyond which a Gaussian is nothing, and what is then left at most.
_HALVINGS = 6
_MIDDLE = NOTHING / 2**_HALVINGS / 2
_AT_MIDDLE = math.exp(-_MIDDLE)
# Sums of a row of pixels may be taken several at a time: always in the same order.
_LANES = {"reassoc", "contract", "nsz"}


@njit(cache=True, nogil=True)
def far(y, x, reach, p):
    """Whether a Gaussian, by its place and the inverse of its covariance, yy, yx and xx, is nothing on a disc."""
    half = 0.5 * (p[2] + p[4])
    least = half - math.hypot(0.5 * (p[2] - p[4]), p[3])
    away = math.hypot(y - p[0], x - p[1]) - reach
    return away > 0 and least * away * away > 2 * NOTHING


@njit(cache=True, nogil=True, fastmath=_LANES)
def dot(w, i, j, n):
    """The sum of two rows' products."""
    s = 0.0
    for q in range(n):
        s += w[i, q] * w[j, q]
    return s


@njit(cache=True, nogil=True, fastmath=_LANES)
def bells(w, row, n):
    """Of each q in a row, 0 up to `NOTHING`, exp(-q), to 1e-13 of it: a series of a 64th part, squared six times."""
    for q in range(n):
        t = _MIDDLE - min(max(w[row, q], 0.0), NOTHING) * (1.0 / 2**_HALVINGS)
        e = 1.0 + t * (1 / 11)
        e = 1.0 + t * (1 / 10) * e
        e = 1.0 + t * (1 / 9) * e
        e = 1.0 + t * (1 / 8) * e
        e = 1.0 + t * (1 / 7) * e
        e = 1.0 + t * (1 / 6) * e
        e = 1.0 + t * (1 / 5) * e
        e = 1.0 + t * (1 / 4) * e
        e = 1.0 + t * (1 / 3) * e
        e = 1.0 + t * (1 / 2) * e
        e = _AT_MIDDLE * (1.0 + t * e)
        e *= e
        e *= e
        e *= e
        e *= e
        e *= e
        w[row, q] = e * e


@njit(cache=True, nogil=True, fastmath=_LANES)
def exponents(p, n, w, row):
    """Half the exponents of a Gaussian at the places in rows 2 and 3."""
    y, x, yy, yx, xx = p[1], p[2], 0.5 * p[3], p[4], 0.5 * p[5]
    for i in range(n):
        dy, dx = w[2, i] - y, w[3, i] - x
        w[row, i] = dy * (yy * dy + yx * dx) + xx * dx * dx


@njit(cache=True, nogil=True, fastmath=_LANES)
def _slopes(p, n, w):
    """Derivatives by the place, along y and then along x."""
    height, y, x, yy, yx, xx = p[0], p[1], p[2], p[3], p[4], p[5]
    for i in range(n):
        w[5, i] = height * w[4, i] * (yy * (w[2, i] - y) + yx * (w[3, i] - x))
    for i in range(n):
        w[6, i] = height * w[4, i] * (yx * (w[2, i] - y) + xx * (w[3, i] - x))


@njit(cache=True, nogil=True, fastmath=_LANES)
def _bends(p, n, w):
    """Derivatives by the inverse covariance."""
    height, y, x = -0.5 * p[0], p[1], p[2]
    for i in range(n):
        w[7, i] = height * w[4, i] * (w[2, i] - y) * (w[2, i] - y)
    for i in range(n):
        w[8, i] = 2 * height * w[4, i] * (w[2, i] - y) * (w[3, i] - x)
    for i in range(n):
        w[9, i] = height * w[4, i] * (w[3, i] - x) * (w[3, i] - x)


@njit(cache=True, nogil=True, fastmath=_LANES)
def model(p, m, n, w):
    """Residuals, in row 1, of the pixels in row 0 at the places in rows 2 and 3; derivatives in rows from 4. The sum of squares."""
    exponents(p, n, w, 4)
    bells(w, 4, n)
    height = p[0]
    for i in range(n):
        w[1, i] = w[0, i] - height * w[4, i]
    _slopes(p, n, w)
    if m == 6:
        _bends(p, n, w)
    return dot(w, 1, 1, n)


@njit(cache=True, nogil=True)
def _factor(a, n):
    """Cholesky of the n x n corner, in place; False where it is not positive definite."""
    for j in range(n):
        s = a[j, j]
        for k in range(j):
            s -= a[j, k] * a[j, k]
        if not s > 1e-300:
            return False
        a[j, j] = math.sqrt(s)
        for i in range(j + 1, n):
            s = a[i, j]
            for k in range(j):
                s -= a[i, k] * a[j, k]
            a[i, j] = s / a[j, j]
    return True


@njit(cache=True, nogil=True)
def _solve(a, b, n):
    """What the factored matrix makes of b, in place."""
    for i in range(n):
        s = b[i]
        for k in range(i):
            s -= a[i, k] * b[k]
        b[i] = s / a[i, i]
    for i in range(n - 1, -1, -1):
        s = b[i]
        for k in range(i + 1, n):
            s -= a[k, i] * b[k]
        b[i] = s / a[i, i]


@njit(cache=True, nogil=True)
def _sound(p, start, reach):
    """Whether parameters are a Gaussian's, near where it was seen."""
    wide = p[3] > 0 and p[5] > 0 and p[3] * p[5] - p[4] * p[4] > 1e-9 and p[3] + p[5] < 8
    return p[0] > 0 and wide and (p[1] - start[1]) ** 2 + (p[2] - start[2]) ** 2 < reach * reach


@njit(cache=True, nogil=True)
def fit(p, m, n, w, reach, normal, trial, step, start):
    """Levenberg and Marquardt from ``p``, in place; whether it went somewhere."""
    start[:] = p
    total, damping = model(p, m, n, w), 1e-3
    turns = 0
    while turns < STEPS:
        for i in range(m):
            step[1, i] = dot(w, 4 + i, 1, n)
            for j in range(i + 1):
                normal[i, j] = normal[j, i] = dot(w, 4 + i, 4 + j, n)
        while turns < STEPS:
            turns += 1
            trial[:m, :m] = normal[:m, :m]
            for i in range(m):
                trial[i, i] += damping * normal[i, i] + 1e-300
                step[0, i] = step[1, i]
            other = np.inf
            if _factor(trial, m):
                _solve(trial, step[0], m)
                worth = 0.0
                for i in range(6):
                    step[2, i] = p[i] + (step[0, i] if i < m else 0.0)
                    worth += step[0, i] * step[1, i] if i < m else 0.0
                if _sound(step[2], start, reach):
                    # What the normal equations promise is had where it is little.
                    if worth <= ENOUGH * total:
                        p[:] = step[2, :6]
                        return True
                    other = model(step[2], m, n, w)
            if other <= total:
                p[:] = step[2, :6]
                ended = total - other <= ENOUGH * total
                total = other
                if ended:
                    return True
                damping = max(damping * 0.1, 1e-9)
                break
            damping *= 10
            if damping > 1e8:
                return turns > 1
    return True


@njit(cache=True, nogil=True)
def told(p, out):
    """Peak, place, sum, standard deviations along the axes and their angle."""
    det = p[3] * p[5] - p[4] * p[4]
    yy, yx, xx = p[5] / det, -p[4] / det, p[3] / det
    mean, half = (xx + yy) / 2, (xx - yy) / 2
    spread = math.hypot(half, yx)
    out[HEIGHT], out[Y], out[X] = p[0], p[1], p[2]
    out[SUM] = p[0] * 2 * math.pi / math.sqrt(det)
    out[MAJOR], out[MINOR] = math.sqrt(mean + spread), math.sqrt(max(mean - spread, 0.0))
    out[THETA] = math.degrees(math.atan2(yx, half)) / 2


@njit(cache=True, nogil=True)
def errors(p, m, n, w, rho, noise, normal, cov, step, out):
    """Errors in noise that is correlated, from what `model` left: every quantity's slope times the parameters' covariance."""
    # Places as one number each, whose differences are places in the table; pixels side by side are so in both.
    side, flat = rho.shape[0], rho.reshape(-1)
    middle = (side // 2) * (side + 1)
    for q in range(n):
        w[0, q] = w[2, q] * side + w[3, q]
    for q in range(n - 1, -1, -1):
        w[2, q] = w[2, q + 1] if q + 1 < n and w[0, q + 1] == w[0, q] + 1 else q + 1
    # Noise is correlated alike both ways: each pair of pixels is looked at once.
    for q in range(n):
        o, here = 0, middle - int(w[0, q])
        while o <= q:
            stop, at = min(int(w[2, o]), q + 1), here + int(w[0, o]) - o
            for i in range(np.uint64(o), np.uint64(stop)):
                w[1, i] = flat[np.uint64(at + np.int64(i))]
            o = stop
        w[1, q] *= 0.5
        for i in range(m):
            w[10 + i, q] = dot(w, 1, 4 + i, q + 1)
    for i in range(m):
        for j in range(m):
            cov[i, j] = dot(w, 4 + i, 10 + j, n) + dot(w, 4 + j, 10 + i, n)
            normal[i, j] = dot(w, 4 + i, 4 + j, n)
    if not _factor(normal, m):
        out[ERRORS : ERRORS + 7] = np.nan
        return
    # (J'J)^-1 Q (J'J)^-1: the columns of Q, and then its rows.
    for _ in range(2):
        for j in range(m):
            for i in range(m):
                step[0, i] = cov[i, j]
            _solve(normal, step[0], m)
            for i in range(m):
                cov[i, j] = step[0, i]
        for i in range(m):
            for j in range(i):
                cov[i, j], cov[j, i] = cov[j, i], cov[i, j]
    slopes = normal
    for i in range(m):
        scale = abs(p[i]) if i == 0 else 0.1 if i < 3 else math.sqrt(p[3] * p[5])
        h = 1e-4 * scale
        for side_ in range(2):
            step[2, :6] = p
            step[2, i] += h if side_ else -h
            told(step[2], step[3 + side_])
        for k in range(7):
            d = step[4, k] - step[3, k]
            if k == THETA:
                d -= 180.0 * round(d / 180.0)
            slopes[k, i] = d / (2 * h)
    for k in range(7):
        s = 0.0
        for i in range(m):
            for j in range(m):
                s += slopes[k, i] * cov[i, j] * slopes[k, j]
        out[ERRORS + k] = noise * math.sqrt(max(s, 0.0))
