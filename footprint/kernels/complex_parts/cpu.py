"""Complex numbers apart and together on the CPU, in pieces that threads share."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import prange

from footprint.kernels.common.few import TOUCH, few
from footprint.kernels.common.jit import plain

# Numba's own njit: optimised with their loops over threads, these loops gather and scatter and take 2.7 times as long.
PIECE = 1 << 15


@plain(cache=True, nogil=True)
def _split(numbers, real, imaginary, sign, first, last):
    for k in range(first, last):
        real[k], imaginary[k] = numbers[2 * k], sign * numbers[2 * k + 1]


@plain(cache=True, nogil=True)
def _product(a, b, c, d, numbers, first, last):
    for k in range(first, last):
        numbers[2 * k], numbers[2 * k + 1] = a[k] - b[k], c[k] + d[k]


@plain(cache=True, parallel=True, nogil=True)
def _split_all(numbers, real, imaginary, sign, pieces):
    for p in prange(pieces):
        _split(numbers, real, imaginary, sign, p * PIECE, min((p + 1) * PIECE, real.size))


@plain(cache=True, parallel=True, nogil=True)
def _product_all(a, b, c, d, numbers, pieces):
    for p in prange(pieces):
        _product(a, b, c, d, numbers, p * PIECE, min((p + 1) * PIECE, a.size))


def _run(alone: Any, together: Any, size: int, *args: Any) -> None:
    if few(size * TOUCH):
        alone(*args, 0, size)
    else:
        together(*args, -(-size // PIECE))


def _pairs(numbers: np.ndarray) -> np.ndarray:
    """Real and imaginary parts in turns."""
    return numbers.reshape(-1).view(numbers.real.dtype)


def split(numbers: np.ndarray, real: np.ndarray, imaginary: np.ndarray, *, sign: float) -> None:
    """Take apart; see ``footprint.kernels.complex_parts.contract`` for all three."""
    flat = _pairs(numbers), real.reshape(-1), imaginary.reshape(-1)
    _run(_split, _split_all, real.size, *flat, real.dtype.type(sign))


def join(real: np.ndarray, imaginary: np.ndarray, numbers: np.ndarray) -> None:
    """Put together."""
    numbers.real, numbers.imag = real, imaginary


def product(a: np.ndarray, b: np.ndarray, c: np.ndarray, d: np.ndarray, numbers: np.ndarray) -> None:
    """Put the four sums of a product together."""
    flat = (x.reshape(-1) for x in (a, b, c, d))
    _run(_product, _product_all, a.size, *flat, _pairs(numbers))
