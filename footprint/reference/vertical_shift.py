"""Vertical shifts, one row of one projection at a time in float64."""

from __future__ import annotations

import math

import numpy as np


def vertical_shift(radios: np.ndarray, shifts: np.ndarray) -> np.ndarray:
    """out[a, z] = (1 - f) radios[a, z + s0] + f radios[a, z + s0 + 1], s0 = floor(shifts[a]), f = shifts[a] - s0."""
    radios = np.asarray(radios, np.float64)
    out = np.zeros(radios.shape)
    height = radios.shape[1]
    for a, shift in enumerate(shifts):
        whole = math.floor(shift)
        rest = shift - whole
        for z in range(height):
            if 0 <= z + whole < height:
                out[a, z] += (1 - rest) * radios[a, z + whole]
            if rest and 0 <= z + whole + 1 < height:
                out[a, z] += rest * radios[a, z + whole + 1]
    return out
