"""Flat field, minus log and transposition on the CPU: one row of one projection at a time."""

from __future__ import annotations

import numpy as np
from numba import njit, prange

from footprint.kernels.flatfield.contract import DEAD, HIGHEST, LOWEST

_LOW, _HIGH, _DEAD, _ONE = np.float32(LOWEST), np.float32(HIGHEST), np.float32(DEAD), np.float32(1)


@njit(cache=True, nogil=True, error_model="numpy")
def _level(raw, dark, border):
    """Mean of the dark-corrected row's ends; 0, which makes the row dead, where none of it is finite."""
    n, total, count = raw.size, 0.0, 0
    for x in range(n):
        if x < border or x >= n - border:
            value = float(raw[x]) - dark[x]
            if np.isfinite(value):
                total += value
                count += 1
    return np.float32(total / count) if count else np.float32(0)


@njit(cache=True, nogil=True, error_model="numpy")
def _fill(row):
    """Dead pixels (NaN) from their neighbours, by distance."""
    n, x = row.size, 0
    while x < n:
        if row[x] == row[x]:
            x += 1
            continue
        end = x
        while end < n and row[end] != row[end]:
            end += 1
        left = row[x - 1] if x > 0 else (row[end] if end < n else np.float32(0))
        right = row[end] if end < n else left
        for i in range(x, end):
            row[i] = left + (right - left) * (np.float32(i - x + 1) / np.float32(end - x + 1))
        x = end


@njit(cache=True, nogil=True, error_model="numpy")
def _line(raw, near, far, dark, weight, level, out):
    """Minus log of one row; NaN where a pixel is dead. Says whether any is."""
    dead = False
    for x in range(raw.size):
        d = dark[x]
        beam = level
        if level < 0:
            flat = near[x] if weight == 0 else (_ONE - weight) * near[x] + weight * far[x]
            beam = flat - d
        share = (np.float32(raw[x]) - d) / beam
        if beam > _DEAD * abs(d) and np.isfinite(beam) and np.isfinite(share):
            out[x] = -np.log(min(max(share, _LOW), _HIGH))
        else:
            out[x] = np.nan
            dead = True
    return dead


@njit(cache=True, parallel=True, nogil=True, error_model="numpy")
def _flatfield(raw, flats, dark, lower, upper, weight, out, border):
    n_a = raw.shape[0]
    for unit in prange(n_a * raw.shape[1]):
        z, a = unit // n_a, unit % n_a
        # Negative: the flats decide. A border that is dark or below makes every pixel of its row dead.
        level = max(_level(raw[a, z], dark[z], border), np.float32(0)) if border else np.float32(-1)
        if _line(raw[a, z], flats[lower[a], z], flats[upper[a], z], dark[z], weight[a], level, out[z, a]):
            _fill(out[z, a])


@njit(cache=True, parallel=True, nogil=True, error_model="numpy")
def _shift(sinograms, whole, fraction, out, z0):
    n_in, n_a, n_x = sinograms.shape
    for unit in prange(out.shape[0] * n_a):
        z, a = unit // n_a, unit % n_a
        row, f = z + z0 + whole[a], fraction[a]
        near, far = 0 <= row < n_in, 0 <= row + 1 < n_in and f != 0
        line, weight = out[z, a], _ONE - f
        for x in range(n_x):
            value = weight * sinograms[row, a, x] if near else np.float32(0)
            line[x] = value + f * sinograms[row + 1, a, x] if far else value


def flatfield(
    raw: np.ndarray,
    flats: np.ndarray,
    dark: np.ndarray,
    lower: np.ndarray,
    upper: np.ndarray,
    weight: np.ndarray,
    out: np.ndarray,
    *,
    border: int = 0,
) -> None:
    """Make line integrals; see `footprint.kernels.flatfield.contract`."""
    _flatfield(raw, flats, dark, lower, upper, weight, out, border)


def shift(sinograms: np.ndarray, whole: np.ndarray, fraction: np.ndarray, out: np.ndarray, *, z0: int = 0) -> None:
    """Shift sinograms along z, one shift an angle; see `footprint.kernels.flatfield.contract`."""
    _shift(sinograms, whole, fraction, out, z0)
