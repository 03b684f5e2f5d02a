"""Correlation of signals with a long mask by transforms of segments: the workspace of the kernel ``overlap_lines``.

``launch("overlap_lines", signals, weights, out, y0=, x0=, border_y=, border_x=, cval=, tile=, block=)`` computes what the kernel
``convolve`` does for a mask of one row. Outputs are made in segments of (tile^2 + 1 - block) of a row, on a grid that starts at
its first output. A segment of tile^2 samples lies as the rows of a tile: its transform is that of the columns, a product with
roots of unity, and that of the rows, so the lines of the kernel ``overlap_save`` do it. Two neighbours are the two parts of one
complex transform, brought to one size as there, with the same errors, and NaN, infinities and masks of several blocks as there.
"""

from __future__ import annotations

from footprint.kernels.overlap_save.contract import FEW, GAP, LINE, blocks
from footprint.spec import ArraySpec, Limits


def pairs(columns: int, tile: int, block: int) -> int:
    """Pairs of segments of a row of outputs."""
    return -(-columns // (2 * (tile * tile + 1 - block)))


def overlap_lines_work(
    limits: Limits, image: ArraySpec, weights: ArraySpec, out: ArraySpec, *, tile: int, block: tuple[int], **_: object
) -> tuple[ArraySpec, ...]:
    """For each thread that has a pair two tiles, some columns and the transform; the mask's, and roots; what additions lost."""
    lanes = LINE // out.itemsize
    own = 2 * tile * (tile + GAP) + 2 * lanes * tile + 2 * tile * tile
    threads = max(1, min(limits.threads, out.shape[0] * pairs(out.shape[1], tile, block[0])))
    lost = out.shape if blocks(weights.shape[1], block[0]) > FEW else (0, 0)
    kind = out.dtype
    return ArraySpec((threads, own), kind), ArraySpec((4 * tile * tile + 2 * tile,), kind), ArraySpec(lost, kind)
