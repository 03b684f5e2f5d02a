"""Minus log on the CPU."""

from __future__ import annotations

import numpy as np
from numba import prange

from footprint.kernels.common.jit import njit
from footprint.kernels.minus_log.contract import HIGHEST, LOWEST

_PIECE = 1 << 14


@njit(cache=True, nogil=True, error_model="numpy")
def line_integral(share, lowest, highest):
    """-log of the clipped share; NaN stays."""
    return -np.log(min(max(share, lowest), highest)) if share == share else share


@njit(cache=True, parallel=True, nogil=True, error_model="numpy")
def _minus_log(share, out, lowest, highest):
    for piece in prange(-(-share.size // _PIECE)):
        for i in range(piece * _PIECE, min((piece + 1) * _PIECE, share.size)):
            out[i] = line_integral(share[i], lowest, highest)


def minus_log(transmission: np.ndarray, out: np.ndarray, *, lowest: float = LOWEST, highest: float = HIGHEST) -> None:
    """Minus log, element by element; see `footprint.kernels.minus_log.contract`."""
    _minus_log(transmission.reshape(-1), out.reshape(-1), np.float32(lowest), np.float32(highest))
