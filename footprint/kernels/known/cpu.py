"""Numbers apart from NaN on the CPU, in pieces that threads share."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import prange

from footprint.kernels.common.few import TOUCH, few
from footprint.kernels.common.jit import njit

PIECE = 1 << 15


@njit(cache=True, nogil=True)
def _fill(image, values, first, last):
    for k in range(first, last):
        value = image[k]
        values[k] = value if value == value else 0


@njit(cache=True, nogil=True)
def _split(image, values, known, first, last):
    for k in range(first, last):
        value = image[k]
        is_known = value == value
        values[k] = value if is_known else 0
        known[k] = 1 if is_known else 0


@njit(cache=True, nogil=True)
def _weigh(image, masked, weight, values, known, by_mask, by_weight, spreads, counts, first, last):
    for k in range(first, last):
        value, share = image[k], values.dtype.type(1)
        if by_weight:
            share = weight[k]
        if share > 0 and not (by_mask and masked[k] != 0) and (spreads or value == value):
            values[k] = value * share
            if counts:
                known[k] = share
        else:
            values[k] = 0
            if counts:
                known[k] = 0


@njit(cache=True, nogil=True, error_model="numpy")
def _ratio(sums, below, whole, first, last):
    total = whole[0]
    for k in range(first, last):
        share = below[k]
        sums[k] = sums[k] * total / share if share != 0 else np.nan


@njit(cache=True, parallel=True, nogil=True)
def _fill_all(image, values, pieces):
    for p in prange(pieces):
        _fill(image, values, p * PIECE, min((p + 1) * PIECE, values.size))


@njit(cache=True, parallel=True, nogil=True)
def _split_all(image, values, known, pieces):
    for p in prange(pieces):
        _split(image, values, known, p * PIECE, min((p + 1) * PIECE, values.size))


@njit(cache=True, parallel=True, nogil=True)
def _weigh_all(image, masked, weight, values, known, by_mask, by_weight, spreads, counts, pieces):
    for p in prange(pieces):
        last = min((p + 1) * PIECE, values.size)
        _weigh(image, masked, weight, values, known, by_mask, by_weight, spreads, counts, p * PIECE, last)


@njit(cache=True, parallel=True, nogil=True)
def _ratio_all(sums, below, whole, pieces):
    for p in prange(pieces):
        _ratio(sums, below, whole, p * PIECE, min((p + 1) * PIECE, sums.size))


def _run(alone: Any, together: Any, size: int, *arrays: np.ndarray, how: tuple[bool, ...] = ()) -> None:
    flat = [array.reshape(-1) for array in arrays]
    if few(size * TOUCH):
        alone(*flat, *how, 0, size)
    else:
        together(*flat, *how, -(-size // PIECE))


def fill(image: np.ndarray, values: np.ndarray) -> None:
    """Put 0 for NaN; see ``footprint.kernels.known.contract`` for all of them."""
    _run(_fill, _fill_all, values.size, image, values)


def split(image: np.ndarray, values: np.ndarray, known: np.ndarray) -> None:
    """Put 0 for NaN, and say where."""
    _run(_split, _split_all, values.size, image, values, known)


def weigh(
    image: np.ndarray,
    masked: np.ndarray,
    weight: np.ndarray,
    values: np.ndarray,
    known: np.ndarray,
    *,
    by_mask: bool,
    by_weight: bool,
    spreads: bool,
    counts: bool,
) -> None:
    """Weigh values, and leave out what is masked."""
    how = by_mask, by_weight, spreads, counts
    _run(_weigh, _weigh_all, values.size, image, masked.view(np.uint8), weight, values, known, how=how)


def ratio(sums: np.ndarray, below: np.ndarray, whole: np.ndarray) -> None:
    """Give sums what they lack for NaN."""
    _run(_ratio, _ratio_all, sums.size, sums, below, whole)
