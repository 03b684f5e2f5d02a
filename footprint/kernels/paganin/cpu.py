"""Rows as spectra, blurred across rows on the CPU: by stretches of frequencies, so that their weights stay in a cache."""

from __future__ import annotations

import numpy as np
from numba import prange

from footprint.kernels.common.borders import source_index
from footprint.kernels.common.jit import njit
from footprint.kernels.paganin.contract import CODES

_STRETCH = 128
_index = njit(cache=True)(source_index)


@njit(cache=True, parallel=True, nogil=True)
def _pad(lines, padded, mode, level):
    n, width = lines.shape[1], padded.shape[1]
    before = (width - n) // 2
    for r in prange(lines.shape[0]):
        for i in range(width):
            j = _index(i if i < width - before else i - width, n, mode)
            padded[r, i] = lines[r, j] - level if j >= 0 else np.float32(0)


@njit(cache=True, nogil=True, fastmath={"contract"})
def _both(to, weights, one, other):
    for i in range(to.size):
        to[i] += weights[i] * (one[i] + other[i])


@njit(cache=True, nogil=True, fastmath={"contract"})
def _one(to, weights, one):
    for i in range(to.size):
        to[i] += weights[i] * one[i]


@njit(cache=True, parallel=True, nogil=True)
def _blur(spectrum, taps, reach, out, m, k, first, start, total, mode):
    width = spectrum.shape[1]
    rows, stretches = out.shape[0], (width + _STRETCH - 1) // _STRETCH
    for unit in prange(rows * stretches):
        row, f0 = unit % rows, unit // rows * _STRETCH
        f1 = min(f0 + _STRETCH, width)
        of, z = row // k * m, first + row % k
        to = out[row, f0:f1]
        to[:] = 0
        _one(to, taps[0, f0:f1], spectrum[of + z - start, f0:f1])
        for r in range(1, reach[f0 // 2] + 1):
            up, down = _index(z - r, total, mode), _index(z + r, total, mode)
            if up >= 0 and down >= 0:
                _both(to, taps[r, f0:f1], spectrum[of + up - start, f0:f1], spectrum[of + down - start, f0:f1])
            elif up >= 0:
                _one(to, taps[r, f0:f1], spectrum[of + up - start, f0:f1])
            elif down >= 0:
                _one(to, taps[r, f0:f1], spectrum[of + down - start, f0:f1])


@njit(cache=True, parallel=True, nogil=True)
def _crop(padded, y, level):
    for r in prange(y.shape[0]):
        for i in range(y.shape[1]):
            y[r, i] = padded[r, i] + level


def pad(lines: np.ndarray, padded: np.ndarray, *, mode: str, level: float) -> None:
    """Continue rows on both sides; see `footprint.kernels.paganin.contract` for all of these."""
    _pad(lines.reshape(-1, lines.shape[2]), padded, CODES[mode], np.float32(level))


def blur(
    spectrum: np.ndarray,
    taps: np.ndarray,
    reach: np.ndarray,
    lines: np.ndarray,
    y: np.ndarray,
    out: np.ndarray,
    *,
    first: int,
    start: int,
    total: int,
    mode: str,
) -> None:
    """Weigh rows."""
    shown = (spectrum.view(np.float32), taps, reach, out.view(np.float32))
    _blur(*shown, lines.shape[1], y.shape[1], first, start, total, CODES[mode])


def crop(padded: np.ndarray, y: np.ndarray, *, level: float) -> None:
    """Take the rows out."""
    _crop(padded, y.reshape(-1, y.shape[2]), np.float32(level))
