"""Moments of labelled pixels, run by run in raster order, so that they equal those found while labelling."""

from __future__ import annotations

from numba import njit

from footprint.kernels.find_sources.contract import LABEL, PIXELS, X_MIN, Y_MIN
from footprint.kernels.find_sources.cpu import _gather, _open
from footprint.kernels.label.cpu import STRETCH, empty


@njit(cache=True, nogil=True)
def _measure(image, labels, moments, boxes):
    n = boxes.shape[0]
    for k in range(n):
        _open(moments, boxes, k)
    for y in range(labels.shape[0]):
        row, ids = image[y], labels[y]
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
                _gather(row, first, x - 1, y, 0.0, moments, boxes, k - 1)
    for k in range(n):
        boxes[k, LABEL] = k + 1
        if boxes[k, PIXELS] == 0:
            boxes[k, X_MIN] = boxes[k, Y_MIN] = 0


def measure(image, labels, moments, boxes) -> None:
    """See `footprint.kernels.measure.contract`."""
    _measure(image, labels, moments, boxes)
