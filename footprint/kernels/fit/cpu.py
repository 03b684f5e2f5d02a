"""Gaussians fitted to sources by Levenberg and Marquardt, each from its own stamp, less what its neighbours put there."""

from __future__ import annotations

import math

import numpy as np
from numba import njit, prange

from footprint.kernels.find_sources.contract import LABEL, PEAK, PIXELS, SPREAD, X_PEAK, XX, XY, Y_PEAK, YY
from footprint.kernels.fit.contract import (
    CHI2,
    ERRORS,
    HEIGHT,
    MAJOR,
    MINOR,
    PASSES,
    SUM,
    THETA,
    X,
    Y,
)
from footprint.kernels.sigma_clip.contract import BACKGROUND, NOISE

# Full width at half maximum in standard deviations; where a Gaussian is nothing; steps of a fit.
_WIDTH = 2.0 * math.sqrt(2.0 * math.log(2.0))
_NOTHING = 40.0
_STEPS = 25
# Windows in full widths: small ones suit noise that is correlated by the beam.
_POINT, _LEAST, _MOST = 0.5, 0.9, 3.0


@njit(cache=True, parallel=True, nogil=True)
def _stamp(block, boxes, n, stamps, radius, first):
    rows, width = block.shape
    side = 2 * radius + 1
    for k in prange(n):
        if boxes[k, PIXELS] <= 0 or boxes[k, LABEL] <= 0:
            continue
        y0, x0 = boxes[k, Y_PEAK] - radius, boxes[k, X_PEAK] - radius
        for y in range(max(y0, first), min(y0 + side, first + rows)):
            for x in range(max(x0, 0), min(x0 + side, width)):
                stamps[k, (y - y0) * side + x - x0] = block[y - first, x]


def stamp(block, boxes, count, stamps, *, first) -> None:
    """See `footprint.kernels.fit.contract`."""
    if first == 0:
        stamps[...] = np.nan
    if 0 <= count[0] <= boxes.shape[0]:
        radius = (math.isqrt(stamps.shape[1]) - 1) // 2
        _stamp(block, boxes, int(count[0]), stamps, radius, first)


@njit(cache=True, parallel=True, nogil=True)
def _stamp_over(block, level, spread, boxes, n, stamps, radius, first):
    rows, width = block.shape
    side = 2 * radius + 1
    for k in prange(n):
        if boxes[k, PIXELS] <= 0 or boxes[k, LABEL] <= 0:
            continue
        y0, x0 = boxes[k, Y_PEAK] - radius, boxes[k, X_PEAK] - radius
        for y in range(max(y0, first), min(y0 + side, first + rows)):
            for x in range(max(x0, 0), min(x0 + side, width)):
                if spread[y - first, x] > 0:
                    over = np.float64(block[y - first, x]) - np.float64(level[y - first, x])
                    stamps[k, (y - y0) * side + x - x0] = over


def stamp_over(block, level, spread, boxes, count, stamps, *, first) -> None:
    """See `footprint.kernels.fit.contract`."""
    if first == 0:
        stamps[...] = np.nan
    if 0 <= count[0] <= boxes.shape[0]:
        radius = (math.isqrt(stamps.shape[1]) - 1) // 2
        _stamp_over(block, level, spread, boxes, int(count[0]), stamps, radius, first)


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
def _model(p, m, n, w, slopes):
    """Residuals, in row 1, of the pixels in row 0 at the places in rows 2 and 3; derivatives in rows from 4. The sum of squares."""
    total = 0.0
    for i in range(n):
        dy, dx = w[2, i] - p[1], w[3, i] - p[2]
        q = p[3] * dy * dy + 2 * p[4] * dy * dx + p[5] * dx * dx
        e = math.exp(-0.5 * q) if q < 2 * _NOTHING else 0.0
        v = p[0] * e
        r = w[0, i] - v
        w[1, i] = r
        total += r * r
        if slopes:
            w[4, i] = e
            w[5, i] = v * (p[3] * dy + p[4] * dx)
            w[6, i] = v * (p[4] * dy + p[5] * dx)
            if m == 6:
                w[7, i] = -0.5 * dy * dy * v
                w[8, i] = -dy * dx * v
                w[9, i] = -0.5 * dx * dx * v
    return total


@njit(cache=True, nogil=True)
def _sound(p, start, reach):
    """Whether parameters are a Gaussian's, near where it was seen."""
    wide = p[3] > 0 and p[5] > 0 and p[3] * p[5] - p[4] * p[4] > 1e-9 and p[3] + p[5] < 8
    return p[0] > 0 and wide and (p[1] - start[1]) ** 2 + (p[2] - start[2]) ** 2 < reach * reach


