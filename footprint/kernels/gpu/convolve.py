"""Launch shapes of the kernel ``convolve``: what each work-item sums, by mask, dtype and how many outputs there are."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from footprint.kernels.borders import CODES
from footprint.kernels.launch import MAX_GROUPS_Y, TABLE_BYTES, A, Defines, Launch, Program
from footprint.kernels.load import c_type
from footprint.spec import ArraySpec, Limits

ONE_PASS = 16
"""Widest mask that is summed in one pass over its rows."""
COLUMNS = 12
"""Most of its columns in one pass where it is wider."""
LINE_COLUMNS = 24
"""The same for a mask of one row."""
UNROLLED = 63
"""Largest mask, along either axis, that one tile serves; a mask of one row is only bound by constant memory."""


class Tile(NamedTuple):
    """Work-items across and down, outputs of each, groups a core must hold, and whether inputs are read where they lie."""

    tx: int
    ty: int
    rx: int
    ry: int
    resident: int
    direct: bool = False


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
    line = weights.shape[0] == 1
    one_tile = (line or max(weights.shape) <= UNROLLED) and weights.nbytes <= TABLE_BYTES
    t = tile(limits, out, weights.shape, one_tile)
    common: Defines = (
        *(("T", c_type(kind)), ("VEC", vec), ("VECTOR", f"{c_type(kind)}x{vec}"), ("MIN_GROUPS", t.resident)),
        *(("BORDER_Y", CODES[border_y]), ("BORDER_X", CODES[border_x])),
        *(("TX", t.tx), ("TY", t.ty), ("RX", t.rx), ("RY", t.ry)),
    )
    offsets = (np.int64(y0), np.int64(x0))
    across, down = -(-out.shape[1] // (t.tx * t.rx)), -(-out.shape[0] // (t.ty * t.ry))
    if not one_tile:
        bh, bw = (1, 256) if line else (16, 16)
        args = (A(0), A(1), A(2), *map(np.int64, (*image.shape, *weights.shape, *out.shape)), *offsets, kind.type(cval))
        local = ((t.ty * t.ry + bh - 1) * (t.tx * t.rx + bw + vec) + bh * bw) * out.itemsize
        grid = (across, min(down, MAX_GROUPS_Y), 1)
        defines = (*common, ("BH", bh), ("BW", bw))
        return Program((Launch("convolve_large.knl", "convolve_large", grid, (t.tx, t.ty, 1), args, defines, local),))
    rows = min(down, MAX_GROUPS_Y)
    grid = (across, rows, -(-down // rows))
    shift = x0 % vec
    pitch = t.tx * t.rx - t.rx + -(-(shift + t.rx + weights.shape[1] - 1) // vec) * vec
    defines = (
        *(*common, ("KH", weights.shape[0]), ("KW", weights.shape[1]), ("KC", columns(weights.shape, vec))),
        *(("SHIFT", shift), ("LINE", int(line)), ("DIRECT", int(t.direct and image.shape[1] % vec == 0))),
    )
    args = (A(0), A(2), *map(np.int64, (*image.shape, *out.shape)), *offsets, kind.type(cval))
    local = 0 if dict(defines)["DIRECT"] else (t.ty * t.ry + weights.shape[0] - 1) * pitch * out.itemsize
    launch = Launch("convolve.knl", "convolve", grid, (t.tx, t.ty, 1), args, defines, local, (("weights", A(1)),))
    return Program((launch,))


def columns(mask: tuple[int, ...], vec: int) -> int:
    """Mask columns a pass: nearly equal passes, and so few that rows, sums and weights stay in registers."""
    one, most = (ONE_PASS, COLUMNS) if vec == 4 else (8, 8)
    if mask[0] == 1:
        one = most = LINE_COLUMNS
    pieces = 1 if mask[1] <= one else -(-mask[1] // most)
    return -(-mask[1] // (pieces * vec)) * vec


def tile(limits: Limits, out: ArraySpec, mask: tuple[int, ...], one_tile: bool) -> Tile:
    """The shape of a group's work."""
    vec = 16 // out.itemsize
    if mask[0] == 1:
        # an odd number of 16-byte vectors a work-item: neighbours then read from different banks
        return Tile(128, 1, 5 * vec, 1, 1)
    if out.size < max(limits.cores, 1) * 4096:
        # few outputs: more groups, each with less to do, fill the chip
        return Tile(16, 16, vec, 1, 1)
    return Tile(16, 16, vec, 4, 3)
