"""Clip, threshold, label and measure in two passes over the image, or over its blocks as they come from a file.

The clip is that of `kernels.cpu.sigma_clip`. A second pass flags the stretches of a row that hold anything over the threshold, then
walks the flagged ones in raster order: runs of a row join those of the row above by union-find, and each component gathers its
moments as it grows. Only two rows of runs and one entry a component are kept. A third pass, if wanted, paints the labels.
"""

from __future__ import annotations

import numpy as np
from numba import njit, prange

from footprint.kernels.find_sources.contract import (
    BACKGROUND,
    FLAG,
    ISLANDS,
    LABEL,
    NEEDED,
    NOISE,
    PAINTED,
    PEAK,
    PIXELS,
    SUM,
    SUM_X,
    SUM_Y,
    X_MAX,
    X_MIN,
    X_PEAK,
    Y_MAX,
    Y_MIN,
    Y_PEAK,
)
from footprint.kernels.sigma_clip.contract import COUNT, DONE, MEDIAN, STD
from footprint.kernels.sigma_clip.cpu import ENDED, PHASE, SEEN, begin, clip_block, first_above

# Phases after the clip's, where it keeps its own; and what the walk carries from row to row.
DETECTING, PAINTING, FINISHED = 4, 5, 6
ABOVE, PARITY, MET = 16, 17, 18


@njit(cache=True, parallel=True, nogil=True)
def _flag(block, least, largest, flags):
    """Which stretches of FLAG pixels hold one in [least, largest]."""
    for r in prange(block.shape[0]):
        row = block[r]
        for c in range(flags.shape[1]):
            part = row[c * FLAG : (c + 1) * FLAG]
            found = np.int32(0)
            for i in range(part.size):
                found += np.int32(1) if (part[i] >= least) & (part[i] <= largest) else np.int32(0)
            flags[r, c] = found > 0


@njit(cache=True, nogil=True)
def _root(boxes, k):
    """The first component this one belongs to; the way there is halved."""
    while boxes[k, LABEL] != k:
        boxes[k, LABEL] = boxes[boxes[k, LABEL], LABEL]
        k = boxes[k, LABEL]
    return k


@njit(cache=True, nogil=True)
def _next_run(row, flags, x, least, largest):
    """First and last column of the next run at or after ``x``; first is the width where there is none."""
    width, c = row.size, x // FLAG
    while c < flags.size:
        if flags[c]:
            stop = min(width, (c + 1) * FLAG)
            while x < stop and not ((row[x] >= least) & (row[x] <= largest)):
                x += 1
            if x < stop:
                break
        c += 1
        x = c * FLAG
    x = min(x, width)
    first = x
    while x < width and (row[x] >= least) & (row[x] <= largest):
        x += 1
    return first, x - 1


@njit(cache=True, nogil=True)
def _join(above, n_above, at, first, last, reach, boxes):
    """Unite the components above that a run touches; return where the next run looks, whether this touches, its component."""
    while at < n_above and above[at, 1] < first - reach:
        at += 1
    touches, k = False, -1
    i = at
    while i < n_above and above[i, 0] <= last + reach:
        touches = True
        other = above[i, 2]
        if other >= 0:
            other = _root(boxes, other)
            if k < 0:
                k = other
            elif other < k:
                boxes[k, LABEL] = other
                k = other
            elif other > k:
                boxes[other, LABEL] = k
        i += 1
    return at, touches, k


@njit(cache=True, nogil=True)
def _gather(row, first, last, y, background, moments, boxes, k):
    """Add a run to its component."""
    total, total_x, peak, at = 0.0, 0.0, -np.inf, first
    for x in range(first, last + 1):
        value = np.float64(row[x]) - background
        total += value
        total_x += value * x
        if value > peak:
            peak, at = value, x
    moments[k, SUM] += total
    moments[k, SUM_X] += total_x
    moments[k, SUM_Y] += total * y
    boxes[k, PIXELS] += last - first + 1
    boxes[k, X_MIN] = min(boxes[k, X_MIN], first)
    boxes[k, X_MAX] = max(boxes[k, X_MAX], last)
    boxes[k, Y_MIN] = min(boxes[k, Y_MIN], y)
    boxes[k, Y_MAX] = max(boxes[k, Y_MAX], y)
    if peak > moments[k, PEAK] or boxes[k, X_PEAK] < 0:
        moments[k, PEAK] = peak
        boxes[k, X_PEAK], boxes[k, Y_PEAK] = at, y


