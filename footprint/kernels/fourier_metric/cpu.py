"""Vo's Fourier metric on the CPU; the mirrored half is the conjugate of the first, so one transform serves every axis."""

from __future__ import annotations

import numpy as np
from numba import prange

from footprint.kernels.common.jit import njit
from footprint.kernels.fourier_metric.contract import FINE, STEP

# Frequencies looked at for every position of the coarse search.
_COARSE = 50_000


@njit(cache=True, nogil=True, error_model="numpy")
def _metric(columns, center, padded, radius, drop, every):
    """Sum of |A(k, f) + (-1)^k conj(A(-k, f)) exp(-4 pi i f c / padded)| over that of |A|, both over the region."""
    n_f, n_k = columns.shape
    joined = alone = 0.0
    for f in range(1, n_f):
        low = max(drop, int(np.floor(2 * np.pi * radius * f / padded))) + 1
        turn = -4 * np.pi * ((f * center / padded) % 1.0)
        c, s = np.cos(turn), np.sin(turn)
        row = columns[f]
        for k in range(low + (f % every if every > 1 else 0), n_k // 2, every):
            a, b = row[k], row[n_k - k]
            sign = 1.0 - 2.0 * (k & 1)
            re = a.real + sign * (b.real * c + b.imag * s)
            im = a.imag + sign * (b.real * s - b.imag * c)
            joined += np.sqrt(re * re + im * im)
            alone += 0.5 * (abs(a) + abs(b))
    return joined / alone if alone > 0 else 1.0


@njit(cache=True, parallel=True, nogil=True, error_model="numpy")
def _metrics(columns, out, start, step, count, at, padded, radius, drop, every):
    n_z = columns.shape[0]
    for unit in prange(n_z * count):
        z, k = unit // count, unit % count
        out[z, at + k] = _metric(columns[z], start + k * step, padded, radius, drop, every)


@njit(cache=True, nogil=True, error_model="numpy")
def _ends(lines):
    """The mean of a row's ends over the most of its mean over the angles."""
    n, n_x = lines.shape
    wide, most, ends = max(1, n_x // 50), 0.0, 0.0
    for x in range(n_x):
        total = 0.0
        for i in range(n):
            total += lines[i, x]
        most = max(most, total / n)
        if x < wide or x >= n_x - wide:
            ends += total / n / (2 * wide)
    return ends / most if most > 0 else 0.0


def columns(spectrum: np.ndarray, columns: np.ndarray) -> None:
    """See `footprint.kernels.fourier_metric.contract`."""
    n, n_f = spectrum.shape[0], columns.shape[0]
    columns[:, n:] = 0
    columns[:, :n] = spectrum[:, :n_f].T


def fourier_metric(
    columns: np.ndarray, lines: np.ndarray, out: np.ndarray, *, first: int, padded: int, radius: float, drop: int
) -> None:
    """See `footprint.kernels.fourier_metric.contract`."""
    count = out.shape[1] - FINE - 2
    n_f, n_k = columns.shape[1:]
    every = max(1, n_f * n_k // 4 // _COARSE)
    _metrics(columns, out, first / 2, 0.5, count, 0, padded, radius, drop, every)
    start = (first + int(np.argmin(out[:, :count].sum(axis=0)))) / 2 - STEP * (FINE // 2)
    _metrics(columns, out, start, STEP, FINE, count, padded, radius, drop, 1)
    out[:, -2] = start
    for z in range(len(out)):
        out[z, -1] = _ends(lines[z])
