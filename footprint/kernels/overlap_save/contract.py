"""Correlation of an image with a large mask by transforms of tiles: their sizes and the workspace of the kernel ``overlap_save``.

``launch("overlap_save", image, weights, out, y0=, x0=, border_y=, border_x=, cval=, tile=, block=)`` computes what the kernel
``convolve`` does, for arrays of two axes. Outputs are made in tiles of (tile + 1 - block) an axis, on a grid that starts at the
first output; a GPU's tiles are `FOLD` times as wide. The left and the right half of a tile are the real and the imaginary part of
one complex transform, turned so that they make one polynomial (see tile.h). A mask that is larger than ``block`` is taken block by
block, and the results are added up; what additions of more than `FEW` lose is kept. Results of a tile of nothing but 0 are 0.

The CPU is told more. ``columns=`` complex numbers make a row of a tile, which are twice as many samples. ``steps=`` are the outputs
of a tile along each axis. There may be more of them than (side + 1 - block) where what the tile has no room for lies beyond the
image and is 0: sums that go round its end then find the zeros at its beginning. Of the mask ``taken=`` rows and columns are taken
from the ``first=`` on: where what is outside is 0, those that fall on the image at all.

Errors are within 1e-6 (float32; 1e-14 of float64) of the sum of |w| times the largest |x| of the tile. NaN and infinities
reach the outputs they would reach in direct sums, and no others. Weights are finite.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from footprint.spec import ArraySpec, Limits

SPEED: dict[str, dict[Any, float]] = {
    "cpu": {
        **{(64, 32): 0.8, (64, 64): 0.95, (128, 64): 0.92, (128, 128): 1.0, (256, 128): 1.0},
        **{(256, 256): 0.9, (512, 256): 0.8, (512, 512): 0.65, (1024, 512): 0.55, (1024, 1024): 0.5},
    },
    "gpu": {32: 0.7, 64: 0.9, 128: 0.87, 256: 0.82, 512: 0.71, 1024: 0.6},
}
"""Lengths of tiles on a GPU, and how fast their transforms are beside the quickest: on an H100 those of 256 and more do not stay on
the chip. Of the CPU's their rows and the complex numbers of a row (benchmarks/transforms.py): beyond a core's own cache they are a
little slower on an EPYC, and .4 to .6 as fast on a Xeon."""
TILES = {32: (2, 16), 64: (4, 16), 128: (8, 16), 256: (16, 16), 512: (32, 16), 1024: (32, 32)}
"""The two factors that lines of a tile are transformed by on the CPU; the second is no fewer than a vector has lanes."""
CHIP = {32: (8, 4, 34), 64: (8, 8, 78), 128: (16, 8, 140)}
"""The same on a GPU, and the numbers from row to row that keep what a warp takes at once in different banks of its memory."""
LONG = {256: 1, 512: 2, 1024: 4}
"""Tiles that are too long for a GPU's chip, and what their lines are transformed by before two passes by 16."""
SPECTRA = 20 << 20
"""Bytes of those that are transformed at a time: what the cache of a large GPU holds beside samples, results and the mask."""
ITEMS = 512
"""Most work-items of a group that takes several lines of these."""
FOLD = 2
"""Real samples of a complex number in a GPU's tiles: along their last axis these have as many times ``tile``."""
EACH = 16
"""Complex numbers of a tile that a GPU's work-item has in registers."""
LINE = 64
"""Bytes of the widest vector."""
FEW = 8
"""Blocks of a mask that may be added up without keeping what additions lose."""


