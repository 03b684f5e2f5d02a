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
PLAIN = 6
"""Arrays beside the projections where there are no gains."""


def flat_arguments(sizes: tuple[int, ...], n_others: int, ceiling: float) -> tuple[Argument, ...]:
    """Of `flat` and `flatfield`; where there are no gains, something stands in their place that is not read."""
    level = np.float32(min(ceiling, float(np.finfo("f4").max)))
    return (*map(A, range(6)), A(n_others - 1), A(n_others), *map(np.int64, sizes), level)


def flat_program(limits: Limits, raw: ArraySpec, *others: ArraySpec, border: int = 0, ceiling: float = np.inf) -> Program:
    """One pass over the raw block."""
    if raw.size == 0:
        return Program(())
    n_a, n_z, n_x = raw.shape
    defines = (("TIN", c_type(raw.dtype)), ("GAINS", int(len(others) > PLAIN)), *BOUNDS)
    args = flat_arguments((n_a, n_z, n_x, border), len(others), ceiling)
    return Program((Launch("flat.knl", "flat", (min(n_a * n_z, MAX_GRID), 1, 1), (GROUP, 1, 1), args, defines),))