@njit(cache=True, nogil=True)
def _fit(p, m, n, w, reach, normal, trial, step, found):
    """Levenberg and Marquardt from ``p``, in place; the sum of squares, or -1 where it went nowhere."""
    start = found
    start[:] = p
    total, damping = _model(p, m, n, w, True), 1e-3
    turns = 0
    while turns < _STEPS:
        for i in range(m):
            s = 0.0
            for q in range(n):
                s += w[4 + i, q] * w[1, q]
            step[1, i] = s
            for j in range(i + 1):
                s = 0.0
                for q in range(n):
                    s += w[4 + i, q] * w[4 + j, q]
                normal[i, j] = normal[j, i] = s
        ended = False
        while turns < _STEPS:
            turns += 1
            trial[:m, :m] = normal[:m, :m]
            for i in range(m):
                trial[i, i] += damping * normal[i, i] + 1e-300
                step[0, i] = step[1, i]
            good = _factor(trial, m)
            other = np.inf
            if good:
                _solve(trial, step[0], m)
                for i in range(6):
                    step[2, i] = p[i] + (step[0, i] if i < m else 0.0)
                if _sound(step[2], start, reach):
                    other = _model(step[2], m, n, w, False)
            if other <= total:
                ended = total - other <= 1e-6 * total
                p[:] = step[2, :6]
                total = _model(p, m, n, w, True)
                damping = max(damping * 0.1, 1e-9)
                break
            damping *= 10
            if damping > 1e8:
                return total if turns > 1 else -1.0
        if ended:
            return total
    return total


@njit(cache=True, nogil=True)
def _told(p, out):
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
def _errors(p, m, n, w, rho, noise, normal, cov, step, out):
    """Errors in noise that is correlated: every quantity's slope times the covariance of the parameters."""
    side = rho.shape[0] // 2
    for i in range(m):
        w[10 + i, :n] = 0.0
    for q in range(n):
        for o in range(n):
            dy, dx = int(w[2, o] - w[2, q]), int(w[3, o] - w[3, q])
            c = rho[side + dy, side + dx]
            if c > 1e-4:
                for i in range(m):
                    w[10 + i, q] += c * w[4 + i, o]
    for i in range(m):
        for j in range(m):
            s, t = 0.0, 0.0
            for q in range(n):
                s += w[4 + i, q] * w[10 + j, q]
                t += w[4 + i, q] * w[4 + j, q]
            cov[i, j], normal[i, j] = s, t
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
            _told(step[2], step[3 + side_])
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


@njit(cache=True, nogil=True)
def _start(k, moments, boxes, beam, beamed, radius, p):
    """Where a fit begins: the peak, with the beam's shape or the light's own; its full width."""
    p[0], p[1], p[2] = moments[k, PEAK], boxes[k, Y_PEAK], boxes[k, X_PEAK]
    if beamed:
        p[3], p[4], p[5] = beam[0], beam[1], beam[2]
    else:
        # A threshold cuts the light's wings off.
        yy, xx, yx = max(1.5 * moments[k, YY], 0.3), max(1.5 * moments[k, XX], 0.3), 1.5 * moments[k, XY]
        det = yy * xx - yx * yx
        if not det > 0.05 * yy * xx:
            yx, det = 0.0, yy * xx
        p[3], p[4], p[5] = xx / det, -yx / det, yy / det
    # By square roots, which every device rounds alike: the disc of pixels hangs on it.
    width = _WIDTH / math.sqrt(math.sqrt(p[3] * p[5] - p[4] * p[4]))
    return min(max(width, 2.0), float(radius))


