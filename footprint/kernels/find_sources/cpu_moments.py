"""Moments of a component as it grows, run by run: sums about the first column and row of its box."""

from __future__ import annotations

import numpy as np

from footprint.kernels.common.jit import njit
from footprint.kernels.common.vectors import within
from footprint.kernels.find_sources.contract import (
    AFTER,
    BEFORE,
    CORNERS,
    LABEL,
    LEFT,
    PEAK,
    PIXELS,
    RIGHT,
    SUM,
    SUM_X,
    SUM_Y,
    X_MAX,
    X_MIN,
    X_PEAK,
    XX,
    XY,
    Y_MAX,
    Y_MIN,
    Y_PEAK,
    YY,
)


@njit(cache=True, nogil=True, borrows=True)
def _lowest(row, first, last):
    """The peak of a run without a pixel above minus infinity, and where: NaN at the first where none is a number."""
    for x in range(first, last + 1):
        if row[x] == row[x]:
            return -np.inf, x
    return np.nan, first


@njit(cache=True, nogil=True, borrows=True)
def over(a, b):
    """Whether a peak takes another's place: NaN is under every number."""
    return a > b or (a == a and b != b)


@njit(cache=True, nogil=True, borrows=True)
def _beside(row, at, background):
    """The values left and right of a column."""
    left = np.float64(row[at - 1]) - background if at > 0 else np.nan
    right = np.float64(row[at + 1]) - background if at + 1 < row.size else np.nan
    return left, right


@njit(cache=True, nogil=True, borrows=True)
def anchor(moments, boxes, k, x, y):
    """Have a component's sums be about no later a column and row than these, as its box begins no later than with them.

    About the image's corner they would lose as many digits as an island is far from it.
    """
    left, up = np.float64(boxes[k, X_MIN]) - x, np.float64(boxes[k, Y_MIN]) - y
    if left <= 0 and up <= 0:
        return
    left, up = max(left, 0.0), max(up, 0.0)
    total, total_x, total_y = moments[k, SUM], moments[k, SUM_X], moments[k, SUM_Y]
    moments[k, XX] += left * (2 * total_x + left * total)
    moments[k, YY] += up * (2 * total_y + up * total)
    moments[k, XY] += left * total_y + up * (total_x + left * total)
    moments[k, SUM_X] += left * total
    moments[k, SUM_Y] += up * total
    boxes[k, X_MIN], boxes[k, Y_MIN] = min(boxes[k, X_MIN], x), min(boxes[k, Y_MIN], y)


@njit(cache=True, nogil=True, borrows=True)
def gather(row, before, after, first, last, y, background, moments, boxes, k):
    """Add a run to its component; ``before`` is the row before, where y > 0, and ``after`` the next, or no pixels: `look_back`."""
    within()
    anchor(moments, boxes, k, first, y)
    left, up = boxes[k, X_MIN], y - boxes[k, Y_MIN]
    total, total_x, total_xx, peak, at = 0.0, 0.0, 0.0, -np.inf, first
    # Unsigned, an index is not looked at for whether it counts from the end.
    for x in range(np.uint64(first), np.uint64(last + 1)):
        value, off = np.float64(row[x]) - background, np.float64(np.int64(x) - left)
        total += value
        total_x += value * off
        total_xx += value * off * off
        if value > peak:
            peak, at = value, np.int64(x)
    if peak == -np.inf:
        # No pixel is over that: none at all is a number, or all that are have it.
        peak, at = _lowest(row, first, last)
    moments[k, SUM] += total
    moments[k, SUM_X] += total_x
    moments[k, SUM_Y] += total * up
    moments[k, XX] += total_xx
    moments[k, YY] += total * up * up
    moments[k, XY] += total_x * up
    boxes[k, PIXELS] += last - first + 1
    boxes[k, X_MAX] = max(boxes[k, X_MAX], last)
    boxes[k, Y_MAX] = max(boxes[k, Y_MAX], y)
    if boxes[k, X_PEAK] < 0 or over(peak, moments[k, PEAK]):
        moments[k, PEAK] = peak
        boxes[k, X_PEAK], boxes[k, Y_PEAK] = at, y
        moments[k, LEFT], moments[k, RIGHT] = _beside(row, at, background)
        moments[k, BEFORE:] = np.nan
        if y > 0:
            moments[k, BEFORE] = np.float64(before[at]) - background
            moments[k, CORNERS], moments[k, CORNERS + 1] = _beside(before, at, background)
        if after.size > 0:
            moments[k, AFTER] = np.float64(after[at]) - background
            moments[k, CORNERS + 2], moments[k, CORNERS + 3] = _beside(after, at, background)


@njit(cache=True, nogil=True, borrows=True)
def look_back(row, y, background, moments, boxes, k):
    """Where a component has its peak in the row before this, take the values after it."""
    if boxes[k, Y_PEAK] == y - 1:
        at = boxes[k, X_PEAK]
        moments[k, AFTER] = np.float64(row[at]) - background
        moments[k, CORNERS + 2], moments[k, CORNERS + 3] = _beside(row, at, background)


@njit(cache=True, nogil=True, borrows=True, error_model="numpy")
def centre(moments, boxes, k):
    """Sums of squares as variances about the centre, and of places as from the image's corner."""
    total = moments[k, SUM]
    x, y = moments[k, SUM_X] / total, moments[k, SUM_Y] / total
    moments[k, XX] = moments[k, XX] / total - x * x
    moments[k, YY] = moments[k, YY] / total - y * y
    moments[k, XY] = moments[k, XY] / total - x * y
    moments[k, SUM_X] += total * boxes[k, X_MIN]
    moments[k, SUM_Y] += total * boxes[k, Y_MIN]


@njit(cache=True, nogil=True, borrows=True)
def open_row(moments, boxes, k):
    """A component without pixels."""
    moments[k, :] = 0.0
    moments[k, PEAK] = np.nan
    boxes[k, LABEL], boxes[k, PIXELS] = k, 0
    boxes[k, X_MIN] = boxes[k, Y_MIN] = np.int64(1) << 62
    boxes[k, X_MAX] = boxes[k, Y_MAX] = boxes[k, X_PEAK] = boxes[k, Y_PEAK] = -1
