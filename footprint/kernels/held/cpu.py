"""Heights of Gaussians whose places and shapes are held, from their own stamps, all of them at once."""

from __future__ import annotations

import math

import numpy as np
from numba import prange

from footprint.kernels.common.cells import cell, sort
from footprint.kernels.common.jit import njit
from footprint.kernels.find_sources.contract import LABEL, LEVEL, PEAK, SPREAD, SUM
from footprint.kernels.find_sources.contract import PIXELS as OF_BOX
from footprint.kernels.fit.contract import MAJOR, MINOR, NOTHING, THETA, X, Y
from footprint.kernels.fit.solver import far as is_far
from footprint.kernels.held.contract import CHI2, ERROR, HEIGHT, LEAST, NEAR, PIXELS

_TURNS, _LEFT = 300, 1e-10
# What an equation may still be short of, of its right side, for its height to be told.
_SETTLED = 1e-6
# Of a neighbour's light, what its share has to be for it to count in an error; of a pivot, what is none.
_SHARE, _NONE = 1e-3, 1e-7


def places(count, fits, beam, change, places, *, first, beamed) -> None:
    """See `footprint.kernels.held.contract`."""
    if first == 0:
        _places(int(count[0]), fits, beam, change, places, bool(change.any()), beamed)


@njit(cache=True, nogil=True)
def _places(n, fits, beam, change, places, changed, beamed):
    for k in range(places.shape[0]):
        places[k, :] = np.nan
        if k >= n or not math.isfinite(fits[k, X] + fits[k, Y]):
            continue
        turn = math.radians(fits[k, THETA])
        c, s, a, b = math.cos(turn), math.sin(turn), fits[k, MAJOR] ** 2, fits[k, MINOR] ** 2
        xx, yy, yx = a * c * c + b * s * s, a * s * s + b * c * c, (a - b) * c * s
        if changed:
            yy, yx, xx = yy + change[0], yx + change[1], xx + change[2]
        det = yy * xx - yx * yx
        places[k, 0], places[k, 1] = fits[k, Y], fits[k, X]
        if yy > 0 and xx > 0 and det > 1e-3 * yy * xx:
            places[k, 2], places[k, 3], places[k, 4] = xx / det, -yx / det, yy / det
        elif beamed:
            places[k, 2:] = beam
        else:
            places[k, 0] = np.nan


@njit(cache=True, parallel=True, nogil=True)
def _stamp(block, level, spread, places, stamps, noises, radius, first):
    rows, width = block.shape
    side = 2 * radius + 1
    for k in prange(places.shape[0]):
        # What lies far outside has no pixels, and no number that an integer holds.
        inside = abs(places[k, 0]) < 2.0**31 and abs(places[k, 1]) < 2.0**31
        if not inside:
            continue
        y, x = math.floor(places[k, 0] + 0.5), math.floor(places[k, 1] + 0.5)
        for yy in range(max(y - radius, first), min(y + radius + 1, first + rows)):
            r = yy - first
            for xx in range(max(x - radius, 0), min(x + radius + 1, width)):
                noise = spread[r % spread.shape[0], xx % spread.shape[1]]
                if noise > 0:
                    over = np.float64(block[r, xx]) - np.float64(level[r % level.shape[0], xx % level.shape[1]])
                    stamps[k, (yy - y + radius) * side + xx - x + radius] = over
                    if yy == y and xx == x:
                        noises[k] = noise


