"""Launch shape of the kernel ``quantize``: a work-item an element."""

from __future__ import annotations

import numpy as np

from footprint.kernels.common.launch import A, Launch, Program
from footprint.kernels.common.load import c_type
from footprint.kernels.common.stream import flat_grid
from footprint.spec import ArraySpec, Limits


def quantize_program(limits: Limits, values: ArraySpec, out: ArraySpec, *, low: float, high: float) -> Program:
    """One pass over all elements."""
    if values.size == 0:
        return Program(())
    most = float(np.iinfo(np.dtype(out.dtype)).max)
    args = (A(0), A(1), np.int64(values.size), np.float64(low), np.float64(most / (high - low)), np.float64(most))
    defines = (("T", c_type(out.dtype)),)
    return Program((Launch("quantize.knl", "quantize", flat_grid(values.size), (256, 1, 1), args, defines),))
