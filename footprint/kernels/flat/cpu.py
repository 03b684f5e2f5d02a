"""Flat field on the CPU: one row of one projection at a time."""

from __future__ import annotations

import numpy as np
from numba import prange

from footprint.kernels.common.jit import njit
from footprint.kernels.common.vectors import within
from footprint.kernels.flat.contract import DEAD

_DEAD, _ONE = np.float32(DEAD), np.float32(1)
NO_GAIN = np.empty(0, np.float32)
"""Of projections that are all of one beam current."""


@njit(cache=True, nogil=True, error_model="numpy")
def _mean_of_ends(raw, dark, border):
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
def level_of(raw, dark, border):
    """The open beam of a whole row: below 0 where the flats decide, 0 where every pixel of it is dead."""
    return max(_mean_of_ends(raw, dark, border), np.float32(0)) if border else np.float32(-1)


@njit(cache=True, nogil=True, error_model="numpy")
def _share(own, d, beam, gain, ceiling):
    """What reaches a pixel of its open beam; NaN where it is dead or saturated."""
    within()
    good = (beam > _DEAD * abs(d)) & (own < ceiling)
    beam *= gain
    share = (own - d) / beam
    # What is not finite differs from itself by NaN. Every pixel is asked everything: loops with ways out are none of vectors.
    good &= (beam - beam == 0) & (share - share == 0)
    return share if good else np.float32(np.nan)


@njit(cache=True, nogil=True, error_model="numpy")
def shares(row, near, far, dark, weight, gain, ceiling, level, to):
    """Transmission of a whole row, of which the open beam is ``level``, or that of the flats where it is below 0."""
    if level >= 0:
        for x in range(row.size):
            to[x] = _share(np.float32(row[x]), dark[x], level, _ONE, ceiling)
        return
    for x in range(row.size):
        flat = near[x] if weight == 0 else (_ONE - weight) * near[x] + weight * far[x]
        to[x] = _share(np.float32(row[x]), dark[x], flat - dark[x], gain, ceiling)


@njit(cache=True, parallel=True, nogil=True, error_model="numpy")
def _flat(raw, flats, dark, lower, upper, weight, gains, out, border, ceiling):
    n_z = raw.shape[1]
    for unit in prange(raw.shape[0] * n_z):
        a, z = unit // n_z, unit % n_z
        level, gain = level_of(raw[a, z], dark[z], border), gains[a] if gains.size else _ONE
        shares(raw[a, z], flats[lower[a], z], flats[upper[a], z], dark[z], weight[a], gain, ceiling, level, out[a, z])


def flat(
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
    """Divide by the open beam; see `footprint.kernels.flat.contract`."""
    *gain, out = gain_and_out
    _flat(raw, flats, dark, lower, upper, weight, gain[0] if gain else NO_GAIN, out, border, np.float32(ceiling))
