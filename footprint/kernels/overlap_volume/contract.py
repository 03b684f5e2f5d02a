"""Correlation of a volume with a large mask by transforms of tiles: the workspace of the kernel ``overlap_volume``.

``launch("overlap_volume", image, weights, out, z0=, y0=, x0=, border_z=, border_y=, border_x=, cval=, tile=, block=)`` computes
what the kernel ``volume`` does. Outputs are made in tiles of (tile + 1 - block) an axis, on a grid that starts at the first output;
two neighbours of a row are the two parts of one complex transform. Planes are transformed by the lines of the kernel
``overlap_save``, then what lies behind each other in them. Sizes, errors, NaN, infinities and masks of several blocks are as there.
"""

from __future__ import annotations

import math

from footprint.kernels.overlap_save.contract import FEW, LINE, blocks, line_size, pair_size
from footprint.spec import ArraySpec, Limits

_FEW_THREADS = 4
"""That always have their own workspace."""


def units(shape: tuple[int, ...], tile: int, block: tuple[int, int, int]) -> int:
    """Pairs of tiles that outputs of this shape are made in."""
    (planes, rows, columns), (deep, down, across) = shape, (tile + 1 - n for n in block)
    return -(-planes // deep) * -(-rows // down) * -(-columns // (2 * across))


def plane_pitch(tile: int, itemsize: int) -> int:
    """Elements from a plane of a pair of tiles to the next, which shall not lie on one set of a cache."""
    return pair_size(tile, itemsize) + 2 * (LINE // itemsize)


def overlap_volume_work(
    limits: Limits, image: ArraySpec, weights: ArraySpec, out: ArraySpec, *, tile: int, block: tuple[int, int, int], **_: object
) -> tuple[ArraySpec, ...]:
    """For each thread that has a pair two tiles and a line; the mask's transform, and roots; what additions lost."""
    own = tile * plane_pitch(tile, out.itemsize) + line_size(tile, out.itemsize)
    # No more threads than take as much as the results, on machines of many: a tile of 128 is 17 MB in float32.
    useful = max(_FEW_THREADS, out.nbytes // (own * out.itemsize))
    threads = max(1, min(limits.threads, useful, units(out.shape, tile, block)))
    number = math.prod(blocks(n, b) for n, b in zip(weights.shape, block))
    lost = out.shape if number > FEW else (0, 0, 0)
    kind = out.dtype
    return ArraySpec((threads, own), kind), ArraySpec((2 * tile**3 + 2 * tile,), kind), ArraySpec(lost, kind)
