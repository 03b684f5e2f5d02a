"""Numbers apart from NaN on the CPU, in pieces that threads share."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numba import prange

from footprint.kernels.common.few import TOUCH, few
from footprint.kernels.common.jit import njit

PIECE = 1 << 15


# Loops run over slices, from 0 on, and choose between numbers of the arrays' own dtypes: otherwise they are no loops of vectors.


@njit(cache=True, nogil=True)
def _fill(image, values, first, last):
    image, values, zero = image[first:last], values[first:last], values.dtype.type(0)
    for k in range(values.size):
        value = image[k]
        values[k] = value if value == value else zero


@njit(cache=True, nogil=True)
def _split(image, values, known, first, last):
    image, values, known = image[first:last], values[first:last], known[first:last]
    zero, one, none = values.dtype.type(0), known.dtype.type(1), known.dtype.type(0)
    for k in range(values.size):
        value = image[k]
        known[k] = one if value == value else none
        values[k] = value if value == value else zero


@njit(cache=True, nogil=True)
def _weigh(image, masked, weight, values, known, by_mask, by_weight, spreads, counts, first, last):
    image, values = image[first:last], values[first:last]
    masked = masked[first:last] if by_mask else masked
    weight = weight[first:last] if by_weight else weight
    known = known[first:last] if counts else known
    zero, one = values.dtype.type(0), values.dtype.type(1)
    for k in range(values.size):
        value, share = image[k], weight[k] if by_weight else one
        keep = share > zero
        if by_mask:
            keep = keep & (masked[k] == 0)
        if not spreads:
            keep = keep & (value == value)
        if counts:
            known[k] = share if keep else zero
        values[k] = value * share if keep else zero


@njit(cache=True, nogil=True, error_model="numpy")
def _ratio(sums, below, whole, first, last):
    sums, below, total = sums[first:last], below[first:last], whole[0]
    zero, nan = sums.dtype.type(0), sums.dtype.type(np.nan)
    for k in range(sums.size):
        share = below[k]
        found = sums[k] * total / share
        sums[k] = found if share != zero else nan


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


def _over(alone: Any, together: Any, array: Any, *how: bool) -> Callable[..., None]:
    """What runs a loop over all elements of arrays of this one's shape."""
    size = math.prod(array.shape)
    operations, pieces = size * TOUCH, -(-size // PIECE)

    def launch(*arrays: np.ndarray) -> None:
        flat = [array.reshape(-1) for array in arrays]
        if few(operations):
            alone(*flat, *how, 0, size)
        else:
            together(*flat, *how, pieces)

    return launch


def fill(image: np.ndarray, values: np.ndarray) -> None:
    """Put 0 for NaN; see ``footprint.kernels.known.contract`` for all of them."""
    fill_for(image, values)(image, values)


def fill_for(image: Any, values: Any) -> Callable[..., None]:
    """The same for arrays of these shapes; so the others."""
    return _over(_fill, _fill_all, values)


def split(image: np.ndarray, values: np.ndarray, known: np.ndarray) -> None:
    """Put 0 for NaN, and say where."""
    split_for(image, values, known)(image, values, known)


def split_for(image: Any, values: Any, known: Any) -> Callable[..., None]:
    """See `fill_for`."""
    return _over(_split, _split_all, values)


def weigh(
    image: np.ndarray, masked: np.ndarray, weight: np.ndarray, values: np.ndarray, known: np.ndarray, **numbers: bool
) -> None:
    """Weigh values, and leave out what is masked."""
    weigh_for(image, masked, weight, values, known, **numbers)(image, masked, weight, values, known)


def weigh_for(
    image: Any, masked: Any, weight: Any, values: Any, known: Any, *, by_mask: bool, by_weight: bool, spreads: bool, counts: bool
) -> Callable[..., None]:
    """See `fill_for`."""
    run = _over(_weigh, _weigh_all, values, by_mask, by_weight, spreads, counts)
    return lambda image, masked, *more: run(image, masked.view(np.uint8), *more)


def ratio(sums: np.ndarray, below: np.ndarray, whole: np.ndarray) -> None:
    """Give sums what they lack for NaN."""
    ratio_for(sums, below, whole)(sums, below, whole)


def ratio_for(sums: Any, below: Any, whole: Any) -> Callable[..., None]:
    """See `fill_for`."""
    return _over(_ratio, _ratio_all, sums)
