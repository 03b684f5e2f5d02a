"""A Gaussian fitted to a window of pixels by Levenberg and Marquardt, and its errors."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from footprint.kernels.common.jit import njit
from footprint.kernels.common.vectors import alone
from footprint.kernels.fit import grid
from footprint.kernels.fit.contract import ENOUGH, ERRORS, HEIGHT, LANES, MAJOR, MINOR, NOTHING, STEPS, SUM, SUMS, THETA, X, Y
from footprint.kernels.fit.grid import FAR, SERIES


@njit(cache=True, nogil=True)
def extent(p):
    """How far from its place a Gaussian is anything, by the inverse of its covariance, yy, yx and xx."""
    half = 0.5 * (p[0] - p[2])
    least = 0.5 * (p[0] + p[2]) - math.sqrt(half * half + p[1] * p[1])
    return math.sqrt(2 * NOTHING / max(least, 1e-18))


@njit(cache=True, nogil=True)
def layout(side):
    """Of a window's workspace: elements a row, elements of all its rows, and where series, sums and fields begin.

    Values come first, then their mask.
    """
    pitch = (side + LANES - 1) // LANES * LANES
    room = side * pitch
    return pitch, room, 2 * room + LANES, 2 * room + LANES + 2 * pitch, 2 * room + LANES + 2 * pitch + SUMS * LANES


@njit(cache=True, nogil=True)
def _at_once(p):
    """Rows, and columns, of a series."""
    return min(SERIES, int(FAR / math.sqrt(max(p[3], p[5]))))


@njit(cache=True, nogil=True)
def _together(rows):
    """Rows, and columns, that follow from one start."""
    rows = max(rows, 1)
    return rows, max(rows // LANES * LANES, LANES)


@njit(cache=True, nogil=True)
def _begin(p, top, left, side, w, row, column, rows, columns):
    """Start a Gaussian of height 1 within a window: how far that is from its place, and blocks and rows that follow."""
    pitch, _, series, _, _ = layout(side)
    y, x, blocks = top + row - p[1], left + column - p[2], min(columns, pitch - column) // LANES
    grid.seed(w, series, blocks, y, x, 1.0, p[3], p[4], p[5])
    return y, x, blocks, min(rows, side - row)


@njit(cache=True, nogil=True)
def _whole(w, at):
    """The sum of a vector's lanes."""
    return (w[at] + w[at + 2]) + (w[at + 1] + w[at + 3])


@njit(cache=True, nogil=True)
def ready(p):
    """Behind the parameters of a Gaussian, put what all those beside it need: its extent, and rows of a series."""
    p[6], p[7] = extent(p[3:6]), _at_once(p)


@njit(cache=True, nogil=True)
def take_off(p, top, left, side, w):
    """Take a Gaussian that is `ready` off the values of a window whose corner is there."""
    alone()
    pitch, _, series, _, _ = layout(side)
    first, last = max(0, math.ceil(p[1] - p[6] - top)), min(side, math.floor(p[1] + p[6] - top) + 1)
    begin, end = max(0, math.ceil(p[2] - p[6] - left)) // LANES * LANES, min(side, math.floor(p[2] + p[6] - left) + 1)
    rows, columns = _together(int(p[7]))
    for row in range(first, last, rows):
        for column in range(begin, end, columns):
            blocks = (min(columns, end - column) + LANES - 1) // LANES
            grid.seed(w, series, blocks, top + row - p[1], left + column - p[2], p[0], p[3], p[4], p[5])
            grid.less(w, series, blocks, row * pitch + column, pitch, min(rows, last - row))


@njit(cache=True, nogil=True)
def look(p, m, top, left, side, w, sums):
    """Sum up a Gaussian and what it leaves of a window's values: see `grid.shapes`. What it leaves, squared."""
    alone()
    pitch, room, series, out, _ = layout(side)
    number = SUMS if m == 6 else 10
    for i in range(out, out + number * LANES):
        w[i] = 0.0
    rows, columns = _together(_at_once(p))
    for row in range(0, side, rows):
        for column in range(0, pitch, columns):
            y, x, blocks, many = _begin(p, top, left, side, w, row, column, rows, columns)
            at = row * pitch + column
            if m == 6:
                grid.shapes(w, series, blocks, at, room + at, pitch, many, y, x, p[0], out)
            else:
                grid.points(w, series, blocks, at, room + at, pitch, many, y, x, p[0], out)
    for i in range(number):
        sums[i] = _whole(w, out + i * LANES)
    return sums[number - 1]


