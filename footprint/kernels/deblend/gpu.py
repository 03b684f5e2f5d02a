"""Launch shapes of deblending: summits are numbered as components are, passes open side by side, an island by a work-item.

What differs where an image comes in parts is in `gpu_parts`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from footprint.errors import LimitError
from footprint.kernels.common.launch import A, Argument, Launch, Program, W
from footprint.kernels.common.load import c_type
from footprint.kernels.common.ordered import order_specs, ordered
from footprint.kernels.deblend.contract import BASINS, CROWD, MOST
from footprint.kernels.deblend.gpu_parts import LARGEST, STEPS, Part, in_parts, turns
from footprint.kernels.deblend.gpu_parts import state as state_of_parts
from footprint.kernels.label import gpu as label
from footprint.kernels.threshold.gpu import groups_for
from footprint.spec import ArraySpec, Limits

# Columns of a basin, as `basins.h` has them.
_COLUMNS = 11
# Rounds that one group makes, where anything is left to join: most leave a third of the trees, the worst a half.
_SELDOM = 6


def gather_state(
    limits: Limits, block: ArraySpec, *rest: ArraySpec, capacity: int, height: int, **_: object
) -> tuple[ArraySpec, ...]:
    """How many basins there are, and how many of them, where they are too many, are over the seed; their summits' values, the
    heights of their passes, and all else.
    """
    size = height * block.shape[1]
    n = min(BASINS * capacity, size)
    if block.shape[0] < height:
        if size > LARGEST:
            got, wanted = f"{size} pixels", f"at most {LARGEST} where a GPU takes islands apart"
            raise LimitError("image", got, wanted, "do it on the cpu")
        return state_of_parts(block, n)
    row = ArraySpec((n,), "float64")
    return ArraySpec((2,), "int64"), row, row, ArraySpec((n, _COLUMNS), "int32")


def gather_program(
    limits: Limits, block: ArraySpec, stats: ArraySpec, nodes: ArraySpec, *state: ArraySpec, sigma: float, connectivity: int,
    seed: float, first: int, height: int, **_: object,
) -> Program:  # fmt: skip
    """See `footprint.kernels.deblend.contract` for the arguments."""
    size, width, room = block.size, block.shape[1], state[1].shape[0]
    if in_parts(state):
        how: dict[str, Any] = {"first": first, "height": height, "sigma": sigma, "connectivity": connectivity}
        return Part(limits, block, room, (A(0), A(1), A(2)), 3, **how).gather(seed)
    pixels, ids, met, peaks, heights, basins = A(0), A(2), A(3), A(4), A(5), A(6)
    chunks, roots, flags = W(0), W(1), W(2)
    kind, n = c_type(block.dtype), -(-size // label.CHUNK)
    sky = (pixels, A(1), np.float64(sigma))
    runs, _joined, *numbered = label.launches(limits, sky, kind, size, width, connectivity, ids, (chunks, roots), met, 0)
    jumps, rounds = turns(size, room)
    defines = (("T", kind), ("WIDE", int(kind == "f64")), ("CHUNK", label.CHUNK), ("STEPS", STEPS))
    shape, known = (np.int32(n), np.int32(size), np.int32(width)), (met, np.int32(room))
    near = (np.int32(connectivity == 8), *shape)

    listed, swept = groups_for(limits, room), min(n, 16 * max(1, limits.cores))

    def launch(entry: str, *args: Argument, groups: int = swept) -> Launch:
        return Launch("deblend.knl", f"deblend_{entry}", (groups, 1, 1), (256, 1, 1), args, defines)

    def forest(entry: str, turn: int, *args: Argument, groups: int = swept) -> Launch:
        return launch(entry, pixels, ids, chunks, roots, basins, flags, np.int32(turn), *near, *args, groups=groups)

    made = [
        runs,
        launch("climb", pixels, ids, chunks, flags, np.int32(jumps + rounds + 1), *near),
        *(launch("jump", ids, chunks, flags, np.int32(turn), *shape[:2]) for turn in range(jumps)),
        *numbered,
        launch("open", basins, *known, groups=listed),
        launch("basins", pixels, ids, chunks, roots, peaks, basins, *known, *shape, A(1), np.float64(seed)),
        launch("borders", pixels, ids, chunks, roots, flags, *known, np.int32(jumps), *near, groups=n),
    ]
    last, rest = jumps + rounds, max(jumps + 1, jumps + rounds - _SELDOM)
    for turn in range(jumps, rest):
        made += [forest(entry, turn) for entry in ("high", *(("low",) if kind == "f64" else ()), "place")]
        made.append(forest("hook", turn, heights, *known, groups=listed))
        made.append(launch("join", basins, flags, *known, np.int32(turn), groups=listed))
    made.append(forest("rest", rest, heights, *known, np.int32(last), groups=1))
    return Program(tuple(made), (*label.chunk_specs(size), ArraySpec((jumps + rounds + 1,), "int32")))


def _launch(entry: str, groups: int, items: int, *args: Argument, parts: bool = False) -> Launch:
    defines = (("WIDE", 1), ("PARTS", int(parts)), ("NT", _NUMBERERS), ("CROWD", CROWD.bit_length() - 1), ("MOST", MOST))
    return Launch("tree.knl", f"tree_{entry}", (groups, 1, 1), (items, 1, 1), args, defines)


# Work-items of the one group that numbers islands.
_NUMBERERS = 256


def settle_program(
    limits: Limits, stats: ArraySpec, count: ArraySpec, members: ArraySpec, *state: ArraySpec, seed: float, prominence: float,
    contrast: float, min_area: int, beamed: tuple[float, *tuple[int, ...]], width: int,
) -> Program:  # fmt: skip
    """See `footprint.kernels.deblend.contract` for the arguments."""
    room, rows = state[1].shape[0], np.int32(members.shape[0])
    met, peaks, heights, basins, keys, order = A(3), A(4), A(5), A(6), W(0), W(1)
    known, listed = (met, np.int32(room)), groups_for(limits, room)
    least = np.int32(min(min_area, 2**31 - 1))
    rules = (np.float64(seed), np.float64(prominence), np.float64(contrast))
    bounds = [np.int64(bound) for bound in beamed[1:]]
    opened: tuple[Argument, ...] = (basins, peaks, heights, order, met, A(0), np.int32(room), least, np.int32(width), *rules)
    opened = (*opened, np.float64(beamed[0]), *bounds)
    put, parts = ordered(limits, room, keys, order, met, 0), in_parts(state)

    def launch(entry: str, *args: Argument, groups: int = listed, items: int = 256) -> Launch:
        return _launch(entry, groups, items, *args, parts=parts)

    made = (
        *((launch("link", basins, *known),) if parts else ()),
        launch("keys", basins, heights, keys, *known),
        *put,
        launch("open", *opened, groups=groups_for(limits, room, 64), items=64),
        launch("sources", basins, peaks, keys, met, A(0), np.int32(room), least, rules[0]),
        *put,
        launch("number", keys, order, met, A(1), A(2), np.int32(room), rows, groups=1, items=_NUMBERERS),
        launch("name", basins, keys, order, A(1), A(2), rows, groups=groups_for(limits, members.shape[0])),
        launch("labels", basins, *known),
    )
    return Program(made, order_specs(room))


def paint_program(
    limits: Limits, block: ArraySpec, stats: ArraySpec, count: ArraySpec, nodes: ArraySpec, labels: ArraySpec, *state: ArraySpec,
    capacity: int, first: int, height: int, sigma: float, connectivity: int, **_: object,
) -> Program:  # fmt: skip
    """See `footprint.kernels.deblend.contract` for the arguments."""
    parts = in_parts(state)
    args = (A(3), A(4), A(8), A(5), A(2), np.int32(state[1].shape[0]), np.int32(capacity), np.int64(block.size))
    painted = _launch("paint", groups_for(limits, block.size), 256, *args, parts=parts)
    if not parts:
        return Program((painted,))
    how: dict[str, Any] = {"first": first, "height": height, "sigma": sigma, "connectivity": connectivity}
    part = Part(limits, block, state[1].shape[0], (A(0), A(1), A(3)), 5, **how)
    return Program((*part.again(), painted), part.work)


def _told(entry: str, groups: int, kind: str, *args: Argument) -> Launch:
    return Launch("told.knl", entry, (groups, 1, 1), (256, 1, 1), args, (("T", kind),))


def told_program(
    limits: Limits, block: ArraySpec, level: ArraySpec, spread: ArraySpec, ranks: ArraySpec, values: ArraySpec
) -> Program:
    """See `footprint.kernels.deblend.contract` for the arguments."""
    arrays = tuple(A(i) for i in range(5))
    return Program((_told("told", groups_for(limits, block.size), c_type(block.dtype), *arrays, np.int64(block.size)),))


def at_peaks_program(
    limits: Limits, level: ArraySpec, spread: ArraySpec, boxes: ArraySpec, moments: ArraySpec, *, first: int
) -> Program:
    """See `footprint.kernels.deblend.contract` for the arguments."""
    n, columns = moments.shape
    place = (np.int32(n), np.int32(columns), np.int64(first), np.int64(level.shape[0]), np.int64(level.shape[1]))
    arrays = (A(0), A(1), A(2), A(3))
    return Program((_told("told_at_peaks", groups_for(limits, n), c_type(level.dtype), *arrays, *place),))
