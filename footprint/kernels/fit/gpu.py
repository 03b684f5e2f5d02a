"""Launch shapes of fits: an item a pixel puts stamps aside, then 32 of them fit a source, in the processor's passes."""

from __future__ import annotations

import numpy as np

from footprint.kernels.common.launch import A, Argument, Launch, Program, W
from footprint.kernels.common.load import c_type
from footprint.kernels.common.ordered import order_specs, ordered
from footprint.kernels.fit.contract import ENOUGH, LEAST, MOST, NOTHING, POINT, SETTLED, STEPS, kinds, radius_of
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


def _stamped(limits: Limits, block: ArraySpec, stamps: ArraySpec, maps: bool, first: int) -> Program:
    if block.size == 0 or stamps.size == 0:
        return Program(())
    arrays: tuple[Argument, ...] = tuple(A(i) for i in range(6 if maps else 4))
    place = (np.int64(first), np.int64(block.shape[0]), np.int64(block.shape[1]))
    shape: tuple[Argument, ...] = (np.int64(stamps.shape[0]), np.int32(radius_of(stamps)), *place)
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
    tables = tuple(A(i) for i in range(6))
    params, keys, order, work, near = (W(0), W(1)), W(2), W(3), W(4), W(5)
    flags, gone = (W(6), W(7)), W(8)
    area = stamps.shape[1]
    groups = _groups(limits, n, 7 * 8 * area)
    how = (np.int32(n), columns, np.int32(radius), np.int32(beamed))
    settles = {"ENOUGH": ENOUGH, "SETTLED": SETTLED, "STEPS": STEPS, "NOTHING": NOTHING}
    numbers = settles | {"POINT": POINT, "LEAST": LEAST, "MOST": MOST}

    def launch(entry: str, wide: bool, groups: int, items: int, *args: Argument) -> Launch:
        defines = (("T", c_type(stamps.dtype)), ("M", 6 if wide else 3), *numbers.items())
        return Launch("fit.knl", entry, (groups, 1, 1), (items, 1, 1), args, defines)

    turns = kinds(free, beamed, patient)
    few = groups_for(limits, n, 64)
    begin = launch("fit_begin", turns[0], few, 64, A(3), A(1), A(2), A(5), A(7), *params, keys, *how, np.int32(patient))
    beside = launch("fit_near", turns[0], few, 64, A(3), A(1), keys, order, near, np.int32(n), np.int32(radius))
    made = [begin, *ordered(limits, n, keys, order, A(1), 0), beside]
    for turn, wide in enumerate(turns):
        old, now, before, moved = params[turn % 2], params[1 - turn % 2], flags[turn % 2], flags[1 - turn % 2]
        every = np.int32(turn == 0 or wide != turns[turn - 1])
        shared = (old, now, before, moved, gone, order, near, work)
        made.append(launch("fit_pass", wide, groups, 32, *tables, *shared, *how, every))
    told = (A(6), A(7), params[len(turns) % 2], gone, order, near, work)
    made.append(launch("fit_finish", turns[-1], groups, 32, *tables, *told, *how))
    row, flag = ArraySpec((n, 6), "float64"), ArraySpec((n,), "uint8")
    works = ArraySpec((groups, 7, area), "float64"), ArraySpec((n, 6), "int32")
    return Program(tuple(made), (row, row, *order_specs(n), *works, flag, flag, flag))