@njit(cache=True, nogil=True)
def equations(p, m, sums, normal, right):
    """The normal equations: products of slopes by height, place and inverse covariance, and of these with what is left."""
    alone()
    h, a, b, c = p[0], p[3], p[4], p[5]
    # Sums of squares by powers of y and x, and of products with what is left.
    s00, s01, s02 = sums[0], sums[1], sums[2]
    s10, s11, s20 = (sums[5], sums[6], sums[9]) if m == 6 else (sums[3], sums[4], sums[5])
    t = 15 if m == 6 else 6
    t00, t01, t10 = sums[t], sums[t + 1], sums[t + 3] if m == 6 else sums[t + 2]
    hh = h * h
    normal[0, 0] = s00
    normal[1, 0], normal[2, 0] = h * (a * s10 + b * s01), h * (b * s10 + c * s01)
    normal[1, 1] = hh * (a * a * s20 + 2 * a * b * s11 + b * b * s02)
    normal[2, 1] = hh * (a * b * s20 + (a * c + b * b) * s11 + b * c * s02)
    normal[2, 2] = hh * (b * b * s20 + 2 * b * c * s11 + c * c * s02)
    right[0], right[1], right[2] = t00, h * (a * t10 + b * t01), h * (b * t10 + c * t01)
    if m == 3:
        return
    s03, s04, s12, s13, s21, s22, s30, s31, s40 = (
        sums[3], sums[4], sums[7], sums[8], sums[10], sums[11], sums[12], sums[13], sums[14]
    )  # fmt: skip
    normal[3, 0], normal[4, 0], normal[5, 0] = -0.5 * h * s20, -h * s11, -0.5 * h * s02
    normal[3, 1], normal[3, 2] = -0.5 * hh * (a * s30 + b * s21), -0.5 * hh * (b * s30 + c * s21)
    normal[4, 1], normal[4, 2] = -hh * (a * s21 + b * s12), -hh * (b * s21 + c * s12)
    normal[5, 1], normal[5, 2] = -0.5 * hh * (a * s12 + b * s03), -0.5 * hh * (b * s12 + c * s03)
    normal[3, 3], normal[4, 3], normal[5, 3] = 0.25 * hh * s40, 0.5 * hh * s31, 0.25 * hh * s22
    normal[4, 4], normal[5, 4], normal[5, 5] = hh * s22, 0.5 * hh * s13, 0.25 * hh * s04
    right[3], right[4], right[5] = -0.5 * h * sums[20], -h * sums[19], -0.5 * h * sums[17]


def _of(n: int) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """For n equations: Cholesky's factor in place, of the lower corner, and what it makes of a right side, in place."""

    @njit(cache=True, nogil=True)
    def factor(a):
        # The inverses of the diagonal stand for it. False where the matrix is not positive definite.
        for j in range(n):
            s = a[j, j]
            for k in range(j):
                s -= a[j, k] * a[j, k]
            if not s > 1e-300:
                return False
            a[j, j] = inverse = 1.0 / math.sqrt(s)
            for i in range(j + 1, n):
                s = a[i, j]
                for k in range(j):
                    s -= a[i, k] * a[j, k]
                a[i, j] = s * inverse
        return True

    @njit(cache=True, nogil=True)
    def solve(a, b):
        for i in range(n):
            s = b[i]
            for k in range(i):
                s -= a[i, k] * b[k]
            b[i] = s * a[i, i]
        for i in range(n - 1, -1, -1):
            s = b[i]
            for k in range(i + 1, n):
                s -= a[k, i] * b[k]
            b[i] = s * a[i, i]

    return factor, solve


_factor3, _solve3 = _of(3)
_factor6, _solve6 = _of(6)


@njit(cache=True, nogil=True)
def _factor(a, m):
    return _factor6(a) if m == 6 else _factor3(a)


@njit(cache=True, nogil=True)
def _solve(a, b, m):
    if m == 6:
        _solve6(a, b)
    else:
        _solve3(a, b)


@njit(cache=True, nogil=True)
def _sound(p, start, reach):
    """Whether parameters are a Gaussian's, near where it was seen."""
    wide = p[3] > 0 and p[5] > 0 and p[3] * p[5] - p[4] * p[4] > 1e-9 and p[3] + p[5] < 8
    return p[0] > 0 and wide and (p[1] - start[1]) ** 2 + (p[2] - start[2]) ** 2 < reach * reach


@njit(cache=True, nogil=True)
def copy(p, to):
    """Parameters, and what is `ready` with them where there is room for it."""
    for i in range(min(p.size, to.size)):
        to[i] = p[i]


