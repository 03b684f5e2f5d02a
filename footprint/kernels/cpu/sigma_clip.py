"""Exact sigma clipping in about one pass: the bulk of the pixels is only counted and summed, the rest is put aside and sorted.

A sample foretells where the last bounds and the medians will be. One pass then sums the pixels well inside the bounds and keeps
those beyond them or in a window round the median; every clip is made exactly on what was kept. A forecast that fails is noticed
(a bound or the median falls among the pixels that were only counted), widened once, and then given up for passes that find
each median by histograms of the ordered bits. Sums are added strip by strip in raster order: neither threads nor blocks change
them.
"""

from __future__ import annotations

import numpy as np

from footprint.kernels.cpu.clip_loops import (
    BASE,
    BELOW,
    BOUND_HI,
    BOUND_LO,
    BULK,
    BULK_HI,
    BULK_LO,
    CENTER,
    FRESH,
    INSIDE,
    KEPT,
    LEFT,
    LOST,
    NEXT_ABOVE,
    PHASE,
    RECENTRED,
    SEEN,
    SHIFT,
    SQUARES,
    SUM,
    TURNS,
    WIDE,
    WINDOW_HI,
    WINDOW_LO,
    clip_kept,
    count_strips,
    in_order,
    keep_strips,
    sum_strips,
    take,
)
from footprint.kernels.sigma_clip import (
    BINS,
    COUNT,
    DONE,
    HIGH,
    ITERATIONS,
    LOW,
    MEAN,
    MEDIAN,
    SAMPLE,
    STD,
    rows_per_strip,
    sample_stride,
)

SAMPLING, SCANNING, COUNTING, ENDED = range(4)


def float_of(key: int, dtype: np.dtype) -> float:
    """The float whose ordered bits are ``key``."""
    half = 1 << (8 * dtype.itemsize - 1)
    word = key - half if key >= half else 2 * half - 1 - key
    return float(np.array(word, f"u{dtype.itemsize}").view(dtype))


def key_of(value: float, dtype: np.dtype) -> int:
    """The ordered bits of a value rounded to ``dtype``."""
    half = 1 << (8 * dtype.itemsize - 1)
    word = int(np.array(value, dtype).view(f"u{dtype.itemsize}"))
    return word + half if word < half else 2 * half - 1 - word


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


