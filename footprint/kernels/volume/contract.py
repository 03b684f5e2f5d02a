"""Direct correlation of a volume with a mask of three dimensions.

``launch("volume", image, weights, out, z0=, y0=, x0=, border_z=, border_y=, border_x=, cval=)`` computes, for all of ``out``::

    out[z, y, x] = sum over k, i, j of weights[k, i, j] * image[z + z0 + k, y + y0 + i, x + x0 + j]

with the borders, dtypes and levels of sums of the kernel ``convolve``; the image has the dtype of the sums. Slabs of planes with
their halo (``border_z="none"``) equal the whole to the last bit.
"""

from __future__ import annotations

from typing import TypedDict

import numpy as np

from footprint.kernels.common.borders import CODES
from footprint.kernels.convolve.contract import BLOCK, BLOCKS, ROWS, SPAN, convolve_work, thin_room
from footprint.spec import ArraySpec, Limits


class Lies(TypedDict):
    """Where the mask's first tap lies for the first output, along every axis, and what is beyond the volume."""

    z0: int
    y0: int
    x0: int
    border_z: str
    border_y: str
    border_x: str
    cval: float


def start(lies: Lies) -> tuple[int, int, int]:
    """Plane, row and column of that tap."""
    return lies["z0"], lies["y0"], lies["x0"]


def sides(lies: Lies) -> tuple[str, str, str]:
    """Names of the borders, z first."""
    return lies["border_z"], lies["border_y"], lies["border_x"]


def codes(lies: Lies) -> tuple[int, int, int]:
    """Their codes."""
    z, y, x = sides(lies)
    return CODES[z], CODES[y], CODES[x]


def in_columns(image: tuple[int, ...], mask: tuple[int, ...], out: tuple[int, ...]) -> bool:
    """Whether a mask has one weight a plane, and so is that of an image whose rows are whole planes."""
    return mask[0] > mask[1] == mask[2] == 1 and image[1:] == out[1:]


def as_rows(shape: tuple[int, ...]) -> tuple[int, int]:
    """The shape of that image."""
    return shape[0], shape[1] * shape[2]


def volume_work(limits: Limits, image: ArraySpec, weights: ArraySpec, out: ArraySpec, **_: object) -> tuple[ArraySpec, ...]:
    """For each thread one plane of the source of a block that reaches beyond an edge, its outputs, and a group's sums.

    Where rows are short, lines of some columns, instead; where planes have one weight, that of their image.
    """
    if in_columns(image.shape, weights.shape, out.shape):
        return convolve_work(limits, *(ArraySpec(as_rows(spec.shape), spec.dtype) for spec in (image, weights, out)))
    (depth, height, width), (planes, rows, columns) = weights.shape, out.shape
    size = max((ROWS + height - 1) * (BLOCK + SPAN) + BLOCKS, thin_room((depth, height, width), (planes, rows, columns)))
    grain = limits.align // np.dtype(out.dtype).itemsize
    return (ArraySpec((limits.threads, -(-size // grain) * grain), out.dtype),)
