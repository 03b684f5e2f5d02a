"""Points and Gaussians fitted to a window's pixels, where noise is correlated."""

from __future__ import annotations

import math

import numpy as np

from footprint.kernels.common.jit import njit
from footprint.kernels.fit.contract import CHI2, COLUMNS, ERRORS
from footprint.kernels.fit.solver import slopes, told, variance
from footprint.kernels.pairs.contract import ENOUGH, FLAT, MOST, NARROW, STEPS

# Rows of what a fit counts with: the normal equations, and those of its steps; slopes, a step and where it leads; the parameters of
# models, and where they start; covariances, and slopes of what is told.
_NORMAL, _TRIAL, _SLOPE, _STEP, _NEXT = 0, 9, 18, 19, 20
POINT, SHAPE, TWO, BOTH, START = 21, 22, 23, 24, 25
_COV, _TOLD = 28, 37


@njit(cache=True, nogil=True)
def look(points, shapes, q, beam, at, n, b, wanted):
    """What points and Gaussians leave of the pixels and, if wanted, how these change with each parameter."""
    for i in range(n):
        b[i, 0] = at[2, i]
    first = 0
    for k in range(points + shapes):
        free = k >= points
        yy, yx, xx = (q[first + 3], q[first + 4], q[first + 5]) if free else (beam[0], beam[1], beam[2])
        for i in range(n):
            dy, dx = at[0, i] - q[first + 1], at[1, i] - q[first + 2]
            ey, ex = yy * dy + yx * dx, yx * dy + xx * dx
            e = math.exp(-0.5 * (ey * dy + ex * dx))
            v = q[first] * e
            b[i, 0] -= v
            if wanted:
                b[i, 1 + first], b[i, 2 + first], b[i, 3 + first] = e, v * ey, v * ex
                if free:
                    b[i, 4 + first], b[i, 5 + first], b[i, 6 + first] = -0.5 * v * dy * dy, -v * dy * dx, -0.5 * v * dx * dx
        first += 6 if free else 3


@njit(cache=True, nogil=True)
def factor(a, n):
    """The lower Cholesky factor of a symmetric matrix, in its lower half; whether there is one."""
    for i in range(n):
        for j in range(i + 1):
            s = a[i, j]
            for k in range(j):
                s -= a[i, k] * a[j, k]
            if j < i:
                a[i, j] = s * a[j, j]
            elif s > 0:
                # Upside down: divisions are dear.
                a[i, i] = 1 / math.sqrt(s)
            else:
                return False
    return True


@njit(cache=True, nogil=True)
def whiten(root, n, b, m):
    """Columns of ``b`` times the inverse of the root; the first's sum of squares."""
    total = 0.0
    for i in range(n):
        for j in range(i):
            r = root[i, j]
            for k in range(m):
                b[i, k] -= r * b[j, k]
        for k in range(m):
            b[i, k] *= root[i, i]
        total += b[i, 0] * b[i, 0]
    return total


@njit(cache=True, nogil=True)
def _sound(points, shapes, q, beam, reach):
    """Whether all lie in the window, and Gaussians are some: none is far narrower than the beam, which all light went through."""
    first, least, most = 0, FLAT * (beam[0] * beam[2] - beam[1] * beam[1]), NARROW * (beam[0] + beam[2])
    for k in range(points + shapes):
        if not (math.isfinite(q[first]) and q[first + 1] ** 2 + q[first + 2] ** 2 <= reach * reach):
            return False
        if k >= points:
            yy, yx, xx = q[first + 3], q[first + 4], q[first + 5]
            if not (yy > 0 and xx > 0 and yy * xx - yx * yx > least and yy + xx < most):
                return False
        first += 6 if k >= points else 3
    return True


@njit(cache=True, nogil=True)
def _equations(b, n, m, s):
    """The normal equations of whitened slopes."""
    for i in range(m):
        for j in range(i + 1):
            total = 0.0
            for k in range(n):
                total += b[k, 1 + i] * b[k, 1 + j]
            s[_NORMAL + i, j] = s[_NORMAL + j, i] = total
        total = 0.0
        for k in range(n):
            total += b[k, 1 + i] * b[k, 0]
        s[_SLOPE, i] = total


