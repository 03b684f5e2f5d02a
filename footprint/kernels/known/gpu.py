"""Launch shapes of the kernels that tell numbers from NaN: one pass, bound by memory."""

from __future__ import annotations

import numpy as np

from footprint.kernels.common.launch import A, Argument, Launch, Program
from footprint.kernels.common.load import c_type
from footprint.spec import ArraySpec, Limits

GROUP, EACH = 256, 4


def _program(entry: str, out: ArraySpec, arrays: int, known: str = "uint8", how: tuple[np.int32, ...] = ()) -> Program:
    grid = (-(-out.size // (GROUP * EACH)), 1, 1)
    defines = (("T", c_type(out.dtype)), ("V", c_type(known)), ("GROUP", GROUP), ("EACH", EACH))
    arguments: tuple[Argument, ...] = (*map(A, range(arrays)), *how, np.int64(out.size))
    return Program((Launch("known.knl", entry, grid, (GROUP, 1, 1), arguments, defines),))


def fill_program(limits: Limits, image: ArraySpec, values: ArraySpec) -> Program:
    """One launch."""
    return _program("known_fill", values, 2)


def split_program(limits: Limits, image: ArraySpec, values: ArraySpec, known: ArraySpec) -> Program:
    """One launch."""
    return _program("known_split", values, 3, known.dtype)


def weigh_program(
    limits: Limits,
    image: ArraySpec,
    masked: ArraySpec,
    weight: ArraySpec,
    values: ArraySpec,
    known: ArraySpec,
    *,
    by_mask: bool,
    by_weight: bool,
    spreads: bool,
    counts: bool,
) -> Program:
    """One launch; what it does is known when it is run, so that one program serves all."""
    how = tuple(np.int32(flag) for flag in (by_mask, by_weight, spreads, counts))
    return _program("known_weigh", values, 5, known.dtype, how)


def ratio_program(limits: Limits, sums: ArraySpec, below: ArraySpec, whole: ArraySpec) -> Program:
    """One launch."""
    return _program("known_ratio", sums, 3)
