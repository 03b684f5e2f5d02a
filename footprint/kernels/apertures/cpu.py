"""Sums over discs and ellipses, each pixel by the area of it that lies inside."""

from __future__ import annotations

import math

import numpy as np
from numba import prange

from footprint.kernels.apertures.contract import REACH, SLIVER, SUMS
from footprint.kernels.common.jit import njit
from footprint.kernels.find_sources.contract import LABEL, PIXELS, SUM, SUM_X, SUM_Y, XX, XY, YY

# The variance of a pixel along an axis: light of less is a pixel's.
_PIXEL = 1 / 12


@njit(cache=True, nogil=True)
def _on(c, s, more_c, more_s):
    """A turn and another after it, as cosines and sines, each times any length."""
    return c * more_c - s * more_s, c * more_s + s * more_c


@njit(cache=True, nogil=True)
def _side(ax, ay, bx, by):
    """Of the unit disc and the triangle between the origin and a side: twice the area of triangles, and by what the arc turns."""
    dx, dy = bx - ax, by - ay
    along, across, beyond = dx * dx + dy * dy, ax * dx + ay * dy, ax * ax + ay * ay - 1
    root = across * across - along * beyond
    if root > 0:
        root = math.sqrt(root)
        enter, leave = (-across - root) / along, (-across + root) / along
        if enter < 1 and leave > 0:
            px, py, qx, qy, c, s = ax, ay, bx, by, 1.0, 0.0
            if enter > 0:
                px, py = ax + enter * dx, ay + enter * dy
                c, s = ax * px + ay * py, ax * py - ay * px
            if leave < 1:
                qx, qy = ax + leave * dx, ay + leave * dy
                c, s = _on(c, s, qx * bx + qy * by, qx * by - qy * bx)
            return px * qy - py * qx, c, s
    return 0.0, ax * bx + ay * by, ax * by - ay * bx


@njit(cache=True, nogil=True)
def _inside(u, v, hux, hvx, huy, hvy):
    """The area that the unit disc has of the parallelogram about (u, v) with these halves of its sides.

    Arcs are added up as turns, multiplied, and measured once where none of them, nor all, can be half a circle: where the middle
    of the disc is outside.
    """
    ax, ay, bx, by = u - hux - huy, v - hvx - hvy, u + hux - huy, v + hvx - hvy
    cx, cy, ex, ey = u + hux + huy, v + hvx + hvy, u - hux + huy, v - hvx + hvy
    (area, c, s), (n2, c2, s2) = _side(ax, ay, bx, by), _side(bx, by, cx, cy)
    (n3, c3, s3), (n4, c4, s4) = _side(cx, cy, ex, ey), _side(ex, ey, ax, ay)
    area += n2 + n3 + n4
    size = abs(hux * hvy - hvx * huy)
    if abs(u * hvy - v * huy) <= size and abs(u * hvx - v * hux) <= size:
        return 0.5 * abs(area + math.atan2(s, c) + math.atan2(s2, c2) + math.atan2(s3, c3) + math.atan2(s4, c4))
    c, s = _on(*_on(*_on(c, s, c2, s2), c3, s3), c4, s4)
    return 0.5 * abs(area + math.atan2(s, c))


@njit(cache=True, nogil=True)
def _span(place, radius, first, rows, width):
    """Rows of the block and columns that an aperture may reach."""
    xx, xy, yx, yy = place[2], place[3], place[4], place[5]
    det = abs(xx * yy - xy * yx)
    far_y, far_x = radius * math.hypot(xx, yx) / det + 0.5, radius * math.hypot(xy, yy) / det + 0.5
    top = max(math.floor(min(max(place[0] - far_y, 0.0), 1e15)), first)
    bottom = min(math.ceil(max(min(place[0] + far_y, 1e15), -1.0)) + 1, first + rows)
    left = math.floor(min(max(place[1] - far_x, 0.0), float(width)))
    right = math.ceil(max(min(place[1] + far_x, width - 1.0), -1.0)) + 1
    return top, bottom, left, right


@njit(cache=True, nogil=True)
def _row(y, left, right, first, block, level, spread, place, radius, out):
    """Add a row of an aperture to its four sums."""
    ly, lx = (y - first if level.shape[0] > 1 or level.shape[1] > 1 else 0), (1 if level.shape[1] > 1 else 0)
    sy, sx = (y - first if spread.shape[0] > 1 or spread.shape[1] > 1 else 0), (1 if spread.shape[1] > 1 else 0)
    xx, xy, yx, yy = place[2] / radius, place[3] / radius, place[4] / radius, place[5] / radius
    hux, hvx, huy, hvy = 0.5 * xx, 0.5 * yx, 0.5 * xy, 0.5 * yy
    half = math.sqrt(max((hux + huy) ** 2 + (hvx + hvy) ** 2, (hux - huy) ** 2 + (hvx - hvy) ** 2))
    far, near = (1 + half) ** 2, max(1 - half, 0.0) ** 2
    pixel = abs(xx * yy - xy * yx)
    total, squares, area, missing, dy = 0.0, 0.0, 0.0, 0.0, y - place[0]
    for x in range(left, right):
        dx = x - place[1]
        u, v = xx * dx + xy * dy, yx * dx + yy * dy
        q = u * u + v * v
        if q >= far:
            continue
        share = 1.0 if q < near else min(_inside(u, v, hux, hvx, huy, hvy) / pixel, 1.0)
        if not share > SLIVER:
            continue
        value, noise = np.float64(block[y - first, x]) - level[ly, lx * x], np.float64(spread[sy, sx * x])
        if math.isfinite(value) and noise > 0:
            total += share * value
            squares += share * noise * noise
            area += share
        else:
            missing += share
    out[0] += total
    out[1] += squares
    out[2] += area
    out[3] += missing


