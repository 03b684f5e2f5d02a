"""Wavelet transforms on the CPU: rows of the result are summed from whole rows where the filter runs across them."""

from __future__ import annotations

import numpy as np
from numba import prange

from footprint.kernels.common.borders import source_index
from footprint.kernels.common.jit import njit

_mirrored = njit(cache=True)(source_index)


@njit(cache=True, parallel=True, nogil=True, fastmath={"contract"})
def _analyse_rows(lines, taps, low, high):
    m, w = lines.shape[1:]
    length = taps.shape[1]
    for unit in prange(lines.shape[0] * m):
        s, a = unit // m, unit % m
        row, below, above = lines[s, a], low[s, a], high[s, a]
        for k in range(below.size):
            slow, fast = np.float32(0), np.float32(0)
            at = 2 * k + 1
            if at - length >= -1 and at < w:
                for j in range(length):
                    value = row[at - j]
                    slow += taps[0, j] * value
                    fast += taps[1, j] * value
            else:
                for j in range(length):
                    value = row[_mirrored(at - j, w, 2)]
                    slow += taps[0, j] * value
                    fast += taps[1, j] * value
            below[k], above[k] = slow, fast


@njit(cache=True, parallel=True, nogil=True, fastmath={"contract"})
def _analyse_columns(lines, taps, low):
    m, h = lines.shape[1], low.shape[1]
    for unit in prange(lines.shape[0] * h):
        s, k = unit // h, unit % h
        to = low[s, k]
        to[:] = 0
        for j in range(taps.shape[1]):
            row, weight = lines[s, _mirrored(2 * k + 1 - j, m, 2)], taps[0, j]
            for x in range(to.size):
                to[x] += weight * row[x]


@njit(cache=True, parallel=True, nogil=True, fastmath={"contract"})
def _synthesise_columns(low, taps, lines):
    m, h = lines.shape[1], low.shape[1]
    for unit in prange(lines.shape[0] * m):
        s, i = unit // m, unit % m
        to = lines[s, i]
        to[:] = 0
        for k in range(i // 2, min((i + taps.shape[1] - 2) // 2 + 1, h)):
            row, weight = low[s, k], taps[0, 2 * k + 1 - i]
            for x in range(to.size):
                to[x] += weight * row[x]


@njit(cache=True, parallel=True, nogil=True, fastmath={"contract"})
def _synthesise_rows(low, high, taps, lines, both, off):
    m, w = lines.shape[1:]
    h = high.shape[2]
    for unit in prange(lines.shape[0] * m):
        s, a = unit // m, unit % m
        slow, fast, to = low[s, a], high[s, a], lines[s, a]
        for i in range(w):
            total = np.float32(0)
            for k in range(i // 2, min((i + taps.shape[1] - 2) // 2 + 1, h)):
                if both:
                    total += taps[0, 2 * k + 1 - i] * slow[k]
                total += taps[1, 2 * k + 1 - i] * fast[k]
            to[i] = to[i] - total if off else total


@njit(cache=True, parallel=True, nogil=True, fastmath={"contract"})
def _project(lines, basis, found):
    n_j = basis.shape[0]
    for unit in prange(lines.shape[0] * n_j):
        s, j = unit // n_j, unit % n_j
        to = found[s, j]
        to[:] = 0
        for a in range(lines.shape[1]):
            row, weight = lines[s, a], basis[j, a]
            for x in range(to.size):
                to[x] += weight * row[x]


@njit(cache=True, parallel=True, nogil=True, fastmath={"contract"})
def _expand(found, basis, lines):
    m = lines.shape[1]
    for unit in prange(lines.shape[0] * m):
        s, a = unit // m, unit % m
        to = lines[s, a]
        to[:] = 0
        for j in range(basis.shape[0]):
            row, weight = found[s, j], basis[j, a]
            for x in range(to.size):
                to[x] += weight * row[x]


def analyse_rows(lines: np.ndarray, taps: np.ndarray, low: np.ndarray, high: np.ndarray) -> None:
    """Filter along x, every second value; see `footprint.kernels.fourier_wavelet.contract` for all of these."""
    _analyse_rows(lines, taps, low, high)


def analyse_columns(lines: np.ndarray, taps: np.ndarray, low: np.ndarray) -> None:
    """Filter along the angle, every second value."""
    _analyse_columns(lines, taps, low)


def synthesise_columns(low: np.ndarray, taps: np.ndarray, lines: np.ndarray) -> None:
    """Put columns together again."""
    _synthesise_columns(low, taps, lines)


def synthesise_rows(low: np.ndarray, high: np.ndarray, taps: np.ndarray, lines: np.ndarray, *, both: bool, off: bool) -> None:
    """Put rows together again."""
    _synthesise_rows(low, high, taps, lines, both, off)


def project(lines: np.ndarray, basis: np.ndarray, found: np.ndarray) -> None:
    """Sum columns times a basis."""
    _project(lines, basis, found)


def expand(found: np.ndarray, basis: np.ndarray, lines: np.ndarray) -> None:
    """Sum a basis times what was found of it."""
    _expand(found, basis, lines)
