"""Launch shapes of the sums along one axis, and along two at once."""

from __future__ import annotations

import numpy as np

from footprint.kernels.common.borders import CODES, NONE
from footprint.kernels.common.launch import MAX_GROUPS_Y, A, Defines, Launch, Program
from footprint.kernels.common.load import c_type
from footprint.kernels.convolve.gpu import convolve_program
from footprint.kernels.separable.contract import TH, chip_bytes, flat
from footprint.spec import ArraySpec, Limits

LOCAL_BYTES = 72 << 10
"""Most bytes on chip: three groups then fit on a core of an H100."""
NT = 256


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
    """One launch: wide tiles where they fit on the chip."""
    if out.size == 0:
        return Program(())
    kind, kh, kw = np.dtype(out.dtype), tall.shape[0], wide.shape[0]
    tw = 64 if chip_bytes(kh, kw, 64, kind.itemsize) <= min(limits.local_mem, LOCAL_BYTES) else 32
    local = chip_bytes(kh, kw, tw, kind.itemsize)
    defines: Defines = (
        *(("T", c_type(kind)), ("KH", kh), ("KW", kw), ("TH", TH), ("TW", tw), ("NT", NT)),
        *(("BORDER_Y", CODES[border_y]), ("BORDER_X", CODES[border_x])),
    )
    planes, height, width = out.shape
    grid = (-(-width // tw), min(-(-height // TH), MAX_GROUPS_Y), min(planes, MAX_GROUPS_Y))
    args = (A(0), A(3), *map(np.int64, (planes, *image.shape[1:], height, width, y0, x0)), kind.type(cval))
    tables = (("tall", A(1)), ("wide", A(2)))
    return Program((Launch("separable.knl", "separable", grid, (NT, 1, 1), args, defines, local, tables),))


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
