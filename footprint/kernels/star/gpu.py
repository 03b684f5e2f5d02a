"""Launch shape of the kernel ``star``: rows of results side by side, planes in the grid's depth."""

from __future__ import annotations

from typing import Any

import numpy as np

from footprint.kernels.common.borders import CODES
from footprint.kernels.common.launch import MAX_GROUPS_Y, A, Argument, Defines, Launch, Program
from footprint.kernels.common.load import c_type
from footprint.spec import ArraySpec, Limits

ITEMS = 128
"""Results of a row that a group makes."""


def star_program(limits: Limits, volume: ArraySpec, weights: ArraySpec, out: ArraySpec, *, cval: float, **how: Any) -> Program:
    """The whole volume in one launch."""
    if out.size == 0:
        return Program(())
    planes, rows, columns = out.shape
    grid = (-(-columns // ITEMS), min(rows, MAX_GROUPS_Y), min(planes, MAX_GROUPS_Y))
    sizes = map(np.int64, (*volume.shape, *out.shape, *(how[f"{axis}0"] for axis in "zyx")))
    args: tuple[Argument, ...] = (A(0), A(1), A(2), *sizes, np.dtype(out.dtype).type(cval))
    borders = tuple((f"BORDER_{axis.upper()}", CODES[how[f"border_{axis}"]]) for axis in "zyx")
    defines: Defines = (("T", c_type(out.dtype)), ("ITEMS", ITEMS), *borders)
    return Program((Launch("star.knl", "star", grid, (ITEMS, 1, 1), args, defines),))
