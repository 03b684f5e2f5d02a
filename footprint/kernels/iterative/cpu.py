"""The steps of iterative reconstruction on the CPU: one pass over memory each."""

from __future__ import annotations

import numpy as np
from numba import prange

from footprint.kernels.common.jit import njit
from footprint.kernels.iterative.contract import BLOCK


def _flat(array: np.ndarray) -> np.ndarray:
    """The slices as rows of one length; a table of all as one of them."""
    return array.reshape(len(array), -1)


def reciprocal(gains: np.ndarray, *, least: float, plus: float) -> None:
    """In place; one slice's worth, once a part."""
    _reciprocal(gains.reshape(-1), np.float32(least), np.float32(plus))


def residual(lines: np.ndarray, gains: np.ndarray, seen: np.ndarray) -> None:
    """What is not explained yet."""
    _residual(_flat(lines), gains.reshape(-1), _flat(seen))


def update(step: np.ndarray, gains: np.ndarray, volume: np.ndarray, *, positive: bool) -> None:
    """A step of SIRT."""
    _update(_flat(step), gains.reshape(-1), _flat(volume), np.float32(0 if positive else -np.inf))


def dots(values: np.ndarray, sums: np.ndarray, work: np.ndarray) -> None:
    """Squares added block by block, then blocks in order."""
    _dots(_flat(values), sums, work[: len(values)])


def advance(direction: np.ndarray, upper: np.ndarray, lower: np.ndarray, values: np.ndarray, *, sign: int) -> None:
    """Along a direction."""
    _mix(_flat(values), _flat(direction), upper, lower, np.float64(sign), _flat(values))


def redirect(step: np.ndarray, upper: np.ndarray, lower: np.ndarray, direction: np.ndarray) -> None:
    """The next direction."""
    _mix(_flat(step), _flat(direction), upper, lower, np.float64(1), _flat(direction))


def data_dual(lines: np.ndarray, seen: np.ndarray, gains: np.ndarray, dual: np.ndarray) -> None:
    """The dual of what was measured."""
    _data_dual(_flat(lines), _flat(seen), gains.reshape(-1), _flat(dual))


def gradient_dual(bar: np.ndarray, dual: np.ndarray, *, most: float) -> None:
    """The dual of the gradient."""
    _gradient_dual(bar, dual, np.float32(most))


def primal(
    step: np.ndarray, dual: np.ndarray, gains: np.ndarray, volume: np.ndarray, bar: np.ndarray, *, scale: float, positive: bool
) -> None:
    """Slices and where they are going."""
    _primal(step, dual, gains[0], volume, bar, np.float32(scale), np.float32(0 if positive else -np.inf))


@njit(cache=True, error_model="numpy")
def _reciprocal(gains, least, plus):
    for i in range(gains.size):
        total = gains[i] + plus
        gains[i] = np.float32(1) / total if total >= least else np.float32(0)


@njit(cache=True, parallel=True, nogil=True, error_model="numpy")
def _residual(lines, gains, seen):
    n, blocks = lines.shape[1], (lines.shape[1] + BLOCK - 1) // BLOCK
    for unit in prange(lines.shape[0] * blocks):
        z, first = unit // blocks, unit % blocks * BLOCK
        for i in range(first, min(first + BLOCK, n)):
            seen[z, i] = gains[i] * (lines[z, i] - seen[z, i])


@njit(cache=True, parallel=True, nogil=True, error_model="numpy")
def _update(step, gains, volume, lowest):
    n, blocks = volume.shape[1], (volume.shape[1] + BLOCK - 1) // BLOCK
    for unit in prange(volume.shape[0] * blocks):
        z, first = unit // blocks, unit % blocks * BLOCK
        for i in range(first, min(first + BLOCK, n)):
            value = volume[z, i] + gains[i] * step[z, i]
            volume[z, i] = lowest if value < lowest else value


@njit(cache=True, parallel=True, nogil=True, error_model="numpy")
def _dots(values, sums, work):
    n, blocks = values.shape[1], work.shape[1]
    for unit in prange(values.shape[0] * blocks):
        z, block = unit // blocks, unit % blocks
        total = 0.0
        for i in range(block * BLOCK, min((block + 1) * BLOCK, n)):
            total += np.float64(values[z, i]) * np.float64(values[z, i])
        work[z, block] = total
    for z in range(values.shape[0]):
        total = 0.0
        for block in range(blocks):
            total += work[z, block]
        sums[z] = total


@njit(cache=True, parallel=True, nogil=True, error_model="numpy")
def _mix(base, direction, upper, lower, sign, out):
    n, blocks = base.shape[1], (base.shape[1] + BLOCK - 1) // BLOCK
    for unit in prange(base.shape[0] * blocks):
        z, first = unit // blocks, unit % blocks * BLOCK
        factor = np.float32(sign * upper[z] / lower[z]) if lower[z] != 0 else np.float32(0)
        for i in range(first, min(first + BLOCK, n)):
            out[z, i] = base[z, i] + factor * direction[z, i]


@njit(cache=True, parallel=True, nogil=True, error_model="numpy")
def _data_dual(lines, seen, gains, dual):
    n, blocks = lines.shape[1], (lines.shape[1] + BLOCK - 1) // BLOCK
    for unit in prange(lines.shape[0] * blocks):
        z, first = unit // blocks, unit % blocks * BLOCK
        for i in range(first, min(first + BLOCK, n)):
            dual[z, i] = (dual[z, i] + gains[i] * (seen[z, i] - lines[z, i])) / (np.float32(1) + gains[i])


@njit(cache=True, parallel=True, nogil=True, error_model="numpy")
def _gradient_dual(bar, dual, most):
    n_z, n_y, n_x = bar.shape
    half, one = np.float32(0.5), np.float32(1)
    for unit in prange(n_z * n_y):
        z, y = unit // n_y, unit % n_y
        below = min(y + 1, n_y - 1)
        for x in range(n_x):
            here, right = bar[z, y, x], bar[z, y, min(x + 1, n_x - 1)]
            u, v = dual[z, 0, y, x] + half * (right - here), dual[z, 1, y, x] + half * (bar[z, below, x] - here)
            length = np.sqrt(u * u + v * v)
            factor = most / length if length > most else one
            dual[z, 0, y, x], dual[z, 1, y, x] = u * factor, v * factor


@njit(cache=True, parallel=True, nogil=True, error_model="numpy")
def _primal(step, dual, gains, volume, bar, scale, lowest):
    n_z, n_y, n_x = volume.shape
    for unit in prange(n_z * n_y):
        z, y = unit // n_y, unit % n_y
        for x in range(n_x):
            # Nothing leaves the slice: the last differences are 0, and so are their duals.
            spread = dual[z, 0, y, x] + dual[z, 1, y, x]
            if x > 0:
                spread -= dual[z, 0, y, x - 1]
            if y > 0:
                spread -= dual[z, 1, y - 1, x]
            old = volume[z, y, x]
            new = old - gains[y, x] * (step[z, y, x] - scale * spread)
            new = lowest if new < lowest else new
            volume[z, y, x] = new
            bar[z, y, x] = new + (new - old)
