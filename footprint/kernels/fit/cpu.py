"""Gaussians fitted to sources by Levenberg and Marquardt, each from its own stamp, less what its neighbours put there."""

from __future__ import annotations

import math

import numpy as np
from numba import prange

from footprint.kernels.common.cells import cell, sort
from footprint.kernels.common.jit import njit
from footprint.kernels.common.vectors import alone
from footprint.kernels.find_sources.contract import LABEL, PEAK, PIXELS, SPREAD, X_PEAK, XX, XY, Y_PEAK, YY
from footprint.kernels.fit.contract import (
    CHI2,
    HEIGHT,
    LANES,
    LEAST,
    MAJOR,
    MINOR,
    MOST,
    POINT,
    SETTLED,
    SUMS,
    THETA,
    X,
    Y,
    kinds,
    radius_of,
)
from footprint.kernels.fit.grid import lay
from footprint.kernels.fit.on_mesh import stamp_on_mesh
from footprint.kernels.fit.solver import copy, equations, errors, fit, layout, look, ready, take_off, told
from footprint.kernels.fit.windows import ask_ahead, opened, window
from footprint.kernels.sigma_clip.contract import BACKGROUND, NOISE

# Full width at half maximum in standard deviations.
_WIDTH = 2.0 * math.sqrt(2.0 * math.log(2.0))
# Cells that a thread takes one after another: near each other, so that they have neighbours in common.
_RUN = 64


@njit(cache=True, parallel=True, nogil=True)
def _stamp(block, boxes, n, stamps, radius, first):
    rows, width = block.shape
    side = 2 * radius + 1
    for k in prange(n):
        if not opened(k, boxes, stamps, first):
            continue
        ask_ahead(block, k, n, boxes, radius, first)
        y0, x0, low, high, begin, end = window(k, boxes, radius, first, rows, width)
        for y in range(low, high):
            row, to = block[y - first, begin:end], (y - y0) * side + begin - x0
            out = stamps[k, to : to + end - begin]
            for x in range(np.uint64(out.size)):
                out[x] = row[x]


def stamp(block, boxes, count, stamps, *, first) -> None:
    """See `footprint.kernels.fit.contract`."""
    if 0 <= count[0] <= boxes.shape[0]:
        _stamp(block, boxes, int(count[0]), stamps, radius_of(stamps), first)


@njit(cache=True, nogil=True)
def _row_over(row, level, spread, out):
    """What a row is over its level. By vectors, so that the next rows are asked for while this one comes from far-off memory."""
    for x in range(np.uint64(out.size)):
        over = np.float64(row[x]) - np.float64(level[x])
        out[x] = over if spread[x] > 0 else np.nan


@njit(cache=True, parallel=True, nogil=True)
def _stamp_over(block, level, spread, boxes, n, stamps, radius, first):
    rows, width = block.shape
    side = 2 * radius + 1
    for k in prange(n):
        if not opened(k, boxes, stamps, first):
            continue
        for part in (block, level, spread):
            ask_ahead(part, k, n, boxes, radius, first)
        y0, x0, low, high, begin, end = window(k, boxes, radius, first, rows, width)
        for y in range(low, high):
            r, to = y - first, (y - y0) * side + begin - x0
            _row_over(block[r, begin:end], level[r, begin:end], spread[r, begin:end], stamps[k, to : to + end - begin])


def stamp_over(block, level, spread, boxes, count, stamps, *, first) -> None:
    """See `footprint.kernels.fit.contract`."""
    if 0 <= count[0] <= boxes.shape[0]:
        _stamp_over(block, level, spread, boxes, int(count[0]), stamps, radius_of(stamps), first)


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
        if not det < math.inf:
            # Of values whose squares overflow moments are no numbers.
            yy, xx, yx, det = 1.0, 1.0, 0.0, 1.0
        p[3], p[4], p[5] = xx / det, -yx / det, yy / det
    # By square roots, which every device rounds alike: the disc of pixels hangs on it.
    width = _WIDTH / math.sqrt(math.sqrt(p[3] * p[5] - p[4] * p[4]))
    return min(max(width, 2.0), float(radius))


@njit(cache=True, nogil=True)
def _gather(cy, cx, boxes, old, moved, size, starts, order, skip, near):
    """Put those aside who may be neighbours of sources in a cell, but for ``skip`` of them. How many, and whether that is all."""
    alone()
    cells, n = starts.size - 1, -skip
    for iy in range(max(cy - 1, 0), cy + 2):
        for ix in range(max(cx - 1, 0), cx + 2):
            c = cell(iy, ix, cells)
            for i in range(starts[c], starts[c + 1]):
                j = order[i]
                y, x = boxes[j, Y_PEAK], boxes[j, X_PEAK]
                down, right = y - iy * size, x - ix * size
                # Other cells may have the same number.
                if not (old[j, 0] > 0 and 0 <= down < size and 0 <= right < size):
                    continue
                if n == near.shape[0]:
                    return n, False
                if n >= 0:
                    for q in range(8):
                        near[n, q] = old[j, q]
                    near[n, 8], near[n, 9], near[n, 10], near[n, 11] = y, x, j, moved[j]
                n += 1
    return max(n, 0), True