@njit(cache=True, nogil=True)
def _open(moments, boxes, k):
    """A component without pixels."""
    moments[k, :] = 0.0
    moments[k, PEAK] = -np.inf
    boxes[k, LABEL], boxes[k, PIXELS] = k, 0
    boxes[k, X_MIN] = boxes[k, Y_MIN] = np.int64(1) << 62
    boxes[k, X_MAX] = boxes[k, Y_MAX] = boxes[k, X_PEAK] = boxes[k, Y_PEAK] = -1


@njit(cache=True, nogil=True)
def _walk(block, flags, runs, marks, y, least, largest, background, reach, needed, moments, boxes):
    """Run by run in raster order; return the components met so far, stored or not."""
    capacity = boxes.shape[0]
    n_above, parity = marks[ABOVE], marks[PARITY]
    for r in range(block.shape[0]):
        row, above, here = block[r], runs[parity], runs[1 - parity]
        at, n = 0, 0
        first, last = _next_run(row, flags[r], 0, least, largest)
        while first < row.size:
            at, touches, k = _join(above, n_above, at, first, last, reach, boxes)
            if not touches:
                if needed < capacity:
                    k = needed
                    _open(moments, boxes, k)
                needed += 1
            if k >= 0:
                _gather(row, first, last, y + r, background, moments, boxes, k)
            here[n, 0], here[n, 1], here[n, 2] = first, last, k
            n += 1
            first, last = _next_run(row, flags[r], last + 1, least, largest)
        n_above, parity = n, 1 - parity
    marks[ABOVE], marks[PARITY] = n_above, parity
    return needed


@njit(cache=True, nogil=True)
def _settle(moments, boxes, n, min_area):
    """Add up the pieces of each island and number the islands by their first pixel; pieces keep no pixels of their own."""
    for k in range(n):
        root = _root(boxes, k)
        if root != k:
            for m in range(PEAK):
                moments[root, m] += moments[k, m]
            boxes[root, PIXELS] += boxes[k, PIXELS]
            boxes[k, PIXELS] = 0
            for low in (X_MIN, Y_MIN):
                boxes[root, low] = min(boxes[root, low], boxes[k, low])
            for high in (X_MAX, Y_MAX):
                boxes[root, high] = max(boxes[root, high], boxes[k, high])
            sooner = (boxes[k, Y_PEAK], boxes[k, X_PEAK]) < (boxes[root, Y_PEAK], boxes[root, X_PEAK])
            if moments[k, PEAK] > moments[root, PEAK] or (moments[k, PEAK] == moments[root, PEAK] and sooner):
                moments[root, PEAK] = moments[k, PEAK]
                boxes[root, X_PEAK], boxes[root, Y_PEAK] = boxes[k, X_PEAK], boxes[k, Y_PEAK]
    islands = 0
    for k in range(n):
        # A root is always before its pieces, so their labels are at hand; the root's own parent is overwritten last.
        root = boxes[k, LABEL]
        if root == k:
            keep = boxes[k, PIXELS] >= min_area
            islands += keep
            boxes[k, LABEL] = islands if keep else 0
        else:
            boxes[k, LABEL] = boxes[root, LABEL]
    return islands


