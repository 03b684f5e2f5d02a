"""Launch shape of the kernel ``minus_log``: a work-item an element."""

from __future__ import annotations

import numpy as np

from footprint.kernels.common.launch import A, Launch, Program
from footprint.kernels.common.stream import flat_grid
from footprint.kernels.minus_log.contract import HIGHEST, LOWEST
from footprint.spec import ArraySpec, Limits


def minus_log_program(
    limits: Limits, transmission: ArraySpec, out: ArraySpec, *, lowest: float = LOWEST, highest: float = HIGHEST
) -> Program:
    """One pass over all elements."""
    n = transmission.size
    if n == 0:
        return Program(())
    args = (A(0), A(1), np.int64(n), np.float32(lowest), np.float32(highest))
    return Program((Launch("minus_log.knl", "minus_log", flat_grid(n), (256, 1, 1), args),))
