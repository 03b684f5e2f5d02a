"""Heights of Gaussians whose places and shapes are held, from their own stamps, all of them at once."""

from __future__ import annotations

import math

import numpy as np
from numba import prange

from footprint.kernels.common.cells import cell, sort
from footprint.kernels.common.copied import put
from footprint.kernels.common.jit import njit
from footprint.kernels.find_sources.contract import LABEL, LEVEL, PEAK, SPREAD, SUM
from footprint.kernels.find_sources.contract import PIXELS as OF_BOX
from footprint.kernels.fit.contract import MAJOR, MINOR, NOTHING, THETA, X, Y
from footprint.kernels.fit.solver import extent
from footprint.kernels.held.contract import CHI2, ERROR, HEIGHT, LEAST, NEAR, NONE, PIXELS, SHARE
from footprint.kernels.held.solver import together


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
            put(places[k, 2:], beam)
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
def _beside(k, places, good, far, starts, order):
    """The places that are told and no farther from one than ``far``."""
    p, cells = places[k], starts.size - 1
    for cy in range(-1, 2):
        for cx in range(-1, 2):
            iy, ix = math.floor(p[0] / far) + cy, math.floor(p[1] / far) + cx
            c = cell(iy, ix, cells)
            for i in range(starts[c], starts[c + 1]):
                j = order[i]
                o = places[j]
                # Other cells may have the same number.
                there = math.floor(o[0] / far) == iy and math.floor(o[1] / far) == ix
                if there and j != k and good[j] > 0 and math.hypot(o[0] - p[0], o[1] - p[1]) <= far:
                    yield j


@njit(cache=True, nogil=True)
def _light(k, n, places, good, heights, far, starts, order, w):
    """Take what neighbours of these heights put on the pixels that tell a place off row 2."""
    p, reach = places[k], 0.0
    for q in range(n):
        reach = max(reach, math.hypot(w[0, q] - p[0], w[1, q] - p[1]))
    for j in _beside(k, places, good, far, starts, order):
        if heights[j] != 0 and math.hypot(places[j, 0] - p[0], places[j, 1] - p[1]) <= reach + extent(places[j, 2:5]):
            for q in range(n):
                w[2, q] -= heights[j] * _bell(places[j], w[0, q], w[1, q])


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
            _light(k, n, places, good, heights, far, starts, order, w)
            total = 0.0
            for q in range(n):
                total -= w[3, q] * w[2, q]
            out[k] = heights[k] + total / good[k]


@njit(cache=True, nogil=True)
def _ease(near, shares, of, out):
    """What each height would be by these right sides, if those that overlap most were all there are."""
    for k in range(near.shape[0]):
        total = 0.0
        for i in range(near.shape[1]):
            total += shares[k, i] * of[near[k, i]]
        out[k] = total


def _together(places, stamps, within, far, work, vectors, starts, order, near, shares) -> np.ndarray:
    """The heights, all at once, eased by the few that overlap most."""
    good, right, eased = vectors[0], vectors[1], vectors[-1]

    def times(of, out) -> None:
        _ease(near, shares, of, eased)
        _times(places, stamps, within, far, work, good, starts, order, eased, out)

    return together(times, right, eased, vectors[2:-1])


@njit(cache=True, nogil=True)
def _overlap(j, n, places, w):
    """What a neighbour of height 1 adds to the sum of a place's values by its Gaussian."""
    total = 0.0
    for q in range(n):
        total += w[3, q] * _bell(places[j], w[0, q], w[1, q])
    return total


@njit(cache=True, nogil=True)
def _nearest(k, n, places, good, far, starts, order, w, near, shares):
    """List the neighbours that overlap most, the most first. How many."""
    found = 0
    for j in _beside(k, places, good, far, starts, order):
        share = _overlap(j, n, places, w) / good[k]
        if share < SHARE or (found == NEAR and share <= shares[NEAR - 1]):
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
        if not abs(rows[i, i]) > NONE:
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


