"""Launch shapes of heights that are held: an item a pixel puts windows aside, then one a place solves them together."""

from __future__ import annotations

import math

import numpy as np

from footprint.kernels.common.launch import A, Argument, Defines, Launch, Program, W
from footprint.kernels.common.load import c_type
from footprint.kernels.common.ordered import order_specs, ordered
from footprint.kernels.fit.contract import COLUMNS, MAJOR, MINOR, NOTHING, THETA, X, Y
from footprint.kernels.held.contract import FOUND, LEAST, LEFT, NEAR, NONE, PLACE, ROW, SETTLED, SHARE, TURNS, VECTORS
from footprint.kernels.threshold.gpu import groups_for
from footprint.spec import ArraySpec, Limits

# What all groups list pixels in, unless every core needs more for one.
_WORK = 64 << 20
_PLACED: Defines = (
    ("PLACE", PLACE), ("ROW", ROW), ("FITTED", COLUMNS), ("F_Y", Y), ("F_X", X), ("F_MAJOR", MAJOR), ("F_MINOR", MINOR),
    ("F_THETA", THETA),
)  # fmt: skip
# Rows of the vectors, as `held.knl` has them.
_GOOD, _RIGHT, _HEIGHTS, _REST, _SHADOW, _STEP, _ALONG, _HALF_WAY, _ACROSS = range(9)


def _placed(limits: Limits, entry: str, items: int, group: int, args: tuple[Argument, ...], kinds: Defines) -> Program:
    if items == 0:
        return Program(())
    grid = (groups_for(limits, items, group), 1, 1)
    return Program((Launch("held_places.knl", f"held_{entry}", grid, (group, 1, 1), args, (*kinds, *_PLACED)),))


_ANY: Defines = (("T", "f32"), ("L", "f32"), ("S", "f32"), ("LEVELS", 0), ("SPREADS", 0))


def places_program(
    limits: Limits, count: ArraySpec, fits: ArraySpec, beam: ArraySpec, change: ArraySpec, places: ArraySpec, *, first: int,
    beamed: bool,
) -> Program:  # fmt: skip
    """See `footprint.kernels.held.contract` for the arguments."""
    n = 0 if first else places.shape[0]
    return _placed(limits, "places", n, 64, (*map(A, range(5)), np.int64(n), np.int32(beamed)), _ANY)


def stamp_program(
    limits: Limits, block: ArraySpec, level: ArraySpec, spread: ArraySpec, places: ArraySpec, stamps: ArraySpec, noises: ArraySpec,
    *, first: int,
) -> Program:  # fmt: skip
    """See `footprint.kernels.held.contract` for the arguments."""
    kinds = tuple(zip("TLS", (c_type(one.dtype) for one in (block, level, spread))))
    maps = (("LEVELS", int(level.size > 1)), ("SPREADS", int(spread.size > 1)))
    place = (np.int64(first), np.int64(block.shape[0]), np.int64(block.shape[1]))
    args: tuple[Argument, ...] = (*map(A, range(6)), np.int64(stamps.shape[0]), np.int32(_radius(stamps)), *place)
    return _placed(limits, "stamp", stamps.size if block.size else 0, 256, args, (*kinds, *maps))


def rows_program(limits: Limits, sums: ArraySpec, boxes: ArraySpec, rows: ArraySpec) -> Program:
    """See `footprint.kernels.held.contract` for the arguments."""
    n = rows.shape[0]
    args = (A(0), A(1), A(2), np.int64(n), np.int64(sums.shape[0]), np.int32(sums.shape[1]))
    return _placed(limits, "rows", n, 64, args, _ANY)


def _radius(stamps: ArraySpec) -> int:
    return (math.isqrt(stamps.shape[1]) - 1) // 2


def _groups(limits: Limits, n: int, each: int) -> int:
    """As many as fill the device, in bounded memory."""
    cores = max(1, limits.cores)
    return max(1, min(n, 32 * cores, max(cores, _WORK // each)))


def solve_program(
    limits: Limits, places: ArraySpec, stamps: ArraySpec, noises: ArraySpec, rho: ArraySpec, found: ArraySpec, *, within: float,
    far: float,
) -> Program:  # fmt: skip
    """See `footprint.kernels.held.contract` for the arguments."""
    n, radius, area = places.shape[0], _radius(stamps), stamps.shape[1]
    if n == 0:
        return Program(())
    vectors, state, near, shares, cells, met, keys, order, lists = map(W, range(9))
    groups = _groups(limits, n, 8 * 3 * (NEAR + 1) * area)
    numbers: dict[str, int | float] = {"PLACE": PLACE, "FOUND": FOUND, "NEAR": NEAR, "OVERLAPS": NEAR + 1}
    numbers |= {"LEAST": LEAST, "NOTHING": NOTHING} | {"LEFT": LEFT, "SETTLED": SETTLED, "SHARE": SHARE, "NONE": NONE}
    defines = (("T", c_type(stamps.dtype)), *numbers.items())
    few, listed, size = groups_for(limits, n, 64), groups_for(limits, n), (np.int32(n), np.int32(radius))
    reach = (np.float64(within), np.float64(far))

    def launch(entry: str, groups: int, items: int, *args: Argument) -> Launch:
        return Launch("held.knl", f"held_{entry}", (groups, 1, 1), (items, 1, 1), args, defines)

    def times(of: int, to: int) -> Launch:
        known = (A(0), A(1), vectors, order, cells, near, shares, state)
        return launch("times", few, 64, *known, *size, *reach, np.int32(of), np.int32(to))

    def sums(what: int, *rows: int) -> Launch:
        return launch("sums", 1, 256, vectors, state, size[0], *map(np.int32, rows), np.int32(what))

    def move(what: int) -> Launch:
        return launch("move", listed, 256, vectors, state, size[0], np.int32(what))

    step = (
        sums(1, _SHADOW, _REST, _REST, _REST), move(1), times(_STEP, _ALONG),
        sums(2, _SHADOW, _ALONG, _SHADOW, _ALONG), move(2), times(_HALF_WAY, _ACROSS),
        sums(3, _ACROSS, _HALF_WAY, _ACROSS, _ACROSS), move(3),
    )  # fmt: skip
    made = (
        launch("begin", few, 64, A(0), A(1), vectors, A(4), keys, met, state, *size, *reach),
        *ordered(limits, n, keys, order, met, 0),
        launch("near", few, 64, A(0), vectors, keys, order, cells, size[0], reach[1]),
        launch("few", few, 64, A(0), A(1), vectors, order, cells, near, shares, A(4), *size, *reach),
        times(_RIGHT, _ALONG), sums(0, _RIGHT, _RIGHT, _RIGHT, _RIGHT), move(0),
        *(step * TURNS),
        sums(4, _REST, _REST, _REST, _REST),
        launch("forget", listed, 256, vectors, state, size[0]),
        launch("tell", groups, 32, *map(A, range(4)), vectors, order, cells, near, shares, A(4), lists, *size,
               np.int32(rho.shape[0]), *reach),
    )  # fmt: skip
    work = (
        ArraySpec((VECTORS, n), "float64"), ArraySpec((7,), "float64"), ArraySpec((n, NEAR + 1), "int32"),
        ArraySpec((n, NEAR + 1), "float64"), ArraySpec((n, 6), "int32"), ArraySpec((1,), "int64"), *order_specs(n),
        ArraySpec((groups, 3, (NEAR + 1) * area), "float64"),
    )  # fmt: skip
    return Program(made, work)