@njit(cache=True, nogil=True)
def fit(p, m, top, left, side, w, reach, sums, normal, trial, step, start):
    """Levenberg and Marquardt from ``p``, in place; whether it went somewhere."""
    alone()
    copy(p, start)
    total, damping = look(p, m, top, left, side, w, sums), 1e-3
    turns = 0
    while turns < STEPS:
        equations(p, m, sums, normal, step[1])
        while turns < STEPS:
            turns += 1
            for i in range(m):
                for j in range(i):
                    trial[i, j] = normal[i, j]
                trial[i, i] = normal[i, i] + damping * normal[i, i] + 1e-300
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
                        copy(step[2, :6], p)
                        return True
                    other = look(step[2], m, top, left, side, w, sums)
            if other <= total:
                copy(step[2, :6], p)
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
def _correlated(p, m, top, left, side, w, rho, spans, cov):
    """Products of slopes and of slopes that are correlated as noise is, of all pairs of pixels."""
    alone()
    pitch, room, series, out, fields = layout(side)
    rows, columns = _together(_at_once(p))
    for row in range(0, side, rows):
        for column in range(0, pitch, columns):
            y, x, blocks, many = _begin(p, top, left, side, w, row, column, rows, columns)
            at = row * pitch + column
            if m == 6:
                grid.shape_fields(w, series, blocks, room + at, fields + at, room, pitch, many, y, x)
            else:
                grid.point_fields(w, series, blocks, room + at, fields + at, room, pitch, many, y, x)
    for i in range(out, out + SUMS * LANES):
        w[i] = 0.0
    wide = rho.shape[0]
    middle, flat = wide // 2 * (wide + 1), rho.reshape(-1)
    if m == 6:
        grid.shape_noise(w, flat, middle, spans, wide, fields, room, pitch, pitch // LANES, side, out)
    else:
        grid.point_noise(w, flat, middle, spans, wide, fields, room, pitch, pitch // LANES, side, out)
    for i in range(m):
        for j in range(i + 1):
            cov[i, j] = cov[j, i] = _whole(w, out + (i * (i + 1) // 2 + j) * LANES)
    # Of the fields, the slopes: on either side.
    h, a, b, c = p[0], p[3], p[4], p[5]
    for _ in range(2):
        for j in range(m):
            y, x = cov[1, j], cov[2, j]
            cov[1, j], cov[2, j] = h * (a * y + b * x), h * (b * y + c * x)
            for i in range(3, m):
                cov[i, j] *= -h if i == 4 else -0.5 * h
        _turn(cov, m)


@njit(cache=True, nogil=True)
def _turn(cov, m):
    for i in range(m):
        for j in range(i):
            cov[i, j], cov[j, i] = cov[j, i], cov[i, j]


@njit(cache=True, nogil=True)
def errors(p, m, top, left, side, w, rho, spans, noise, normal, cov, step, out):
    """Errors in correlated noise, by the normal equations: every quantity's slope times the parameters' covariance."""
    _correlated(p, m, top, left, side, w, rho, spans, cov)
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
        _turn(cov, m)
    slopes(p, m, out, normal)
    for k in range(7):
        out[ERRORS + k] = noise * math.sqrt(variance(normal[k], cov, 0, m))


@njit(cache=True, nogil=True)
def variance(slope, cov, first, m):
    """Of what has these slopes by ``m`` parameters, whose covariances begin at row and column ``first``."""
    total = 0.0
    for i in range(m):
        for j in range(m):
            total += slope[i] * cov[first + i, first + j] * slope[j]
    return max(total, 0.0)


@njit(cache=True, nogil=True, error_model="numpy")
def slopes(p, m, out, found):
    """Of what is `told`, by the parameters."""
    found[:, :] = 0.0
    found[HEIGHT, 0] = found[Y, 1] = found[X, 2] = 1.0
    found[SUM, 0] = out[SUM] / p[0]
    if m == 3:
        return
    det = p[3] * p[5] - p[4] * p[4]
    yy, yx, xx = p[5] / det, -p[4] / det, p[3] / det
    half = (xx - yy) / 2
    spread = max(math.sqrt(half * half + yx * yx), 1e-300)
    # What becomes of the covariance: of yy, yx and xx.
    changes = (yy * yy, yy * yx, yx * yx), (2 * yy * yx, yy * xx + yx * yx, 2 * yx * xx), (yx * yx, yx * xx, xx * xx)
    for i, (of_yy, of_yx, of_xx) in enumerate(changes):
        found[SUM, 3 + i] = -0.5 * out[SUM] * (yy, 2 * yx, xx)[i]
        mean, other = -(of_xx + of_yy) / 2, -(of_xx - of_yy) / 2
        widens = (half * other - yx * of_yx) / spread
        found[MAJOR, 3 + i] = (mean + widens) / (2 * out[MAJOR])
        found[MINOR, 3 + i] = (mean - widens) / (2 * out[MINOR])
        found[THETA, 3 + i] = math.degrees((-half * of_yx - yx * other) / (spread * spread)) / 2
