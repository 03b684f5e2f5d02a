"""Launch shapes of sums over apertures: 32 work-items an aperture, and an item a source for where it lies."""

from __future__ import annotations

import numpy as np

from footprint.kernels.apertures.contract import PLACE, REACH, SLIVER, SUMS
from footprint.kernels.common.launch import A, Argument, Launch, Program
from footprint.kernels.common.load import c_type
from footprint.kernels.threshold.gpu import groups_for
from footprint.spec import ArraySpec, Limits


def _sums(entry: str, groups: int, items: int, pixels: tuple[ArraySpec, ...], *args: Argument) -> Launch:
    """``pixels`` are the block, its level and its spread."""
    kinds = zip("TLS", (c_type(one.dtype) for one in pixels))
    maps = (("LEVELS", int(pixels[1].size > 1)), ("SPREADS", int(pixels[2].size > 1)))
    numbers = (("SUMS", SUMS), ("PLACE", PLACE), ("SLIVER", SLIVER), ("FROM", REACH))
    return Launch("apertures.knl", entry, (groups, 1, 1), (items, 1, 1), args, (*kinds, *maps, *numbers))


def _places(limits: Limits, entry: str, n: int, *args: Argument) -> Launch:
    return Launch("apertures_places.knl", entry, (groups_for(limits, n, 64), 1, 1), (64, 1, 1), args, (("PLACE", PLACE),))


def _clear(limits: Limits, sums: ArraySpec, at: Argument, column: int, columns: int, pixels: tuple[ArraySpec, ...]) -> Launch:
    n, pitch = sums.shape
    args = (at, np.int64(n), np.int32(pitch), np.int32(column), np.int32(columns))
    return _sums("apertures_clear", groups_for(limits, n * columns), 256, pixels, *args)


def _groups(limits: Limits, apertures: int) -> int:
    """As many as fill the device."""
    return max(1, min(apertures, 64 * max(1, limits.cores)))


def add_program(
    limits: Limits, block: ArraySpec, level: ArraySpec, spread: ArraySpec, places: ArraySpec, radii: ArraySpec, sums: ArraySpec,
    *, first: int, column: int,
) -> Program:  # fmt: skip
    """See `footprint.kernels.apertures.contract` for the arguments."""
    (n, pitch), sizes, pixels = sums.shape, radii.size, (block, level, spread)
    if n * sizes == 0:
        return Program(())
    shape = (np.int64(n), np.int32(sizes), np.int32(pitch), np.int32(column))
    place = (np.int64(first), np.int64(block.shape[0]), np.int64(block.shape[1]))
    add = _sums("apertures_add", _groups(limits, n * sizes), 32, pixels, *map(A, range(6)), *shape, *place)
    return Program((add,) if first else (_clear(limits, sums, A(5), column, SUMS * sizes, pixels), add))


def reach_program(
    limits: Limits, block: ArraySpec, level: ArraySpec, spread: ArraySpec, places: ArraySpec, sums: ArraySpec,
    *, first: int, column: int,
) -> Program:  # fmt: skip
    """See `footprint.kernels.apertures.contract` for the arguments."""
    (n, pitch), pixels = sums.shape, (block, level, spread)
    if n == 0:
        return Program(())
    shape = (np.int64(n), np.int32(pitch), np.int32(column))
    place = (np.int64(first), np.int64(block.shape[0]), np.int64(block.shape[1]))
    reach = _sums("apertures_reach", _groups(limits, n), 32, pixels, *map(A, range(5)), *shape, *place)
    return Program((reach,) if first else (_clear(limits, sums, A(4), column, 2, pixels), reach))


def _placed(limits: Limits, boxes: ArraySpec, moments: ArraySpec, first: int, shaped: bool) -> Program:
    n = boxes.shape[0]
    if n == 0 or first:
        return Program(())
    args: tuple[Argument, ...] = (*map(A, range(4)), np.int64(n), np.int32(moments.shape[1]), np.int32(shaped))
    return Program((_places(limits, "apertures_place", n, *args),))


def discs_program(
    limits: Limits, count: ArraySpec, boxes: ArraySpec, moments: ArraySpec, places: ArraySpec, *, first: int
) -> Program:
    """See `footprint.kernels.apertures.contract` for the arguments."""
    return _placed(limits, boxes, moments, first, False)


def ellipses_program(
    limits: Limits, count: ArraySpec, boxes: ArraySpec, moments: ArraySpec, places: ArraySpec, *, first: int
) -> Program:
    """See `footprint.kernels.apertures.contract` for the arguments."""
    return _placed(limits, boxes, moments, first, True)


def kron_program(
    limits: Limits, sums: ArraySpec, places: ArraySpec, *, first: int, column: int, factor: float, least: float
) -> Program:
    """See `footprint.kernels.apertures.contract` for the arguments."""
    n, pitch = sums.shape
    if n == 0 or first:
        return Program(())
    args = (np.int64(n), np.int32(pitch), np.int32(column), np.float64(factor), np.float64(least))
    return Program((_places(limits, "apertures_kron", n, A(0), A(1), *args),))
