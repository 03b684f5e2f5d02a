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
# Angles that one work-item adds up, and that it changes.
_STRETCH, _CHANGED = 64, 32
# Work-items that add up a column.
_PROFILED = 64
# Columns that are put back together.
_TOGETHER = 8
# Work-items that sort a column, numbers of it that each has in registers, and the work-items of a group that has several columns.
_SORTERS, _EACH, _BESIDE = (32, 64, 128, 256, 512, 1024), (2, 8, 12, 16, 24, 32, 48, 64), 128
# Work-items whose registers a core surely has room for: no more, or numbers leave the registers.
_RESIDENT = 256
# The longest windows whose values a work-item has in registers, and how many medians it then takes at once: (size, most) from that
# size on. Medians along x that follow each other in longer windows.
_MOST, _SPANS, _LONG_SPAN = 96, ((48, 32), (0, 16)), 128


def _over(entry: str, units: int, args: tuple[Argument, ...]) -> Program:
    """A group for each of so many units."""
    return Program((Launch(TEXT, entry, (min(units, MAX_GRID), 1, 1), GROUP, args),)) if units else Program(())


def _columns(entry: str, n_x: int, rows: int, args: tuple[Argument, ...]) -> Launch:
    """A work-item a column, for each of so many rows."""
    return Launch(TEXT, entry, (-(-n_x // 256), min(rows, MAX_GROUPS_Y), 1), GROUP, args)


def _sizes(*numbers: int) -> tuple[np.int64, ...]:
    return tuple(np.int64(n) for n in numbers)


def sort_program(limits: Limits, lines: ArraySpec, keys: ArraySpec, places: ArraySpec) -> Program:
    """A group some columns, on the chip where they fit."""
    n, n_a, n_x = lines.shape
    shape = _sorters(limits, n_a)
    if shape is not None and lines.size:
        items, each, columns, local = shape
        sizes: tuple[Argument, ...] = (A(0), A(1), A(2), np.int64(n), np.int32(n_a), np.int64(n_x))
        grid = (min(n * -(-n_x // columns), MAX_GRID), 1, 1)
        bits = (items * each - 1).bit_length()
        resident = max(_RESIDENT // (items * columns), 1)
        defines = (("NT", items), ("EACH", each), ("COLUMNS", columns), ("BITS", bits), ("MIN_GROUPS", resident))
        return Program((Launch("sort_ranks.knl", "sort_short", grid, (items * columns, 1, 1), sizes, defines, local),))
    groups = min(n * n_x, max(limits.cores, 1) * _SORTING)
    args: tuple[Argument, ...] = (A(0), A(1), A(2), W(0), W(1), *_sizes(n, n_a, n_x))
    work = (ArraySpec((groups, n_a), "uint32"), ArraySpec((groups, n_a), "int32"))
    return Program((Launch(TEXT, "sort_columns", (groups, 1, 1), GROUP, args),) if lines.size else (), work)


def _sorters(limits: Limits, n_a: int) -> tuple[int, int, int, int] | None:
    """Work-items for a column of so many angles, numbers of each, columns of a group and its bytes; None where it does not fit."""
    for items in (one for one in _SORTERS if one <= limits.group):
        each = next((one for one in _EACH if items * one >= n_a), None)
        if each is None:
            continue
        columns = max(min(_BESIDE, limits.group) // items, 1)
        while columns > 1 and _sorting(items, each, columns) > limits.local_mem:
            columns //= 2
        local = _sorting(items, each, columns)
        return (items, each, columns, local) if local <= limits.local_mem else None
    return None


def _sorting(items: int, each: int, columns: int) -> int:
    """Bytes on the chip: keys as they came, and in order; some more are its words about columns."""
    return 4 * columns * (items * each + 32 // columns + items * (each + 1))


def smooth_program(limits: Limits, keys: ArraySpec, smoothed: ArraySpec, *, size: int) -> Program:
    """A work-item a rank and a stretch of columns."""
    n, n_x, n_a = keys.shape
    small = size <= _MOST
    most = next(span for least, span in _SPANS if size >= least)
    span = min(most, 1 << size.bit_length() - 1) if small else _LONG_SPAN
    stretches = n * -(-n_x // span)
    grid = (-(-n_a // 128), min(stretches, MAX_GROUPS_Y), 1)
    args: tuple[Argument, ...] = (A(0), A(1), *_sizes(stretches, n_x, n_a), *(() if small else (np.int32(size),)))
    defines = (("SIZE", size if small else 0), ("SPAN", span))
    launch = Launch("slide_ranks.knl", "median_ranks" if small else "slide_long", grid, (128, 1, 1), args, defines)
    return Program((launch,) if keys.size else ())


def unsort_program(limits: Limits, smoothed: ArraySpec, places: ArraySpec, lines: ArraySpec) -> Program:
    """A group some columns where they fit on the chip, else one; marks are not read."""
    n, n_x, n_a = smoothed.shape
    pitch = -(-n_a // 256) * 256 + 32 // _TOGETHER
    local = 4 * _TOGETHER * pitch
    if local > limits.local_mem or smoothed.size == 0:
        return _over("unsort_columns", n * n_x, (A(0), A(1), A(1), A(2), *_sizes(n, n_x, n_a), np.int32(0)))
    args: tuple[Argument, ...] = (A(0), A(1), A(2), *_sizes(n, n_x), np.int32(n_a))
    grid, defines = (min(n * -(-n_x // _TOGETHER), MAX_GRID), 1, 1), (("COLUMNS", _TOGETHER), ("PITCH", pitch))
    return Program((Launch(TEXT, "unsort_beside", grid, GROUP, args, defines, local),))


def unsort_marked_program(limits: Limits, smoothed: ArraySpec, places: ArraySpec, marks: ArraySpec, lines: ArraySpec) -> Program:
    """A group a column."""
    n, n_x, n_a = smoothed.shape
    return _over("unsort_columns", n * n_x, (A(0), A(1), A(2), A(3), *_sizes(n, n_x, n_a), np.int32(1)))


def profile_program(limits: Limits, keys: ArraySpec, smoothed: ArraySpec, ratio: ArraySpec, *, drop: int) -> Program:
    """A group a column."""
    n, n_x, n_a = keys.shape
    args: tuple[Argument, ...] = (A(0), A(1), A(2), *_sizes(n * n_x, n_a, drop))
    launch = Launch(TEXT, "profile_columns", (min(n * n_x, MAX_GRID), 1, 1), (_PROFILED, 1, 1), args)
    return Program((launch,) if keys.size else ())


def detect_program(limits: Limits, ratio: ArraySpec, order: ArraySpec, marks: ArraySpec, *, snr: float, edge: int) -> Program:
    """A group a sinogram."""
    n, n_x = marks.shape
    return _over("detect_columns", n, (A(0), A(1), A(2), *_sizes(n, n_x), np.float64(snr), np.int64(edge)))


def _summed(lines: ArraySpec, entry: str, over: float, *more: np.generic) -> Program:
    n, n_a, n_x = lines.shape
    stretches = -(-n_a // _STRETCH)
    one: tuple[Argument, ...] = (A(0), W(0), *_sizes(n, n_a, n_x, _STRETCH), *more)
    two: tuple[Argument, ...] = (W(0), A(1), *_sizes(n, n_x, stretches), np.float64(over), *(more or (np.int32(0),)))
    launches = (_columns(entry, n_x, n * stretches, one), _columns("sum_sums", n_x, n, two))
    return Program(launches if lines.size else (), (ArraySpec((n, stretches, n_x), "float64"),))


def roughness_program(limits: Limits, lines: ArraySpec, rough: ArraySpec) -> Program:
    """Stretches of angles, then their sum."""
    return _summed(lines, "sum_rough", 1)


def means_program(limits: Limits, lines: ArraySpec, means: ArraySpec, *, shares: bool = False) -> Program:
    """Stretches of angles, then their sum."""
    return _summed(lines, "sum_stretches", lines.shape[1], np.int32(shares))


def _applied(entry: str, lines: ArraySpec, *more: np.generic) -> Program:
    n, n_a, n_x = lines.shape
    launch = _columns(entry, n_x, n * -(-n_a // _CHANGED), (A(0), A(1), *_sizes(n, n_a, n_x, _CHANGED), *more))
    return Program((launch,) if lines.size else ())


def divide_program(limits: Limits, lines: ArraySpec, ratio: ArraySpec) -> Program:
    """A work-item a column and a stretch of angles."""
    return _applied("apply_profile", lines, np.int32(1))


def subtract_program(limits: Limits, lines: ArraySpec, profile: ArraySpec) -> Program:
    """A work-item a column and a stretch of angles."""
    return _applied("apply_profile", lines, np.int32(0))


def bridge_program(limits: Limits, lines: ArraySpec, marks: ArraySpec) -> Program:
    """A work-item a column and a stretch of angles."""
    return _applied("bridge_columns", lines)


def contrast_program(limits: Limits, means: ArraySpec, weights: ArraySpec, out: ArraySpec, *, divide: bool) -> Program:
    """A work-item a column."""
    n, n_x = means.shape
    args: tuple[Argument, ...] = (A(0), A(1), A(2), *_sizes(n, n_x, weights.shape[0] - 1), np.int32(divide))
    return Program((_columns("contrast_profile", n_x, n, args),) if means.size else ())
