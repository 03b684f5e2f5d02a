"""Exact sigma clipping in about one pass: the bulk of the pixels is only counted and summed, the rest is put aside and sorted.

A sample foretells where the last bounds and the medians will be: that of a few strips, and one from everywhere where they differ
too much to tell of the rest. One pass then sums the pixels well inside the bounds and keeps those beyond them or in a window round
the median; every clip is made exactly on what was kept. A forecast that fails is noticed (a bound or the median falls among the
pixels that were only counted), widened once, and then given up for passes that find each median by histograms of the ordered bits,
until what is left can be put aside. Sums are added strip by strip in raster order: neither threads nor blocks change them.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from footprint.kernels.rank_filter.contract import key_of
from footprint.kernels.sigma_clip.clip_loops import (
    BASE,
    BELOW,
    BOUND_HI,
    BOUND_LO,
    BULK,
    BULK_HI,
    BULK_LO,
    CENTER,
    END_HI,
    END_LO,
    END_MEDIAN,
    ERROR,
    FAR,
    FINITE,
    FRESH,
    INSIDE,
    KEPT,
    LEFT,
    LOST,
    NEXT_ABOVE,
    PHASE,
    RECENTRED,
    SEEN,
    SHARE,
    SHIFT,
    SQUARES,
    SUM,
    TRIES,
    TURNS,
    WIDE,
    WINDOW_HI,
    WINDOW_LO,
    clip_kept,
    in_order,
    middle_of,
    sort_kept,
    take,
    take_all,
)
from footprint.kernels.sigma_clip.contract import (
    BACKGROUND,
    COUNT,
    DONE,
    HIGH,
    ITERATIONS,
    LOW,
    MEAN,
    MEDIAN,
    NOISE,
    SAMPLE,
    SMALL,
    STD,
    rows_per_strip,
    sample_stride,
)
from footprint.kernels.sigma_clip.cpu_count import NONE, count_strips, ends_of, float_of, mask_of
from footprint.kernels.sigma_clip.cpu_scan import keep_strips, sum_strips
from footprint.kernels.sigma_clip.glance import judged, taken, wanted, worth

GLANCING, SAMPLING, SCANNING, COUNTING, ENDED = range(5)
# Standard errors of a sample's pixels, as if none knew of another, that the strips' own may be for them to be trusted; and the
# share of what may be put aside that a pass foretold by them may need. Strips of mere noise say up to so many times too much.
_TRUSTED, _ROOM, _BY_CHANCE = 3.0, 0.8, 1.4


@lru_cache(maxsize=16)
def first_above(bound: float, dtype: np.dtype, strict: bool = True) -> np.floating:
    """The smallest finite value of ``dtype`` that is over ``bound`` (or equal to it, where that counts)."""

    def inside(x: np.floating) -> bool:
        return float(x) > bound or (not strict and float(x) == bound)

    step, lowest, highest = dtype.type(np.inf), np.finfo(dtype).min, np.finfo(dtype).max
    with np.errstate(over="ignore"):
        value = np.clip(dtype.type(bound), lowest, highest)
    while value < highest and not inside(value):
        value = np.nextafter(value, step)
    while value > lowest and inside(below := np.nextafter(value, -step)):
        value = below
    return value if inside(value) else step


def _bounds(numbers, dtype, strict):
    """The smallest and largest value within the bounds of the clips made so far."""
    return first_above(numbers[BOUND_LO], dtype, strict), -first_above(-numbers[BOUND_HI], dtype, strict)


def _read(flat, offset, kept, histogram, sums, numbers, marks, size, width, strict):
    """Take in the pixels of one block."""
    strip, dtype = rows_per_strip(width) * width, flat.dtype
    strips = -(-flat.size // strip)
    if marks[PHASE] == GLANCING:
        marks[SEEN] += taken(flat, offset, size, width, kept)
        return
    marks[SEEN] += flat.size
    if marks[PHASE] == SAMPLING:
        marks[KEPT] = take(flat, offset, sample_stride(size, width), kept, marks[KEPT])
        return
    lowest, highest = _bounds(numbers, dtype, strict)
    if marks[PHASE] == SCANNING:
        edges = [dtype.type(numbers[i]) for i in (BULK_LO, WINDOW_LO, WINDOW_HI, BULK_HI)]
        sum_strips(flat, strip, numbers[CENTER], *edges, lowest, highest, sums)
        filled = marks[KEPT] + int(in_order(sums, strips, 0, 0.0))
        np.cumsum(sums[:strips, 0], out=sums[:strips, 5])
        sums[:strips, 5] += marks[KEPT] - sums[:strips, 0]
        marks[LEFT] += int(in_order(sums, strips, 1, 0.0))
        marks[BULK] += int(in_order(sums, strips, 2, 0.0))
        numbers[SUM] = in_order(sums, strips, 3, numbers[SUM])
        numbers[SQUARES] = in_order(sums, strips, 4, numbers[SQUARES])
        marks[LOST] |= filled > kept.size
        if not marks[LOST]:
            keep_strips(flat, strip, *edges, lowest, highest, sums, kept)
            marks[KEPT] = filled
    else:
        bits, wholes, first, shift = flat.view(f"i{dtype.itemsize}"), sums.view(np.int64), int(marks[BASE]), int(marks[SHIFT])
        last = min(first + (histogram.shape[1] << shift) - 1, mask_of(dtype))
        where = (numbers[CENTER], mask_of(dtype), *ends_of(lowest, highest, dtype), first, last, shift)
        count_strips(flat, bits, strip, lowest, highest, *where, histogram, sums, wholes, kept.view(bits.dtype))
        marks[INSIDE] += int(in_order(sums, strips, 0, 0.0))
        marks[BELOW] += int(in_order(sums, strips, 1, 0.0))
        numbers[SUM] = in_order(sums, strips, 2, numbers[SUM])
        numbers[SQUARES] = in_order(sums, strips, 3, numbers[SQUARES])
        if (above := int(wholes[:strips, 4].min())) != NONE:
            numbers[NEXT_ABOVE] = min(numbers[NEXT_ABOVE], float_of(above, dtype))


def _forecast(kept, numbers, marks, stats, counts, sigma, maxiters, strict, error=0.0):
    """Clip the sample; what it says of the end holds to some standard errors, of which one is ``error`` at least."""
    clip_kept(kept, numbers, 0, 0, 0, -1, sigma, maxiters, strict, stats, counts)
    numbers[SHARE] = counts[COUNT] / kept.size
    numbers[END_LO], numbers[END_HI], numbers[END_MEDIAN] = stats[LOW], stats[HIGH], stats[MEDIAN]
    numbers[ERROR] = max(stats[STD] / np.sqrt(kept.size), error)
    _start_scanning(numbers, marks, kept.dtype, stats[HIGH + 1], stats[HIGH + 2], strict)


def _start_scanning(numbers, marks, dtype, low_median, high_median, strict):
    """Place the bulks inside the last bounds and clear of all medians to come, by six of their standard errors and more."""
    lowest, highest = (float(v) for v in _bounds(numbers, dtype, strict))
    reach = numbers[ERROR] * (4 if marks[WIDE] else 1)
    window = np.clip((low_median - 8 * reach, high_median + 8 * reach), lowest, highest)
    edges = (numbers[END_LO] + 24 * reach, *window, numbers[END_HI] - 24 * reach)
    numbers[CENTER] = float(dtype.type(numbers[END_MEDIAN]))
    numbers[BULK_LO], numbers[WINDOW_LO] = max(min(edges[0], edges[1]), lowest), edges[1]
    numbers[BULK_HI], numbers[WINDOW_HI] = min(max(edges[3], edges[2]), highest), edges[2]
    for i in (BULK_LO, WINDOW_LO, WINDOW_HI, BULK_HI):
        numbers[i] = float(dtype.type(numbers[i]))
    _forget_scan(numbers, marks)


def _start_keeping(numbers, marks):
    """Put aside all that is left, as there is room for it: clips need no look at the others any more."""
    for i in (BULK_LO, WINDOW_LO, WINDOW_HI, BULK_HI):
        numbers[i] = numbers[CENTER]
    _forget_scan(numbers, marks)


def _forget_scan(numbers, marks):
    """What a pass that scans begins with."""
    marks[PHASE] = SCANNING
    marks[KEPT] = marks[LEFT] = marks[BULK] = marks[LOST] = 0
    numbers[SUM] = numbers[SQUARES] = 0.0


def _bits(histogram):
    """Bits of a key that one histogram tells."""
    return histogram.shape[1].bit_length() - 1


def _start_counting(histogram, numbers, marks, dtype):
    """From the bounds reached so far, find medians by histograms."""
    marks[PHASE], marks[RECENTRED] = COUNTING, 0
    _zoom_out(histogram, numbers, marks, dtype)


def _zoom_out(histogram, numbers, marks, dtype):
    """The next pass looks at all ordered bits."""
    _zoom(histogram, numbers, marks, dtype, -mask_of(dtype) - 1, 8 * dtype.itemsize - _bits(histogram))


def _zoom(histogram, numbers, marks, dtype, base, shift):
    """The next pass looks at the ordered bits from ``base`` on, in bins of 2**shift."""
    marks[BASE] = min(max(base, -mask_of(dtype) - 1), mask_of(dtype))
    marks[SHIFT] = shift
    marks[INSIDE] = marks[BELOW] = 0
    numbers[SUM] = numbers[SQUARES] = 0.0
    numbers[NEXT_ABOVE] = np.inf
    histogram[...] = 0


def _median(histogram, numbers, marks, dtype):
    """The median of the pixels counted, or None after setting the next pass to look closer."""
    base, shift = int(marks[BASE]), int(marks[SHIFT])
    first, second = (marks[INSIDE] - 1) // 2, marks[INSIDE] // 2
    bins = histogram[0]
    for other in histogram[1:]:
        bins += other
    np.cumsum(bins, out=bins)
    bins += marks[BELOW]
    at = int(np.searchsorted(bins, first, "right"))
    if first < marks[BELOW] or at == bins.size:
        _zoom_out(histogram, numbers, marks, dtype)
    elif shift:
        closer = max(shift - _bits(histogram), 0)
        _zoom(histogram, numbers, marks, dtype, base + (at << shift), closer)
    else:
        after = int(np.searchsorted(bins, second, "right"))
        low = float_of(base + at, dtype)
        high = float_of(base + after, dtype) if after < bins.size else float(numbers[NEXT_ABOVE])
        return float(middle_of(low, high))
    return None


def _count_turn(histogram, numbers, marks, stats, counts, dtype, capacity, sigma, maxiters, strict):
    """After a counting pass: the clip it completes, or a closer look at the median."""
    n = int(marks[INSIDE])
    if n in (0, marks[FRESH]):
        counts[COUNT] = max(marks[FRESH], 0)
        marks[PHASE] = ENDED
        return
    # Squares of what is over 1e154 overflow: Python's own numbers do so without a word, and the catalogue says it.
    mean = float(numbers[SUM]) / n
    std = math.sqrt(variance) if (variance := max(float(numbers[SQUARES]) / n - mean * mean, 0.0)) < math.inf else math.nan
    middle = numbers[CENTER] + mean
    # Far from the mean, the offset eats the variance's digits: count again about it.
    if abs(mean) > FAR * std and not marks[RECENTRED]:
        numbers[CENTER], marks[RECENTRED] = float(dtype.type(middle)), 1
        _zoom(histogram, numbers, marks, dtype, int(marks[BASE]), int(marks[SHIFT]))
        return
    median = _median(histogram, numbers, marks, dtype)
    if median is None:
        return
    numbers[CENTER], marks[RECENTRED] = median, 0
    # A median that stayed where many pixels are equal will stay again: look there alone.
    stays = stats[MEDIAN] == median
    stats[MEAN], stats[MEDIAN], stats[STD] = middle, median, std
    counts[COUNT], counts[ITERATIONS] = n, marks[TURNS]
    if marks[TURNS] == maxiters:
        stats[LOW], stats[HIGH] = numbers[BOUND_LO], numbers[BOUND_HI]
        marks[PHASE] = ENDED
        return
    stats[LOW], stats[HIGH] = median - sigma * std, median + sigma * std
    numbers[BOUND_LO] = max(numbers[BOUND_LO], stats[LOW])
    numbers[BOUND_HI] = min(numbers[BOUND_HI], stats[HIGH])
    marks[TURNS] += 1
    counts[ITERATIONS] = marks[TURNS]
    if marks[FRESH] < 0:
        numbers[FINITE] = n
    marks[FRESH] = n
    if n <= capacity:
        _start_keeping(numbers, marks)
        return
    if _worth_scanning(numbers, marks, n, median, std, capacity):
        marks[TRIES] += 1
        low, high = sorted((median, numbers[END_MEDIAN]))
        _start_scanning(numbers, marks, dtype, low, high, strict)
        return
    shift = 0 if stays else 8 * dtype.itemsize - 10 - _bits(histogram)
    _zoom(histogram, numbers, marks, dtype, key_of(median, dtype.str) - (histogram.shape[1] // 2 << shift), shift)


def _worth_scanning(numbers, marks, n, median, std, capacity):
    """Whether, after the clips made so far, what has to be put aside would fit: tails still to go, window, margins."""
    if numbers[ERROR] <= 0 or std <= 0 or marks[TRIES] >= 3:
        return False
    tails = n - numbers[SHARE] * numbers[FINITE]
    window = 0.45 * (abs(median - numbers[END_MEDIAN]) + 16 * numbers[ERROR]) / std
    margins = 0.02 * 48 * numbers[ERROR] / std
    return tails + (window + margins) * n < 0.95 * capacity


def _glanced(kept, numbers, marks, stats, counts, size, width, sigma, maxiters, strict):
    """Scan by what the strips say where that will do; else nothing was learnt."""
    n, error = judged(kept, size, width)
    if n < wanted(size, width) // 2:
        return
    found = kept[:n]
    sort_kept(found, kept[found.size :])
    numbers[CENTER] = float(found[n // 2])
    _forecast(found, numbers, marks, stats, counts, sigma, maxiters, strict, error / _BY_CHANCE)
    edges = [kept.dtype.type(numbers[i]) for i in (BULK_LO, WINDOW_LO, WINDOW_HI, BULK_HI)]
    below, first, last, above = (np.searchsorted(found, x, side) for x, side in zip(edges, ("left", "left", "right", "right")))
    aside = (n - max(first - below, 0) - max(above - last, 0)) / n * size
    if not error <= _TRUSTED * stats[STD] / np.sqrt(n) or aside > _ROOM * kept.size:
        _begin(stats, counts, numbers, marks, SAMPLING)


def _turn(kept, histogram, numbers, marks, stats, counts, size, width, sigma, maxiters, strict):
    """After a pass over the whole image: what the next is for."""
    phase, dtype = marks[PHASE], kept.dtype
    if phase == COUNTING:
        _count_turn(histogram, numbers, marks, stats, counts, dtype, kept.size, sigma, maxiters, strict)
        return
    if phase == GLANCING:
        marks[PHASE], marks[KEPT] = SAMPLING, 0
        _glanced(kept, numbers, marks, stats, counts, size, width, sigma, maxiters, strict)
        return
    found = kept[: marks[KEPT]]
    if phase == SAMPLING:
        sort_kept(found, kept[found.size :])
        numbers[CENTER] = float(found[found.size // 2]) if found.size else 0.0
        if sample_stride(size, width) == 1 and size <= SAMPLE:
            if found.size:
                clip_kept(found, numbers, 0, 0, 0, -1, sigma, maxiters, strict, stats, counts)
            marks[PHASE] = ENDED
        elif found.size < 64:
            _start_counting(histogram, numbers, marks, dtype)
        else:
            _forecast(found, numbers, marks, stats, counts, sigma, maxiters, strict)
        return
    before = stats.copy(), counts.copy()
    if not marks[LOST] and found.size + marks[BULK]:
        sort_kept(found, kept[found.size :])
        state = (marks[LEFT], marks[BULK], marks[TURNS], marks[FRESH])
        if clip_kept(found, numbers, *state, sigma, maxiters, strict, stats, counts):
            marks[PHASE] = ENDED
            return
    # The medians met so far say more than the sample did, where there are any.
    medians = stats[HIGH + 1], stats[HIGH + 2]
    stats[...], counts[...] = before
    if marks[LOST] or marks[WIDE] or not np.isfinite(medians).all():
        _start_counting(histogram, numbers, marks, dtype)
    else:
        marks[WIDE] = 1
        _start_scanning(numbers, marks, dtype, *medians, strict)


def _clip_block(
    block, first, stats, counts, kept, histogram, numbers, marks, sums, *, size, width, sigma, maxiters, strict, more=False
):
    """Take in one block, and at the end of a pass turn to the next; with ``more`` to come, it would not begin at the first row."""
    flat = block.reshape(-1)
    _read(flat, first * width, kept, histogram, sums, numbers, marks, size, width, strict)
    if marks[SEEN] == (wanted(size, width) if marks[PHASE] == GLANCING else size) and not more:
        marks[SEEN] = 0
        _turn(kept, histogram, numbers, marks, stats, counts, size, width, sigma, maxiters, strict)


def _begin(stats, counts, numbers, marks, first=GLANCING) -> None:
    """Forget the image before."""
    stats[...] = np.nan
    counts[...] = 0
    numbers[...] = 0.0
    numbers[BOUND_LO], numbers[BOUND_HI] = -np.inf, np.inf
    marks[...] = 0
    marks[FRESH], marks[PHASE] = -1, first


def _clip_small(flat, kept, numbers, stats, counts, *, size, width, sigma, maxiters, strict):
    """All of an image that is kept and sorted whole."""
    found = kept[: take_all(flat, kept, numbers, stats, counts)]
    if found.size:
        found.sort()
        numbers[CENTER] = found[found.size // 2]
        clip_kept(found, numbers, 0, 0, 0, -1, sigma, maxiters, strict, stats, counts)
    counts[DONE] = 1


def sigma_clip(block, stats, counts, kept, histogram, numbers, marks, sums, *, turn, first, zero, **options) -> None:
    """See `footprint.kernels.sigma_clip.contract`."""
    if kept.size == block.size == options["size"] <= SMALL:
        _clip_small(block.reshape(-1), kept, numbers, stats, counts, **options)
    else:
        if turn == first == 0:
            _begin(stats, counts, numbers, marks, GLANCING if worth(options["size"], options["width"]) else SAMPLING)
        more = first * options["width"] + block.size < options["size"]
        while marks[PHASE] != ENDED:
            _clip_block(block, first, stats, counts, kept, histogram, numbers, marks, sums, more=more, **options)
            if block.size < options["size"]:
                break
        counts[DONE] = marks[PHASE] == ENDED
    if counts[DONE]:
        stats[BACKGROUND], stats[NOISE] = 0.0 if zero else stats[MEDIAN], stats[STD]


def glance(block, stats, counts, kept, histogram, numbers, marks, *, first, zero, **options) -> None:
    """See `footprint.kernels.sigma_clip.contract`."""
    if not marks[SEEN]:
        _begin(stats, counts, numbers, marks)
    _clip_block(block, first, stats, counts, kept, histogram, numbers, marks, None, **options)