@njit(cache=True, nogil=True)
def _cell(y, x, size, cells):
    """Of the plane's cells the one a place is in: several share a number where there are more."""
    mixed = np.uint64(int(y // size)) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(int(x // size)) * np.uint64(0xC2B2AE3D27D4EB4F)
    return np.int64((mixed ^ (mixed >> np.uint64(29))) % np.uint64(cells))


@njit(cache=True, nogil=True)
def _sort(boxes, n, size, starts, order):
    """List the sources cell by cell."""
    cells = starts.size - 1
    starts[:] = 0
    for k in range(n):
        starts[_cell(boxes[k, Y_PEAK], boxes[k, X_PEAK], size, cells) + 1] += 1
    for c in range(cells):
        starts[c + 1] += starts[c]
    for k in range(n - 1, -1, -1):
        c = _cell(boxes[k, Y_PEAK], boxes[k, X_PEAK], size, cells) + 1
        starts[c] -= 1
        order[starts[c]] = k
    # What was each cell's end is its start now.
    for c in range(cells):
        starts[c] = starts[c + 1]
    starts[cells] = n


@njit(cache=True, nogil=True)
def _subtract(k, boxes, old, size, starts, order, n, w):
    """Take the neighbours' models off the pixels in row 0."""
    cells = starts.size - 1
    y, x = boxes[k, Y_PEAK], boxes[k, X_PEAK]
    for cy in range(-1, 2):
        for cx in range(-1, 2):
            yy, xx = (y // size + cy) * size, (x // size + cx) * size
            if yy < 0 or xx < 0:
                continue
            c = _cell(yy, xx, size, cells)
            for i in range(starts[c], starts[c + 1]):
                j = order[i]
                ny, nx = boxes[j, Y_PEAK], boxes[j, X_PEAK]
                # Other cells may have the same number.
                if j == k or ny // size != yy // size or nx // size != xx // size or not old[j, 0] > 0:
                    continue
                if (ny - y) ** 2 + (nx - x) ** 2 > size * size:
                    continue
                for q in range(n):
                    dy, dx = w[2, q] - old[j, 1], w[3, q] - old[j, 2]
                    e = old[j, 3] * dy * dy + 2 * old[j, 4] * dy * dx + old[j, 5] * dx * dx
                    if e < _NOTHING:
                        w[0, q] -= old[j, 0] * math.exp(-0.5 * e)


@njit(cache=True, nogil=True)
def _pixels(k, boxes, stamps, radius, reach, background, w):
    """The finite pixels of a disc round the peak: values in row 0, places in rows 2 and 3. How many."""
    side, n = 2 * radius + 1, 0
    for j in range(stamps.shape[1]):
        dy, dx = j // side - radius, j % side - radius
        v = np.float64(stamps[k, j])
        if dy * dy + dx * dx <= reach * reach and math.isfinite(v):
            w[0, n], w[2, n], w[3, n] = v - background, boxes[k, Y_PEAK] + dy, boxes[k, X_PEAK] + dx
            n += 1
    return n


@njit(cache=True, parallel=True, nogil=True)
def _pass(
    moments, boxes, stamps, beam, rho, fits, work, old, new, starts, order, n, radius, size, background, noise, beamed, free, last
):  # fmt: skip
    """Fit every source once, less its neighbours' last fits."""
    threads = work.shape[0]
    for t in prange(threads):
        w = work[t]
        normal, trial, cov, step, start = np.zeros((7, 7)), np.zeros((6, 6)), np.zeros((6, 6)), np.zeros((5, 7)), np.zeros(6)
        p = np.zeros(6)
        for k in range(t, n, threads):
            if boxes[k, PIXELS] <= 0 or boxes[k, LABEL] <= 0:
                continue
            width = _start(k, moments, boxes, beam, beamed, radius, p)
            m, reach = (6 if free else 3), max(_POINT * width, 1.6)
            if free:
                reach = min(max(math.sqrt(boxes[k, PIXELS] / math.pi), _LEAST * width, 2.3), _MOST * width)
            if old[k, 0] > 0:
                p[:] = old[k]
            count = _pixels(k, boxes, stamps, radius, min(reach, float(radius)), background, w)
            _subtract(k, boxes, old, size, starts, order, count, w)
            total = _fit(p, m, count, w, max(0.8 * width, 2.0), normal, trial, step, start) if count > m else -1.0
            if total < 0 or not p[0] > 0:
                new[k] = old[k]
                continue
            new[k] = p
            if last:
                _told(p, fits[k])
                here = noise * moments[k, SPREAD] if moments.shape[1] > SPREAD else noise
                _errors(p, m, count, w, rho, here, normal, cov, step, fits[k])
                fits[k, CHI2] = total / (here * here * (count - m))


@njit(cache=True, nogil=True)
def _begin(moments, boxes, n, beam, beamed, radius, old):
    for k in range(n):
        old[k, :] = 0.0
        if boxes[k, PIXELS] > 0 and boxes[k, LABEL] > 0:
            _start(k, moments, boxes, beam, beamed, radius, old[k])


def solve(stats, count, moments, boxes, stamps, beam, rho, fits, work, params, starts, order, *, radius, free, beamed) -> None:
    """See `footprint.kernels.fit.contract`."""
    fits[...] = np.nan
    n = int(count[0])
    if not 0 < n <= boxes.shape[0]:
        return
    old, new = params[0], params[1]
    _begin(moments, boxes, n, beam, beamed, radius, old)
    size = 3 * radius
    _sort(boxes, n, size, starts, order)
    kinds = [False] * PASSES[0] + [True] * (PASSES[1] if free else 0)
    if free and not beamed:
        kinds = [True] * PASSES[0]
    for turn, kind in enumerate(kinds):
        last = turn + 1 == len(kinds)
        sky = float(stats[BACKGROUND]), float(stats[NOISE])
        _pass(moments, boxes, stamps, beam, rho, fits, work, old, new, starts, order, n, radius, size, *sky, beamed, kind, last)
        old, new = new, old
