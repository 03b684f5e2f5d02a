"""Launch shapes of the sums along one axis, and along two at once."""

from __future__ import annotations

import numpy as np

from footprint.kernels.common.borders import CODES, NONE
from footprint.kernels.common.launch import CORES, MAX_GROUPS_Y, A, Defines, Launch, Program, rows_between
from footprint.kernels.common.load import c_type
from footprint.kernels.convolve.gpu import CHAIN, convolve_program
from footprint.kernels.separable.contract import flat, launches_down
from footprint.spec import ArraySpec, Limits

COLUMNS = 512
"""Columns of a strip, of which as many as there are weights across, less one, are only read."""
ACROSS = ((4, 12), (2, 48))
"""Columns of a work-item that sums in one pass, where a column's sums are so many words at most; one where they are more."""
BESIDE, REGISTERS = 48, 65536
"""Registers that a work-item has beside those of its sums, and registers of a core."""
PAIR, TILED = 40, (41, 63)
"""Words of a column's sums with which a work-item takes two columns; and weights from which and to which tiles of the kernel
``convolve`` are quicker than it is with one (on an H100)."""
FAR = 20
"""Weights beyond which a row's sums take so long that more rows are on their way."""
THREADS = 128
"""Work-items of a group that goes down."""
ROWS = (8, 192)
"""Fewest and most rows of results of a group: those above and below them are read again, and long strips end at different times."""


def separable_program(
    limits: Limits,
    image: ArraySpec,
    tall: ArraySpec,
    wide: ArraySpec,
    out: ArraySpec,
    *,
    y0: int,
    x0: int,
    border_y: str,
    border_x: str,
    cval: float,
) -> Program:
    """One launch: strips of columns, as wide as a group has work-items for."""
    if out.size == 0:
        return Program(())
    kind, kh, kw = np.dtype(out.dtype), tall.shape[0], wide.shape[0]
    planes, height, width = out.shape
    words, side = kind.itemsize // 4, 16 // kind.itemsize
    each = next((cx for cx, few in ACROSS if kh * words <= few and cx <= side), 1)
    used = BESIDE + each * words * kh
    most = COLUMNS // 4 if each == 4 or used > 128 else COLUMNS // 2
    shift = x0 % each
    strips = -(-width // results(most, each, shift + kw, side))
    items = next(n for n in range(32, most + 1, 32) if n == most or results(n, each, shift + kw, side) * strips >= width)
    resident = min(max(REGISTERS // (used * items), 1), 8)
    rows = rows_of(height, planes * strips, (limits.cores or CORES) * resident)
    defines: Defines = (
        *columns_of(image, kind, each),
        *(("VECTOR", f"{c_type(kind)}x{side}"), ("RX", side), ("RY", side // each), ("AHEAD", 2 * side // each)),
        *(("KH", kh), ("KW", kw), ("SHIFT", shift), ("NT", items), ("MIN_GROUPS", resident)),
        *(("BORDER_Y", CODES[border_y]), ("BORDER_X", CODES[border_x])),
    )
    grid = (strips, min(-(-height // rows), MAX_GROUPS_Y), min(planes, MAX_GROUPS_Y))
    args = (A(0), A(3), *map(np.int64, (planes, *image.shape[1:], height, width, y0, x0, rows)), kind.type(cval))
    tables = (("tall", A(1)), ("wide", A(2)))
    return Program((Launch("separable.knl", "separable", grid, (items, 1, 1), args, defines, tables=tables),))


def results(items: int, each: int, taps: int, side: int) -> int:
    """Columns of results of a strip."""
    return (items * each - taps + 1) // side * side


def columns_of(image: ArraySpec, kind: np.dtype, each: int) -> Defines:
    """What ``columns.h`` is told: ``each`` columns of the image are read as one word or vector."""
    stored = image.itemsize if np.dtype(image.dtype) != kind else 0
    vector = f"{c_type(kind)}{f'x{each}' if each > 1 else ''}"
    raw = f"u{8 * stored * each}" if stored else vector
    return (("T", c_type(kind)), ("S", c_type(image.dtype)), ("STORED", stored), ("CX", each), ("RAW", raw), ("RESULT", vector))


def rows_of(height: int, strips: int, together: int) -> int:
    """Rows of results of a group: so many that all groups are a few whole rounds of those that run ``together``, or nearly."""
    fewest, most = ROWS
    rounds = next(n for n in range(1, 2 + strips * height // together) if n * together // strips * most >= height)
    return max(-(-height // (rounds * together // strips)), fewest)


def line_program(
    limits: Limits,
    image: ArraySpec,
    weights: ArraySpec,
    out: ArraySpec,
    *,
    down: bool,
    first: int,
    border: str,
    cval: float,
) -> Program:
    """Down the columns, each input read once; else, and for very many weights, by the kernel ``convolve``."""
    if out.size == 0:
        return Program(())
    if down and launches_down(weights.size, out.itemsize) and not TILED[0] <= weights.size <= TILED[1]:
        return columns_program(limits, flat(image, down), weights, flat(out, down), first, border, cval)
    mask = ArraySpec((weights.size, 1) if down else (1, weights.size), weights.dtype)
    places = {"y0": first, "x0": 0, "border_y": border, "border_x": NONE}
    if not down:
        places = {"y0": 0, "x0": first, "border_y": NONE, "border_x": border}
    return convolve_program(limits, flat(image, down), mask, flat(out, down), cval=cval, **places)  # type: ignore[arg-type]


def columns_program(
    limits: Limits, image: ArraySpec, weights: ArraySpec, out: ArraySpec, first: int, border: str, cval: float
) -> Program:
    """Sums down: one launch, or several that add to each other where registers do not hold the sums that an input adds to."""
    kind, taps = np.dtype(out.dtype), weights.size
    words, (height, width) = kind.itemsize // 4, out.shape
    pieces, longest = launches_down(taps, kind.itemsize), taps if words > 1 else CHAIN
    while waiting(-(-taps // pieces), longest) * THREADS * kind.itemsize > limits.local_mem:
        pieces += 1
    launches = []
    for piece in range(pieces):
        begin, end = taps * piece // pieces, taps * (piece + 1) // pieces
        n = end - begin
        each = 2 if pieces == 1 and n * words <= PAIR else 1
        items = min(THREADS, -(-width // (32 * each)) * 32)
        resident = max(min(REGISTERS // ((BESIDE + n * each * words) * items), 2048 // items), 1)
        strips = -(-width // (items * each))
        rows = rows_between(height, n - 1, strips, (limits.cores or CORES) * resident)
        chain, wait = chain_of(n, longest), waiting(n, longest)
        defines: Defines = (
            *columns_of(image, kind, each),
            *(("KH", n), ("TAPS", taps), ("FIRST", begin), ("CHAIN", chain), ("MORE", int(piece > 0))),
            *(("NT", items), ("MIN_GROUPS", resident), ("BORDER_Y", CODES[border]), ("AHEAD", 8 if n > FAR else 4)),
        )
        args = (A(0), A(2), *map(np.int64, (image.shape[0], width, height, first + begin, rows)), kind.type(cval))
        grid = (strips, -(-height // rows), 1)
        local = wait * each * items * kind.itemsize
        launches.append(Launch("column.knl", "column", grid, (items, 1, 1), args, defines, local, (("tall", A(1)),)))
    return Program(tuple(launches))


def chain_of(taps: int, longest: int) -> int:
    """Weights of a chain: nearly as many in each."""
    return -(-taps // -(-taps // longest))


def waiting(taps: int, longest: int) -> int:
    """Rows of results whose first chains have ended and whose last one has not."""
    return taps - chain_of(taps, longest)
