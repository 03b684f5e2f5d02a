"""Threshold, label and measure in one pass over the image, or over its blocks as they come from a file.

The pass flags the stretches of a row that hold anything over the threshold, then walks the flagged ones in raster order: runs of a
row join those of the row above by union-find, and each component gathers its moments as it grows. Only two rows of runs and one
entry a component are kept. A second pass, if wanted, paints the labels.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numba import prange

from footprint.kernels.common.copied import put
from footprint.kernels.common.few import TOUCH, few
from footprint.kernels.common.jit import njit
from footprint.kernels.common.vectors import await_rows
from footprint.kernels.find_sources.contract import (
    FLAG,
    FREED,
    LABEL,
    LEFT,
    PEAK,
    PIXELS,
    START,
    X_MAX,
    X_MIN,
    X_PEAK,
    XY,
    Y_MAX,
    Y_MIN,
    Y_PEAK,
)
from footprint.kernels.find_sources.cpu_moments import anchor, centre, gather, look_back, open_row, over
from footprint.kernels.find_sources.squeeze import bright, chosen, root, squeeze
from footprint.kernels.sigma_clip.contract import BACKGROUND, NOISE
from footprint.kernels.sigma_clip.cpu import first_above

# What the walk carries from row to row: which half of `runs` has the row above, components painted, and how many each half has.
PARITY, MET, ABOVE = range(3)
# Rows that the walk has brought near before it comes to them.
_AHEAD = 4


@njit(cache=True, nogil=True, borrows=True)
def _flag(block, least, largest, flags, first, last):
    """Which stretches of FLAG pixels hold one in [least, largest], in these rows."""
    for r in range(first, last):
        row = block[r]
        for c in range(flags.shape[1]):
            part = row[c * FLAG : (c + 1) * FLAG]
            found = np.int32(0)
            for i in range(part.size):
                found += np.int32(1) if (part[i] >= least) & (part[i] <= largest) else np.int32(0)
            flags[r, c] = found > 0


@njit(cache=True, parallel=True, nogil=True)
def _share_flag(block, least, largest, flags):
    for r in prange(block.shape[0]):
        _flag(block, least, largest, flags, r, r + 1)


@njit(cache=True, nogil=True, borrows=True)
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


@njit(cache=True, nogil=True, borrows=True)
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
            other = root(boxes, other)
            if k < 0:
                k = other
            elif other < k:
                boxes[k, LABEL] = other
                k = other
            elif other > k:
                boxes[other, LABEL] = k
        i += 1
    return at, touches, k


@njit(cache=True, nogil=True, borrows=True)
def walk_row(
    tested, row, before, flags, runs, n_runs, parity, y, least, largest, background, reach, needed, moments, boxes, places,
    min_area, least_peak,
):  # fmt: skip
    """Give the runs of a row to their components, found in ``tested``, measured in ``row``; return how many, and rows needed.

    Where the table is full, rows of components that are none to be kept are used again.
    """
    capacity = boxes.shape[0]
    above, here, n_above = runs[parity], runs[1 - parity], n_runs[parity]
    for i in range(n_above):
        if above[i, 2] >= 0:
            look_back(row, y, background, moments, boxes, above[i, 2])
    at, n = 0, 0
    first, last = _next_run(tested, flags, 0, least, largest)
    while first < row.size:
        at, touches, k = _join(above, n_above, at, first, last, reach, boxes)
        if not touches:
            if needed == capacity and chosen(min_area, least_peak):
                n_runs[1 - parity] = n
                needed = squeeze(moments, boxes, places, runs, n_runs, min_area, least_peak)
            if needed < capacity:
                k = needed
                open_row(moments, boxes, k)
                places[k, START] = y * row.size + first
            needed += 1
        if k >= 0:
            gather(row, before, row[:0], first, last, y, background, moments, boxes, k)
        here[n, 0], here[n, 1], here[n, 2] = first, last, k
        n += 1
        first, last = _next_run(tested, flags, last + 1, least, largest)
    n_runs[1 - parity] = n
    return n, needed


@njit(cache=True, nogil=True, borrows=True)
def _walk(
    block, last_row, flags, runs, marks, y, least, largest, background, reach, needed, moments, boxes, places, min_area, least_peak
):  # fmt: skip
    """Run by run in raster order; return the rows needed so far, there or not."""
    parity, width = marks[PARITY], block.shape[1]
    for r in range(block.shape[0]):
        if r + _AHEAD < block.shape[0]:
            # What is flagged is far apart in memory, and is not foreseen.
            for c in range(flags.shape[1]):
                if flags[r + _AHEAD, c]:
                    await_rows(block, (r + _AHEAD) * width + c * FLAG, 0, 1, min(FLAG, width - c * FLAG))
        row, before = block[r], block[r - 1] if r else last_row[0]
        _, needed = walk_row(
            row, row, before, flags[r], runs, marks[ABOVE:], parity, y + r, least, largest, background, reach, needed, moments,
            boxes, places, min_area, least_peak,
        )  # fmt: skip
        parity = 1 - parity
    marks[PARITY] = parity
    put(last_row[0], block[block.shape[0] - 1])
    return needed


@njit(cache=True, nogil=True, borrows=True)
def settle(moments, boxes, n, min_area, least_peak):
    """Add up the pieces of each island and number the islands by their first pixel; pieces keep no pixels of their own."""
    for k in range(n):
        top = root(boxes, k)
        if top != k:
            anchor(moments, boxes, top, boxes[k, X_MIN], boxes[k, Y_MIN])
            anchor(moments, boxes, k, boxes[top, X_MIN], boxes[top, Y_MIN])
            for m in range(XY + 1):
                if m != PEAK:
                    moments[top, m] += moments[k, m]
            boxes[top, PIXELS] += boxes[k, PIXELS]
            boxes[k, PIXELS] = 0
            for high in (X_MAX, Y_MAX):
                boxes[top, high] = max(boxes[top, high], boxes[k, high])
            sooner = (boxes[k, Y_PEAK], boxes[k, X_PEAK]) < (boxes[top, Y_PEAK], boxes[top, X_PEAK])
            if over(moments[k, PEAK], moments[top, PEAK]) or (moments[k, PEAK] == moments[top, PEAK] and sooner):
                moments[top, PEAK] = moments[k, PEAK]
                put(moments[top, LEFT:], moments[k, LEFT:])
                boxes[top, X_PEAK], boxes[top, Y_PEAK] = boxes[k, X_PEAK], boxes[k, Y_PEAK]
    islands = 0
    for k in range(n):
        # A root is always before its pieces, so their labels are at hand; the root's own parent is overwritten last.
        top = boxes[k, LABEL]
        if top == k:
            keep = boxes[k, PIXELS] >= min_area and bright(moments, k, least_peak)
            centre(moments, boxes, k)
            islands += keep
            boxes[k, LABEL] = islands if keep else 0
        else:
            boxes[k, LABEL] = boxes[top, LABEL]
    return islands


@njit(cache=True, nogil=True, borrows=True)
def paint_row(tested, flags, above, n_above, here, y, least, largest, reach, met, n, boxes, places, labels):
    """Give every run of a row the label of its component; return how many runs, and rows of ``n`` that were met."""
    labels[:] = 0
    at, several = 0, 0
    first, last = _next_run(tested, flags, 0, least, largest)
    while first < tested.size:
        while at < n_above and above[at, 1] < first - reach:
            at += 1
        if at < n_above and above[at, 0] <= last + reach:
            label = above[at, 2]
        elif met < n and places[met, START] == y * tested.size + first:
            label = np.int32(boxes[met, LABEL])
            met += 1
        else:
            # Its row was used again.
            label = np.int32(0)
        labels[first : last + 1] = label
        here[several, 0], here[several, 1], here[several, 2] = first, last, label
        several += 1
        first, last = _next_run(tested, flags, last + 1, least, largest)
    return several, met


@njit(cache=True, nogil=True, borrows=True)
def _paint(block, flags, runs, marks, y, least, largest, reach, met, n, boxes, places, labels):
    """Walk once more, giving every run the label of its component."""
    n_above, parity = marks[ABOVE], marks[PARITY]
    for r in range(block.shape[0]):
        above, here = runs[parity], runs[1 - parity]
        n_above, met = paint_row(
            block[r], flags[r], above, n_above, here, y + r, least, largest, reach, met, n, boxes, places, labels[r]
        )
        parity = 1 - parity
    marks[ABOVE], marks[PARITY] = n_above, parity
    return met


def _level(stats, dtype, sigma) -> np.floating:
    """The smallest pixel value for which ``value - background > sigma * noise`` in float64."""
    return _over(float(stats[BACKGROUND]), float(sigma * stats[NOISE]), dtype)


@lru_cache(maxsize=16)
def _over(background: float, over: float, dtype: np.dtype) -> np.floating:
    """The smallest value for which ``value - background > over``: every block asks for it."""
    value = first_above(background + over, dtype)
    up, largest = dtype.type(np.inf), np.finfo(dtype).max
    while value < largest and not float(value) - background > over:
        value = np.nextafter(value, up)
    while value > -largest and float(below := np.nextafter(value, -up)) - background > over:
        value = below
    return value if float(value) - background > over else up


def _flagged(block, stats, flags, sigma):
    """The flags of a block, and the values between which a pixel is set; nothing is where the clip found no number."""
    least, largest = _level(stats, block.dtype, sigma), np.finfo(block.dtype).max
    flags = flags[: block.shape[0]]
    if few(block.size * TOUCH):
        _flag(block, least, largest, flags, 0, block.shape[0])
    else:
        _share_flag(block, least, largest, flags)
    return flags, least, largest


def table(
    block, stats, count, moments, boxes, runs, marks, last, places, flags,
    *, turn, first, height, sigma, connectivity, min_area, seed,
) -> None:  # fmt: skip
    """See `footprint.kernels.find_sources.contract`."""
    if first == 0:
        marks[...] = count[0] = 0
    flagged, least, largest = _flagged(block, stats, flags, sigma)
    faintest = least_peak(stats, seed)
    about = (int(connectivity == 8), count[0], moments, boxes, places, min_area, faintest)
    count[0] = _walk(block, last, flagged, runs, marks, first, least, largest, stats[BACKGROUND], *about)
    if first + block.shape[0] == height:
        end(count, moments, boxes, min_area, faintest)


def end(count, moments, boxes, min_area, least_peak) -> None:
    """Settle what was found; where there was no room for it, tell how much does."""
    if count[0] <= boxes.shape[0]:
        settle(moments, boxes, count[0], min_area, least_peak)
    elif chosen(min_area, least_peak):
        # Rows are used again only where more than one in FREED comes free.
        count[0] += count[0] // (FREED - 1) + 1


def least_peak(stats, seed) -> float:
    """What an island's peak has to be over."""
    return seed * stats[NOISE] if seed > 0 else -np.inf


def paint(block, stats, count, boxes, labels, runs, marks, last, places, flags, *, first, sigma, connectivity) -> None:
    """See `footprint.kernels.find_sources.contract`."""
    if count[0] > boxes.shape[0]:
        return
    if first == 0:
        marks[...] = 0
    flagged, least, largest = _flagged(block, stats, flags, sigma)
    about = (int(connectivity == 8), marks[MET], count[0], boxes, places, labels)
    marks[MET] = _paint(block, flagged, runs, marks, first, least, largest, *about)


def labelled(block, stats, count, moments, boxes, labels, runs, marks, last, places, flags, **options) -> None:
    """See `footprint.kernels.find_sources.contract`."""
    table(block, stats, count, moments, boxes, runs, marks, last, places, flags, **options)
    again = {name: options[name] for name in ("first", "sigma", "connectivity")}
    paint(block, stats, count, boxes, labels, runs, marks, last, places, flags, **again)
