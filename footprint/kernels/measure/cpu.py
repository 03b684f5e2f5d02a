"""Moments of labelled pixels, run by run in raster order, so that they equal those found while labelling."""

from __future__ import annotations

from numba import njit, prange

from footprint.kernels.find_sources.contract import LABEL, PIXELS, X_MIN, Y_MIN
from footprint.kernels.find_sources.cpu import gather, open_row, settle
from footprint.kernels.label.cpu import STRETCH, empty
from footprint.kernels.sigma_clip.contract import BACKGROUND


@njit(cache=True, nogil=True)
def _open(moments, boxes):
    for k in range(boxes.shape[0]):
        open_row(moments, boxes, k)


@njit(cache=True, nogil=True)
def _measure(image, labels, y, background, moments, boxes):
    n = boxes.shape[0]
    for r in range(labels.shape[0]):
        row, ids = image[r], labels[r]
        x = 0
        while x < ids.size:
            k = ids[x]
            first = x
            while k == 0 and empty(ids[x : x + STRETCH]) and x + STRETCH < ids.size:
                x += STRETCH
            x += 1
            while x < ids.size and ids[x] == k:
                x += 1
            if 0 < k <= n:
                gather(row, first, x - 1, y + r, background, moments, boxes, k - 1)


@njit(cache=True, nogil=True)
def _close(boxes):
    for k in range(boxes.shape[0]):
        boxes[k, LABEL] = k + 1
        if boxes[k, PIXELS] == 0:
            boxes[k, X_MIN] = boxes[k, Y_MIN] = 0


def measure(image, labels, moments, boxes, *, first, height) -> None:
    """See `footprint.kernels.measure.contract`."""
    if first == 0:
        _open(moments, boxes)
    _measure(image, labels, first, 0.0, moments, boxes)
    if first + labels.shape[0] == height:
        _close(boxes)


def islands(image, labels, stats, count, moments, boxes, *, first, height, min_area) -> None:
    """See `footprint.kernels.measure.contract`."""
    if first == 0:
        _open(moments, boxes)
    _measure(image, labels, first, stats[BACKGROUND], moments, boxes)
    if first + labels.shape[0] == height and count[0] <= boxes.shape[0]:
        settle(moments, boxes, count[0], min_area)


@njit(cache=True, parallel=True, nogil=True)
def _renumber(labels, boxes, out):
    for y in prange(labels.shape[0]):
        for x in range(labels.shape[1]):
            k = labels[y, x]
            out[y, x] = boxes[k - 1, LABEL] if 0 < k <= boxes.shape[0] else 0


def renumber(labels, boxes, out) -> None:
    """See `footprint.kernels.measure.contract`."""
    _renumber(labels, boxes, out)
