"""Launch shape of the kernel ``muladd``."""

from __future__ import annotations

import math

import numpy as np

from footprint.kernels.common.launch import A, Launch, Program
from footprint.kernels.common.load import c_type
from footprint.kernels.common.stream import rows_grid
from footprint.spec import ArraySpec, Limits


def muladd_program(
    limits: Limits,
    dst: ArraySpec,
    other: ArraySpec,
    *,
    a: float,
    b: float,
    dst_start: tuple[int, ...],
    dst_step: tuple[int, ...],
    other_start: tuple[int, ...],
    other_step: tuple[int, ...],
    count: tuple[int, ...] | None,
) -> Program:
    """One pass over the region; starts and steps become element offsets."""
    count = dst.shape if count is None else count
    if 0 in count:
        return Program(())
    kind = np.dtype(dst.dtype).type
    places: list[np.generic] = []
    for spec, start, step in ((dst, dst_start, dst_step), (other, other_start, other_step)):
        pitches = [math.prod(spec.shape[axis + 1 :]) for axis in range(3)]
        places.append(np.int64(sum(s * p for s, p in zip(start, pitches))))
        places.extend(np.int64(s * p) for s, p in zip(step, pitches))
    grid, group, shape = rows_grid(count[0] * count[1], count[2])
    defines = (*shape, ("T", c_type(dst.dtype)), ("A_IS_ZERO", int(a == 0)), ("UNIT", int(dst_step[2] == other_step[2] == 1)))
    args = (A(0), A(1), *map(np.int64, count), *places, kind(a), kind(b))
    return Program((Launch("muladd.knl", "muladd", grid, group, args, defines),))
