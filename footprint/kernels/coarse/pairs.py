"""Tables of weights as units that multiply matrices read them: 11 bits of a number, and of its rest where all of it counts."""

from __future__ import annotations

import numpy as np

PIECE = 64
"""Results down a coarse column that a warp makes at once."""
ZEROS = 8
"""Before weights, where matrices are so wide."""
SPREAD, BEFORE = 28, 12
"""Weights of a row of a step with the zeros behind them, and zeros before those of the first one.

Matrices begin with a coarse row that is a multiple of 8, up to 10 before a result's first, and end up to 10 after its last.
"""


def eleven(values: np.ndarray) -> np.ndarray:
    """The nearest numbers of 11 bits."""
    bits = np.ascontiguousarray(values, np.float32).view(np.uint32)
    return (bits + np.uint32(0x1000) & np.uint32(0xFFFFE000)).view(np.float32)


def two(values: np.ndarray) -> np.ndarray:
    """Numbers (2, ...) of 11 bits: the nearest to each, and to what it leaves."""
    high = eleven(values)
    return np.stack((high, eleven(values - high)))


def along(under: np.ndarray, rise: np.ndarray, beyond: np.ndarray) -> np.ndarray:
    """Weights of coarse points along a line one after another: (step, 20) of it in them, (step, 17) of them in results.

    Then (2, 8 + taps + 16) those beyond a result, and before it from the last one on, with zeros around them: 8 more than a
    multiple of 16.
    """
    gathers = np.pad(under, ((0, 0), (0, -under.shape[1] % 4))).astype(np.float32)
    even = np.pad(beyond, (0, -(beyond.size + ZEROS) % (2 * ZEROS)))
    both = _both_sides(even, ZEROS, ZEROS, 2 * ZEROS)
    return np.concatenate((gathers.ravel(), rise.astype(np.float32).ravel(), both.ravel()))


def beyond(weights: np.ndarray) -> np.ndarray:
    """Weights (2, 64 + taps + 72) below a result, and above from the last one on, a multiple of 64, with zeros around them."""
    return _both_sides(weights, PIECE, PIECE, PIECE + ZEROS)


def _both_sides(weights: np.ndarray, multiple: int, before: int, behind: int) -> np.ndarray:
    whole = np.pad(weights, (0, -weights.size % multiple))
    return eleven(np.pad(np.stack((whole, whole[::-1])), ((0, 0), (before, behind))))


def back(weights: np.ndarray) -> np.ndarray:
    """Weights (2, 12 + 28 step) of rows of a step, with zeros between them."""
    rows = np.pad(weights, ((0, 0), (0, SPREAD - weights.shape[1])))
    return two(np.pad(rows.ravel(), (BEFORE, 0)))
