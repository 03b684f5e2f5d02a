"""Launch shapes of what removes stripes."""

from __future__ import annotations

import numpy as np

from footprint.kernels.common.launch import MAX_GROUPS_Y, A, Argument, Launch, Program, W
from footprint.spec import ArraySpec, Limits

TEXT = "remove_stripes.knl"
GROUP = (256, 1, 1)
MAX_GRID = 1 << 20
# Groups that sort side by side, a core: each has a second place for a column.
_SORTING = 8
# Angles that one work-item adds up.
_STRETCH = 64
# Work-items that sort a column, and numbers of it that each may have, in registers: odd, so that neighbours' lie in different banks
# of the chip's memory, and more than the first few only where there are no more work-items.
_SORTERS, _EACH, _USUAL = (64, 128, 256, 512, 1024), (3, 5, 7, 9, 11, 13, 17, 21, 25), 13
# Values of a window that a work-item has in registers, and the medians it then takes one after the other.
_MOST, _SPAN = 96, 128


def _over(entry: str, units: int, args: tuple[Argument, ...]) -> Program:
    """A group for each of so many units."""
    return Program((Launch(TEXT, entry, (min(units, MAX_GRID), 1, 1), GROUP, args),)) if units else Program(())


def _columns(entry: str, n_x: int, rows: int, args: tuple[Argument, ...]) -> Launch:
    """A work-item a column, for each of so many rows."""
    return Launch(TEXT, entry, (-(-n_x // 256), min(rows, MAX_GROUPS_Y), 1), GROUP, args)


def _sizes(*numbers: int) -> tuple[np.int64, ...]:
    return tuple(np.int64(n) for n in numbers)


def sort_program(limits: Limits, lines: ArraySpec, keys: ArraySpec, places: ArraySpec) -> Program:
    """A group a column: on the chip where it fits."""
    n, n_a, n_x = lines.shape
    shape = _sorters(limits, n_a)
    if shape is not None and lines.size:
        items, each = shape
        sizes: tuple[Argument, ...] = (A(0), A(1), A(2), np.int64(n), np.int32(n_a), np.int64(n_x))
        grid, defines = (min(n * n_x, MAX_GRID), 1, 1), (("NT", items), ("EACH", each))
        return Program((Launch("sort_ranks.knl", "sort_short", grid, (items, 1, 1), sizes, defines, 8 * items * each),))
    groups = min(n * n_x, max(limits.cores, 1) * _SORTING)
    args: tuple[Argument, ...] = (A(0), A(1), A(2), W(0), W(1), *_sizes(n, n_a, n_x))
    work = (ArraySpec((groups, n_a), "uint32"), ArraySpec((groups, n_a), "int32"))
    return Program((Launch(TEXT, "sort_columns", (groups, 1, 1), GROUP, args),) if lines.size else (), work)


def _sorters(limits: Limits, n_a: int) -> tuple[int, int] | None:
    """Work-items for a column of so many angles, and numbers of each; None where it does not fit."""
    for items in (one for one in _SORTERS if one <= limits.group):
        each = next((one for one in _EACH if items * one >= n_a), None)
        if each is not None and (each <= _USUAL or items == _SORTERS[-1]) and 8 * items * each <= limits.local_mem:
            return items, each
    return None


def smooth_program(limits: Limits, keys: ArraySpec, smoothed: ArraySpec, *, size: int) -> Program:
    """A work-item a rank and a stretch of columns."""
    n, n_x, n_a = keys.shape
    stretches, small = n * -(-n_x // _SPAN), size <= _MOST
    grid = (-(-n_a // 128), min(stretches, MAX_GROUPS_Y), 1)
    args: tuple[Argument, ...] = (A(0), A(1), *_sizes(stretches, n_x, n_a), *(() if small else (np.int32(size),)))
    defines = (("SIZE", size if small else 0), ("SPAN", _SPAN))
    launch = Launch("slide_ranks.knl", "slide_ranks" if small else "slide_long", grid, (128, 1, 1), args, defines)
    return Program((launch,) if keys.size else ())


def unsort_program(limits: Limits, smoothed: ArraySpec, places: ArraySpec, lines: ArraySpec) -> Program:
    """A group a column; marks are not read."""
    n, n_x, n_a = smoothed.shape
    return _over("unsort_columns", n * n_x, (A(0), A(1), A(1), A(2), *_sizes(n, n_x, n_a), np.int32(0)))


def unsort_marked_program(limits: Limits, smoothed: ArraySpec, places: ArraySpec, marks: ArraySpec, lines: ArraySpec) -> Program:
    """A group a column."""
    n, n_x, n_a = smoothed.shape
    return _over("unsort_columns", n * n_x, (A(0), A(1), A(2), A(3), *_sizes(n, n_x, n_a), np.int32(1)))


def profile_program(limits: Limits, keys: ArraySpec, smoothed: ArraySpec, ratio: ArraySpec, *, drop: int) -> Program:
    """A group a column."""
    n, n_x, n_a = keys.shape
    return _over("profile_columns", n * n_x, (A(0), A(1), A(2), *_sizes(n * n_x, n_a, drop)))


def detect_program(limits: Limits, ratio: ArraySpec, order: ArraySpec, marks: ArraySpec, *, snr: float, edge: int) -> Program:
    """A group a sinogram."""
    n, n_x = marks.shape
    return _over("detect_columns", n, (A(0), A(1), A(2), *_sizes(n, n_x), np.float64(snr), np.int64(edge)))


def _summed(lines: ArraySpec, rough: bool, shares: bool = False) -> Program:
    n, n_a, n_x = lines.shape
    stretches = -(-n_a // _STRETCH)
    one: tuple[Argument, ...] = (A(0), W(0), *_sizes(n, n_a, n_x, _STRETCH, stretches), np.int32(rough), np.int32(shares))
    two: tuple[Argument, ...] = (W(0), A(1), *_sizes(n, n_x, stretches), np.float64(1 if rough else n_a), np.int32(shares))
    launches = (_columns("sum_stretches", n_x, n * stretches, one), _columns("sum_sums", n_x, n, two))
    return Program(launches if lines.size else (), (ArraySpec((n, stretches, n_x), "float64"),))


def roughness_program(limits: Limits, lines: ArraySpec, rough: ArraySpec) -> Program:
    """Stretches of angles, then their sum."""
    return _summed(lines, True)


def means_program(limits: Limits, lines: ArraySpec, means: ArraySpec, *, shares: bool = False) -> Program:
    """Stretches of angles, then their sum."""
    return _summed(lines, False, shares)


def _applied(entry: str, lines: ArraySpec, *more: np.generic) -> Program:
    n, n_a, n_x = lines.shape
    launch = _columns(entry, n_x, n * n_a, (A(0), A(1), *_sizes(n, n_a, n_x), *more))
    return Program((launch,) if lines.size else ())


def divide_program(limits: Limits, lines: ArraySpec, ratio: ArraySpec) -> Program:
    """A work-item a column and row."""
    return _applied("apply_profile", lines, np.int32(1))


def subtract_program(limits: Limits, lines: ArraySpec, profile: ArraySpec) -> Program:
    """A work-item a column and row."""
    return _applied("apply_profile", lines, np.int32(0))


def bridge_program(limits: Limits, lines: ArraySpec, marks: ArraySpec) -> Program:
    """A work-item a column and row."""
    return _applied("bridge_columns", lines)


def contrast_program(limits: Limits, means: ArraySpec, weights: ArraySpec, out: ArraySpec, *, divide: bool) -> Program:
    """A work-item a column."""
    n, n_x = means.shape
    args: tuple[Argument, ...] = (A(0), A(1), A(2), *_sizes(n, n_x, weights.shape[0] - 1), np.int32(divide))
    return Program((_columns("contrast_profile", n_x, n, args),) if means.size else ())
