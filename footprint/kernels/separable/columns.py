"""Launch shapes of the sums down the columns of an image."""

from __future__ import annotations

import numpy as np

from footprint.kernels.common.borders import CODES
from footprint.kernels.common.launch import CORES, MAX_GROUPS_Y, A, Defines, Launch, Program, rows_between
from footprint.kernels.common.load import c_type
from footprint.kernels.separable.contract import launches_down
from footprint.spec import ArraySpec, Limits

BESIDE, REGISTERS = 48, 65536
"""Registers that a work-item has beside those of its sums, and registers of a core."""
LONGEST = 32
"""Most products that are summed in one chain: sums of sums lose twice what those of a mask do."""
PAIR = 28
"""Words of a column's sums with which a work-item that goes down takes two columns."""
FAR = 20
"""Weights beyond which a row's sums take so long that more rows are on their way."""
THREADS = 128
"""Work-items of a group that goes down."""
LONG_RUN = 16
"""Results of a work-item down a column with any number of weights."""
LISTED = 1536
"""Most rows of results of a group, which lists on the chip where they begin."""


def columns_program(
    limits: Limits, image: ArraySpec, weights: ArraySpec, out: ArraySpec, first: int, border: str, cval: float
) -> Program:
    """Sums down an image or planes: one launch, or several that add to each other where registers do not hold all sums of a column.

    Of very many weights it is one again, in which registers hold no sum for each.
    """
    kind, taps, (planes, height, width) = np.dtype(out.dtype), weights.size, (1, *out.shape)[-3:]
    words, most, pieces = kind.itemsize // 4, longest(kind), launches_down(taps, kind.itemsize)
    if pieces == 0:
        return _long_program(limits, image, weights, out, first, border, cval)
    while waiting(some := -(-taps // pieces), most) * THREADS * kind.itemsize > limits.local_mem - 8 * (LISTED + some + 16):
        pieces += 1
    launches = []
    for piece in range(pieces):
        begin, end = taps * piece // pieces, taps * (piece + 1) // pieces
        n = end - begin
        each = 2 if pieces == 1 and n * words <= PAIR else 1
        items = min(THREADS, -(-width // (32 * each)) * 32)
        resident = max(min(REGISTERS // ((BESIDE + n * each * words) * items), 2048 // items), 1)
        strips = -(-width // (items * each))
        rows = rows_between(height, n - 1, strips * planes, (limits.cores or CORES) * resident, LISTED)
        chain, wait, ahead = chain_of(n, most), waiting(n, most), 8 if n > FAR else 4
        defines: Defines = (
            *columns_of(image, kind, each),
            *(("KH", n), ("TAPS", taps), ("FIRST", begin), ("CHAIN", chain), ("MORE", int(piece > 0))),
            *(("NT", items), ("MIN_GROUPS", resident), ("BORDER_Y", CODES[border])),
            *(("AHEAD", ahead), ("PLACES", LISTED + n + 2 * ahead)),
        )
        args = (A(0), A(2), *map(np.int64, (planes, image.shape[-2], width, height, first + begin, rows)), kind.type(cval))
        grid = (strips, -(-height // rows), min(planes, MAX_GROUPS_Y))
        local = wait * each * items * kind.itemsize
        launches.append(Launch("column.knl", "column", grid, (items, 1, 1), args, defines, local, (("tall", A(1)),)))
    return Program(tuple(launches))


def _long_program(
    limits: Limits, image: ArraySpec, weights: ArraySpec, out: ArraySpec, first: int, border: str, cval: float
) -> Program:
    """Sums down with more weights: one launch of one text for them all."""
    kind, (planes, height, width) = np.dtype(out.dtype), (1, *out.shape)[-3:]
    defines: Defines = (*columns_of(image, kind, 1), ("NT", THREADS), ("BORDER_Y", CODES[border]))
    sizes = map(np.int64, (planes, image.shape[-2], width, height, first))
    args = (A(0), A(1), A(2), *sizes, np.int32(weights.size), kind.type(cval))
    grid = (-(-width // 32), min(-(-height // (THREADS // 32 * LONG_RUN)), MAX_GROUPS_Y), min(planes, MAX_GROUPS_Y))
    return Program((Launch("long_column.knl", "long_column", grid, (THREADS, 1, 1), args, defines),))


def longest(kind: np.dtype) -> int:
    """Most weights of a chain: float64 needs no end of them."""
    return LONGEST if kind.itemsize == 4 else 1 << 30


def chain_of(taps: int, most: int) -> int:
    """Weights of a chain: nearly as many in each."""
    return -(-taps // -(-taps // most))


def waiting(taps: int, most: int) -> int:
    """Rows of results whose first chains have ended and whose last one has not."""
    return taps - chain_of(taps, most)


def columns_of(image: ArraySpec, kind: np.dtype, each: int) -> Defines:
    """What ``columns.h`` is told: ``each`` columns of the image are read as one word or vector."""
    stored = image.itemsize if np.dtype(image.dtype) != kind else 0
    vector = f"{c_type(kind)}{f'x{each}' if each > 1 else ''}"
    raw = f"u{8 * stored * each}" if stored else vector
    whole = kind.itemsize == 4 and stored in (1, 2) and np.dtype(image.dtype).kind in "iub"
    bias = 0 if np.dtype(image.dtype).kind in "ub" else 1 << (8 * image.itemsize - 1)
    return (
        *(("T", c_type(kind)), ("S", c_type(image.dtype)), ("STORED", stored), ("BIAS", bias if whole else -1)),
        *(("CX", each), ("RAW", raw), ("RESULT", vector)),
    )
