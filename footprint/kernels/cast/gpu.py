"""Launch shape of ``cast``, the copy between arrays of different dtypes or orders on one device."""

from __future__ import annotations

import numpy as np

from footprint.kernels.common.launch import A, Launch, Program
from footprint.kernels.common.load import c_type
from footprint.spec import ArraySpec, Limits

GROUP = 256
MAX_GRID = 1 << 20


def cast_program(limits: Limits, src: ArraySpec, dst: ArraySpec, *, backwards: bool = False) -> Program:
    """One pass over ``src``, from its last element to its first if ``backwards``."""
    if dst.size == 0:
        return Program(())
    defines = (
        *(("TIN", c_type(src.dtype)), ("TOUT", c_type(dst.dtype))),
        *(("FLAG", int(np.dtype(dst.dtype).kind == "b")), ("BACKWARDS", int(backwards))),
    )
    grid = (min(-(-dst.size // GROUP), MAX_GRID), 1, 1)
    return Program((Launch("cast.knl", "cast", grid, (GROUP, 1, 1), (A(0), A(1), np.int64(dst.size)), defines),))
