"""Exact sigma clipping in about one pass: the bulk of the pixels is only counted and summed, the rest is put aside and sorted.

A sample foretells where the last bounds and the medians will be. One pass then sums the pixels well inside the bounds and keeps
those beyond them or in a window round the median; every clip is made exactly on what was kept. A forecast that fails is noticed
(a bound or the median falls among the pixels that were only counted), widened once, and then given up for passes that find
each median by histograms of the ordered bits. Sums are added strip by strip in raster order: neither threads nor blocks change
them.
"""

from __future__ import annotations

import numpy as np
from numba import njit, prange

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

# What `numbers` and `marks` hold from pass to pass.
CENTER, BULK_LO, WINDOW_LO, WINDOW_HI, BULK_HI, SUM, SQUARES, BOUND_LO, BOUND_HI, NEXT_ABOVE = range(10)
PHASE, SEEN, KEPT, LEFT, BULK, WIDE, TURNS, BASE, SHIFT, FRESH, INSIDE, BELOW, LOST, RECENTRED = range(14)
SAMPLING, SCANNING, COUNTING, ENDED = range(4)

_SUMS = {"reassoc", "nsz", "contract"}


@njit(cache=True, nogil=True)
def _take(flat, offset, stride, kept, filled):
    """Every ``stride``-th pixel of the image that lies in this block and is finite."""
    for i in range((-offset) % stride, flat.size, stride):
        if np.isfinite(flat[i]):
            kept[filled] = flat[i]
            filled += 1
    return filled


