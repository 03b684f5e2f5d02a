"""Launch shapes of the kernel ``convolve``: what each work-item sums, by mask, dtype and how many outputs there are."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from footprint.kernels.common.borders import CODES, NONE
from footprint.kernels.common.launch import MAX_GROUPS_Y, TABLE_BYTES, A, Defines, Launch, Program
from footprint.kernels.common.load import c_type
from footprint.kernels.convolve.contract import UNROLLED, piece
from footprint.kernels.separable.columns import columns_program
from footprint.spec import ArraySpec, Limits

ONE_PASS = 16
"""Widest mask that is summed in one pass over its rows."""
COLUMNS = 12
"""Most of its columns in one pass where it is wider."""
LINE_COLUMNS = 24
"""The same for a mask of one row."""


CHAIN = 52
"""Most products that are summed in one chain, where there are more."""
PLAIN = 24
"""Most chains that are added up without keeping what is rounded away."""

TALL = {4: 26, 8: 64}
"""Weights of a mask of one column, by the bytes of a sum, from which on each column of an image is read once."""
LOCAL_BYTES = 72 << 10
"""Most bytes of a tile: three groups then fit on a core of the chips this is tuned for."""


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
    if x0 == 0 and image.shape[1] == out.shape[1] and goes_down(weights.shape, out.itemsize):
        return columns_program(limits, image, weights, out, y0, border_y, cval)
    kind, vec = np.dtype(out.dtype), 16 // out.itemsize
    stored = image.itemsize if np.dtype(image.dtype) != kind else 0
    small = small_mask(limits, out, weights.shape, x0)
    t = shaped(tile(limits, out, weights.shape, small), weights.shape, x0, out, room(limits))
    common: Defines = (
        *(("T", c_type(kind)), ("VEC", vec), ("VECTOR", f"{c_type(kind)}x{vec}"), ("MIN_GROUPS", t.resident)),
        *(("BORDER_Y", CODES[border_y]), ("BORDER_X", CODES[border_x])),
        *(("TX", t.tx), ("TY", t.ty), ("RX", t.rx), ("RY", t.ry), ("S", c_type(image.dtype)), ("STORED", stored)),
    )
    across, down = -(-out.shape[1] // (t.tx * t.rx)), -(-out.shape[0] // (t.ty * t.ry))
    sums = (*map(np.int64, (*out.shape, y0, x0)), kind.type(cval))
    group, line = (t.tx, t.ty, 1), weights.shape[0] == 1
    if not small:
        return large(limits, image, weights, out, (0, y0, x0), (NONE, border_y, border_x), cval)
    rows = min(down, MAX_GROUPS_Y)
    passes = columns(weights.shape, vec)
    direct = t.direct and image.shape[1] % vec == 0 and passes >= weights.shape[1]
    defines = (
        *(*common, ("KH", weights.shape[0]), ("KW", weights.shape[1]), ("KC", passes)),
        *(("SHIFT", x0 % vec), ("LINE", int(line)), ("DIRECT", int(direct)), *levels(weights, passes)),
    )
    local = 0 if direct else tile_bytes(t, weights.shape, x0, out.itemsize)
    args = (A(0), A(2), *map(np.int64, image.shape), *sums)
    grid = (across, rows, -(-down // rows))
    return Program((Launch("convolve.knl", "convolve", grid, group, args, defines, local, (("weights", A(1)),)),))


def goes_down(mask: tuple[int, ...], itemsize: int) -> bool:
    """Whether a mask of one column is summed as sums down are, each input read once: a tile of it is read for few results."""
    tall, wide = mask
    return wide == 1 and tall >= TALL[itemsize]


def large(
    limits: Limits,
    image: ArraySpec,
    weights: ArraySpec,
    out: ArraySpec,
    first: tuple[int, int, int],
    sides: tuple[str, str, str],
    cval: float,
) -> Program:
    """A mask of any size, of two dimensions or three, in pieces; a plane is a volume of one."""
    kind, vec = np.dtype(out.dtype), 16 // out.itemsize
    deep = [(1,) * (3 - len(spec.shape)) + spec.shape for spec in (image, weights, out)]
    mask, (planes, rows, across) = deep[1], deep[2]
    bh, bw = piece(mask)
    made = ArraySpec((planes * rows, across), out.dtype)
    t = tile(limits, made, mask[1:] if mask[0] == 1 else (2, mask[2]), False)
    t = shaped(t, (bh, bw + vec), 0, ArraySpec((rows, across), out.dtype), room(limits) - bh * bw * out.itemsize)
    args = (A(0), A(1), A(2), *map(np.int64, (*deep[0], *mask, *deep[2], *first)), kind.type(cval))
    local = ((t.ty * t.ry + bh - 1) * (t.tx * t.rx + bw + vec) + bh * bw) * out.itemsize
    defines: Defines = (
        *(("T", c_type(kind)), ("VEC", vec), ("VECTOR", f"{c_type(kind)}x{vec}"), ("MIN_GROUPS", t.resident)),
        *((f"BORDER_{axis}", CODES[side]) for axis, side in zip("ZYX", sides)),
        *(("TX", t.tx), ("TY", t.ty), ("RX", t.rx), ("RY", t.ry), ("S", c_type(image.dtype)), ("BH", bh), ("BW", bw)),
        *(("LEVELS", 2 if kind.itemsize == 4 else 0), ("FLUSH", CHAIN // bw or 1), ("CHAIN", CHAIN // vec * vec)),
    )
    grid = (-(-across // (t.tx * t.rx)), min(-(-rows // (t.ty * t.ry)), MAX_GROUPS_Y), min(planes, MAX_GROUPS_Y))
    return Program((Launch("convolve_large.knl", "convolve_large", grid, (t.tx, t.ty, 1), args, defines, local),))


def small_mask(limits: Limits, out: ArraySpec, mask: tuple[int, ...], x0: int) -> bool:
    """Whether one tile with the whole mask's halo fits on chip, and the weights in constant memory."""
    if math.prod(mask) * out.itemsize > TABLE_BYTES or (mask[0] > 1 and max(mask) > UNROLLED):
        return False
    largest = tile(limits, ArraySpec((1 << 20, 1 << 20), out.dtype), mask, True)
    return tile_bytes(largest, mask, x0, out.itemsize) <= room(limits)