@njit(cache=True, nogil=True)
def _paint(block, flags, runs, marks, least, largest, reach, met, boxes, labels):
    """Walk once more, giving every run the label of its component."""
    n_above, parity = marks[ABOVE], marks[PARITY]
    for r in range(block.shape[0]):
        row, above, here = block[r], runs[parity], runs[1 - parity]
        labels[r, :] = 0
        at, n = 0, 0
        first, last = _next_run(row, flags[r], 0, least, largest)
        while first < row.size:
            while at < n_above and above[at, 1] < first - reach:
                at += 1
            if at < n_above and above[at, 0] <= last + reach:
                label = above[at, 2]
            else:
                label = np.int32(boxes[met, LABEL])
                met += 1
            labels[r, first : last + 1] = label
            here[n, 0], here[n, 1], here[n, 2] = first, last, label
            n += 1
            first, last = _next_run(row, flags[r], last + 1, least, largest)
        n_above, parity = n, 1 - parity
    marks[ABOVE], marks[PARITY] = n_above, parity
    return met


def _level(stats, dtype, sigma, lesson) -> np.floating:
    """The smallest pixel value for which ``value - background > sigma * noise`` in float64."""
    stats[BACKGROUND], stats[NOISE] = (0.0 if lesson else stats[MEDIAN]), stats[STD]
    background, over = stats[BACKGROUND], sigma * stats[NOISE]
    value = first_above(background + over, dtype)
    up, largest = dtype.type(np.inf), np.finfo(dtype).max
    while value < largest and not float(value) - background > over:
        value = np.nextafter(value, up)
    while value > -largest and float(below := np.nextafter(value, -up)) - background > over:
        value = below
    return value if float(value) - background > over else up


def _advance(block, y, stats, counts, moments, boxes, labels, flags, runs, marks, *, size, sigma, connectivity, min_area, lesson):
    """Take in one block in the passes after the clip."""
    dtype, reach = block.dtype, int(connectivity == 8)
    least, largest = _level(stats, dtype, sigma, lesson), np.finfo(dtype).max
    flags = flags[: block.shape[0]]
    _flag(block, least, largest, flags)
    marks[SEEN] += block.size
    if marks[PHASE] == DETECTING:
        counts[NEEDED] = _walk(
            block, flags, runs, marks, y, least, largest, stats[BACKGROUND], reach, counts[NEEDED], moments, boxes
        )
    else:
        marks[MET] = _paint(block, flags, runs, marks, least, largest, reach, marks[MET], boxes, labels[: block.shape[0]])
        counts[PAINTED] = 1
    if marks[SEEN] < size:
        return
    marks[SEEN] = marks[ABOVE] = 0
    if marks[PHASE] == DETECTING and counts[NEEDED] <= boxes.shape[0]:
        counts[ISLANDS] = _settle(moments, boxes, counts[NEEDED], min_area)
        marks[PHASE] = PAINTING if labels is not None else FINISHED
    else:
        marks[PHASE] = FINISHED


def labelled(
    block, where, stats, counts, moments, boxes, labels, kept, histogram, sums, numbers, marks, flags, runs, *,
    height, width, sigma, kappa, maxiters, connectivity, min_area, lesson,
) -> None:  # fmt: skip
    """See `footprint.kernels.find_sources.contract`."""
    if where[0] == where[1] == 0:
        begin(stats, counts, numbers, marks)
    size, rows = height * width, int(where[2])
    block = block[:rows]
    while marks[PHASE] != FINISHED:
        if marks[PHASE] < ENDED:
            clip_block(
                block, where, stats, counts, kept, histogram, sums, numbers, marks,
                size=size, width=width, sigma=kappa, maxiters=maxiters, strict=True,
            )  # fmt: skip
            if marks[PHASE] == ENDED:
                marks[PHASE] = DETECTING if counts[COUNT] else FINISHED
        else:
            _advance(
                block, int(where[1]), stats, counts, moments, boxes, labels, flags, runs, marks,
                size=size, sigma=sigma, connectivity=connectivity, min_area=min_area, lesson=lesson,
            )  # fmt: skip
        if rows < height:
            break
    counts[DONE] = marks[PHASE] == FINISHED


def table(block, where, stats, counts, moments, boxes, *work, **options) -> None:
    """`labelled` without the label image."""
    labelled(block, where, stats, counts, moments, boxes, None, *work, **options)
