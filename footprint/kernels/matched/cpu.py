"""Means by weights over the pixels that have data."""

from __future__ import annotations

import numpy as np
from numba import prange

from footprint.kernels.common.jit import njit
from footprint.kernels.matched.contract import LEAST


@njit(cache=True, parallel=True, nogil=True)
def _known(image, values, good):
    for y in prange(image.shape[0]):
        for x in range(image.shape[1]):
            v = image[y, x]
            finite = np.isfinite(v)
            values[y, x], good[y, x] = v if finite else 0, finite


def known(image, values, good) -> None:
    """See `footprint.kernels.matched.contract`."""
    _known(image, values, good)


@njit(cache=True, parallel=True, nogil=True)
def _mean(good, sums, shares, start):
    for y in prange(sums.shape[0]):
        for x in range(sums.shape[1]):
            there = good[start + y, x] > 0 and shares[y, x] >= LEAST
            sums[y, x] = sums[y, x] / shares[y, x] if there else np.nan


def mean(good, sums, shares, *, start) -> None:
    """See `footprint.kernels.matched.contract`."""
    _mean(good, sums, shares, start)