@njit(cache=True, nogil=True)
def _neighbours(k, y, x, size, reach, near, n, found):
    """List those of ``n`` put aside whose models reach a source's disc. How many, and whether one of them moved."""
    alone()
    many, stirred, most = 0, 0.0, float(size * size)
    for i in range(n):
        dy, dx, fy, fx = near[i, 8] - y, near[i, 9] - x, near[i, 1] - y, near[i, 2] - x
        far = reach + near[i, 6]
        beside = (dy * dy + dx * dx <= most) & (fy * fy + fx * fx <= far * far) & (near[i, 10] != k)
        found[many] = i
        many += beside
        stirred = max(stirred, near[i, 11] * beside)
    return many, stirred > 0


@njit(cache=True, nogil=True)
def _batches(k, y, x, size, reach, boxes, old, moved, starts, order, near, found, window, w):
    """Take all of a source's neighbours off its window, where it has a side; whether one of them moved."""
    alone()
    skip, whole, stirred = 0, False, False
    top, left, side, _ = window
    while not whole:
        n, whole = _gather(y // size, x // size, boxes, old, moved, size, starts, order, skip, near)
        many, moving = _neighbours(k, y, x, size, reach, near, n, found)
        stirred |= moving
        if side > 0:
            for i in range(many):
                take_off(near[found[i]], top, left, side, w)
        skip += n
    return stirred


@njit(cache=True, nogil=True)
def _window(k, boxes, stamps, radius, reach, background, spans, w):
    """Lay out the finite pixels of a disc round the peak, and their mask. Its corner, its side, and how many they are."""
    alone()
    far, wide = int(reach), 2 * radius + 1
    side = 2 * far + 1
    pitch, room, series, _, _ = layout(side)
    for i in range(series, series + LANES):
        w[i] = 0.0
    for y in range(side):
        half = int(math.sqrt(reach * reach - (y - far) ** 2))
        # A root may be rounded up to the next pixel.
        half -= half * half + (y - far) ** 2 > reach * reach
        spans[2 * y], spans[2 * y + 1] = far - half, far + half + 1
        start = k * wide * wide + (y - far + radius) * wide + radius - far
        lay(w, stamps, start, far - half, far + half + 1, side - 1, background, y * pitch, room + y * pitch, series)
    n = (w[series] + w[series + 1]) + (w[series + 2] + w[series + 3])
    return boxes[k, Y_PEAK] - far, boxes[k, X_PEAK] - far, side, n


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
    moments, boxes, stamps, beam, work, beside, old, new, before, moved, gone, starts, order, radius, size, background, noise,
    beamed, free, every,
):  # fmt: skip
    """Fit every source once, less its neighbours' last fits, where they have changed since; all of them where ``every``."""
    threads, cells, m, longest = work.shape[0], starts.size - 1, 6 if free else 3, 4.0 if free else np.inf
    for t in prange(threads):
        w, near = work[t], beside[t]
        normal, trial, step, start, p = np.zeros((7, 7)), np.zeros((6, 6)), np.zeros((5, 7)), np.zeros(6), np.zeros(8)
        sums, found, spans = np.zeros(SUMS), np.zeros(near.shape[0] + 1, np.int64), np.zeros(4 * radius + 2, np.int64)
        # Cell by cell, whose sources have their neighbours in common.
        for c in range(cells):
            if c // _RUN % threads != t:
                continue
            row, column, n, whole = -1, -1, 0, False
            for i in range(starts[c], starts[c + 1]):
                k = order[i]
                moved[k] = 0
                if boxes[k, PIXELS] <= 0 or boxes[k, LABEL] <= 0:
                    new[k, 0] = 0.0
                    continue
                copy(old[k], new[k])
                y, x = boxes[k, Y_PEAK], boxes[k, X_PEAK]
                if not whole or y // size != row or x // size != column:
                    row, column = y // size, x // size
                    n, whole = _gather(row, column, boxes, old, before, size, starts, order, np.int64(0), near)
                width = _start(k, moments, boxes, beam, beamed, radius, p)
                reach = _reach(k, boxes, width, radius, free)
                many, stirred = _neighbours(k, y, x, size, reach, near, n, found)
                if not whole:
                    nowhere = (y, x, np.int64(0), 0.0)
                    stirred = _batches(k, y, x, size, reach, boxes, old, before, starts, order, near, found, nowhere, w)
                if not every and not stirred:
                    continue
                if old[k, 0] > 0:
                    copy(old[k], p)
                window = _window(k, boxes, stamps, radius, reach, background, spans, w)
                top, left, side, count = window
                if whole:
                    for q in range(many):
                        take_off(near[found[q]], top, left, side, w)
                else:
                    _batches(k, y, x, size, reach, boxes, old, before, starts, order, near, found, window, w)
                within = max(0.8 * width, 2.0)
                good = count > m and fit(p, m, top, left, side, w, within, sums, normal, trial, step, start) and p[0] > 0
                # A deviation twice as long as the window is no length that the window tells of.
                good = good and p[3] + p[5] <= longest * side * side * (p[3] * p[5] - p[4] * p[4])
                gone[k] = not good
                if good:
                    ready(p)
                    moved[k] = _changed(old[k], p) > SETTLED * _noise_at(k, moments, noise)
                    copy(p, new[k])


