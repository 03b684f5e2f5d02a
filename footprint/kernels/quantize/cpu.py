"""Numbers as whole ones, on the CPU."""

from __future__ import annotations

import numpy as np
from numba import prange

from footprint.kernels.common.jit import njit

_PIECE = 1 << 14


@njit(cache=True, parallel=True, nogil=True, error_model="numpy")
def _quantize(values, out, low, scale, most):
    for piece in prange(-(-values.size // _PIECE)):
        for i in range(piece * _PIECE, min((piece + 1) * _PIECE, values.size)):
            share = (np.float64(values[i]) - low) * scale
            # A comparison with NaN is false.
            out[i] = np.rint(min(share, most)) if share > 0 else 0


def quantize(values: np.ndarray, out: np.ndarray, *, low: float, high: float) -> None:
    """See `footprint.kernels.quantize.contract`."""
    most = float(np.iinfo(out.dtype).max)
    _quantize(values.reshape(-1), out.reshape(-1), low, most / (high - low), most)
