"""One source or two: models fitted to what is left in windows, where noise is correlated."""

from __future__ import annotations

import math

import numpy as np
from numba import prange

from footprint.kernels.common.jit import njit
from footprint.kernels.fit.contract import CHI2, COLUMNS, ERRORS
from footprint.kernels.fit.solver import slopes, told, variance
from footprint.kernels.pairs.contract import (
    BETTER,
    ENOUGH,
    FLAT,
    HEIGHT,
    LARGE,
    LEAST,
    LEVEL,
    LONG,
    MOST,
    MOVES,
    NEAR,
    NOISE,
    NUGGET,
    PARTS,
    SHAPE,
    SMALL,
    STEPS,
    WIDE,
    X,
    Y,
)

# Rows of what a fit counts with: the normal equations, and those of its steps; slopes, a step and where it leads; the parameters of
# models, and where they start; covariances, and slopes of what is told.
_NORMAL, _TRIAL, _SLOPE, _STEP, _NEXT = 0, 9, 18, 19, 20
_POINT, _SHAPE, _TWO, _BOTH, _START, _COV, _TOLD = 21, 22, 23, 24, 25, 28, 37


@njit(cache=True, nogil=True)
def _look(points, shapes, q, beam, at, n, b, wanted):
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
def _root(a, n):
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
def _whiten(root, n, b, m):
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
    """Whether all lie in the window, and Gaussians are some."""
    first, least = 0, FLAT * (beam[0] * beam[2] - beam[1] * beam[1])
    for k in range(points + shapes):
        if not (math.isfinite(q[first]) and q[first + 1] ** 2 + q[first + 2] ** 2 <= reach * reach):
            return False
        if k >= points:
            yy, yx, xx = q[first + 3], q[first + 4], q[first + 5]
            if not (yy > 0 and xx > 0 and yy * xx - yx * yx > least):
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
def _fit(points, shapes, best, least, beam, reach, root, at, n, b, s):
    """Fit from where `_START` is; chi squared, and the parameters in row ``best`` where it is less than ``least``."""
    m, q, trial, step, then = 3 * points + 6 * shapes, s[_START], s[_TRIAL : _TRIAL + MOST], s[_STEP], s[_NEXT]
    if not _sound(points, shapes, q, beam, reach):
        return least
    _look(points, shapes, q, beam, at, n, b, True)
    total, damping = _whiten(root, n, b, m + 1), 1e-3
    _equations(b, n, m, s)
    for _ in range(STEPS):
        for i in range(m):
            for j in range(i):
                trial[i, j] = s[_NORMAL + i, j]
            trial[i, i] = s[_NORMAL + i, i] * (1 + damping) + 1e-300
            step[i] = s[_SLOPE, i]
        other = np.inf
        if _root(trial, m):
            _solve(trial, m, step)
            for i in range(m):
                then[i] = q[i] + step[i]
            if _sound(points, shapes, then, beam, reach):
                _look(points, shapes, then, beam, at, n, b, False)
                other = _whiten(root, n, b, 1)
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
        _look(points, shapes, q, beam, at, n, b, True)
        _whiten(root, n, b, m + 1)
        _equations(b, n, m, s)
    if not total < least:
        return least
    for i in range(m):
        s[best, i] = q[i]
    return total


