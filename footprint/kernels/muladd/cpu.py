"""``dst[R] = a dst[R] + b other[S]`` on the CPU, rows cut into pieces so that one long row uses every core."""

from __future__ import annotations

import math

import numpy as np
from numba import prange

from footprint.kernels.common.few import STREAM, few
from footprint.kernels.common.jit import plain

PIECE = 1 << 14
SHORT = 1 << 10
"""Rows of fewer elements are taken as one where they lie one behind the other: each costs a call."""


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
    for _ in range(2 if count[2] < SHORT < math.prod(count) else 0):
        steps, starts = (dst_step, other_step), (dst_start, other_start)
        if not count[2] == dst.shape[2] == other.shape[2] or any(step[1:] != (1, 1) for step in steps):
            break
        # Rows that lie one behind the other, in both, are one.
        n, rows = count[2], count[1]
        dst, other = (one.reshape(1, one.shape[0], -1) for one in (dst, other))
        dst_start, other_start = ((0, start[0], start[1] * n) for start in starts)
        dst_step, other_step = ((1, step[0], 1) for step in steps)
        count = (1, count[0], rows * n)
    numbers = kind(a), kind(b), dst_start, dst_step, other_start, other_step, count
    units = count[0] * count[1] * -(-count[2] // PIECE)
    if few(math.prod(count) * STREAM):
        _muladd(dst, other, *numbers, 0, units)
    else:
        _share_muladd(dst, other, *numbers, units)
