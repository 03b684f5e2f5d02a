"""Moments of labelled pixels, run by run in raster order, so that they equal those found while labelling.

Labels that are known to be connected are measured side by side: a thread takes those that begin in its band of rows, and goes on
below the band until none of them is left, so that sums are in the same order as ever.
"""

from __future__ import annotations

from numba import prange

from footprint.kernels.common.bits import AT_ONCE, empty
from footprint.kernels.common.few import TOUCH, few
from footprint.kernels.common.jit import njit
from footprint.kernels.find_sources.contract import LABEL, PIXELS, X_MIN, Y_MIN
from footprint.kernels.find_sources.cpu import least_peak, settle
from footprint.kernels.find_sources.cpu_moments import centre, gather, look_back, open_row
from footprint.kernels.sigma_clip.contract import BACKGROUND

# Rows of a band.
_ROWS = 128


@njit(cache=True, nogil=True)
def _open(moments, boxes):
    for k in range(boxes.shape[0]):
        open_row(moments, boxes, k)


@njit(cache=True, nogil=True)
def _owned(boxes, k, y, r, low, high):
    """Whether a label that is in row ``r`` of a part begins in its rows from ``low`` up to ``high``; 0 if it began before."""
    return low <= min(max(boxes[k, Y_MIN] - y, 0), r) < high


@njit(cache=True, nogil=True)
def _look_back(row, ids, y, background, moments, boxes):
    """Values after the peaks that the last row of the part before has, in the first of this."""
    for x in range(0, ids.size, AT_ONCE):
        if empty(ids[x : x + AT_ONCE]):
            continue
        seen = 0
        for k in ids[x : x + AT_ONCE]:
            if k != seen and 0 < k <= boxes.shape[0]:
                look_back(row, y, background, moments, boxes, k - 1)
            seen = k


@njit(cache=True, nogil=True)
def _band(image, labels, last, last_ids, y, low, high, background, moments, boxes):
    """Of labels that begin in rows from ``low`` up to ``high``."""
    n = boxes.shape[0]
    for r in range(low, labels.shape[0]):
        row, ids = image[r], labels[r]
        before, after = image[r - 1] if r else last[0], image[r + 1] if r + 1 < image.shape[0] else row[:0]
        if r == 0 and y > 0:
            _look_back(row, last_ids[0], y, background, moments, boxes)
        x, none = 0, True
        while x < ids.size:
            k = ids[x]
            if k == 0 and empty(ids[x : x + AT_ONCE]):
                x += AT_ONCE
                continue
            first = x
            x += 1
            while x < ids.size and ids[x] == k:
                x += 1
            if 0 < k <= n:
                if _owned(boxes, k - 1, y, r, low, high):
                    gather(row, before, after, first, x - 1, y + r, background, moments, boxes, k - 1)
                    none = False
        if none and r >= high:
            break


@njit(cache=True, parallel=True, nogil=True)
def _side_by_side(image, labels, last, last_ids, y, background, moments, boxes):
    rows = labels.shape[0]
    # What is on both sides of an edge began before it.
    for r in range(_ROWS, rows, _ROWS):
        for k in labels[r - 1]:
            if 0 < k <= boxes.shape[0]:
                boxes[k - 1, Y_MIN] = min(boxes[k - 1, Y_MIN], y + r - 1)
    for t in prange(-(-rows // _ROWS)):
        _band(image, labels, last, last_ids, y, t * _ROWS, min((t + 1) * _ROWS, rows), background, moments, boxes)


def _measure(image, labels, last, last_ids, y, background, moments, boxes, connected=False):
    rows = labels.shape[0]
    if connected and rows > _ROWS and not few(labels.size * TOUCH):
        _side_by_side(image, labels, last, last_ids, y, background, moments, boxes)
    else:
        _band(image, labels, last, last_ids, y, 0, rows, background, moments, boxes)
    if rows:
        last[0, :], last_ids[0, :] = image[rows - 1], labels[rows - 1]


@njit(cache=True, nogil=True)
def _close(moments, boxes):
    for k in range(boxes.shape[0]):
        boxes[k, LABEL] = k + 1
        centre(moments, boxes, k)
        if boxes[k, PIXELS] == 0:
            boxes[k, X_MIN] = boxes[k, Y_MIN] = 0


def measure(image, labels, moments, boxes, last, last_ids, *, first, height, turn=0) -> None:
    """See `footprint.kernels.measure.contract`."""
    if first == 0:
        _open(moments, boxes)
    _measure(image, labels, last, last_ids, first, 0.0, moments, boxes)
    if first + labels.shape[0] == height:
        _close(moments, boxes)


def islands(
    image, labels, stats, count, moments, boxes, last, last_ids, *, first, height, min_area, seed, connected=False, turn=0
) -> None:  # fmt: skip
    """See `footprint.kernels.measure.contract`."""
    if first == 0:
        _open(moments, boxes)
    if count[0] < 0:
        # Of too many summits there are no labels.
        return
    _measure(image, labels, last, last_ids, first, float(stats[BACKGROUND]), moments, boxes, connected)
    if first + labels.shape[0] == height and count[0] <= boxes.shape[0]:
        settle(moments, boxes, count[0], min_area, least_peak(stats, seed))


@njit(cache=True, parallel=True, nogil=True)
def _renumber(labels, boxes, out):
    for y in prange(labels.shape[0]):
        for x in range(labels.shape[1]):
            k = labels[y, x]
            out[y, x] = boxes[k - 1, LABEL] if 0 < k <= boxes.shape[0] else 0


def renumber(labels, boxes, out) -> None:
    """See `footprint.kernels.measure.contract`."""
    _renumber(labels, boxes, out)
