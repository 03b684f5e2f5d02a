"""Launch shapes of the kernel ``convolve``: what each work-item sums, by mask, dtype and how many outputs there are."""

from __future__ import annotations

import numpy as np

from footprint.kernels.borders import CODES
from footprint.kernels.launch import A, Launch, Program
from footprint.kernels.load import c_type
from footprint.spec import ArraySpec, Limits

UNROLLED = 31
"""Largest mask, along either axis, whose taps are all written out."""
UNROLLED_LINE = 128
"""The same where the mask is a single row."""
MAX_GROUPS_Y = 65535

Defines = tuple[tuple[str, int | float | str], ...]


def convolve_program(
    limits: Limits,
    image: ArraySpec,
    weights: ArraySpec,
    out: ArraySpec,
    *,
    y0: int,
    x0: int,
    border_y: str,
    border_x: str,
    cval: float,
) -> Program:
    """Choose tile and text for ``launch("convolve", image, weights, out, ...)``."""
    if out.size == 0:
        return Program(())
    kind, vec = np.dtype(out.dtype), 16 // out.itemsize
    height, width = weights.shape
    line = height == 1
    small = (height <= UNROLLED and width <= UNROLLED) or (line and width <= UNROLLED_LINE)
    tx, ty, rx, ry, resident = tile(limits, out, weights.shape, small)
    common: Defines = (
        *(("T", c_type(kind)), ("VEC", vec), ("VECTOR", f"{c_type(kind)}x{vec}"), ("MIN_GROUPS", resident)),
        *(("BORDER_Y", CODES[border_y]), ("BORDER_X", CODES[border_x])),
        *(("TX", tx), ("TY", ty), ("RX", rx), ("RY", ry)),
    )
    grid = (-(-out.shape[1] // (tx * rx)), min(-(-out.shape[0] // (ty * ry)), MAX_GROUPS_Y), 1)
    scalars = (*map(np.int64, (*out.shape, y0, x0)), kind.type(cval))
    if small:
        shift = x0 % vec
        pitch = tx * rx - rx + -(-(shift + rx + width - 1) // vec) * vec
        defines = (*common, ("KH", height), ("KW", width), ("SHIFT", shift), ("STAGED", int(line)))
        args = (A(0), A(2), *map(np.int64, image.shape), *scalars)
        local = (ty * ry + height - 1) * pitch * out.itemsize
        launch = Launch("convolve.knl", "convolve", grid, (tx, ty, 1), args, defines, local, (("weights", A(1)),))
    else:
        bh, bw = (1, 256) if line else (16, 16)
        args = (A(0), A(1), A(2), *map(np.int64, (*image.shape, *weights.shape)), *scalars)
        local = ((ty * ry + bh - 1) * (tx * rx + bw + vec) + bh * bw) * out.itemsize
        defines = (*common, ("BH", bh), ("BW", bw))
        launch = Launch("convolve_large.knl", "convolve_large", grid, (tx, ty, 1), args, defines, local)
    return Program((launch,))


def tile(limits: Limits, out: ArraySpec, mask: tuple[int, ...], small: bool) -> tuple[int, int, int, int, int]:
    """Work-items across and down, outputs of each across and down, groups a core must be able to hold."""
    vec = 16 // out.itemsize
    if mask[0] == 1:
        # an odd number of 16-byte vectors a work-item: neighbours then read from different banks
        return 128, 1, 3 * vec, 1, 1
    if small and out.size < max(limits.cores, 1) * 4096:
        # few outputs: more groups, each with less to do, fill the chip
        return 8, 16, vec, 1, 1
    return 16, 16, vec, 8 if small else 4, 1
