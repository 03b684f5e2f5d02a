"""Fitted Gaussians drawn and taken off, and what is found without them joined to them."""

from __future__ import annotations

import math

from numba import prange

from footprint.kernels.common.jit import njit
from footprint.kernels.deblend.contract import COMPONENT, COMPONENTS, ISLAND
from footprint.kernels.deblend.contract import LABEL as MEMBER
from footprint.kernels.find_sources.contract import LABEL, PEAK, SPREAD, X_MAX, X_MIN, X_PEAK, Y_MAX, Y_MIN, Y_PEAK
from footprint.kernels.fit.contract import CHI2, ERRORS, HEIGHT, MAJOR, MINOR, THETA, X, Y
from footprint.kernels.model.contract import SHARE
from footprint.kernels.sigma_clip.contract import NOISE

# Rows that a thread draws in at a time; the farthest exponent, beyond which a Gaussian is nothing.
_STRIP = 32
_MOST = 80.0


@njit(cache=True, parallel=True, nogil=True)
def _parts(fits, n, parts):
    """What is drawn of each; a height of 0 for nothing."""
    for k in prange(n):
        height, a, b = fits[k, HEIGHT], fits[k, MAJOR], fits[k, MINOR]
        parts[k, :] = 0.0
        if not (height > 0 and b > 0):
            continue
        turn = math.radians(fits[k, THETA])
        c, s = math.cos(turn), math.sin(turn)
        yy, xx, yx = s * s / (a * a) + c * c / (b * b), c * c / (a * a) + s * s / (b * b), s * c * (1 / (a * a) - 1 / (b * b))
        error = fits[k, ERRORS + HEIGHT]
        far = _MOST
        if error > 0:
            far = min(2 * math.log(max(1e3 * height / error, 2.0)), _MOST)
        det = yy * xx - yx * yx
        parts[k, 0], parts[k, 1], parts[k, 2], parts[k, 3], parts[k, 4], parts[k, 5] = height, fits[k, Y], fits[k, X], yy, yx, xx
        parts[k, 6], parts[k, 7], parts[k, 8] = far, math.sqrt(far * xx / det), math.sqrt(far * yy / det)