@njit(cache=True, nogil=True)
def _solve(a, m, x):
    """Of a factored matrix, in place."""
    for i in range(m):
        for j in range(i):
            x[i] -= a[i, j] * x[j]
        x[i] *= a[i, i]
    for i in range(m - 1, -1, -1):
        for j in range(i + 1, m):
            x[i] -= a[j, i] * x[j]
        x[i] *= a[i, i]


@njit(cache=True, nogil=True)
def fit(points, shapes, best, least, beam, reach, root, at, n, b, s):
    """Fit from where `START` is; chi squared, and the parameters in row ``best`` where it is less than ``least``."""
    m, q, trial, step, then = 3 * points + 6 * shapes, s[START], s[_TRIAL : _TRIAL + MOST], s[_STEP], s[_NEXT]
    if not _sound(points, shapes, q, beam, reach):
        return least
    look(points, shapes, q, beam, at, n, b, True)
    total, damping = whiten(root, n, b, m + 1), 1e-3
    _equations(b, n, m, s)
    for _ in range(STEPS):
        for i in range(m):
            for j in range(i):
                trial[i, j] = s[_NORMAL + i, j]
            trial[i, i] = s[_NORMAL + i, i] * (1 + damping) + 1e-300
            step[i] = s[_SLOPE, i]
        other = np.inf
        if factor(trial, m):
            _solve(trial, m, step)
            for i in range(m):
                then[i] = q[i] + step[i]
            if _sound(points, shapes, then, beam, reach):
                look(points, shapes, then, beam, at, n, b, False)
                other = whiten(root, n, b, 1)
        if not other <= total:
            damping *= 10
            if damping > 1e8:
                break
            continue
        for i in range(m):
            q[i] = then[i]
        ended = total - other <= ENOUGH * total
        total, damping = other, max(damping * 0.1, 1e-9)
        if ended:
            break
        look(points, shapes, q, beam, at, n, b, True)
        whiten(root, n, b, m + 1)
        _equations(b, n, m, s)
    if not total < least:
        return least
    for i in range(m):
        s[best, i] = q[i]
    return total


@njit(cache=True, nogil=True)
def brightest_left(points, shapes, q, beam, at, n, b):
    """Where most is left, and how much."""
    look(points, shapes, q, beam, at, n, b, False)
    best = 0
    for i in range(n):
        if b[i, 0] > b[best, 0]:
            best = i
    return max(b[best, 0], 1.0), at[0, best], at[1, best]


@njit(cache=True, nogil=True)
def tell(points, shapes, q, beam, noise, root, at, n, b, s, found):
    """Columns of every source of a model, the brightest first."""
    m, parts = 3 * points + 6 * shapes, points + shapes
    look(points, shapes, q, beam, at, n, b, True)
    chi2 = 0.0
    for i in range(n):
        chi2 += b[i, 0] * b[i, 0]
    whiten(root, n, b, m + 1)
    _equations(b, n, m, s)
    cov = s[_COV : _COV + MOST]
    for i in range(m):
        for j in range(m):
            cov[i, j] = i == j
    normal, own, changes = s[_NORMAL : _NORMAL + MOST], s[START], s[_TOLD : _TOLD + 7]
    sound = factor(normal, m)
    for i in range(m):
        if sound:
            _solve(normal, m, cov[i])
    second = parts == 2 and q[3] > q[0]
    for k in range(parts):
        first, width = 3 * k, 6 if k >= points else 3
        for i in range(6):
            own[i] = q[first + i] if i < width else beam[i - 3]
        at_column = COLUMNS if (k == 1) != second else 0
        out = found[at_column : at_column + COLUMNS]
        told(own, out)
        slopes(own, width, out, changes)
        for c in range(7):
            out[ERRORS + c] = math.sqrt(variance(changes[c], cov, first, width)) if sound else math.nan
        for c in (0, 3):
            out[c] *= noise
            out[ERRORS + c] *= noise
        out[CHI2] = chi2 / max(n - m, 1)