def stamp(block, level, spread, places, stamps, noises, *, first) -> None:
    """See `footprint.kernels.held.contract`."""
    if first == 0:
        stamps[...] = noises[...] = np.nan
    _stamp(block, level, spread, places, stamps, noises, (math.isqrt(stamps.shape[1]) - 1) // 2, first)


@njit(cache=True, nogil=True)
def _bell(p, y, x):
    """Of a place, its Gaussian at a pixel."""
    dy, dx = y - p[0], x - p[1]
    q = p[2] * dy * dy + 2 * p[3] * dy * dx + p[4] * dx * dx
    return math.exp(-0.5 * q) if q < 2 * NOTHING else 0.0


@njit(cache=True, nogil=True)
def _pixels(k, places, stamps, within, w, at):
    """Of a place, the pixels that tell its height: places, values and the Gaussian there, from column ``at`` on. How many."""
    side = int(math.sqrt(stamps.shape[1]) + 0.5)
    p, radius, n = places[k], side // 2, 0
    if not (math.isfinite(p[0]) and abs(p[0]) < 2.0**31 and abs(p[1]) < 2.0**31):
        return 0
    y0, x0 = math.floor(p[0] + 0.5) - radius, math.floor(p[1] + 0.5) - radius
    for j in range(stamps.shape[1]):
        y, x = y0 + j // side, x0 + j % side
        dy, dx, v = y - p[0], x - p[1], np.float64(stamps[k, j])
        q = p[2] * dy * dy + 2 * p[3] * dy * dx + p[4] * dx * dx
        if math.isfinite(v) and (q <= within or dy * dy + dx * dx <= LEAST * LEAST):
            w[0, at + n], w[1, at + n], w[2, at + n], w[3, at + n] = y, x, v, math.exp(-0.5 * q)
            n += 1
    return n


@njit(cache=True, nogil=True)
def _light(k, n, places, heights, far, starts, order, w):
    """What neighbours of these heights put where a place is told: the sum of that by its Gaussian; each pixel's in row 2."""
    p, cells, reach = places[k], starts.size - 1, 0.0
    for q in range(n):
        reach = max(reach, math.hypot(w[0, q] - p[0], w[1, q] - p[1]))
    for cy in range(-1, 2):
        for cx in range(-1, 2):
            iy, ix = math.floor(p[0] / far) + cy, math.floor(p[1] / far) + cx
            c = cell(iy, ix, cells)
            for i in range(starts[c], starts[c + 1]):
                j = order[i]
                o = places[j]
                # Other cells may have the same number.
                if j == k or heights[j] == 0 or math.floor(o[0] / far) != iy or math.floor(o[1] / far) != ix:
                    continue
                if math.hypot(o[0] - p[0], o[1] - p[1]) > far or is_far(p[0], p[1], reach, o):
                    continue
                for q in range(n):
                    w[2, q] -= heights[j] * _bell(o, w[0, q], w[1, q])


@njit(cache=True, parallel=True, nogil=True)
def _begin(places, stamps, within, work, good, right):
    """What each height is by itself; whether it has pixels, the sum of its Gaussian's squares."""
    for t in prange(work.shape[0]):
        w = work[t]
        for k in range(t, places.shape[0], work.shape[0]):
            n, total, squares = _pixels(k, places, stamps, within, w, 0), 0.0, 0.0
            for q in range(n):
                total += w[3, q] * w[2, q]
                squares += w[3, q] * w[3, q]
            good[k] = squares
            right[k] = total / squares if squares > 0 else 0.0


@njit(cache=True, parallel=True, nogil=True)
def _times(places, stamps, within, far, work, good, starts, order, heights, out):
    """The equations' left side for these heights."""
    for t in prange(work.shape[0]):
        w = work[t]
        for k in range(t, places.shape[0], work.shape[0]):
            out[k] = 0.0
            if not good[k] > 0:
                continue
            n = _pixels(k, places, stamps, within, w, 0)
            w[2, :n] = 0.0
            _light(k, n, places, heights, far, starts, order, w)
            total = 0.0
            for q in range(n):
                total -= w[3, q] * w[2, q]
            out[k] = heights[k] + total / good[k]


@njit(cache=True, nogil=True)
def _dot(a, b):
    s = 0.0
    for i in range(a.size):
        s += a[i] * b[i]
    return s


def _together(places, stamps, within, far, work, vectors, starts, order) -> np.ndarray:
    """The heights, by BiCGSTAB (van der Vorst 1992); in one order, so that threads change no digit."""
    good, right, a, r, shadow, p, v, s, t = vectors
    _begin(places, stamps, within, work, good, right)

    def times(of, out) -> None:
        _times(places, stamps, within, far, work, good, starts, order, of, out)

    a[:] = right
    times(a, v)
    np.subtract(right, v, out=r)
    shadow[:] = r
    v[:] = p[:] = 0.0
    rho = alpha = omega = 1.0
    enough = _LEFT**2 * _dot(right, right)
    for _ in range(_TURNS):
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
        _less(r, alpha, v, s)
        times(s, t)
        size = _dot(t, t)
        omega = _dot(t, s) / size if size > 0 else 0.0
        _move(a, alpha, p, omega, s)
        _less(s, omega, t, r)
    if _dot(r, r) > enough:
        _forget(a, r, right)
    return a


@njit(cache=True, nogil=True)
def _forget(a, r, right):
    usual = math.sqrt(_dot(right, right) / a.size)
    for i in range(a.size):
        if abs(r[i]) > _SETTLED * max(abs(right[i]), usual):
            a[i] = np.nan


@njit(cache=True, nogil=True)
def _step(p, r, v, beta, omega):
    for i in range(p.size):
        p[i] = r[i] + beta * (p[i] - omega * v[i])


@njit(cache=True, nogil=True)
def _less(a, factor, b, out):
    for i in range(a.size):
        out[i] = a[i] - factor * b[i]


@njit(cache=True, nogil=True)
def _move(a, alpha, p, omega, s):
    for i in range(a.size):
        a[i] += alpha * p[i] + omega * s[i]


@njit(cache=True, nogil=True)
def _overlap(k, j, n, places, w):
    """What a neighbour of height 1 adds to the sum of a place's values by its Gaussian."""
    total = 0.0
    for q in range(n):
        total += w[3, q] * _bell(places[j], w[0, q], w[1, q])
    return total


@njit(cache=True, nogil=True)
def _nearest(k, n, places, good, far, starts, order, w, near, shares):
    """List the neighbours that overlap most, the most first. How many."""
    p, cells, found = places[k], starts.size - 1, 0
    for cy in range(-1, 2):
        for cx in range(-1, 2):
            iy, ix = math.floor(p[0] / far) + cy, math.floor(p[1] / far) + cx
            c = cell(iy, ix, cells)
            for i in range(starts[c], starts[c + 1]):
                j = order[i]
                o = places[j]
                if j == k or not good[j] > 0 or math.floor(o[0] / far) != iy or math.floor(o[1] / far) != ix:
                    continue
                if math.hypot(o[0] - p[0], o[1] - p[1]) > far:
                    continue
                share = _overlap(k, j, n, places, w) / good[k]
                if share < _SHARE or (found == NEAR and share <= shares[NEAR - 1]):
                    continue
                at = min(found, NEAR - 1)
                while at > 0 and shares[at - 1] < share:
                    near[at], shares[at] = near[at - 1], shares[at - 1]
                    at -= 1
                near[at], shares[at] = j, share
                found = min(found + 1, NEAR)
    return found


@njit(cache=True, nogil=True)
def _weigh(m, matrix, weights):
    """Of the right sides, weights that leave the last height alone: matrix' weights = (0 ... 0 1); False where nothing does.

    Those that others tell already have none.
    """
    rows = matrix.T
    for i in range(m):
        if not abs(rows[i, i]) > _NONE:
            if i == m - 1:
                return False
            rows[i, :m] = 0.0
            rows[:m, i] = 0.0
            rows[i, i] = 1.0
        for r in range(i + 1, m):
            factor = rows[r, i] / rows[i, i]
            for c in range(i, m):
                rows[r, c] -= factor * rows[i, c]
    weights[:m] = 0.0
    for i in range(m - 1, -1, -1):
        s = 1.0 if i == m - 1 else 0.0
        for c in range(i + 1, m):
            s -= rows[i, c] * weights[c]
        weights[i] = s / rows[i, i]
    return True


@njit(cache=True, nogil=True)
def _spread(n, w, rho):
    """The standard deviation of a sum over pixels by their weights, in row 3, of noise that is correlated."""
    half, total = rho.shape[0] // 2, 0.0
    for q in range(n):
        for o in range(n):
            dy, dx = int(w[0, o] - w[0, q]), int(w[1, o] - w[1, q])
            if abs(dy) <= half and abs(dx) <= half:
                total += w[3, q] * w[3, o] * rho[dy + half, dx + half]
    return math.sqrt(max(total, 0.0))


@njit(cache=True, parallel=True, nogil=True)
def _tell(places, stamps, noises, rho, within, far, work, good, starts, order, heights, found):
    """Heights, errors and what is left of every place."""
    for t in prange(work.shape[0]):
        w = work[t]
        near, shares, weights = np.zeros(NEAR + 1, np.int64), np.zeros(NEAR + 1), np.zeros(NEAR + 1)
        matrix = np.zeros((NEAR + 1, NEAR + 1))
        for k in range(t, places.shape[0], work.shape[0]):
            found[k, :], found[k, PIXELS] = np.nan, 0
            if not good[k] > 0:
                continue
            n = _pixels(k, places, stamps, within, w, 0)
            m = _nearest(k, n, places, good, far, starts, order, w, near, shares) + 1
            near[m - 1] = k
            at = 0
            for i in range(m):
                few = _pixels(near[i], places, stamps, within, w, at)
                for j in range(m):
                    total = 0.0
                    for q in range(at, at + few):
                        total += w[3, q] * _bell(places[near[j]], w[0, q], w[1, q])
                    matrix[i, j] = total / good[near[i]]
                shares[i] = at
                at += few
            if not _weigh(m, matrix, weights):
                continue
            for i in range(m):
                for q in range(int(shares[i]), int(shares[i + 1]) if i + 1 < m else at):
                    w[3, q] *= weights[i] / good[near[i]]
            found[k, HEIGHT], found[k, ERROR], found[k, PIXELS] = heights[k], noises[k] * _spread(at, w, rho), n
            n = _pixels(k, places, stamps, within, w, 0)
            _light(k, n, places, heights, far, starts, order, w)
            left = 0.0
            for q in range(n):
                left += (w[2, q] - heights[k] * w[3, q]) ** 2
            if n > 1:
                found[k, CHI2] = left / (noises[k] ** 2 * (n - 1))


def solve(places, stamps, noises, rho, found, work, vectors, starts, order, *, within, far) -> None:
    """See `footprint.kernels.held.contract`."""
    sort(places[:, 0], places[:, 1], places.shape[0], far, starts, order)
    heights = _together(places, stamps, within, far, work, vectors, starts, order)
    _tell(places, stamps, noises, rho, within, far, work, vectors[0], starts, order, heights, found)


@njit(cache=True, nogil=True)
def _rows(sums, boxes, rows):
    for k in range(rows.shape[0]):
        rows[k, :] = np.nan
        label = boxes[k, LABEL]
        if not (boxes[k, OF_BOX] > 0 and 0 < label <= sums.shape[0]) or sums[label - 1, PEAK] != sums[label - 1, PEAK]:
            continue
        rows[k, 0], rows[k, 1] = sums[label - 1, SUM], sums[label - 1, PEAK]
        if sums.shape[1] > SPREAD:
            rows[k, 2], rows[k, 3] = sums[label - 1, LEVEL], sums[label - 1, SPREAD]


def rows(sums, boxes, rows) -> None:
    """See `footprint.kernels.held.contract`."""
    _rows(sums, boxes, rows)