@njit(cache=True, parallel=True, nogil=True)
def _few(places, stamps, within, far, work, good, starts, order, near, shares, found):
    """Of every place, those that overlap most, itself the last, and the weights of their right sides that leave its height alone.

    Where nothing does, of its own right side alone, and ``found`` has no pixels.
    """
    for t in prange(work.shape[0]):
        w, matrix = work[t], np.zeros((NEAR + 1, NEAR + 1))
        for k in range(t, places.shape[0], work.shape[0]):
            near[k, :], shares[k, :], found[k, PIXELS] = k, 0.0, 0
            if not good[k] > 0:
                continue
            n = _pixels(k, places, stamps, within, w, 0)
            m = _nearest(k, n, places, good, far, starts, order, w, near[k], shares[k]) + 1
            near[k, m - 1 :] = k
            for i in range(m):
                n = _pixels(near[k, i], places, stamps, within, w, 0)
                for j in range(m):
                    matrix[i, j] = _overlap(near[k, j], n, places, w) / good[near[k, i]]
            shares[k, :] = 0.0
            found[k, PIXELS] = _weigh(m, matrix, shares[k])
            if not found[k, PIXELS]:
                shares[k, :], shares[k, m - 1] = 0.0, 1.0


@njit(cache=True, nogil=True)
def _merge(m, begins, ends, w):
    """Pixels of lists in rows 0, 1 and 3, each in raster order, as one in rows 0, 1 and 2 from ``ends[m - 1]`` on. How many."""
    to = at = ends[m - 1]
    while True:
        y, x = np.inf, np.inf
        for i in range(m):
            q = begins[i]
            if q < ends[i] and (w[0, q] < y or (w[0, q] == y and w[1, q] < x)):
                y, x = w[0, q], w[1, q]
        if y == np.inf:
            return to - at
        w[0, to], w[1, to], w[2, to] = y, x, 0.0
        for i in range(m):
            q = begins[i]
            if q < ends[i] and w[0, q] == y and w[1, q] == x:
                w[2, to] += w[3, q]
                begins[i] += 1
        to += 1


@njit(cache=True, nogil=True)
def _spread(at, n, w, rho):
    """The standard deviation of a sum over pixels in raster order by their weights, in row 2, of noise that is correlated."""
    half, total = rho.shape[0] // 2, 0.0
    for q in range(at, at + n):
        total += w[2, q] * w[2, q] * rho[half, half]
        for o in range(q + 1, at + n):
            dy, dx = int(w[0, o] - w[0, q]), int(w[1, o] - w[1, q])
            if dy > half:
                break
            if abs(dx) <= half:
                total += 2 * w[2, q] * w[2, o] * rho[dy + half, dx + half]
    return math.sqrt(max(total, 0.0))


@njit(cache=True, parallel=True, nogil=True)
def _tell(places, stamps, noises, rho, within, far, work, good, starts, order, near, shares, heights, found):
    """Heights, errors and what is left of every place."""
    for t in prange(work.shape[0]):
        w, begins, ends = work[t], np.zeros(NEAR + 1, np.int64), np.zeros(NEAR + 1, np.int64)
        for k in range(t, places.shape[0], work.shape[0]):
            told = found[k, PIXELS]
            found[k, :], found[k, PIXELS] = np.nan, 0
            if not told:
                continue
            m = at = 0
            while m <= NEAR:
                begins[m], j = at, near[k, m]
                at += _pixels(j, places, stamps, within, w, at)
                w[3, begins[m] : at] *= shares[k, m] / good[j]
                ends[m] = at
                m += 1
                if j == k:
                    break
            n = _merge(m, begins, ends, w)
            found[k, HEIGHT], found[k, ERROR] = heights[k], noises[k] * _spread(at, n, w, rho)
            n = _pixels(k, places, stamps, within, w, 0)
            found[k, PIXELS] = n
            _light(k, n, places, good, heights, far, starts, order, w)
            left = 0.0
            for q in range(n):
                left += (w[2, q] - heights[k] * w[3, q]) ** 2
            if n > 1:
                found[k, CHI2] = left / (noises[k] ** 2 * (n - 1))


def solve(places, stamps, noises, rho, found, work, vectors, shares, near, starts, order, *, within, far) -> None:
    """See `footprint.kernels.held.contract`."""
    sort(places[:, 0], places[:, 1], places.shape[0], far, starts, order)
    good, right = vectors[0], vectors[1]
    _begin(places, stamps, within, work, good, right)
    _few(places, stamps, within, far, work, good, starts, order, near, shares, found)
    heights = _together(places, stamps, within, far, work, vectors, starts, order, near, shares)
    _tell(places, stamps, noises, rho, within, far, work, good, starts, order, near, shares, heights, found)


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
