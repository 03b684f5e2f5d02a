"""Rows of components that have ended and are no islands, taken out of a table while it is filled."""

from __future__ import annotations

import numpy as np

from footprint.kernels.common.copied import put
from footprint.kernels.common.jit import njit
from footprint.kernels.find_sources.contract import FREED, LABEL, PEAK, PIXELS, SPREAD, START, WHERE


@njit(cache=True, nogil=True, borrows=True)
def root(boxes, k):
    """The first component this one belongs to; the way there is halved."""
    while boxes[k, LABEL] != k:
        boxes[k, LABEL] = boxes[boxes[k, LABEL], LABEL]
        k = boxes[k, LABEL]
    return k


@njit(cache=True, nogil=True, borrows=True)
def chosen(min_area, least_peak):
    """Whether there are components that are no islands."""
    return min_area > 1 or least_peak > -np.inf


@njit(cache=True, nogil=True, borrows=True)
def bright(moments, k, least_peak):
    """Whether a peak is over the least there is, or over so many times the noise at its place."""
    if least_peak == -np.inf:
        return True
    return moments[k, PEAK] > (least_peak * moments[k, SPREAD] if moments.shape[1] > SPREAD else least_peak)


@njit(cache=True, nogil=True, borrows=True)
def _mark(moments, boxes, places, runs, n_runs, min_area, least_peak):
    """Whether what a component belongs to stays: where it is large and bright, or has a run that may be met again."""
    for k in range(boxes.shape[0]):
        first = root(boxes, k)
        boxes[k, LABEL], places[k, WHERE] = first, 0
        if first != k:
            # Whole numbers: in what order they are added up means nothing.
            boxes[first, PIXELS] += boxes[k, PIXELS]
            boxes[k, PIXELS] = 0
        if bright(moments, k, least_peak):
            places[first, WHERE] = 1
    for k in range(boxes.shape[0]):
        if boxes[k, LABEL] == k and boxes[k, PIXELS] < min_area:
            places[k, WHERE] = 0
    for half in range(2):
        for i in range(n_runs[half]):
            if runs[half, i, 2] >= 0:
                places[boxes[runs[half, i, 2], LABEL], WHERE] = 1


@njit(cache=True, nogil=True, borrows=True)
def squeeze(moments, boxes, places, runs, n_runs, min_area, least_peak):
    """Take out the rows of what is too small or too faint and has no run in either row of ``runs``; how many rows are left.

    Those that stay keep their order, and pieces their sums, so that these are added up as without. What would free fewer than one
    in `FREED` is as good as none: all rows are taken then.
    """
    n, left = boxes.shape[0], 0
    _mark(moments, boxes, places, runs, n_runs, min_area, least_peak)
    for k in range(n):
        first = boxes[k, LABEL]
        stays = places[k, WHERE] == 1 if first == k else places[first, WHERE] >= 0
        if not stays:
            places[k, WHERE] = -1
            continue
        places[k, WHERE], places[left, START] = left, places[k, START]
        put(moments[left], moments[k])
        put(boxes[left], boxes[k])
        # What comes first has its new place already.
        boxes[left, LABEL] = places[first, WHERE]
        left += 1
    for half in range(2):
        for i in range(n_runs[half]):
            if runs[half, i, 2] >= 0:
                runs[half, i, 2] = places[runs[half, i, 2], WHERE]
    return left if n - left > n // FREED else n
