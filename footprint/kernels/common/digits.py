"""Numbers in order: a few by comparing them, many by one binary digit after another, in a fraction of the time."""

from __future__ import annotations

import numpy as np
from numba import prange

from footprint.kernels.common.copied import put
from footprint.kernels.common.jit import njit

DIGIT = 11
"""Binary digits that are sorted by at once."""
FEW = 48
"""Numbers that are compared: as many take no longer so."""


@njit(cache=True, nogil=True)
def in_turn(values):
    """Put a few values in order one by one."""
    for i in range(1, values.size):
        v, j = values[i], i
        while j > 0 and values[j - 1] > v:
            values[j] = values[j - 1]
            j -= 1
        values[j] = v


@njit(cache=True, nogil=True)
def _count(numbers, first, last, shift, counts):
    """How often each value of a digit stands among some numbers."""
    mask, by = np.uint64((1 << DIGIT) - 1), np.uint64(shift)
    counts[:] = 0
    for i in range(first, last):
        counts[(numbers[i] >> by) & mask] += 1


@njit(cache=True, nogil=True)
def _lay(here, first, last, shift, starts, there):
    """Put numbers where those with their digit begin, one behind the other."""
    mask, by = np.uint64((1 << DIGIT) - 1), np.uint64(shift)
    for i in range(first, last):
        d = (here[i] >> by) & mask
        there[starts[d]] = here[i]
        starts[d] += 1


@njit(cache=True, nogil=True)
def _begin(starts):
    """Make counts, those of a thread in each row, the places where its numbers with a digit begin."""
    at = 0
    for d in range(starts.shape[1]):
        for t in range(starts.shape[0]):
            count = starts[t, d]
            starts[t, d] = at
            at += count


@njit(cache=True, nogil=True)
def sort_numbers(numbers, spare, low, high):
    """Sort unsigned numbers by their binary digits from ``low`` up to ``high``; ``spare`` has room for as many."""
    n, shift = numbers.size, low
    if n < FEW:
        in_turn(numbers)
        return
    starts = np.empty((1, 1 << DIGIT), np.int64)
    here, there = numbers, spare[:n]
    while shift < high:
        _count(here, 0, n, shift, starts[0])
        _begin(starts)
        _lay(here, 0, n, shift, starts[0], there)
        here, there = there, here
        shift += DIGIT
    if ((high - low + DIGIT - 1) // DIGIT) % 2:
        put(numbers, spare[:n])


@njit(cache=True, parallel=True, nogil=True)
def share_numbers(numbers, spare, low, high, starts):
    """The same, shared among as many threads as ``starts`` has rows, of one number for each value of a digit."""
    n, shift, shares = numbers.size, low, starts.shape[0]
    here, there = numbers, spare[:n]
    while shift < high:
        for t in prange(shares):
            _count(here, t * n // shares, (t + 1) * n // shares, shift, starts[t])
        _begin(starts)
        for t in prange(shares):
            _lay(here, t * n // shares, (t + 1) * n // shares, shift, starts[t], there)
        here, there = there, here
        shift += DIGIT
    if ((high - low + DIGIT - 1) // DIGIT) % 2:
        for t in prange(shares):
            put(numbers[t * n // shares : (t + 1) * n // shares], spare[t * n // shares : (t + 1) * n // shares])
