"""Wide Gaussians on a processor: tables, and what lies where in the workspace; `contract` has the sums.

Coarse rows are a GPU's, of some steps more; coarse columns are those of `ways`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from footprint.kernels.coarse.ways import CORE, fitted, gathered
from footprint.kernels.convolve.contract import LINE_ROOM, line_piece
from footprint.spec import ArraySpec, Limits

if TYPE_CHECKING:
    from footprint.kernels.coarse.contract import Wide

TALL, BESIDE, PLACES = CORE.tall, CORE.beside(1), CORE.places
"""Weights of a coarse row, in units of its step, strides that a coarse column is the sum of, and columns that make a result."""
ROWS = 32
"""Most rows of a step that are summed in one chain."""
STRIP = 256
"""Most columns that threads go down by: what coarse rows have of them stays near."""
PIECE = 256
"""Columns of some rows that are laid side by side at once."""
LANES = 16
"""Numbers of the widest vector; tables and rows are multiples of it long."""

NUMBERS = 2 * ROWS + STRIP // 4 + 16
"""Places that a thread keeps: of rows and their weights, or of vectors; and what it found."""


def tables(tall: Wide, across: Wide) -> tuple[np.ndarray, ...]:
    """Weights of the launch.

    ``down`` (step, TALL): of row j of a step, for each of the steps that a coarse row is the sum of. ``rise`` (step, TALL): of each
    coarse row in the result j rows after the first that the middle one is the nearest to. ``across`` (stride, BESIDE): as ``down``,
    of coarse columns. ``drop`` (stride, PLACES): of each coarse column, the third of which is at or before a result, in the
    result j columns after that. ``line``: weights across. ``tails``: those beyond the ends, above and below.
    """
    width, step = tall.sigma / math.sqrt(2), tall.step
    norm = np.exp(-0.5 * (np.arange(-tall.reach, tall.reach + 1) / tall.sigma) ** 2).sum()
    whole = np.exp(-0.5 * (np.arange(-across.reach, across.reach + 1) / across.sigma) ** 2)
    places = np.arange(step)[:, None] - step // 2 - (np.arange(TALL) - TALL // 2) * step
    rise = step / (width * math.sqrt(math.pi)) / norm * np.exp(-0.5 * (places / width) ** 2)
    beyond = np.exp(-0.5 * (np.arange(tall.reach + 1, tall.far + 1) / tall.sigma) ** 2) / norm
    down, before = gathered(step, TALL, TALL * step // 2, width), CORE.before(across.stride)
    beside = gathered(across.stride, BESIDE, before, CORE.under * across.sigma)
    drop = fitted(beside, before, across.sigma, PLACES) / whole.sum()
    found = down, rise, beside, drop, whole / whole.sum(), np.stack((beyond[::-1], beyond))
    return tuple(np.ascontiguousarray(one, np.float32) for one in found)


def longer(n: int) -> int:
    """Elements of a row of whole vectors: an odd number of them, or rows below one another would share one place of the cache."""
    return ((n + LANES - 1) // LANES // 2 * 2 + 1) * LANES


def overlap(stride: int) -> int:
    """Coarse columns that a vector's last results need after those of its first."""
    return (LANES - 2) // stride + 1


@dataclass(frozen=True)
class Strips:
    """Coarse rows and columns of a plane (height, width) for results (made, wide).

    The first lies ``above`` and ``aside`` after the coarse row and column at or before it in the whole.
    """

    height: int
    width: int
    made: int
    wide: int
    step: int
    stride: int
    above: int
    aside: int

    @property
    def rows(self) -> int:
        """Coarse rows that results need."""
        return -(-(self.made + self.above + self.step // 2) // self.step) + TALL - 1

    @property
    def columns(self) -> int:
        """Coarse columns that results need, and those that a vector's last results would."""
        return (max(self.wide, 1) - 1 + self.aside) // self.stride + PLACES + overlap(self.stride)

    @property
    def places(self) -> tuple[int, int, int, int, int]:
        """Where sums across, coarse columns, and sums down of what lies above and below begin, after coarse rows; and the end."""
        lines = self.rows * longer(self.width)
        columns = lines + self.rows * longer(self.wide)
        above = columns + self.columns * longer(self.height)
        below = above + self.columns * longer(self.made)
        return lines, columns, above, below, below + self.columns * longer(self.made) + LANES

    def odd(self, reaches: tuple[int, int]) -> int:
        """Bytes of what is not finite: of every row that results see, as far as it reaches across."""
        return (self.made + 2 * reaches[0]) * longer(self.wide)

    def own(self, reaches: tuple[int, int], tails: int) -> int:
        """Elements of a thread's workspace: the most of what its stages need, one after another."""
        lines = max(line_piece(self.wide) + 2 * reaches[1], line_piece(self.made) + tails) + LINE_ROOM
        weights = (PLACES + overlap(self.stride)) * STRIP
        # Two lines of bytes.
        marks = longer(self.wide + 2 * reaches[1]) // 2
        return max(lines, (PIECE + LANES) * LANES, ROWS * STRIP, weights, marks)


def rooms(limits: Limits, strips: Strips, reaches: tuple[int, int], tails: int) -> tuple[ArraySpec, ArraySpec, ArraySpec]:
    """Workspace of all threads, which go plane by plane, of each, and each one's places."""
    unit = limits.align // 4
    size = max(strips.places[-1], -(-strips.odd(reaches) // 4))
    own = -(-strips.own(reaches, tails) // unit) * unit
    return ArraySpec((size,), "float32"), ArraySpec((limits.threads, own), "float32"), ArraySpec((limits.threads, NUMBERS), "int64")
