"""Direct correlation of several images with one mask, a processor's alone.

``launch("planes", images, weights, out, y0=, x0=, border_y=, border_x=, cval=)`` does with every image what the kernel ``convolve``
does with one, to the same bits; the images and results are 3-D.
"""

from __future__ import annotations

import numpy as np

from footprint.kernels.convolve.contract import BLOCK, BLOCKS, ROWS, SPAN, convolve_work, thin_room
from footprint.spec import ArraySpec, Limits

SMALL = 64
"""Most outputs and weights along an axis of images that are small: several are summed as one."""
TOGETHER = 128
"""Most columns, with those beside them that weights reach, of such images together."""


def side_by_side(taps: tuple[int, ...], made: tuple[int, ...]) -> int:
    """How many images are summed as one, by the mask's shape and that of an image's outputs; 0 where images are not small."""
    (height, width), (rows, columns) = taps, made
    return TOGETHER // (columns + width - 1) if max(columns + width, rows + height) <= SMALL and width <= SPAN else 0


def planes_work(limits: Limits, images: ArraySpec, weights: ArraySpec, out: ArraySpec, **_: object) -> tuple[ArraySpec, ...]:
    """That of one image, or of small ones side by side and their outputs."""
    if len(weights.shape) == 2 and weights.shape[0] == 1:
        return convolve_work(limits, images, weights, ArraySpec((out.size // max(out.shape[2], 1), out.shape[2]), out.dtype))
    (one,) = convolve_work(limits, images, weights, ArraySpec(out.shape[1:], out.dtype))
    (height, width), (planes, rows, columns), grain = weights.shape, out.shape, limits.align // out.itemsize
    size = max(one.shape[1], thin_room((1, height, width), (planes, rows, columns)))
    many = side_by_side((height, width), (rows, columns))
    if many and np.dtype(images.dtype) == np.dtype(out.dtype):
        across, down = many * (columns + width - 1) + BLOCK, rows + ROWS
        size = max(size, (down + height - 1) * (across + width - 1) + down * across + BLOCKS)
    return (ArraySpec((limits.threads, -(-size // grain) * grain), out.dtype),)
