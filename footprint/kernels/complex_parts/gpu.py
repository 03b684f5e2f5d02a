"""Launch shapes of the kernels that take complex numbers apart: one pass, bound by memory."""

from __future__ import annotations

import numpy as np

from footprint.kernels.common.launch import A, Argument, Launch, Program
from footprint.kernels.common.load import c_type
from footprint.spec import ArraySpec, Limits

GROUP, EACH = 256, 4


def _program(entry: str, part: ArraySpec, numbers: ArraySpec, args: tuple[Argument, ...]) -> Program:
    grid = (-(-part.size // (GROUP * EACH)), 1, 1)
    defines = (
        ("T", c_type(part.dtype)),
        ("PAIR", c_type(numbers.dtype)),
        ("Q", c_type(numbers.dtype)[:3]),
        ("GROUP", GROUP),
        ("EACH", EACH),
    )
    return Program((Launch("complex_parts.knl", entry, grid, (GROUP, 1, 1), (*args, np.int64(part.size)), defines),))


def split_program(limits: Limits, numbers: ArraySpec, real: ArraySpec, imaginary: ArraySpec, *, sign: float) -> Program:
    """One launch."""
    return _program("parts_split", real, numbers, (A(0), A(1), A(2), np.dtype(real.dtype).type(sign)))


def join_program(limits: Limits, real: ArraySpec, imaginary: ArraySpec, numbers: ArraySpec) -> Program:
    """One launch."""
    return _program("parts_join", real, numbers, (A(0), A(1), A(2)))


def product_program(limits: Limits, a: ArraySpec, b: ArraySpec, c: ArraySpec, d: ArraySpec, numbers: ArraySpec) -> Program:
    """One launch."""
    return _program("parts_product", a, numbers, tuple(map(A, range(5))))