@njit(cache=True, parallel=True, nogil=True)
def _draw(parts, n, out, first, sign):
    """Add all of them to the rows of ``out``, each pixel's in their order."""
    rows, width = out.shape
    for t in prange((rows + _STRIP - 1) // _STRIP):
        begin, end = first + t * _STRIP, first + min((t + 1) * _STRIP, rows)
        for k in range(n):
            y0, x0, reach = parts[k, 1], parts[k, 2], parts[k, 7]
            if not parts[k, 0] > 0 or y0 + reach < begin or y0 - reach > end:
                continue
            left, right = max(math.ceil(x0 - parts[k, 8]), 0), min(math.floor(x0 + parts[k, 8]) + 1, width)
            for y in range(max(math.ceil(y0 - reach), begin), min(math.floor(y0 + reach) + 1, end)):
                dy = y - y0
                for x in range(left, right):
                    dx = x - x0
                    q = parts[k, 3] * dy * dy + 2 * parts[k, 4] * dy * dx + parts[k, 5] * dx * dx
                    if q <= parts[k, 6]:
                        out[y - first, x] += sign * parts[k, 0] * math.exp(-0.5 * q)


def _rows(count, fits) -> int:
    """Rows of fits that count; none where there was no room for all."""
    return int(count[0]) if 0 <= count[0] <= fits.shape[0] else 0


def paint(fits, count, out, parts, *, first) -> None:
    """See `footprint.kernels.model.contract`."""
    n = _rows(count, fits)
    out[...] = 0
    _parts(fits, n, parts)
    _draw(parts, n, out, first, 1.0)


def subtract(block, fits, count, out, parts, *, first) -> None:
    """See `footprint.kernels.model.contract`."""
    n = _rows(count, fits)
    out[...] = block
    _parts(fits, n, parts)
    _draw(parts, n, out, first, -1.0)


@njit(cache=True, nogil=True)
def _by_rows(parts, boxes, n, height, starts, order):
    """List the sources by the row of their peak; how far the farthest of them reaches along y."""
    starts[:] = 0
    far = 0.0
    for k in range(n):
        starts[boxes[k, Y_PEAK] + 2] += 1
        if parts[k, 0] > 0:
            far = max(far, parts[k, 7] + abs(parts[k, 1] - boxes[k, Y_PEAK]))
        else:
            far = max(far, float(max(boxes[k, Y_MAX] - boxes[k, Y_PEAK], boxes[k, Y_PEAK] - boxes[k, Y_MIN])))
    for y in range(height):
        starts[y + 2] += starts[y + 1]
    for k in range(n):
        y = boxes[k, Y_PEAK] + 1
        order[starts[y]] = k
        starts[y] += 1
    return math.ceil(far) + 1


@njit(cache=True, nogil=True)
def _new(y, x, parts, boxes, starts, order, far, height):
    """What the fits are at a place; -1 where one of them is over half its height there, or a source that was not fitted lies."""
    total = 0.0
    for i in range(starts[max(y - far, 0)], starts[min(y + far, height - 1) + 1]):
        k = order[i]
        if not parts[k, 0] > 0:
            if boxes[k, Y_MIN] <= y <= boxes[k, Y_MAX] and boxes[k, X_MIN] <= x <= boxes[k, X_MAX]:
                return -1.0
            continue
        dy, dx = y - parts[k, 1], x - parts[k, 2]
        q = parts[k, 3] * dy * dy + 2 * parts[k, 4] * dy * dx + parts[k, 5] * dx * dx
        if q < 2 * math.log(2.0):
            return -1.0
        if q <= parts[k, 6]:
            total += parts[k, 0] * math.exp(-0.5 * q)
    return total


@njit(cache=True, nogil=True)
def _noise_at(stats, moments, k):
    """Where a source's peak is."""
    return stats[NOISE] * moments[k, SPREAD] if moments.shape[1] > SPREAD else stats[NOISE]


@njit(cache=True, nogil=True)
def _join(
    stats, boxes, members, moments, n, other_boxes, other_members, other_moments, n_more, parts, starts, order, far, height, seed,
    to_members, to_moments, to_boxes,
):  # fmt: skip
    room = to_boxes.shape[0]
    for k in range(n):
        to_members[k], to_moments[k], to_boxes[k] = members[k], moments[k], boxes[k]
    at = n
    for k in range(n_more):
        y, x = other_boxes[k, Y_PEAK], other_boxes[k, X_PEAK]
        there = _new(y, x, parts, boxes, starts, order, far, height)
        if there < 0 or not other_moments[k, PEAK] > seed * _noise_at(stats, other_moments, k) + SHARE * there:
            continue
        if at < room:
            to_members[at], to_moments[at], to_boxes[at] = other_members[k], other_moments[k], other_boxes[k]
            to_members[at, ISLAND] = to_members[at, COMPONENT] = to_members[at, COMPONENTS] = 0
            to_members[at, MEMBER] = to_boxes[at, LABEL] = at + 1
        at += 1
    return at


def join(
    stats, fits, boxes, count, members, moments, more, other_members, other_moments, other_boxes,
    to_count, to_members, to_moments, to_boxes, parts, starts, order, *, height, seed,
) -> None:  # fmt: skip
    """See `footprint.kernels.model.contract`."""
    room = boxes.shape[0]
    to_boxes[...] = to_members[...] = to_moments[...] = 0
    short = next((int(one[0]) for one in (count, more) if not 0 <= one[0] <= room), None)
    if short is not None:
        to_count[0] = short
        return
    n = int(count[0])
    _parts(fits, n, parts)
    far = _by_rows(parts, boxes, n, height, starts, order)
    to_count[0] = _join(
        stats, boxes, members, moments, n, other_boxes, other_members, other_moments, int(more[0]), parts, starts, order, far,
        height, seed, to_members, to_moments, to_boxes,
    )  # fmt: skip


@njit(cache=True, nogil=True)
def _prune(stats, fits, members, moments, boxes, n, seed, to_members, to_moments, to_boxes):
    at = 0
    for k in range(n):
        height, error = fits[k, HEIGHT], fits[k, ERRORS + HEIGHT]
        least = seed * max(_noise_at(stats, moments, k) * math.sqrt(max(fits[k, CHI2], 1.0)), error)
        if members[k, ISLAND] == 0 and not height > least:
            continue
        to_members[at], to_moments[at], to_boxes[at] = members[k], moments[k], boxes[k]
        to_members[at, MEMBER] = to_boxes[at, LABEL] = at + 1
        at += 1
    return at


def prune(stats, fits, count, members, moments, boxes, to_count, to_members, to_moments, to_boxes, *, seed) -> None:
    """See `footprint.kernels.model.contract`."""
    to_boxes[...] = to_members[...] = to_moments[...] = 0
    to_count[0] = count[0]
    if 0 <= count[0] <= boxes.shape[0]:
        to_count[0] = _prune(stats, fits, members, moments, boxes, int(count[0]), seed, to_members, to_moments, to_boxes)
