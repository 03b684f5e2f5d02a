"""Workspace of the row filter on the CPU."""

from __future__ import annotations

from footprint.kernels.ramp_filter.lines import LANES
from footprint.spec import ArraySpec, Limits


def groups(rows: int) -> int:
    """Groups of rows that go through a transform side by side."""
    return -(-rows // LANES)


def lines_work(limits: Limits, rows: ArraySpec, *others: ArraySpec, padded: int, **_: object) -> tuple[ArraySpec, ...]:
    """For each thread that has some: rows, side by side."""
    return (ArraySpec((max(1, min(limits.threads, groups(rows.shape[0]))), padded * LANES)),)
