"""Launch shapes of the kernel ``volume``: those of ``convolve``, planes of outputs in the grid's depth."""

from __future__ import annotations

import math
from typing import Unpack

import numpy as np

from footprint.kernels.common.launch import MAX_GROUPS_Y, TABLE_BYTES, A, Defines, Launch, Program
from footprint.kernels.common.load import c_type
from footprint.kernels.convolve.contract import UNROLLED
from footprint.kernels.convolve.gpu import columns, large, levels, room, shaped, tile, tile_bytes
from footprint.kernels.separable.columns import columns_program
from footprint.kernels.separable.contract import flat
from footprint.kernels.volume.contract import Lies, codes, sides, start
from footprint.spec import ArraySpec, Limits


def volume_program(
    limits: Limits,
    image: ArraySpec,
    weights: ArraySpec,
    out: ArraySpec,
    **lies: Unpack[Lies],
) -> Program:
    """Choose tile and text for ``launch("volume", image, weights, out, ...)``."""
    if out.size == 0:
        return Program(())
    z0, y0, x0 = start(lies)
    if weights.shape[1:] == (1, 1) and y0 == x0 == 0 and image.shape[1:] == out.shape[1:]:
        # Down columns as long as there are planes, each input read once.
        return columns_program(limits, flat(image, True), weights, flat(out, True), z0, sides(lies)[0], lies["cval"])
    kind, vec = np.dtype(out.dtype), 16 // out.itemsize
    # Masks of one row have no tile of their own here.
    mask = (max(weights.shape[1], 2), weights.shape[2])
    t = tile(limits, out, mask, True)
    small = math.prod(weights.shape) * out.itemsize <= TABLE_BYTES and max(mask) <= UNROLLED
    if not small or tile_bytes(t, mask, x0, out.itemsize) > room(limits):
        return large(limits, image, weights, out, (z0, y0, x0), sides(lies), lies["cval"])
    t, passes = shaped(t, mask, x0, out, room(limits)), columns(mask, vec)
    defines: Defines = (
        *(("T", c_type(kind)), ("VEC", vec), ("VECTOR", f"{c_type(kind)}x{vec}"), ("MIN_GROUPS", t.resident)),
        *zip(("BORDER_Z", "BORDER_Y", "BORDER_X"), codes(lies)),
        *(("TX", t.tx), ("TY", t.ty), ("RX", t.rx), ("RY", t.ry), ("SHIFT", x0 % vec), ("KC", passes)),
        *(("KD", weights.shape[0]), ("KH", weights.shape[1]), ("KW", weights.shape[2]), *levels(weights, passes)),
    )
    across, down = -(-out.shape[2] // (t.tx * t.rx)), -(-out.shape[1] // (t.ty * t.ry))
    grid = (across, min(down, MAX_GROUPS_Y), min(out.shape[0], MAX_GROUPS_Y))
    args = (A(0), A(2), *map(np.int64, (*image.shape, *out.shape, z0, y0, x0)), kind.type(lies["cval"]))
    local = tile_bytes(t, weights.shape[1:], x0, out.itemsize)
    return Program((Launch("volume.knl", "volume", grid, (t.tx, t.ty, 1), args, defines, local, (("taps", A(1)),)),))
