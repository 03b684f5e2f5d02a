"""Launch shapes of the sums along one axis, and along two at once."""

from __future__ import annotations

import numpy as np

from footprint.kernels.common.borders import CODES, NONE
from footprint.kernels.common.launch import MAX_GROUPS_Y, A, Defines, Launch, Program
from footprint.kernels.common.load import c_type
from footprint.kernels.convolve.gpu import convolve_program
from footprint.kernels.separable.contract import flat
from footprint.spec import ArraySpec, Limits

COLUMNS = 512
"""Columns of a strip, of which as many as there are weights across, less one, are only read."""
TALL = 20
"""Most weights down of which a work-item's registers hold the sums for four columns; two where there are more."""
BESIDE, REGISTERS = 56, 65536
"""Registers that a work-item has beside those of its sums, and registers of a core."""
CORES = 132
"""Of a GPU that does not say how many it has."""
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
    words = kind.itemsize // 4
    each = 4 if words == 1 and kh <= TALL else 2
    used = BESIDE + each * words * kh
    most = COLUMNS // 4 if each == 4 or used > 128 else COLUMNS // 2
    strips = -(-width // results(most, each, kw))
    items = next(n for n in range(32, most + 1, 32) if n == most or results(n, each, kw) * strips >= width)
    resident = min(max(REGISTERS // (used * items), 1), 8)
    rows = rows_of(height, planes * strips, (limits.cores or CORES) * resident)
    defines: Defines = (
        *(("T", c_type(kind)), ("S", c_type(image.dtype)), ("VECTOR", f"{c_type(kind)}x{each}"), ("RX", each)),
        ("RAW", c_type(kind) if np.dtype(image.dtype) == kind else "i32"),
        *(("KH", kh), ("KW", kw), ("NT", items), ("MIN_GROUPS", resident)),
        *(("BORDER_Y", CODES[border_y]), ("BORDER_X", CODES[border_x])),
    )
    grid = (strips, min(-(-height // rows), MAX_GROUPS_Y), min(planes, MAX_GROUPS_Y))
    args = (A(0), A(3), *map(np.int64, (planes, *image.shape[1:], height, width, y0, x0, rows)), kind.type(cval))
    tables = (("tall", A(1)), ("wide", A(2)))
    return Program((Launch("separable.knl", "separable", grid, (items, 1, 1), args, defines, tables=tables),))


def results(items: int, each: int, taps: int) -> int:
    """Columns of results of a strip."""
    return (items * each - taps + 1) // each * each


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
    """That of the kernel ``convolve``."""
    mask = ArraySpec((weights.size, 1) if down else (1, weights.size), weights.dtype)
    places = {"y0": first, "x0": 0, "border_y": border, "border_x": NONE}
    if not down:
        places = {"y0": 0, "x0": first, "border_y": NONE, "border_x": border}
    return convolve_program(limits, flat(image, down), mask, flat(out, down), cval=cval, **places)  # type: ignore[arg-type]