def room(limits: Limits) -> int:
    """Bytes of a tile, at most."""
    return min(limits.local_mem, LOCAL_BYTES)


def shaped(t: Tile, mask: tuple[int, ...], x0: int, out: ArraySpec, most: int) -> Tile:
    """A tile that is as narrow, or as flat, as results are: work-items beside them would stand idle."""
    vec, (height, width) = 16 // out.itemsize, out.shape[-2:]
    if mask[0] == 1:
        t = t._replace(rx=next(rx for rx in (vec, 3 * vec, t.rx) if rx >= min(width, t.rx)))
    while t.tx > 1 and t.tx // 2 * t.rx >= width:
        t = t._replace(tx=t.tx // 2, ty=t.ty * 2)
    if t.tx <= 2:
        # Neighbours are one below the other, and would read from the same banks.
        t = t._replace(ry=1)
    while t.ty > 1 and t.ty // 2 * t.ry >= height:
        t = t._replace(tx=t.tx * 2 if t.tx * t.rx < width else t.tx, ty=t.ty // 2)
    while max(t.tx, t.ty) > 1 and tile_bytes(t, mask, x0, out.itemsize) > most:
        t = t._replace(ty=t.ty // 2) if t.ty > 1 else t._replace(tx=t.tx // 2)
    return t


def tile_bytes(t: Tile, mask: tuple[int, ...], x0: int, itemsize: int) -> int:
    """Bytes on chip of one staged tile."""
    vec = 16 // itemsize
    pitch = t.tx * t.rx - t.rx + -(-(x0 % vec + t.rx + mask[1] - 1) // vec) * vec
    return (t.ty * t.ry + mask[0] - 1) * pitch * itemsize


def columns(mask: tuple[int, ...], vec: int) -> int:
    """Mask columns a pass: nearly equal passes, and so few that rows, sums and weights stay in registers."""
    one, most = (ONE_PASS, COLUMNS) if vec == 4 else (8, 8)
    if mask[0] == 1:
        one = most = LINE_COLUMNS
    pieces = 1 if mask[1] <= one else -(-mask[1] // most)
    return -(-mask[1] // (pieces * vec)) * vec


def levels(weights: ArraySpec, passes: int) -> Defines:
    """Levels of sums, and after how many rows, or passes over a single row, a chain ends: by the mask alone, for the same bits."""
    depth, height, width = (1, *weights.shape)[-3:]
    if len(weights.shape) == 2 and height == 1:
        flush = max(CHAIN // passes, 1)
        chains = width / (passes * flush)
    else:
        flush = next((rows for rows in (4, 2) if rows * min(passes, width) <= CHAIN), 1)
        chains = depth * -(-height // flush) * -(-width // passes)
    single = weights.size <= CHAIN or weights.itemsize == 8
    return (("LEVELS", 0 if single else 1 if chains <= PLAIN else 2), ("FLUSH", flush))


def tile(limits: Limits, out: ArraySpec, mask: tuple[int, ...], small: bool) -> Tile:
    """The shape of a group's work; the choices were measured on an H100 (``benchmarks/gpu.py``)."""
    vec = 16 // out.itemsize
    if mask[0] == 1:
        # an odd number of 16-byte vectors a work-item: neighbours then read from different banks
        return Tile(64, 1, 7 * vec, 1, 1) if mask[1] > 32 else Tile(128, 1, 3 * vec, 1, 1)
    if out.size < max(limits.cores, 1) * 4096:
        # few outputs: more groups, each with less to do, fill the chip
        return Tile(16, 16, vec, 1, 1)
    if not small or max(mask) > 11 or vec < 4:
        return Tile(16, 16, vec, 4, 3)
    if max(mask) > 8:
        return Tile(16, 8, vec, 4, 6)
    return Tile(32, 8, vec, 4, 3, direct=True) if max(mask) <= 4 else Tile(32, 8, vec, 2, 3)
