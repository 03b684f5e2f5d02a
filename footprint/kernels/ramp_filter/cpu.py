"""Row filter on the CPU: extend the rows, multiply their spectra, crop. The transforms between them are the backend's.

`lines` does all of it where transforms of our own serve the rows' length.
"""

from __future__ import annotations

import numpy as np
from numba import prange

from footprint.kernels.common.borders import NUMPY_CODES
from footprint.kernels.common.jit import njit
from footprint.kernels.ramp_filter.cpu_lines import lines, source

__all__ = ["crop", "lines", "pad", "scale"]


def pad(rows: np.ndarray, padded: np.ndarray, *, mode: str) -> None:
    """Write each row of ``(n, n_x)`` to the start of ``(n, P)``, continued to the right, and from the left at the end."""
    _pad(rows, padded, NUMPY_CODES[mode])


def scale(spectrum: np.ndarray, response: np.ndarray) -> None:
    """Multiply every row of the half-complex ``(n, P // 2 + 1)`` by the gains, in place."""
    _scale(spectrum, response)


def crop(padded: np.ndarray, rows: np.ndarray) -> None:
    """Copy the first n_x samples of each padded row out."""
    _crop(padded, rows)


@njit(cache=True, parallel=True, nogil=True, error_model="numpy")
def _pad(rows, padded, mode):
    n, width = rows.shape[1], padded.shape[1]
    before = (width - n) // 2
    for r in prange(rows.shape[0]):
        for i in range(width):
            j = source(i if i < width - before else i - width, n, mode)
            padded[r, i] = rows[r, j] if j >= 0 else np.float32(0)


@njit(cache=True, parallel=True, nogil=True, error_model="numpy")
def _scale(spectrum, response):
    for r in prange(spectrum.shape[0]):
        for i in range(spectrum.shape[1]):
            spectrum[r, i] *= response[i]


@njit(cache=True, parallel=True, nogil=True, error_model="numpy")
def _crop(padded, rows):
    for r in prange(rows.shape[0]):
        for i in range(rows.shape[1]):
            rows[r, i] = padded[r, i]