@njit(cache=True, parallel=True, nogil=True)
def _finish(
    moments, boxes, stamps, beam, rho, fits, work, beside, old, gone, starts, order, radius, size, background, noise, beamed, free
):  # fmt: skip
    """What is told of every fit."""
    threads, cells, m = work.shape[0], starts.size - 1, 6 if free else 3
    for t in prange(threads):
        w, near = work[t], beside[t]
        normal, cov, step, p = np.zeros((7, 7)), np.zeros((6, 6)), np.zeros((5, 7)), np.zeros(8)
        sums, found, spans = np.zeros(SUMS), np.zeros(near.shape[0] + 1, np.int64), np.zeros(4 * radius + 2, np.int64)
        for c in range(cells):
            if c // _RUN % threads != t:
                continue
            row, column, n, whole = -1, -1, 0, False
            for i in range(starts[c], starts[c + 1]):
                k = order[i]
                if boxes[k, PIXELS] <= 0 or boxes[k, LABEL] <= 0 or gone[k]:
                    continue
                y, x = boxes[k, Y_PEAK], boxes[k, X_PEAK]
                if not whole or y // size != row or x // size != column:
                    row, column = y // size, x // size
                    n, whole = _gather(row, column, boxes, old, gone, size, starts, order, np.int64(0), near)
                reach = _reach(k, boxes, _start(k, moments, boxes, beam, beamed, radius, p), radius, free)
                window = _window(k, boxes, stamps, radius, reach, background, spans, w)
                top, left, side, count = window
                if whole:
                    for q in range(_neighbours(k, y, x, size, reach, near, n, found)[0]):
                        take_off(near[found[q]], top, left, side, w)
                else:
                    _batches(k, y, x, size, reach, boxes, old, gone, starts, order, near, found, window, w)
                copy(old[k], p)
                total = look(p, m, top, left, side, w, sums)
                equations(p, m, sums, normal, step[0])
                told(p, fits[k])
                here = _noise_at(k, moments, noise)
                errors(p, m, top, left, side, w, rho, spans, here, normal, cov, step, fits[k])
                fits[k, CHI2] = total / (here * here * (count - m))


@njit(cache=True, nogil=True)
def _recall(fit, p):
    """Begin where a fit ended, if there is one."""
    height, a, b = fit[HEIGHT], fit[MAJOR], fit[MINOR]
    if not (height > 0 and b > 0):
        return
    turn = math.radians(fit[THETA])
    c, s = math.cos(turn), math.sin(turn)
    p[0], p[1], p[2] = height, fit[Y], fit[X]
    p[3], p[5] = s * s / (a * a) + c * c / (b * b), c * c / (a * a) + s * s / (b * b)
    p[4] = s * c * (1 / (a * a) - 1 / (b * b))


@njit(cache=True, nogil=True)
def _begin(moments, boxes, fits, n, beam, beamed, radius, known, old):
    for k in range(n):
        old[k, 0] = 0.0
        if boxes[k, PIXELS] > 0 and boxes[k, LABEL] > 0:
            _start(k, moments, boxes, beam, beamed, radius, old[k])
            if known:
                _recall(fits[k], old[k])
            ready(old[k])


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
    beside,
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
    n = int(count[0]) if 0 < count[0] <= boxes.shape[0] else 0
    old, new = params[0], params[1]
    _begin(moments, boxes, fits, n, beam, beamed, radius, patient, old)
    fits[...] = np.nan
    if not n:
        return
    size = 3 * radius
    sort(boxes[:, Y_PEAK], boxes[:, X_PEAK], n, size, starts, order)
    turns = kinds(free, beamed, patient)
    before, moved, gone = flags
    sky, where = (float(stats[BACKGROUND]), float(stats[NOISE])), (starts, order, radius, size)
    for turn, kind in enumerate(turns):
        every = turn == 0 or kind != turns[turn - 1]
        if not every and not before[:n].any():
            continue
        _pass(moments, boxes, stamps, beam, work, beside, old, new, before, moved, gone, *where, *sky, beamed, kind, every)
        old, new, before, moved = new, old, moved, before
    _finish(moments, boxes, stamps, beam, rho, fits, work, beside, old, gone, *where, *sky, beamed, turns[-1])


__all__ = ["solve", "stamp", "stamp_on_mesh", "stamp_over"]
