"""How kinds of devices gather coarse columns of wide Gaussians, and what results make of them.

Coarse columns serve what lies beyond the ends down alone, 3e-4 of the largest weight and less, so that few digits do: where few of
them make a result, it is by weights that are fitted to the Gaussian.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

SIDE, COLUMN = 128, 16
"""Columns of the image that one group of units takes, and coarse columns that units make at once."""


@dataclass(frozen=True)
class Way:
    """What coarse columns are on a kind of device."""

    stride: float
    """Most from one to the next, in sigmas of the weights across."""
    by: int
    """Columns that this is a multiple of."""
    under: float
    """The Gaussian they are gathered under, in those sigmas."""
    tall: int
    """Weights of a coarse row, in units of its step."""
    places: int
    """Coarse columns that a result comes from, of which the middle one is at or before it."""
    units: bool = False
    """Whether products of matrices make them, out of the same pixels as coarse rows."""

    def stride_of(self, sigma: float) -> int:
        """From coarse column to coarse column; a sigma is known to some digits of its weights alone."""
        return int(self.stride * sigma + 1e-3) // self.by * self.by

    def beside(self, stride: int) -> int:
        """Strides that a coarse column is the sum of: one fewer where units then make them less often."""
        return 8 if self.units and self.tiles(stride, 8) < self.tiles(stride, 9) else 9

    @staticmethod
    def tiles(stride: int, beside: int) -> int:
        """How often units make some, for all coarse columns that a group's columns count in."""
        return -(-((SIDE + stride - 2) // stride + beside) // COLUMN)

    @property
    def middle(self) -> int:
        """Coarse columns before that which is at or before a result."""
        return (self.places - 1) // 2

    def before(self, stride: int) -> int:
        """Columns before a coarse one that it begins with."""
        return self.beside(stride) * stride // (2 * self.by) * self.by


CORE = Way(0.75, 1, 0.82, 19, 6)
"""Of a processor: as many weights of a coarse row as it takes where steps are as short as whole rows make them."""
PLAIN = Way(0.8, 4, math.sqrt(0.5), 17, 9)
"""Of a GPU: four columns are read at once, and a coarse column is as a coarse row."""
UNITS = Way(0.8, 2, 0.79, 17, 6, units=True)
"""Of a GPU that has units for matrices."""


def gathered(step: int, taps: int, before: int, sigma: float) -> np.ndarray:
    """Weights (step, taps) of row j of each of the steps of a coarse row or column, which begin some rows before its place."""
    return np.exp(-0.5 * ((np.arange(taps * step) - before) / sigma) ** 2).reshape(taps, step).T


def fitted(under: np.ndarray, before: int, sigma: float, many: int) -> np.ndarray:
    """Weights (stride, many) of coarse columns that were gathered so in a result some columns after the middle one of them.

    They make the Gaussian as nearly as any do.
    """
    step, taps = under.shape
    places = (np.arange(many) - (many - 1) // 2) * step
    at = np.round(np.linspace(-6 * sigma, 6 * sigma, 193)).astype(int)
    beside = at[:, None] + np.arange(step)[:, None, None] - places + before
    inside = (beside >= 0) & (beside < taps * step)
    values = np.where(inside, under.T.ravel().astype(float)[np.clip(beside, 0, taps * step - 1)], 0)
    found = np.linalg.solve(values.mT @ values, values.mT @ np.exp(-0.5 * (at / sigma) ** 2)[:, None])
    return found[..., 0]
