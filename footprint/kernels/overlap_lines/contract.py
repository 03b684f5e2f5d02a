"""Correlation of signals with a long mask by transforms of segments: what the kernel ``overlap_lines`` takes.

``launch("overlap_lines", signals, weights, out, y0=, x0=, border_y=, border_x=, cval=, tile=, block=)`` computes what the kernel
``convolve`` does for a mask of one row. Outputs are made in segments of (tile^2 + 1 - block) of a row, on a grid that starts at
its first output. A segment of tile^2 samples lies as the rows of a tile: its transform is that of the columns, a product with
roots of unity, and that of the rows, so the lines of the kernel ``overlap_save`` do it. Two neighbours are the two parts of one
complex transform, brought to one size as there, with the same errors, and NaN, infinities and masks of several blocks as there.
On a GPU a segment is twice as long, its halves these parts (see line.h). It stays on the chip, transformed as one line; those of
longer tiles lie in memory, and are made as on the CPU.
"""

from __future__ import annotations

from footprint.kernels.overlap_save.contract import EACH, FEW, LONG, blocks, line_bytes, lines_at_once, own_size
from footprint.spec import ArraySpec, Limits

CHIP = {32: (4, 1), 64: (16, 1), 128: (8, 8)}
"""Tiles whose segments of tile^2 complex numbers stay on a GPU's chip, and the lines' factors before two passes by 16."""
TOGETHER = 16
"""Blocks of a mask whose transforms are kept at once there."""


def chip_bytes(tile: int, itemsize: int) -> int:
    """Bytes on a GPU's chip of a segment that stays there."""
    return line_bytes(tile * tile, itemsize) + 2 * itemsize * 256 + 64


def segments(limits: Limits, itemsize: int) -> list[int]:
    """Tiles of whose segments a GPU can have some, of numbers of so many bytes."""
    fit = [tile for tile in CHIP if chip_bytes(tile, itemsize) <= limits.local_mem and tile * tile // EACH <= limits.group]
    return fit + [tile for tile in LONG if lines_at_once(limits, tile, itemsize)]


def pairs(columns: int, tile: int, block: int) -> int:
    """Pairs of segments of a row of outputs, on the CPU."""
    return -(-columns // (2 * (tile * tile + 1 - block)))


def overlap_lines_work(
    limits: Limits, image: ArraySpec, weights: ArraySpec, out: ArraySpec, *, tile: int, block: tuple[int], **_: object
) -> tuple[ArraySpec, ...]:
    """For each thread that has a pair two tiles and a line; the mask's transform, and roots; what additions lost."""
    threads = max(1, min(limits.threads, out.shape[0] * pairs(out.shape[1], tile, block[0])))
    lost = out.shape if blocks(weights.shape[1], block[0]) > FEW else (0, 0)
    kind = out.dtype
    return (
        ArraySpec((threads, own_size(tile, out.itemsize)), kind),
        ArraySpec((4 * tile * tile + 2 * tile,), kind),
        ArraySpec(lost, kind),
    )