# Loops run over slices from 0: an index that might be negative would cost a test a pixel and all vector instructions.
@njit(cache=True, parallel=True, nogil=True, error_model="numpy", fastmath=_SUMS)
def _sum_strips(flat, strip, center, bulk_lo, window_lo, window_hi, bulk_hi, largest, sums):
    """Per strip: pixels to keep, left and both bulks, sums and squares of the bulks about the center."""
    nothing = flat.dtype.type(center)
    one, zero = np.int32(1), np.int32(0)
    for s in prange(-(-flat.size // strip)):
        finite, left, bulk, total, squares = 0, 0, 0, 0.0, 0.0
        row = flat[s * strip : min(flat.size, (s + 1) * strip)]
        for start in range(0, row.size, 2048):
            part = row[start : start + 2048]
            n, a, b = zero, zero, zero
            for i in range(part.size):
                x = part[i]
                in_left = (x >= bulk_lo) & (x < window_lo)
                in_bulk = in_left | ((x > window_hi) & (x <= bulk_hi))
                a += one if in_left else zero
                b += one if in_bulk else zero
                n += one if abs(x) <= largest else zero
                d = np.float64(x if in_bulk else nothing) - center
                total += d
                squares += d * d
            finite, left, bulk = finite + n, left + a, bulk + b
        sums[s, 0], sums[s, 1], sums[s, 2], sums[s, 3], sums[s, 4] = finite - bulk, left, bulk, total, squares


@njit(cache=True, parallel=True, nogil=True)
def _keep_strips(flat, strip, bulk_lo, window_lo, window_hi, bulk_hi, largest, sums, kept):
    """Write each strip's pixels to keep from where ``sums[:, 5]`` says."""
    for s in prange(-(-flat.size // strip)):
        k = np.int64(sums[s, 5])
        safe = k + np.int64(sums[s, 0]) - 8
        row = flat[s * strip : min(flat.size, (s + 1) * strip)]
        flags = np.zeros(1024, np.uint8)
        eights = flags.view(np.uint64)
        for start in range(0, row.size, 1024):
            part = row[start : start + 1024]
            if part.size < 1024:
                flags[:] = 0
            for i in range(part.size):
                x = part[i]
                in_bulk = ((x >= bulk_lo) & (x < window_lo)) | ((x > window_hi) & (x <= bulk_hi))
                flags[i] = (abs(x) <= largest) & (not in_bulk)
            for j in range(128):
                if not eights[j]:
                    continue
                # Storing always and counting the flag avoids a branch nobody can foretell; near the end of the strip's share
                # it would touch the neighbour's.
                if k <= safe:
                    for i in range(8 * j, min(8 * j + 8, part.size)):
                        kept[k] = part[i]
                        k += flags[i]
                else:
                    for i in range(8 * j, min(8 * j + 8, part.size)):
                        if flags[i]:
                            kept[k] = part[i]
                            k += 1


@njit(cache=True, nogil=True)
def _add(kept, start, stop, center):
    """Sum and sum of squares about the center, in order."""
    total, squares = 0.0, 0.0
    for i in range(start, stop):
        d = np.float64(kept[i]) - center
        total += d
        squares += d * d
    return total, squares


@njit(cache=True, nogil=True)
def _value(kept, a, b, first, last, left, right, rank):
    """The survivor of this rank, or NaN where it is one of those that were only counted.

    Survivors in order: kept[a:first], ``left`` uncounted ones, kept[first:last], ``right`` uncounted ones, kept[last:b].
    """
    for start, stop, gap in ((a, min(b, first), left), (max(a, first), min(b, last), right), (max(a, last), b, 0)):
        if rank < stop - start:
            return np.float64(kept[start + rank])
        rank -= max(stop - start, 0) + gap
        if rank < 0:
            return np.nan
    return np.nan


@njit(cache=True, nogil=True, error_model="numpy")
def _clip_kept(kept, numbers, left, bulk, sigma, maxiters, strict, stats, counts):
    """Clip until nothing changes, on the sorted ``kept``; return False where the pixels only counted would have to be looked at.

    ``stats[HIGH + 1 :]`` receive the lowest and highest median met.
    """
    size, center = kept.size, numbers[CENTER]
    first = np.searchsorted(kept, numbers[BULK_LO]) if bulk else 0
    last = np.searchsorted(kept, numbers[WINDOW_HI], "right") if bulk else size
    right = bulk - left
    middle = _add(kept, first, last, center)
    a, b, turns = 0, size, 0
    stats[LOW], stats[HIGH] = -np.inf, np.inf
    stats[HIGH + 1], stats[HIGH + 2] = np.inf, -np.inf
    while True:
        n = b - a + bulk
        total, squares = numbers[SUM], numbers[SQUARES]
        parts = (_add(kept, a, min(first, b), center), middle, _add(kept, max(last, a), b, center))
        if a > first or b < last:
            parts = (parts[0], _add(kept, max(a, first), min(b, last), center), parts[2])
        for one in parts:
            total += one[0]
            squares += one[1]
        mean = total / n
        std = np.sqrt(max(squares / n - mean * mean, 0.0))
        low_value = _value(kept, a, b, first, last, left, right, (n - 1) // 2)
        high_value = _value(kept, a, b, first, last, left, right, n // 2)
        median = low_value + (high_value - low_value) * 0.5
        stats[MEAN], stats[MEDIAN], stats[STD] = center + mean, median, std
        counts[COUNT], counts[ITERATIONS] = n, turns
        if np.isnan(median):
            return False
        stats[HIGH + 1], stats[HIGH + 2] = min(stats[HIGH + 1], median), max(stats[HIGH + 2], median)
        if turns == maxiters:
            return True
        low, high = median - sigma * std, median + sigma * std
        if (left and not low < numbers[BULK_LO]) or (right and not high > numbers[BULK_HI]):
            return False
        stats[LOW], stats[HIGH] = low, high
        turns += 1
        counts[ITERATIONS] = turns
        next_a, next_b = a, b
        while next_a < next_b and (kept[next_a] < low or (strict and kept[next_a] == low)):
            next_a += 1
        while next_b > next_a and (kept[next_b - 1] > high or (strict and kept[next_b - 1] == high)):
            next_b -= 1
        if next_b - next_a + bulk == 0 or (next_a == a and next_b == b):
            return True
        a, b = next_a, next_b


@njit(cache=True, nogil=True)
def _ordered(bits, half):
    """Bits of a float as an unsigned number that orders as the float does."""
    b = np.int64(bits)
    return np.uint64(~b) if b < 0 else np.uint64(b) + half


@njit(cache=True, parallel=True, nogil=True, error_model="numpy")
def _count_strips(flat, bits, half, strip, lowest, highest, center, base, shift, histogram, sums):
    """Of pixels in [lowest, highest]: count, sum and squares a strip, how many order below ``base``, a histogram above it."""
    strips = -(-flat.size // strip)
    threads = histogram.shape[0]
    share = -(-strips // threads)
    for t in prange(threads):
        for s in range(t * share, min(strips, (t + 1) * share)):
            n, below, total, squares, above = 0, 0, 0.0, 0.0, np.inf
            row, keys = flat[s * strip : (s + 1) * strip], bits[s * strip : (s + 1) * strip]
            for i in range(row.size):
                x = row[i]
                if lowest <= x <= highest:
                    d = np.float64(x) - center
                    n += 1
                    total += d
                    squares += d * d
                    key = _ordered(keys[i], half)
                    if key < base:
                        below += 1
                    else:
                        bin_ = (key - base) >> shift
                        if bin_ < np.uint64(BINS):
                            histogram[t, np.int64(bin_)] += 1
                        else:
                            above = min(above, np.float64(x))
            sums[s, 0], sums[s, 1], sums[s, 2], sums[s, 3], sums[s, 4] = n, below, total, squares, above


@njit(cache=True, nogil=True)
def _in_order(sums, strips, column, total):
    """Add a column of the strips one by one, so that no cut into blocks changes the sum."""
    for s in range(strips):
        total += sums[s, column]
    return total


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
        marks[KEPT] = _take(flat, offset, sample_stride(size, width), kept, marks[KEPT])
    elif marks[PHASE] == SCANNING:
        edges = [dtype.type(numbers[i]) for i in (BULK_LO, WINDOW_LO, WINDOW_HI, BULK_HI)]
        _sum_strips(flat, strip, numbers[CENTER], *edges, largest, sums)
        filled = marks[KEPT] + int(_in_order(sums, strips, 0, 0.0))
        np.cumsum(sums[:strips, 0], out=sums[:strips, 5])
        sums[:strips, 5] += marks[KEPT] - sums[:strips, 0]
        marks[LEFT] += int(_in_order(sums, strips, 1, 0.0))
        marks[BULK] += int(_in_order(sums, strips, 2, 0.0))
        numbers[SUM] = _in_order(sums, strips, 3, numbers[SUM])
        numbers[SQUARES] = _in_order(sums, strips, 4, numbers[SQUARES])
        marks[LOST] |= filled > kept.size
        if not marks[LOST]:
            _keep_strips(flat, strip, *edges, largest, sums, kept)
            marks[KEPT] = filled
    else:
        half = np.uint64(1 << (8 * dtype.itemsize - 1))
        lowest = first_above(numbers[BOUND_LO], dtype, strict)
        highest = -first_above(-numbers[BOUND_HI], dtype, strict)
        zoom = (marks[BASE : BASE + 1].view(np.uint64)[0], np.uint64(marks[SHIFT]))
        bits = flat.view(f"i{dtype.itemsize}")
        _count_strips(flat, bits, half, strip, lowest, highest, numbers[CENTER], *zoom, histogram, sums)
        marks[INSIDE] += int(_in_order(sums, strips, 0, 0.0))
        marks[BELOW] += int(_in_order(sums, strips, 1, 0.0))
        numbers[SUM] = _in_order(sums, strips, 2, numbers[SUM])
        numbers[SQUARES] = _in_order(sums, strips, 3, numbers[SQUARES])
        numbers[NEXT_ABOVE] = min(numbers[NEXT_ABOVE], sums[:strips, 4].min())


def _forecast(kept, numbers, marks, stats, counts, sigma, maxiters, strict):
    """Clip the sample, and place the bulks well inside the bounds and clear of the medians it found."""
    _clip_kept(kept, numbers, 0, 0, sigma, maxiters, strict, stats, counts)
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
                _clip_kept(found, numbers, 0, 0, sigma, maxiters, strict, stats, counts)
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
        if n and _clip_kept(found, numbers, marks[LEFT], marks[BULK], sigma, maxiters, strict, stats, counts):
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
