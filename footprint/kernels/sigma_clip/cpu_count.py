"""One pass that counts: of pixels within bounds their number and sums, and a histogram of their ordered bits.

Bits of floats are signed numbers that order as the floats do. Each thing has a loop of its own, of which the compiler makes
vectors but for the histogram's; there, pixels go by in pieces, most of which have none in the bins.
"""

from __future__ import annotations

import numpy as np
from numba import prange

from footprint.kernels.common.jit import njit
from footprint.kernels.rank_filter.contract import key_of

_SUMS = {"reassoc", "nsz", "contract"}
PIECE = 128
"""Pixels of a piece: threads have so many places each among those that are put aside."""
NONE = (1 << 63) - 1
"""Beyond the bits of any pixel."""


def float_of(key: int, dtype: np.dtype) -> float:
    """The float of these ordered bits."""
    word = key if key >= 0 else (1 << (8 * dtype.itemsize)) + (key ^ mask_of(dtype))
    return float(np.array(word, f"u{dtype.itemsize}").view(dtype))


def mask_of(dtype: np.dtype) -> int:
    """All bits of a float but its sign: those that turn round where it is negative."""
    return (1 << (8 * dtype.itemsize - 1)) - 1


def ends_of(lowest: float, highest: float, dtype: np.dtype) -> tuple[int, int]:
    """The ordered bits of these bounds: of both zeros, which are equal, neither is left out."""
    return key_of(lowest if lowest != 0 else -0.0, dtype.str), key_of(highest if highest != 0 else 0.0, dtype.str)


@njit(cache=True, nogil=True, fastmath=_SUMS)
def _sums(row, lowest, highest, center):
    """Of pixels in [lowest, highest]: number, sum and sum of squares about the center."""
    n, total, squares = 0, 0.0, 0.0
    for i in range(row.size):
        x = row[i]
        inside = (x >= lowest) & (x <= highest)
        d = np.float64(x) - center if inside else 0.0
        n += inside
        total += d
        squares += d * d
    return n, total, squares


@njit(cache=True, nogil=True)
def _key(bits, mask):
    """Bits of a float as a number that orders as the float does."""
    word = np.int64(bits)
    return word ^ ((word >> 63) & mask)


@njit(cache=True, nogil=True)
def _beside(bits, mask, low, high, first, last):
    """How many of those in [low, high] are before ``first``, and the first one behind ``last``."""
    below, above = 0, np.int64(NONE)
    for i in range(bits.size):
        key = _key(bits[i], mask)
        inside = (key >= low) & (key <= high)
        below += inside & (key < first)
        behind = key if inside & (key > last) else np.int64(NONE)
        above = min(above, behind)
    return below, above


@njit(cache=True, nogil=True)
def _fill(bits, mask, low, high, first, shift, bins, spare):
    """Count those in [low, high] in bins of 2**shift from ``first`` on, which is no more than ``low``."""
    top, by = np.uint64(1 << 63), np.uint64(shift)
    begin = np.uint64(np.int64(first)) ^ top
    for start in range(0, bits.size, PIECE):
        piece = bits[start : start + PIECE]
        many = 0
        for i in range(piece.size):
            key = _key(piece[i], mask)
            many += (key >= low) & (key <= high)
        if many == 0:
            continue
        # Without a branch, which nobody could foretell.
        many = 0
        for i in range(piece.size):
            key = _key(piece[i], mask)
            spare[many] = key
            many += (key >= low) & (key <= high)
        for i in range(many):
            bins[np.int64(((np.uint64(np.int64(spare[i])) ^ top) - begin) >> by)] += 1


@njit(cache=True, parallel=True, nogil=True)
def count_strips(flat, bits, strip, lowest, highest, center, mask, low, high, first, last, shift, histogram, sums, beyond, spare):
    """Of pixels in [lowest, highest], bits in [low, high]: number, how many are before ``first``, sum and squares a strip.

    ``beyond``, which is ``sums`` as whole numbers, receives the first one behind ``last``, and the histogram those between.
    """
    strips = -(-flat.size // strip)
    threads = histogram.shape[0]
    share = -(-strips // threads)
    for t in prange(threads):
        for s in range(t * share, min(strips, (t + 1) * share)):
            row, keys = flat[s * strip : (s + 1) * strip], bits[s * strip : (s + 1) * strip]
            n, total, squares = _sums(row, lowest, highest, center)
            below, above = _beside(keys, mask, low, high, first, last)
            _fill(keys, mask, max(low, first), min(high, last), first, shift, histogram[t], spare[t * PIECE : (t + 1) * PIECE])
            sums[s, 0], sums[s, 1], sums[s, 2], sums[s, 3] = n, below, total, squares
            beyond[s, 4] = above
