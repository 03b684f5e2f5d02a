"""``dst[R] = a dst[R] + b other[S]`` on the CPU, rows cut into pieces so that one long row uses every core."""

from __future__ import annotations

import math

import numpy as np
from numba import prange

from footprint.kernels.common.few import TOUCH, few
from footprint.kernels.common.jit import plain

PIECE = 1 << 14


@plain(cache=True, nogil=True, error_model="numpy", fastmath={"contract"})
def _row(target, source, a, b):
    if a == 0:
        for k in range(target.size):
            target[k] = b * source[k]
    else:
        for k in range(target.size):
            target[k] = a * target[k] + b * source[k]


@plain(cache=True, nogil=True, error_model="numpy", fastmath={"contract"})
def _strided(target, source, a, b, t0, dt, s0, ds, count):
    for k in range(count):
        scaled = b * source[s0 + k * ds]
        target[t0 + k * dt] = scaled if a == 0 else a * target[t0 + k * dt] + scaled


@plain(cache=True, nogil=True, error_model="numpy")
def _muladd(dst, other, a, b, dst_start, dst_step, other_start, other_step, count, begin, end):
    pieces = (count[2] + PIECE - 1) // PIECE
    for unit in range(begin, end):
        row, first = unit // pieces, unit % pieces * PIECE
        z, y, n = row // count[1], row % count[1], min(PIECE, count[2] - first)
        target = dst[dst_start[0] + z * dst_step[0], dst_start[1] + y * dst_step[1]]
        source = other[other_start[0] + z * other_step[0], other_start[1] + y * other_step[1]]
        t0, s0 = dst_start[2] + first * dst_step[2], other_start[2] + first * other_step[2]
        if dst_step[2] == 1 and other_step[2] == 1:
            _row(target[t0 : t0 + n], source[s0 : s0 + n], a, b)
        else:
            _strided(target, source, a, b, t0, dst_step[2], s0, other_step[2], n)


@plain(cache=True, parallel=True, nogil=True, error_model="numpy")
def _share_muladd(dst, other, a, b, dst_start, dst_step, other_start, other_step, count, units):
    for unit in prange(units):
        _muladd(dst, other, a, b, dst_start, dst_step, other_start, other_step, count, unit, unit + 1)


def muladd(
    dst: np.ndarray,
    other: np.ndarray,
    *,
    a: float,
    b: float,
    dst_start: tuple[int, ...],
    dst_step: tuple[int, ...],
    other_start: tuple[int, ...],
    other_step: tuple[int, ...],
    count: tuple[int, ...] | None,
) -> None:
    """Combine two regions; see ``footprint.kernels.muladd.contract``."""
    kind, count = dst.dtype.type, dst.shape if count is None else count
    numbers = kind(a), kind(b), dst_start, dst_step, other_start, other_step, count
    units = count[0] * count[1] * -(-count[2] // PIECE)
    if few(math.prod(count) * TOUCH):
        _muladd(dst, other, *numbers, 0, units)
    else:
        _share_muladd(dst, other, *numbers, units)
