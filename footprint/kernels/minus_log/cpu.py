"""Minus log on the CPU."""

from __future__ import annotations

import numpy as np
from numba import prange

from footprint.kernels.common.copied import put
from footprint.kernels.common.jit import njit
from footprint.kernels.minus_log.contract import HIGHEST, LOWEST

_PIECE = 1 << 14


# log(1 + f) is f - f^2 / 2 + f^3 (a polynomial of f from sqrt(1/2) - 1 to sqrt(2) - 1): Cephes' logf, the highest power first.
_P8, _P7, _P6 = np.float32(7.0376836292e-2), np.float32(-1.1514610310e-1), np.float32(1.1676998740e-1)
_P5, _P4, _P3 = np.float32(-1.2420140846e-1), np.float32(1.4249322787e-1), np.float32(-1.6668057665e-1)
_P2, _P1, _P0 = np.float32(2.0000714765e-1), np.float32(-2.4999993993e-1), np.float32(3.3333331174e-1)
_HALF, _ONE = np.float32(0.5), np.float32(1)
# log(2) as a number of few bits, whose multiples are exact, and the rest.
_LOG2, _REST = np.float32(0.693359375), np.float32(-2.12194440e-4)
_ROOT, _BITS = np.float32(0.5**0.5).view(np.int32), np.int32(23)


@njit(cache=True, nogil=True, error_model="numpy")
def line_integral(share, lowest, highest):
    """-log of the clipped share, to one unit of its last place; NaN stays.

    Written out, as the compiler calls the C library for every single logarithm: five times slower than a loop of vectors.
    """
    bits = np.float32(min(max(share, lowest), highest)).view(np.int32)
    exponent = (bits - _ROOT) >> _BITS
    f = np.int32(bits - (exponent << _BITS)).view(np.float32) - _ONE
    series = (((((((_P8 * f + _P7) * f + _P6) * f + _P5) * f + _P4) * f + _P3) * f + _P2) * f + _P1) * f + _P0
    square, power = f * f, np.float32(exponent)
    low = f * square * series + power * _REST - _HALF * square
    return -(f + low + power * _LOG2) if share == share else share


@njit(cache=True, nogil=True, error_model="numpy")
def integrate(row, lowest, highest):
    """Make a row of shares one of line integrals: in place, as the compiler would doubt that two rows are apart."""
    for x in range(row.size):
        row[x] = line_integral(row[x], lowest, highest)


@njit(cache=True, parallel=True, nogil=True, error_model="numpy")
def _minus_log(share, out, lowest, highest):
    for piece in prange(-(-share.size // _PIECE)):
        some = slice(piece * _PIECE, min((piece + 1) * _PIECE, share.size))
        put(out[some], share[some])
        integrate(out[some], lowest, highest)


def minus_log(transmission: np.ndarray, out: np.ndarray, *, lowest: float = LOWEST, highest: float = HIGHEST) -> None:
    """Minus log, element by element; see `footprint.kernels.minus_log.contract`."""
    _minus_log(transmission.reshape(-1), out.reshape(-1), np.float32(lowest), np.float32(highest))