@njit(cache=True, parallel=True, nogil=True)
def _add(block, level, spread, places, radii, sums, first, column):
    rows, width = block.shape
    for k in prange(places.shape[0]):
        if not math.isfinite(places[k, 0]):
            continue
        for i in range(radii.size):
            radius = radii[i] * places[k, 6]
            top, bottom, left, right = _span(places[k], radius, first, rows, width)
            at = column + i * SUMS
            for y in range(top, bottom):
                _row(y, left, right, first, block, level, spread, places[k], radius, sums[k, at : at + SUMS])


@njit(cache=True, nogil=True)
def _reach_row(y, left, right, first, block, level, spread, place, out):
    ly, lx = (y - first if level.shape[0] > 1 or level.shape[1] > 1 else 0), (1 if level.shape[1] > 1 else 0)
    sy, sx = (y - first if spread.shape[0] > 1 or spread.shape[1] > 1 else 0), (1 if spread.shape[1] > 1 else 0)
    far, light, dy = 0.0, 0.0, y - place[0]
    for x in range(left, right):
        dx = x - place[1]
        u, v = place[2] * dx + place[3] * dy, place[4] * dx + place[5] * dy
        r = math.sqrt(u * u + v * v)
        value, noise = np.float64(block[y - first, x]) - level[ly, lx * x], np.float64(spread[sy, sx * x])
        if r <= REACH and math.isfinite(value) and noise > 0:
            far += r * value
            light += value
    out[0] += far
    out[1] += light


@njit(cache=True, parallel=True, nogil=True)
def _reach(block, level, spread, places, sums, first, column):
    rows, width = block.shape
    for k in prange(places.shape[0]):
        if not math.isfinite(places[k, 0]):
            continue
        top, bottom, left, right = _span(places[k], REACH, first, rows, width)
        for y in range(top, bottom):
            _reach_row(y, left, right, first, block, level, spread, places[k], sums[k, column : column + 2])


@njit(cache=True, nogil=True)
def _place(n, boxes, moments, places, shaped):
    places[:, :] = np.nan
    for k in range(n):
        if boxes[k, PIXELS] <= 0 or boxes[k, LABEL] <= 0 or moments[k, SUM] == 0:
            continue
        x, y = moments[k, SUM_X] / moments[k, SUM], moments[k, SUM_Y] / moments[k, SUM]
        if not (math.isfinite(x) and math.isfinite(y)):
            continue
        xx = xy = yx = yy = 0.0
        if shaped:
            mean, half, cross = (moments[k, XX] + moments[k, YY]) / 2, (moments[k, XX] - moments[k, YY]) / 2, moments[k, XY]
            long = math.hypot(half, cross)
            turn = 0.5 * math.atan2(cross, half)
            a, b = math.sqrt(max(mean + long, _PIXEL)), math.sqrt(max(mean - long, _PIXEL))
            if not (math.isfinite(a) and math.isfinite(b)):
                continue
            xx, xy, yx, yy = math.cos(turn) / a, math.sin(turn) / a, -math.sin(turn) / b, math.cos(turn) / b
        else:
            xx = yy = 1.0
        places[k, 0], places[k, 1], places[k, 2], places[k, 3] = y, x, xx, xy
        places[k, 4], places[k, 5], places[k, 6] = yx, yy, 1.0


@njit(cache=True, nogil=True)
def _kron(sums, places, column, factor, least):
    for k in range(places.shape[0]):
        far, light = sums[k, column], sums[k, column + 1]
        found = far > 0 and light > 0
        radius = far / light if found else np.nan
        sums[k, column] = radius if math.isfinite(places[k, 0]) else np.nan
        # Standard deviations multiplied are the square of a circle's of that area.
        size = 1 / math.sqrt(abs(places[k, 2] * places[k, 5] - places[k, 3] * places[k, 4]))
        if found and radius * size >= least:
            places[k, 6] = factor * radius
        else:
            places[k, 2], places[k, 3], places[k, 4], places[k, 5], places[k, 6] = 1.0, 0.0, 0.0, 1.0, least
        sums[k, column + 1] = math.pi * (places[k, 6] ** 2) / abs(places[k, 2] * places[k, 5] - places[k, 3] * places[k, 4])


def add(block, level, spread, places, radii, sums, *, first, column) -> None:
    """See `footprint.kernels.apertures.contract`."""
    if first == 0:
        sums[:, column : column + SUMS * radii.size] = 0
    _add(block, level, spread, places, radii, sums, first, column)


def reach(block, level, spread, places, sums, *, first, column) -> None:
    """See `footprint.kernels.apertures.contract`."""
    if first == 0:
        sums[:, column : column + 2] = 0
    _reach(block, level, spread, places, sums, first, column)


def discs(count, boxes, moments, places, *, first) -> None:
    """See `footprint.kernels.apertures.contract`."""
    if first == 0:
        _place(_rows(count, boxes), boxes, moments, places, False)


def ellipses(count, boxes, moments, places, *, first) -> None:
    """See `footprint.kernels.apertures.contract`."""
    if first == 0:
        _place(_rows(count, boxes), boxes, moments, places, True)


def kron(sums, places, *, first, column, factor, least) -> None:
    """See `footprint.kernels.apertures.contract`."""
    if first == 0:
        _kron(sums, places, column, factor, least)


def _rows(count, boxes) -> int:
    """Sources there are; none where there was no room for all."""
    return int(count[0]) if 0 <= count[0] <= boxes.shape[0] else 0