def blocks(taps: int, block: int) -> int:
    """Blocks that a mask is taken in, along an axis."""
    return -(-taps // block)


def chip_bytes(tile: int, itemsize: int) -> int:
    """Bytes on a GPU's chip that a tile takes, its lines apart, with roots of unity and where samples lie."""
    return 2 * itemsize * tile * (CHIP[tile][2] + 2) + 24 * tile + 64


def line_bytes(length: int, itemsize: int) -> int:
    """Bytes on a GPU's chip of a line of complex numbers, padded."""
    return 2 * itemsize * (length + length // EACH)


def long_bytes(tile: int, lines: int, itemsize: int) -> int:
    """Bytes on the chip of so many lines of a long tile, each a little apart."""
    return lines * line_bytes(tile, itemsize) + 2 * itemsize * EACH


def lines_at_once(limits: Limits, tile: int, itemsize: int) -> int:
    """Rows or columns of a long tile that a group takes; 0 where not even two fit, with roots of unity, on the chip."""
    for count in (16, 8, 4, 2):
        used = long_bytes(tile, count, itemsize) + 2 * itemsize * (tile + 256) + itemsize * tile // count + 64
        if used <= limits.local_mem and tile // EACH * count <= min(ITEMS, limits.group):
            return count
    return 0


def tiles(limits: Limits, itemsize: int) -> list[int]:
    """Lengths of tiles that a device can have of numbers of so many bytes; the smallest only where no other fits a chip."""
    if limits.family == "cpu":
        return sorted({tile for tile, _ in SPEED["cpu"]})
    fit = [tile for tile in CHIP if chip_bytes(tile, itemsize) <= limits.local_mem and tile * tile // EACH <= limits.group]
    return (fit[1:] or fit) + [tile for tile in LONG if lines_at_once(limits, tile, itemsize)]


@dataclass(frozen=True)
class Lay:
    """How tiles lie on the CPU.

    Attributes
    ----------
    tile, columns
        Rows of a tile, and complex numbers of a row.
    steps
        Outputs of a tile along each axis.
    """

    tile: int
    columns: int
    steps: tuple[int, int]

    def tiles(self, shape: tuple[int, ...]) -> int:
        """Tiles that outputs of this shape are made in."""
        return math.prod(-(-n // step) for n, step in zip(shape, self.steps))

    def size(self, itemsize: int) -> int:
        """Elements of a thread's workspace: a tile, a line of it, and what is found out of one."""
        each = 2 * self.columns * (self.tile + LINE // itemsize // 4)
        return each + FOLD * self.columns + 2 * (LINE // itemsize)

    @property
    def shared(self) -> int:
        """Elements of the mask's transform, of roots of unity along both axes, and of what the halves of a tile are turned by."""
        return 2 * self.tile * self.columns + 2 * self.tile + 4 * self.columns


def pair_size(tile: int, itemsize: int) -> int:
    """Elements of two tiles on the CPU: squares of a row of strips lie apart, so that they are not on one set of a cache."""
    return 2 * tile * (tile + LINE // itemsize // 4)


def line_size(tile: int, itemsize: int) -> int:
    """Elements of a line of a tile, and of what is found out of one."""
    return tile + 2 * (LINE // itemsize)


def own_size(tile: int, itemsize: int) -> int:
    """Elements of a thread's workspace."""
    return pair_size(tile, itemsize) + line_size(tile, itemsize)


def overlap_save_work(
    limits: Limits,
    image: ArraySpec,
    weights: ArraySpec,
    out: ArraySpec,
    *,
    tile: int,
    block: tuple[int, int],
    columns: int,
    steps: tuple[int, int],
    taken: tuple[int, int],
    **_: object,
) -> tuple[ArraySpec, ...]:
    """For each thread that has a tile a tile and a line; the mask's transform, and roots of unity; what sums lost."""
    lay = Lay(tile, columns, steps)
    number = math.prod(map(blocks, taken, block))
    lost = out.shape if number > FEW else (0, 0)
    kind, threads = out.dtype, max(1, min(limits.threads, lay.tiles(out.shape)))
    return (
        ArraySpec((threads, lay.size(out.itemsize)), kind),
        ArraySpec((lay.shared,), kind),
        ArraySpec(lost, kind),
    )