@njit(cache=True, nogil=True)
def _gather(row, radius, step, steps, given, beam, at):
    """Places and values of a window's pixels, in noises, with the row's own Gaussian put back; how many."""
    side, n = 2 * radius + 1, 0
    # An ellipse of the beam's shape, and as large as a circle of so many steps.
    most = (steps * step) ** 2 * math.sqrt(beam[0] * beam[2] - beam[1] * beam[1]) * (1 + 1e-9)
    for j in range(-(radius // step), radius // step + 1):
        for i in range(-(radius // step), radius // step + 1):
            y, x = j * step, i * step
            value = row[(radius + y) * side + radius + x]
            if beam[0] * y * y + 2 * beam[1] * y * x + beam[2] * x * x > most or math.isnan(value):
                continue
            dy, dx = y - given[Y], x - given[X]
            e = given[SHAPE] * dy * dy + 2 * given[SHAPE + 1] * dy * dx + given[SHAPE + 2] * dx * dx
            at[0, n], at[1, n] = y, x
            at[2, n] = (value - given[LEVEL] + given[HEIGHT] * math.exp(-0.5 * e)) / given[NOISE]
            n += 1
    return n


@njit(cache=True, nogil=True)
def _correlate(at, n, noise, root):
    """The covariance of the noise at these places, and its root; whether there is one."""
    for i in range(n):
        for j in range(i):
            dy, dx = at[0, i] - at[0, j], at[1, i] - at[1, j]
            root[i, j] = noise[0] * math.exp(-0.25 * (noise[1] * dy * dy + 2 * noise[2] * dy * dx + noise[3] * dx * dx))
        root[i, i] = 1 + NUGGET
    return _root(root, n)


@njit(cache=True, nogil=True)
def _long(yy, yx, xx):
    """The standard deviation along the longer axis of an inverse covariance, and that axis."""
    half, mean = 0.5 * (yy - xx), 0.5 * (yy + xx)
    spread = math.hypot(half, yx)
    turn = 0.5 * math.atan2(-yx, half)
    # Along it the exponent is least.
    return 1 / math.sqrt(max(mean - spread, 1e-300)), math.sin(turn), math.cos(turn)


@njit(cache=True, nogil=True)
def _brightest_left(points, shapes, q, beam, at, n, b):
    """Where most is left, and how much."""
    _look(points, shapes, q, beam, at, n, b, False)
    best = 0
    for i in range(n):
        if b[i, 0] > b[best, 0]:
            best = i
    return max(b[best, 0], 1.0), at[0, best], at[1, best]


@njit(cache=True, nogil=True)
def _tell(points, shapes, q, beam, noise, root, at, n, b, s, found):
    """Columns of every source of a model, the brightest first."""
    m, parts = 3 * points + 6 * shapes, points + shapes
    _look(points, shapes, q, beam, at, n, b, True)
    chi2 = 0.0
    for i in range(n):
        chi2 += b[i, 0] * b[i, 0]
    _whiten(root, n, b, m + 1)
    _equations(b, n, m, s)
    cov = s[_COV : _COV + MOST]
    for i in range(m):
        for j in range(m):
            cov[i, j] = i == j
    normal, own, changes = s[_NORMAL : _NORMAL + MOST], s[_START], s[_TOLD : _TOLD + 7]
    sound = _root(normal, m)
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


@njit(cache=True, nogil=True)
def _choose(row, given, beam, noise, found, radius, step, root, at, b, s):
    """Fit one row's window anew, and say what it is."""
    length, across, along = _long(given[SHAPE], given[SHAPE + 1], given[SHAPE + 2])
    usual = _long(beam[0], beam[1], beam[2])[0]
    n = _gather(row, radius, step, LARGE if length > WIDE * usual else SMALL, given, beam, at)
    if n <= 2 * MOST or not _correlate(at, n, noise, root):
        return
    reach, q = radius * 1.5, s[_START]
    for i in range(6):
        q[i] = given[HEIGHT + i]
    q[0] /= given[NOISE]
    one = _fit(0, 1, _SHAPE, np.inf, beam, reach, root, at, n, b, s)
    if not math.isfinite(one):
        return
    if length > LONG * usual:
        found[0] = MOVES
    shape = s[_SHAPE]
    # What two can win at most is what one leaves; noise alone leaves more than half of its pixels' number.
    if one > BETTER + 0.5 * n:
        for i in range(3):
            q[i] = given[HEIGHT + i]
        q[0] /= given[NOISE]
        point = _fit(1, 0, _POINT, np.inf, beam, reach, root, at, n, b, s)
        length, across, along = _long(shape[3], shape[4], shape[5])
        far = math.sqrt(max(length * length - usual * usual, 0.25 * usual * usual))
        two = np.inf
        for way in (0.8, -0.8):
            q[0], q[1], q[2] = 0.6 * shape[0], shape[1] + way * far * across, shape[2] + way * far * along
            q[3], q[4], q[5] = 0.5 * shape[0], shape[1] - 1.5 * way * far * across, shape[2] - 1.5 * way * far * along
            two = _fit(2, 0, _TWO, two, beam, reach, root, at, n, b, s)
        if math.isfinite(point):
            left = _brightest_left(1, 0, s[_POINT], beam, at, n, b)
            for i in range(3):
                q[i], q[3 + i] = s[_POINT, i], left[i]
            two = _fit(2, 0, _TWO, two, beam, reach, root, at, n, b, s)
        left = _brightest_left(0, 1, shape, beam, at, n, b)
        for i in range(3):
            q[i] = left[i]
        for i in range(6):
            q[3 + i] = shape[i]
        both = _fit(1, 1, _BOTH, np.inf, beam, reach, root, at, n, b, s)
        least = min(point + 6, one + 12) - BETTER
        two = two + 12 if min(s[_TWO, 0], s[_TWO, 3]) >= LEAST else np.inf
        both = both + 18 if min(s[_BOTH, 0], s[_BOTH, 3]) >= LEAST else np.inf
        if min(two, both) < least:
            found[0], found[1] = PARTS, one + 12 - min(two, both)
            if two <= both:
                _tell(2, 0, s[_TWO], beam, given[NOISE], root, at, n, b, s, found[2:])
            else:
                _tell(1, 1, s[_BOTH], beam, given[NOISE], root, at, n, b, s, found[2:])
            return
    if found[0] == MOVES:
        _tell(0, 1, shape, beam, given[NOISE], root, at, n, b, s, found[2:])


@njit(cache=True, nogil=True)
def _nearest(k, given, near):
    """Of rows that are in order along y the one nearest to this, within ``near`` pixels; -1 for none."""
    y, x, best, least = given[k, 0] + given[k, Y], given[k, 1] + given[k, X], -1, near * near
    for way in (-1, 1):
        j = k + way
        while 0 <= j < given.shape[0]:
            dy, dx = given[j, 0] + given[j, Y] - y, given[j, 1] + given[j, X] - x
            if not abs(dy) < near:
                break
            if dy * dy + dx * dx < least:
                best, least = j, dy * dy + dx * dx
            j += way
    return best


@njit(cache=True, parallel=True, nogil=True)
def _split(rests, given, beam, noise, found, root, at, b, s, radius, step, first, near):
    n, threads = rests.shape[0], root.shape[0]
    for t in prange(threads):
        # One after the other by turns: what is near is alike, and would be one thread's.
        for i in range(t, n, threads):
            k = first + i
            found[i] = 0.0
            if not (math.isfinite(given[k, HEIGHT]) and given[k, NOISE] > 0):
                continue
            other = _nearest(k, given, near)
            if other >= 0 and _nearest(other, given, near) == k:
                continue
            _choose(rests[i], given[k], beam, noise, found[i], radius, step, root[t], at[t], b[t], s[t])


def split(rests, given, beam, noise, found, root, at, b, s, *, step, first) -> None:
    """See `footprint.kernels.pairs.contract`."""
    radius = (math.isqrt(rests.shape[1]) - 1) // 2
    width = 2 * math.sqrt(2 * math.log(2)) / (beam[0] * beam[2] - beam[1] * beam[1]) ** 0.25
    _split(rests, given, beam, noise, found, root, at, b, s, radius, step, first, NEAR * width)
