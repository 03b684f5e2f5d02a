"""Windowed centres."""

from __future__ import annotations

import math

import numpy as np
from numba import prange

from footprint.kernels.common.jit import njit
from footprint.kernels.find_sources.contract import LABEL, PIXELS, SUM, SUM_X, SUM_Y, XX, XY, YY
from footprint.kernels.windowed.contract import (
    FROM_X,
    FROM_Y,
    LIGHT,
    LIGHT_X,
    LIGHT_Y,
    MOST,
    NOISE_X,
    NOISE_Y,
    REACH,
    SIZE,
    STAYS,
    STEP,
    X,
    Y,
)  # fmt: skip


@njit(cache=True, nogil=True)
def _start(n, boxes, moments, table, size, least):
    table[:, :] = 0
    table[:, X] = table[:, Y] = np.nan
    table[:, STAYS] = 1
    for k in range(n):
        if boxes[k, PIXELS] <= 0 or boxes[k, LABEL] <= 0 or moments[k, SUM] == 0:
            continue
        x, y = moments[k, SUM_X] / moments[k, SUM], moments[k, SUM_Y] / moments[k, SUM]
        if not (math.isfinite(x) and math.isfinite(y)):
            continue
        own = math.sqrt(math.sqrt(max(moments[k, XX] * moments[k, YY] - moments[k, XY] ** 2, 0.0))) if size == 0 else size
        table[k, X], table[k, Y], table[k, STAYS] = x, y, 0
        table[k, FROM_X], table[k, FROM_Y] = x, y
        table[k, SIZE] = max(own, least) if math.isfinite(own) else least


def start(count, boxes, moments, table, *, first, size, least) -> None:
    """See `footprint.kernels.windowed.contract`."""
    if first == 0:
        n = int(count[0]) if 0 <= count[0] <= boxes.shape[0] else 0
        _start(n, boxes, moments, table, float(size), float(least))


@njit(cache=True, nogil=True)
def _row(y, left, right, first, block, level, spread, own):
    """Add a row of a window to its sums."""
    ly, lx = (y - first if level.shape[0] > 1 or level.shape[1] > 1 else 0), (1 if level.shape[1] > 1 else 0)
    sy, sx = (y - first if spread.shape[0] > 1 or spread.shape[1] > 1 else 0), (1 if spread.shape[1] > 1 else 0)
    light, light_x, light_y, noise_x, noise_y, dy = 0.0, 0.0, 0.0, 0.0, 0.0, y - own[Y]
    far, scale = (REACH * own[SIZE]) ** 2, -0.5 / own[SIZE] ** 2
    for x in range(left, right):
        dx = x - own[X]
        square = dx * dx + dy * dy
        value, noise = np.float64(block[y - first, x]) - level[ly, lx * x], np.float64(spread[sy, sx * x])
        if square <= far and math.isfinite(value) and noise > 0:
            w = math.exp(scale * square)
            light += w * value
            light_x += w * value * dx
            light_y += w * value * dy
            noise_x += (w * noise * dx) ** 2
            noise_y += (w * noise * dy) ** 2
    own[LIGHT] += light
    own[LIGHT_X] += light_x
    own[LIGHT_Y] += light_y
    own[NOISE_X] += noise_x
    own[NOISE_Y] += noise_y


@njit(cache=True, parallel=True, nogil=True)
def _add(block, level, spread, table, first):
    rows, width = block.shape
    for k in prange(table.shape[0]):
        if table[k, STAYS] > 0:
            continue
        if first == 0:
            table[k, LIGHT : NOISE_Y + 1] = 0
        reach = REACH * table[k, SIZE]
        top, bottom = max(math.ceil(table[k, Y] - reach), first), min(math.floor(table[k, Y] + reach) + 1, first + rows)
        left, right = max(math.ceil(table[k, X] - reach), 0), min(math.floor(table[k, X] + reach) + 1, width)
        for y in range(top, bottom):
            _row(y, left, right, first, block, level, spread, table[k])


def add(block, level, spread, table, *, first) -> None:
    """See `footprint.kernels.windowed.contract`."""
    _add(block, level, spread, table, first)


@njit(cache=True, nogil=True)
def _move(table, flag, turn):
    left = 0
    for k in range(table.shape[0]):
        own = table[k]
        if own[STAYS] > 0:
            continue
        light = own[LIGHT] if own[LIGHT] > 0 else np.nan
        dx, dy = own[LIGHT_X] / light, own[LIGHT_Y] / light
        x, y = own[X] + 2 * dx, own[Y] + 2 * dy
        far = math.hypot(x - own[FROM_X], y - own[FROM_Y])
        if not far <= REACH * own[SIZE]:
            own[X] = own[Y] = np.nan
            own[STAYS] = 1
            continue
        own[X], own[Y] = x, y
        own[STAYS] = 1 if dx * dx + dy * dy < STEP * STEP else 0
        left += own[STAYS] == 0
    flag[0] = 1 if left == 0 or turn >= MOST - 1 else 0


def move(table, flag, *, turn) -> None:
    """See `footprint.kernels.windowed.contract`."""
    _move(table, flag, turn)
