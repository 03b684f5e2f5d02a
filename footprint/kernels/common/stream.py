"""Work-groups of the kernels that stream rows: every work-item takes columns that lie a group's width apart."""

from __future__ import annotations

from footprint.kernels.common.launch import MAX_GROUPS_Y, Defines

ITEMS = 256
COLUMNS = 4
ROWS = 2


def across(width: int) -> int:
    """Work-items across: narrow rows get narrow groups, so that few of them are idle."""
    return next((n for n in (32, 64, 128) if width <= n * COLUMNS), ITEMS)


def rows_grid(lines: int, width: int) -> tuple[tuple[int, int, int], tuple[int, int, int], Defines]:
    """Grid, group and constants for ``lines`` rows of ``width`` elements."""
    tx = across(width)
    ty = ITEMS // tx
    grid = (-(-width // (tx * COLUMNS)), min(-(-lines // (ty * ROWS)), MAX_GROUPS_Y), 1)
    return grid, (tx, ty, 1), (("TX", tx), ("TY", ty), ("CX", COLUMNS), ("RY", ROWS))


def flat_grid(count: int) -> tuple[int, int, int]:
    """Groups of 256 for ``count`` elements, each work-item taking several where there are very many."""
    return (min(-(-count // ITEMS), 1 << 20), 1, 1)
