"""Four steps at once on the CPU: one row of one projection at a time, by the steps' own arithmetic."""

from __future__ import annotations

import numpy as np
from numba import prange

from footprint.kernels.common.jit import njit
from footprint.kernels.dead_pixels.cpu import mend
from footprint.kernels.flat.cpu import NO_GAIN, level_of, shares
from footprint.kernels.minus_log.contract import HIGHEST, LOWEST
from footprint.kernels.minus_log.cpu import integrate

_LOW, _HIGH, _ONE = np.float32(LOWEST), np.float32(HIGHEST), np.float32(1)


@njit(cache=True, parallel=True, nogil=True, error_model="numpy")
def _flatfield(raw, flats, dark, lower, upper, weight, gains, out, border, ceiling):
    n_a = raw.shape[0]
    for unit in prange(n_a * raw.shape[1]):
        z, a = unit // n_a, unit % n_a
        row, to = raw[a, z], out[z, a]
        level, gain = level_of(row, dark[z], border), gains[a] if gains.size else _ONE
        shares(row, flats[lower[a], z], flats[upper[a], z], dark[z], weight[a], gain, ceiling, level, to)
        integrate(to, _LOW, _HIGH)
        mend(to)


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
    *gain_and_out: np.ndarray,
    border: int = 0,
    ceiling: float = np.inf,
) -> None:
    """Make line integrals; see `footprint.kernels.flatfield.contract`."""
    *gain, out = gain_and_out
    _flatfield(raw, flats, dark, lower, upper, weight, gain[0] if gain else NO_GAIN, out, border, np.float32(ceiling))


def shift(sinograms: np.ndarray, whole: np.ndarray, fraction: np.ndarray, out: np.ndarray, *, z0: int = 0) -> None:
    """Shift sinograms along z, one shift an angle; see `footprint.kernels.flatfield.contract`."""
    _shift(sinograms, whole, fraction, out, z0)
