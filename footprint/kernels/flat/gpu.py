"""Launch shape of the kernel ``flat``: a work-group a row."""

from __future__ import annotations

import numpy as np

from footprint.kernels.common.launch import A, Argument, Launch, Program
from footprint.kernels.common.load import c_type
from footprint.kernels.flat.contract import DEAD
from footprint.spec import ArraySpec, Limits

GROUP = 256
MAX_GRID = 1 << 20
BOUNDS = (("DEAD", DEAD), ("LARGEST", float(np.finfo("f4").max)))


def flat_program(limits: Limits, raw: ArraySpec, *others: ArraySpec, border: int = 0) -> Program:
    """One pass over the raw block."""
    if raw.size == 0:
        return Program(())
    n_a, n_z, n_x = raw.shape
    defines = (("TIN", c_type(raw.dtype)), *BOUNDS)
    sizes = map(np.int64, (n_a, n_z, n_x, border))
    args: tuple[Argument, ...] = (A(0), A(1), A(2), A(3), A(4), A(5), A(6), *sizes)
    return Program((Launch("flat.knl", "flat", (min(n_a * n_z, MAX_GRID), 1, 1), (GROUP, 1, 1), args, defines),))