def _read(flat, offset, kept, histogram, sums, numbers, marks, size, width, strict):
    """Take in the pixels of one block."""
    strip, dtype = rows_per_strip(width) * width, flat.dtype
    strips = -(-flat.size // strip)
    largest = np.finfo(dtype).max
    if marks[PHASE] == SAMPLING:
        marks[KEPT] = take(flat, offset, sample_stride(size, width), kept, marks[KEPT])
    elif marks[PHASE] == SCANNING:
        edges = [dtype.type(numbers[i]) for i in (BULK_LO, WINDOW_LO, WINDOW_HI, BULK_HI)]
        sum_strips(flat, strip, numbers[CENTER], *edges, largest, sums)
        filled = marks[KEPT] + int(in_order(sums, strips, 0, 0.0))
        np.cumsum(sums[:strips, 0], out=sums[:strips, 5])
        sums[:strips, 5] += marks[KEPT] - sums[:strips, 0]
        marks[LEFT] += int(in_order(sums, strips, 1, 0.0))
        marks[BULK] += int(in_order(sums, strips, 2, 0.0))
        numbers[SUM] = in_order(sums, strips, 3, numbers[SUM])
        numbers[SQUARES] = in_order(sums, strips, 4, numbers[SQUARES])
        marks[LOST] |= filled > kept.size
        if not marks[LOST]:
            keep_strips(flat, strip, *edges, largest, sums, kept)
            marks[KEPT] = filled
    else:
        half = np.uint64(1 << (8 * dtype.itemsize - 1))
        lowest = first_above(numbers[BOUND_LO], dtype, strict)
        highest = -first_above(-numbers[BOUND_HI], dtype, strict)
        zoom = (marks[BASE : BASE + 1].view(np.uint64)[0], np.uint64(marks[SHIFT]))
        bits = flat.view(f"i{dtype.itemsize}")
        count_strips(flat, bits, half, strip, lowest, highest, numbers[CENTER], *zoom, histogram, sums)
        marks[INSIDE] += int(in_order(sums, strips, 0, 0.0))
        marks[BELOW] += int(in_order(sums, strips, 1, 0.0))
        numbers[SUM] = in_order(sums, strips, 2, numbers[SUM])
        numbers[SQUARES] = in_order(sums, strips, 3, numbers[SQUARES])
        numbers[NEXT_ABOVE] = min(numbers[NEXT_ABOVE], sums[:strips, 4].min())


def _forecast(kept, numbers, marks, stats, counts, sigma, maxiters, strict):
    """Clip the sample, and place the bulks well inside the bounds and clear of the medians it found."""
    clip_kept(kept, numbers, 0, 0, sigma, maxiters, strict, stats, counts)
    numbers[CENTER] = float(kept.dtype.type(stats[MEDIAN]))
    numbers[BULK_LO], numbers[BULK_HI] = stats[LOW], stats[HIGH]
    numbers[WINDOW_LO], numbers[WINDOW_HI] = stats[HIGH + 1], stats[HIGH + 2]
    _widen(numbers, kept.dtype, stats[STD] / np.sqrt(kept.size))
    numbers[NEXT_ABOVE] = stats[STD] / np.sqrt(kept.size)


def _widen(numbers, dtype, error):
    """Move the edges of the bulks inwards: six standard errors of the median, and of a bound at three sigma."""
    largest = float(np.finfo(dtype).max)
    low, high = numbers[WINDOW_LO] - 8 * error, numbers[WINDOW_HI] + 8 * error
    numbers[WINDOW_LO], numbers[WINDOW_HI] = np.clip((low, high), -largest, largest)
    numbers[BULK_LO] = max(min(numbers[BULK_LO] + 24 * error, numbers[WINDOW_LO]), -largest)
    numbers[BULK_HI] = min(max(numbers[BULK_HI] - 24 * error, numbers[WINDOW_HI]), largest)
    for i in (BULK_LO, WINDOW_LO, WINDOW_HI, BULK_HI):
        numbers[i] = float(dtype.type(numbers[i]))


def _start_counting(histogram, numbers, marks, dtype):
    """Give up forecasts: from the first clip on, find every median by histograms."""
    marks[PHASE], marks[TURNS], marks[FRESH], marks[RECENTRED] = COUNTING, 0, -1, 0
    numbers[BOUND_LO], numbers[BOUND_HI] = -np.inf, np.inf
    _zoom(histogram, numbers, marks, dtype, 0, 8 * dtype.itemsize - 11)


def _zoom(histogram, numbers, marks, dtype, base, shift):
    """The next pass looks at the ordered bits from ``base`` on, in bins of 2**shift."""
    base = min(max(base, 0), (1 << 8 * dtype.itemsize) - 1)
    marks[BASE : BASE + 1].view(np.uint64)[0] = base
    marks[SHIFT] = shift
    marks[INSIDE] = marks[BELOW] = 0
    numbers[SUM] = numbers[SQUARES] = 0.0
    numbers[NEXT_ABOVE] = np.inf
    histogram[...] = 0


def _median(histogram, numbers, marks, dtype):
    """The median of the pixels counted, or None after setting the next pass to look closer."""
    base, shift = int(marks[BASE : BASE + 1].view(np.uint64)[0]), int(marks[SHIFT])
    first, second = (marks[INSIDE] - 1) // 2, marks[INSIDE] // 2
    bins = histogram[0]
    for other in histogram[1:]:
        bins += other
    np.cumsum(bins, out=bins)
    bins += marks[BELOW]
    at = int(np.searchsorted(bins, first, "right"))
    if first < marks[BELOW] or at == BINS:
        _zoom(histogram, numbers, marks, dtype, 0, 8 * dtype.itemsize - 11)
    elif shift:
        closer = max(shift - 11, 0)
        _zoom(histogram, numbers, marks, dtype, base + (at << shift), closer)
    else:
        after = int(np.searchsorted(bins, second, "right"))
        low = float_of(base + at, dtype)
        high = float_of(base + after, dtype) if after < BINS else float(numbers[NEXT_ABOVE])
        return low + (high - low) * 0.5
    return None


def _count_turn(histogram, numbers, marks, stats, counts, dtype, sigma, maxiters):
    """After a counting pass: the clip it completes, or a closer look at the median."""
    n = int(marks[INSIDE])
    if n in (0, marks[FRESH]):
        counts[COUNT] = max(marks[FRESH], 0)
        marks[PHASE] = ENDED
        return
    mean = numbers[SUM] / n
    std = np.sqrt(max(numbers[SQUARES] / n - mean * mean, 0.0))
    middle = numbers[CENTER] + mean
    # Far from the mean, the offset eats the variance's digits: count again about it.
    if abs(mean) > 1e4 * std and not marks[RECENTRED]:
        numbers[CENTER], marks[RECENTRED] = middle, 1
        _zoom(histogram, numbers, marks, dtype, int(marks[BASE : BASE + 1].view(np.uint64)[0]), int(marks[SHIFT]))
        return
    median = _median(histogram, numbers, marks, dtype)
    if median is None:
        return
    numbers[CENTER], marks[RECENTRED] = median, 0
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
    marks[FRESH] = n
    shift = 8 * dtype.itemsize - 21
    _zoom(histogram, numbers, marks, dtype, key_of(median, dtype) - (BINS // 2 << shift), shift)


def _turn(kept, histogram, numbers, marks, stats, counts, size, width, sigma, maxiters, strict):
    """After a pass over the whole image: what the next is for."""
    phase, dtype = marks[PHASE], kept.dtype
    if phase == COUNTING:
        _count_turn(histogram, numbers, marks, stats, counts, dtype, sigma, maxiters)
        return
    found = kept[: marks[KEPT]]
    if phase == SAMPLING:
        found.sort()
        numbers[CENTER] = float(found[found.size // 2]) if found.size else 0.0
        if sample_stride(size, width) == 1 and size <= SAMPLE:
            if found.size:
                clip_kept(found, numbers, 0, 0, sigma, maxiters, strict, stats, counts)
            marks[PHASE] = ENDED
            return
        if found.size < 64:
            _start_counting(histogram, numbers, marks, dtype)
            return
        _forecast(found, numbers, marks, stats, counts, sigma, maxiters, strict)
        marks[PHASE] = SCANNING
    elif not marks[LOST]:
        found.sort()
        n = found.size + int(marks[BULK])
        if n and clip_kept(found, numbers, marks[LEFT], marks[BULK], sigma, maxiters, strict, stats, counts):
            marks[PHASE] = ENDED
            return
    if phase == SCANNING:
        if marks[LOST] or marks[WIDE]:
            _start_counting(histogram, numbers, marks, dtype)
            return
        marks[WIDE] = 1
        _widen(numbers, dtype, 3 * numbers[NEXT_ABOVE])
    marks[KEPT] = marks[LEFT] = marks[BULK] = 0
    numbers[SUM] = numbers[SQUARES] = 0.0


def clip_block(
    block, where, stats, counts, kept, histogram, sums, numbers, marks, *, size, width, sigma, maxiters, strict
) -> None:
    """Take in one block, and at the end of a pass turn to the next."""
    flat = block.reshape(-1)[: where[2] * width]
    _read(flat, int(where[1]) * width, kept, histogram, sums, numbers, marks, size, width, strict)
    marks[SEEN] += flat.size
    if marks[SEEN] == size:
        marks[SEEN] = 0
        _turn(kept, histogram, numbers, marks, stats, counts, size, width, sigma, maxiters, strict)


def begin(stats, counts, numbers, marks) -> None:
    """Forget the image before."""
    stats[...] = np.nan
    counts[...] = 0
    numbers[...] = 0.0
    marks[...] = 0


def sigma_clip(block, where, stats, counts, kept, histogram, sums, numbers, marks, **options) -> None:
    """See `footprint.kernels.sigma_clip`."""
    if where[0] == where[1] == 0:
        begin(stats, counts, numbers, marks)
    whole = where[2] * options["width"] == options["size"]
    while marks[PHASE] != ENDED:
        clip_block(block, where, stats, counts, kept, histogram, sums, numbers, marks, **options)
        if not whole:
            break
    counts[DONE] = marks[PHASE] == ENDED
