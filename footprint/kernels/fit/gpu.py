"""Launch shapes of fits: an item a pixel puts stamps aside, then 32 of them fit a source, in as many passes as on the processor."""

from __future__ import annotations

import math

import numpy as np

from footprint.kernels.common.launch import A, Argument, Launch, Program, W
from footprint.kernels.common.load import c_type
from footprint.kernels.common.ordered import order_specs, ordered
from footprint.kernels.fit.contract import LEAST, MOST, NOTHING, POINT, STEPS, kinds
from footprint.kernels.threshold.gpu import groups_for
from footprint.spec import ArraySpec, Limits

# What all groups work on, unless every core needs more for one.
_WORK = 64 << 20


def stamp_program(
    limits: Limits, block: ArraySpec, boxes: ArraySpec, count: ArraySpec, stamps: ArraySpec, *, first: int
) -> Program:
    """See `footprint.kernels.fit.contract` for the arguments."""
    return _stamped(limits, block, stamps, False, first)


def stamp_over_program(
    limits: Limits, block: ArraySpec, level: ArraySpec, spread: ArraySpec, boxes: ArraySpec, count: ArraySpec, stamps: ArraySpec,
    *, first: int,
) -> Program:  # fmt: skip
    """See `footprint.kernels.fit.contract` for the arguments."""
    return _stamped(limits, block, stamps, True, first)


def _radius(stamps: ArraySpec) -> int:
    return (math.isqrt(stamps.shape[1]) - 1) // 2


def _stamped(limits: Limits, block: ArraySpec, stamps: ArraySpec, maps: bool, first: int) -> Program:
    if block.size == 0 or stamps.size == 0:
        return Program(())
    arrays: tuple[Argument, ...] = tuple(A(i) for i in range(6 if maps else 4))
    place = (np.int64(first), np.int64(block.shape[0]), np.int64(block.shape[1]))
    shape: tuple[Argument, ...] = (np.int64(stamps.shape[0]), np.int32(_radius(stamps)), *place)
    defines = (("T", c_type(block.dtype)), ("MAPS", int(maps)))
    grid = (groups_for(limits, stamps.size), 1, 1)
    return Program((Launch("fit_stamp.knl", "fit_stamp", grid, (256, 1, 1), (*arrays, *shape), defines),))


def _groups(limits: Limits, n: int, each: int) -> int:
    """As many as fill the device, in bounded memory."""
    cores = max(1, limits.cores)
    return max(1, min(n, 32 * cores, max(cores, _WORK // each)))


def solve_program(
    limits: Limits, stats: ArraySpec, count: ArraySpec, moments: ArraySpec, boxes: ArraySpec, stamps: ArraySpec, beam: ArraySpec,
    rho: ArraySpec, fits: ArraySpec, *, radius: int, free: bool, beamed: bool,
    patient: bool = False,
) -> Program:  # fmt: skip
    """See `footprint.kernels.fit.contract` for the arguments."""
    n, columns = boxes.shape[0], np.int32(moments.shape[1])
    if n == 0:
        return Program(())
    tables = tuple(A(i) for i in range(7))
    params, keys, order, work = (W(0), W(1)), W(2), W(3), W(4)
    area = stamps.shape[1]
    groups = _groups(limits, n, 7 * 8 * area)
    how = (np.int32(n), columns, np.int32(radius), np.int32(beamed))

    def launch(entry: str, wide: bool, groups: int, items: int, *args: Argument) -> Launch:
        numbers = {"STEPS": STEPS, "NOTHING": NOTHING, "POINT": POINT, "LEAST": LEAST, "MOST": MOST}
        defines = (("T", c_type(stamps.dtype)), ("M", 6 if wide else 3), *numbers.items())
        return Launch("fit.knl", entry, (groups, 1, 1), (items, 1, 1), args, defines)

    turns = kinds(free, beamed, patient)
    begin = launch("fit_begin", turns[0], groups_for(limits, n, 64), 64, A(3), A(1), A(2), A(5), A(7), *params, keys, *how)
    made = [begin, *ordered(limits, n, keys, order, A(1), 0)]
    for turn, wide in enumerate(turns):
        old, now = params[turn % 2], params[1 - turn % 2]
        last = np.int32(turn + 1 == len(turns))
        made.append(launch("fit_pass", wide, groups, 32, *tables, A(7), old, now, keys, order, work, *how, last))
    row = ArraySpec((n, 6), "float64")
    return Program(tuple(made), (row, row, *order_specs(n), ArraySpec((groups, 7, area), "float64")))
