"""Islands over maps of background and noise: the walk of `find_sources` over rows told from their level."""

from __future__ import annotations

import numpy as np
from numba import prange

from footprint.kernels.common.copied import put
from footprint.kernels.common.jit import njit
from footprint.kernels.find_sources.contract import FLAG, LEVEL, SPREAD, X_PEAK, Y_PEAK
from footprint.kernels.find_sources.cpu import ABOVE, MET, PARITY, end, paint_row, walk_row


@njit(cache=True, nogil=True)
def _stands_out(value, level, spread, sigma):
    """How far a value is over the level, and whether that is over so many times the spread; nothing is where that is not over 0."""
    d = np.float64(value) - np.float64(level)
    return d, (d > sigma * np.float64(spread)) & (spread > 0) & (d < np.inf)


# Rows are sliced before they are looked at: an index that might be negative would cost a test a pixel and all vector instructions.
@njit(cache=True, parallel=True, nogil=True)
def _flag_local(block, level, spread, sigma, flags):
    """Which stretches of FLAG pixels hold one that stands out."""
    for r in prange(block.shape[0]):
        for c in range(flags.shape[1]):
            some = slice(c * FLAG, (c + 1) * FLAG)
            row, levels, spreads, found = block[r][some], level[r][some], spread[r][some], np.int32(0)
            for i in range(row.size):
                _, out = _stands_out(row[i], levels[i], spreads[i], sigma)
                found += np.int32(1) if out else np.int32(0)
            flags[r, c] = found > 0


@njit(cache=True, nogil=True)
def _flatten(row, level, spread, sigma, flags, r, whole, flat, tested):
    """Tell a row from its level, and what of it is set: all where the ``whole`` is wanted, else stretches that hold something.

    So are those about them, of which peaks and the ends of runs want a pixel.
    """
    above, here, below = flags[max(r - 1, 0)], flags[r], flags[min(r + 1, flags.shape[0] - 1)]
    before, this = False, whole or here[0] | above[0] | below[0] > 0
    for c in range(here.size):
        n = min(c + 1, here.size - 1)
        after = whole or here[n] | above[n] | below[n] > 0
        if before or this or after:
            some = slice(c * FLAG, (c + 1) * FLAG)
            values, levels, spreads, told, is_set = row[some], level[some], spread[some], flat[some], tested[some]
            for i in range(values.size):
                told[i], out = _stands_out(values[i], levels[i], spreads[i], sigma)
                is_set[i] = 1 if out else 0
        before, this = this, after


@njit(cache=True, nogil=True)
def _any(flags):
    for flag in flags:
        if flag:
            return True
    return False


@njit(cache=True, nogil=True)
def _walk_local(
    block, level, spread, sigma, last_row, rows, flags, runs, marks, y, reach, needed, moments, boxes, places, min_area, least_peak
):  # fmt: skip
    """`_walk` over rows told from their level, where islands are or may have neighbours."""
    parity, n_runs = marks[PARITY], marks[ABOVE:]
    for r in range(block.shape[0]):
        here = runs[1 - parity]
        flat, tested = rows[r % 2], rows[2]
        before = rows[1 - r % 2] if r else last_row[0]
        last = r + 1 == block.shape[0]
        if last or n_runs[parity] or _any(flags[r]) or _any(flags[r + 1]):
            # What runs of the part before, and of the next, have here is not known by flags.
            _flatten(block[r], level[r], spread[r], sigma, flags, r, r == 0 or last, flat, tested)
            n, needed = walk_row(
                tested, flat, before, flags[r], runs, n_runs, parity, y + r, 1, 1, 0.0, reach, needed, moments, boxes, places,
                min_area, least_peak,
            )  # fmt: skip
            for i in range(n):
                k = here[i, 2]
                if k >= 0 and boxes[k, Y_PEAK] == y + r:
                    at = boxes[k, X_PEAK]
                    moments[k, LEVEL], moments[k, SPREAD] = level[r, at], spread[r, at]
        else:
            n_runs[1 - parity] = 0
        parity = 1 - parity
    marks[PARITY] = parity
    put(last_row[0], rows[(block.shape[0] - 1) % 2])
    return needed


@njit(cache=True, nogil=True)
def _paint_local(block, level, spread, sigma, rows, flags, runs, marks, y, reach, met, n, boxes, places, labels):
    n_above, parity = marks[ABOVE], marks[PARITY]
    for r in range(block.shape[0]):
        above, here = runs[parity], runs[1 - parity]
        if _any(flags[r]):
            _flatten(block[r], level[r], spread[r], sigma, flags, r, False, rows[0], rows[2])
        n_above, met = paint_row(rows[2], flags[r], above, n_above, here, y + r, 1, 1, reach, met, n, boxes, places, labels[r])
        parity = 1 - parity
    marks[ABOVE], marks[PARITY] = n_above, parity
    return met


def table(
    block, level, spread, count, moments, boxes, runs, marks, last, places, flags, rows,
    *, turn, first, height, sigma, connectivity, min_area, seed,
) -> None:  # fmt: skip
    """See `footprint.kernels.local_sources.contract`."""
    if first == 0:
        marks[...] = count[0] = 0
    flags, reach, faintest = flags[: block.shape[0]], int(connectivity == 8), seed if seed > 0 else -np.inf
    _flag_local(block, level, spread, sigma, flags)
    about = (reach, count[0], moments, boxes, places, min_area, faintest)
    count[0] = _walk_local(block, level, spread, sigma, last, rows, flags, runs, marks, first, *about)
    if first + block.shape[0] == height:
        end(count, moments, boxes, min_area, faintest)


def paint(
    block, level, spread, count, boxes, labels, runs, marks, last, places, flags, rows, *, first, sigma, connectivity
) -> None:  # fmt: skip
    """See `footprint.kernels.local_sources.contract`."""
    if count[0] > boxes.shape[0]:
        return
    if first == 0:
        marks[...] = 0
    flags, reach = flags[: block.shape[0]], int(connectivity == 8)
    _flag_local(block, level, spread, sigma, flags)
    about = (reach, marks[MET], count[0], boxes, places, labels)
    marks[MET] = _paint_local(block, level, spread, sigma, rows, flags, runs, marks, first, *about)


def labelled(block, level, spread, count, moments, boxes, labels, runs, marks, last, places, flags, rows, **options) -> None:
    """See `footprint.kernels.local_sources.contract`."""
    table(block, level, spread, count, moments, boxes, runs, marks, last, places, flags, rows, **options)
    again = {name: options[name] for name in ("first", "sigma", "connectivity")}
    paint(block, level, spread, count, boxes, labels, runs, marks, last, places, flags, rows, **again)
