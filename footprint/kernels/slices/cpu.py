"""Fill, scale, circle and move on the CPU: bound by memory, so NumPy's own loops do."""

from __future__ import annotations

import math

import numpy as np


def fill(out: np.ndarray, *, value: float) -> None:
    """Set every element."""
    out.fill(value)


def scale(out: np.ndarray, *, factor: float) -> None:
    """Multiply every element."""
    np.multiply(out, np.float32(factor), out=out)


def circle(out: np.ndarray, *, cx: float, cy: float, radius: float, value: float, y0: int = 0) -> None:
    """Set what lies outside the circle, a row of all slices at a time."""
    n_y, n_x = out.shape[1:]
    cy -= y0
    for y in range(n_y):
        rest = radius * radius - (y - cy) ** 2
        half = math.sqrt(rest) if rest >= 0 else -1.0
        first = min(max(math.ceil(cx - half), 0), n_x) if half >= 0 else n_x
        last = min(max(math.floor(cx + half) + 1, first), n_x)
        out[:, y, :first] = value
        out[:, y, last:] = value


def move(table: np.ndarray, moved: np.ndarray, *, y0: int) -> None:
    """Add ``y0`` rows' worth of detector position to every angle's offset."""
    moved[...] = table
    for a in range(len(table)):
        moved[a, 2] = table[a, 2] + y0 * table[a, 1]


def slide(table: np.ndarray, by: np.ndarray, moved: np.ndarray) -> None:
    """Add as many pixels to every angle's offset."""
    moved[...] = table
    moved[:, 2] += by[0]
