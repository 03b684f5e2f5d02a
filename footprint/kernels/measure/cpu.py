"""Moments of labelled pixels, run by run in raster order, so that they equal those found while labelling."""

from __future__ import annotations

from numba import prange

from footprint.kernels.common.jit import njit
from footprint.kernels.find_sources.contract import LABEL, PIXELS, X_MIN, Y_MIN
from footprint.kernels.find_sources.cpu import centre, gather, least_peak, look_back, open_row, settle
from footprint.kernels.label.cpu import STRETCH, empty
from footprint.kernels.sigma_clip.contract import BACKGROUND


@njit(cache=True, nogil=True)
def _open(moments, boxes):
    for k in range(boxes.shape[0]):
        open_row(moments, boxes, k)


@njit(cache=True, nogil=True)
def _look_back(row, ids, y, background, moments, boxes):
    """Values after the peaks that the row before has."""
    for x in range(0, ids.size, STRETCH):
        if empty(ids[x : x + STRETCH]):
            continue
        seen = 0
        for k in ids[x : x + STRETCH]:
            if k != seen and 0 < k <= boxes.shape[0]:
                look_back(row, y, background, moments, boxes, k - 1)
            seen = k


@njit(cache=True, nogil=True)
def _measure(image, labels, last, last_ids, y, background, moments, boxes):
    n = boxes.shape[0]
    for r in range(labels.shape[0]):
        row, ids = image[r], labels[r]
        before = image[r - 1] if r else last[0]
        if y + r > 0:
            _look_back(row, labels[r - 1] if r else last_ids[0], y + r, background, moments, boxes)
        x = 0
        while x < ids.size:
            k = ids[x]
            if k == 0 and empty(ids[x : x + STRETCH]):
                x += STRETCH
                continue
            first = x
            x += 1
            while x < ids.size and ids[x] == k:
                x += 1
            if 0 < k <= n:
                gather(row, before, first, x - 1, y + r, background, moments, boxes, k - 1)
    if labels.shape[0]:
        last[0, :] = image[labels.shape[0] - 1]
        last_ids[0, :] = labels[labels.shape[0] - 1]


@njit(cache=True, nogil=True)
def _close(moments, boxes):
    for k in range(boxes.shape[0]):
        boxes[k, LABEL] = k + 1
        centre(moments, k)
        if boxes[k, PIXELS] == 0:
            boxes[k, X_MIN] = boxes[k, Y_MIN] = 0


def measure(image, labels, moments, boxes, last, last_ids, *, first, height, turn=0) -> None:
    """See `footprint.kernels.measure.contract`."""
    if first == 0:
        _open(moments, boxes)
    _measure(image, labels, last, last_ids, first, 0.0, moments, boxes)
    if first + labels.shape[0] == height:
        _close(moments, boxes)


def islands(image, labels, stats, count, moments, boxes, last, last_ids, *, first, height, min_area, seed) -> None:
    """See `footprint.kernels.measure.contract`."""
    if first == 0:
        _open(moments, boxes)
    if count[0] < 0:
        # Of too many summits there are no labels.
        return
    _measure(image, labels, last, last_ids, first, stats[BACKGROUND], moments, boxes)
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
