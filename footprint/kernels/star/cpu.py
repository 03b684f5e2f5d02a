"""Sums over a voxel and its six neighbours on the CPU: rows of results, of whose neighbours four rows lie beside."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import get_num_threads, prange

from footprint.kernels.common import borders
from footprint.kernels.common.few import few
from footprint.kernels.common.jit import njit
from footprint.kernels.common.vectors import alone, apart, fused
from footprint.kernels.convolve.cpu_lines import source_index


@njit(cache=True, nogil=True)
def _sum(here, left, right, up, low, front, back, weights, own):
    """In one order everywhere."""
    sides = fused(right, weights[8], fused(left, weights[6], 0))
    rows = fused(low, weights[5], fused(up, weights[3], 0))
    return fused(back, weights[2], fused(front, weights[0], fused(here, own, 0))) + (rows + sides)


@njit(cache=True, nogil=True)
def _inside(volume, at, places, weights, own, out, to, count):
    """Results whose neighbours all lie inside; rows up, low, in front and behind begin at ``places``, their own at ``at``."""
    alone()
    here, target = volume[at - 1 : at + count + 1], out[to : to + count]
    up, low = volume[places[0] : places[0] + count], volume[places[1] : places[1] + count]
    front, back = volume[places[2] : places[2] + count], volume[places[3] : places[3] + count]
    for k in range(target.size):
        target[k] = _sum(here[k + 1], here[k], here[k + 2], up[k], low[k], front[k], back[k], weights, own)


@njit(cache=True, nogil=True)
def _at(volume, row, x, cval):
    """A voxel of a row, or the constant where either is outside."""
    return volume[row + x] if row >= 0 and x >= 0 else cval


@njit(cache=True, nogil=True)
def _rows(volume, weights, own, out, first, last, sizes, made, start, codes, cval):
    """Rows ``first`` to ``last`` of all planes' results."""
    apart()
    depth, height, width = sizes
    rows, columns = made
    z0, y0, x0 = start
    for line in range(first, last):
        z, y, to = line // rows + z0 + 1, line % rows + y0 + 1, line * columns
        front, back = source_index(z - 1, depth, codes[0]), source_index(z + 1, depth, codes[0])
        up, low = source_index(y - 1, height, codes[1]), source_index(y + 1, height, codes[1])
        # Where rows begin, -1 for one beyond a constant border; a voxel's own lies inside.
        at = (z * height + y) * width
        up, low = (z * height + up) * width if up >= 0 else -1, (z * height + low) * width if low >= 0 else -1
        front = (front * height + y) * width if front >= 0 else -1
        back = (back * height + y) * width if back >= 0 else -1
        left = min(max(0, -x0), columns)
        right = max(min(columns, width - 2 - x0), left) if min(up, low, front, back) >= 0 else left
        if right > left:
            x = left + x0 + 1
            _inside(volume, at + x, (up + x, low + x, front + x, back + x), weights, own, out, to + left, right - left)
        for k in range(left + columns - right):
            i = k if k < left else right + k - left
            x, before, after = i + x0 + 1, source_index(i + x0, width, codes[2]), source_index(i + x0 + 2, width, codes[2])
            out[to + i] = _sum(
                volume[at + x], _at(volume, at, before, cval), _at(volume, at, after, cval),
                _at(volume, up, x, cval), _at(volume, low, x, cval), _at(volume, front, x, cval), _at(volume, back, x, cval),
                weights, own,
            )  # fmt: skip


@njit(cache=True, parallel=True, nogil=True)
def _all(volume, weights, own, out, threads, lines, sizes, made, start, codes, cval):
    for t in prange(threads):
        _rows(volume, weights, own, out, lines * t // threads, lines * (t + 1) // threads, sizes, made, start, codes, cval)


def star(volume: np.ndarray, weights: np.ndarray, out: np.ndarray, *, cval: float, **how: Any) -> None:
    """Sum over neighbours; see ``footprint.kernels.star.contract`` for what is computed."""
    planes, rows, columns = out.shape
    own: Any = weights[1] + weights[4] + weights[7]
    flat = volume.reshape(-1), weights, own, out.reshape(-1)
    start, codes = tuple(how[f"{a}0"] for a in "zyx"), tuple(borders.CODES[how[f"border_{a}"]] for a in "zyx")
    numbers: Any = volume.shape, (rows, columns), start, codes, out.dtype.type(cval)
    if few(out.size * 9):
        _rows(*flat, 0, planes * rows, *numbers)
    else:
        _all(*flat, get_num_threads(), planes * rows, *numbers)
