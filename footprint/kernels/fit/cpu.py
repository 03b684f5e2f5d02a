"""Gaussians fitted to sources by Levenberg and Marquardt, each from its own stamp, less what its neighbours put there."""

from __future__ import annotations

import math

import numpy as np
from numba import prange

from footprint.kernels.common.cells import cell, sort
from footprint.kernels.common.jit import njit
from footprint.kernels.find_sources.contract import LABEL, PEAK, PIXELS, SPREAD, X_PEAK, XX, XY, Y_PEAK, YY
from footprint.kernels.fit.contract import CHI2, LEAST, MOST, POINT, SETTLED, kinds
from footprint.kernels.fit.solver import bells, errors, exponents, far, fit, model, told
from footprint.kernels.sigma_clip.contract import BACKGROUND, NOISE

# Full width at half maximum in standard deviations.
_WIDTH = 2.0 * math.sqrt(2.0 * math.log(2.0))


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
def _neighbours(k, boxes, old, moved, size, starts, order, reach, n, w):
    """With ``n`` pixels in row 0, take the neighbours' models off them; else whether one of them moved."""
    cells = starts.size - 1
    y, x = boxes[k, Y_PEAK], boxes[k, X_PEAK]
    for cy in range(-1, 2):
        for cx in range(-1, 2):
            yy, xx = (y // size + cy) * size, (x // size + cx) * size
            if yy < 0 or xx < 0:
                continue
            c = cell(yy // size, xx // size, cells)
            for i in range(starts[c], starts[c + 1]):
                j = order[i]
                ny, nx = boxes[j, Y_PEAK], boxes[j, X_PEAK]
                # Other cells may have the same number.
                if j == k or ny // size != yy // size or nx // size != xx // size or not old[j, 0] > 0:
                    continue
                if (ny - y) ** 2 + (nx - x) ** 2 > size * size or far(y, x, reach, old[j, 1:6]):
                    continue
                if n == 0:
                    if moved[j]:
                        return True
                    continue
                exponents(old[j], n, w, 4)
                bells(w, 4, n)
                for q in range(n):
                    w[0, q] -= old[j, 0] * w[4, q]
    return False


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


@njit(cache=True, nogil=True)
def _reach(k, boxes, width, radius, free):
    """Of the disc that a source is fitted on."""
    reach = max(POINT * width, 1.6)
    if free:
        reach = min(max(math.sqrt(boxes[k, PIXELS] / math.pi), LEAST * width, 2.3), MOST * width)
    return min(reach, float(radius))


@njit(cache=True, nogil=True)
def _noise_at(k, moments, noise):
    """Where a source's peak is."""
    return noise * moments[k, SPREAD] if moments.shape[1] > SPREAD else noise


@njit(cache=True, nogil=True)
def _changed(old, new):
    """The most that a model changed by, about."""
    place = math.hypot(new[1] - old[1], new[2] - old[2]) * math.sqrt(new[3] + new[5])
    shape = (abs(new[3] - old[3]) + 2 * abs(new[4] - old[4]) + abs(new[5] - old[5])) / min(new[3], new[5])
    return abs(new[0] - old[0]) + new[0] * (place + shape)


@njit(cache=True, parallel=True, nogil=True)
def _pass(
    moments, boxes, stamps, beam, work, old, new, before, moved, gone, starts, order, n, radius, size, background, noise, beamed,
    free, every,
):  # fmt: skip
    """Fit every source once, less its neighbours' last fits, where they have changed since; all of them where ``every``."""
    threads = work.shape[0]
    for t in prange(threads):
        w = work[t]
        normal, trial, step, start, p = np.zeros((7, 7)), np.zeros((6, 6)), np.zeros((5, 7)), np.zeros(6), np.zeros(6)
        for k in range(t, n, threads):
            moved[k] = 0
            if boxes[k, PIXELS] <= 0 or boxes[k, LABEL] <= 0:
                continue
            new[k] = old[k]
            width = _start(k, moments, boxes, beam, beamed, radius, p)
            reach = _reach(k, boxes, width, radius, free)
            if not every and not _neighbours(k, boxes, old, before, size, starts, order, reach, 0, w):
                continue
            if old[k, 0] > 0:
                p[:] = old[k]
            m = 6 if free else 3
            count = _pixels(k, boxes, stamps, radius, reach, background, w)
            _neighbours(k, boxes, old, before, size, starts, order, reach, count, w)
            gone[k] = not (count > m and fit(p, m, count, w, max(0.8 * width, 2.0), normal, trial, step, start) and p[0] > 0)
            if not gone[k]:
                here = _noise_at(k, moments, noise)
                moved[k] = _changed(old[k], p) > SETTLED * here
                new[k] = p


@njit(cache=True, parallel=True, nogil=True)
def _finish(
    moments, boxes, stamps, beam, rho, fits, work, old, gone, starts, order, n, radius, size, background, noise, beamed, free
):  # fmt: skip
    """What is told of every fit."""
    threads = work.shape[0]
    for t in prange(threads):
        w = work[t]
        normal, cov, step, p = np.zeros((7, 7)), np.zeros((6, 6)), np.zeros((5, 7)), np.zeros(6)
        for k in range(t, n, threads):
            if boxes[k, PIXELS] <= 0 or boxes[k, LABEL] <= 0 or gone[k]:
                continue
            reach = _reach(k, boxes, _start(k, moments, boxes, beam, beamed, radius, p), radius, free)
            m, count = (6 if free else 3), _pixels(k, boxes, stamps, radius, reach, background, w)
            _neighbours(k, boxes, old, gone, size, starts, order, reach, count, w)
            p[:] = old[k]
            total = model(p, m, count, w)
            told(p, fits[k])
            here = _noise_at(k, moments, noise)
            errors(p, m, count, w, rho, here, normal, cov, step, fits[k])
            fits[k, CHI2] = total / (here * here * (count - m))


@njit(cache=True, nogil=True)
def _begin(moments, boxes, n, beam, beamed, radius, old):
    for k in range(n):
        old[k, :] = 0.0
        if boxes[k, PIXELS] > 0 and boxes[k, LABEL] > 0:
            _start(k, moments, boxes, beam, beamed, radius, old[k])


def solve(
    stats,
    count,
    moments,
    boxes,
    stamps,
    beam,
    rho,
    fits,
    work,
    params,
    flags,
    starts,
    order,
    *,
    radius,
    free,
    beamed,
    patient=False,
) -> None:
    """See `footprint.kernels.fit.contract`."""
    fits[...] = np.nan
    n = int(count[0])
    if not 0 < n <= boxes.shape[0]:
        return
    old, new = params[0], params[1]
    _begin(moments, boxes, n, beam, beamed, radius, old)
    size = 3 * radius
    sort(boxes[:, Y_PEAK], boxes[:, X_PEAK], n, size, starts, order)
    turns = kinds(free, beamed, patient)
    before, moved, gone = flags
    sky, where = (float(stats[BACKGROUND]), float(stats[NOISE])), (starts, order, n, radius, size)
    for turn, kind in enumerate(turns):
        every = turn == 0 or kind != turns[turn - 1]
        if not every and not before[:n].any():
            continue
        _pass(moments, boxes, stamps, beam, work, old, new, before, moved, gone, *where, *sky, beamed, kind, every)
        old, new, before, moved = new, old, moved, before
    _finish(moments, boxes, stamps, beam, rho, fits, work, old, gone, *where, *sky, beamed, turns[-1])
