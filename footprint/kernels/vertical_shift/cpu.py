"""Vertical shifts on the CPU: each strip of columns of a projection is walked in the order that lets it move in
place.
"""

from __future__ import annotations

import numpy as np
from numba import prange

from footprint.kernels.common.few import TOUCH, few
from footprint.kernels.common.jit import njit

STRIP = 1024


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"contract"})
def _mix(target, near, far, weight, f):
    for x in range(target.size):
        target[x] = weight * near[x] + f * far[x]


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"contract"})
def _scale(target, source, weight):
    for x in range(target.size):
        target[x] = weight * source[x]


@njit(cache=True, nogil=True, error_model="numpy")
def _row(image, z, f, target, x, n):
    """One output row from rows ``z`` and ``z + 1``; a row outside counts as 0, one with weight 0 is not read."""
    height = image.shape[0]
    near = 0 <= z < height
    far = -1 <= z < height - 1 and f != 0
    one = target.dtype.type(1)
    if near and far:
        _mix(target, image[z, x : x + n], image[z + 1, x : x + n], one - f, f)
    elif near:
        _scale(target, image[z, x : x + n], one - f)
    elif far:
        _scale(target, image[z + 1, x : x + n], f)
    else:
        for k in range(n):
            target[k] = 0


@njit(cache=True, nogil=True, error_model="numpy")
def _vertical_shift(radios, shifts, out, z0, first, last):
    strips = (out.shape[2] + STRIP - 1) // STRIP
    for unit in range(first, last):
        angle, x = unit // strips, unit % strips * STRIP
        n = min(STRIP, out.shape[2] - x)
        shift, f, height = int(shifts[angle, 0]) + z0, radios.dtype.type(shifts[angle, 1]), out.shape[1]
        for k in range(height):
            # Rows move up for positive shifts, down for negative ones: none is overwritten before it has been read.
            z = k if shift >= 0 else height - 1 - k
            _row(radios[angle], z + shift, f, out[angle, z, x : x + n], x, n)


@njit(cache=True, parallel=True, nogil=True, error_model="numpy")
def _share_vertical_shift(radios, shifts, out, z0, units):
    for unit in prange(units):
        _vertical_shift(radios, shifts, out, z0, unit, unit + 1)


def vertical_shift(radios: np.ndarray, shifts: np.ndarray, out: np.ndarray, *, z0: int = 0) -> None:
    """Shift a stack; see ``footprint.kernels.vertical_shift.contract``."""
    units = out.shape[0] * -(-out.shape[2] // STRIP)
    if few(out.size * TOUCH):
        _vertical_shift(radios, shifts, out, z0, 0, units)
    else:
        _share_vertical_shift(radios, shifts, out, z0, units)
