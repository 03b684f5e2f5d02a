"""What a GPU kernel asks for: sources, constants, grid and arguments, as frozen data no vendor is named in."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from footprint.spec import ArraySpec


@dataclass(frozen=True)
class A:
    """The ``index``-th array of the launch."""

    index: int


@dataclass(frozen=True)
class W:
    """The ``index``-th work array of the launch."""

    index: int


Argument = A | W | np.generic
Defines = tuple[tuple[str, int | float | str], ...]

MAX_GROUPS_Y = 65535
"""Work-groups a grid may have down and deep (CUDA's limit; across it is 2^31 - 1)."""
CORES = 132
"""Of a GPU that does not say how many it has."""
START = 8
"""Rows' worth of time before the first input of a group that goes down a strip is there."""
TABLE_BYTES = 48 << 10
"""Bytes of tables a kernel may have: of the 64 KB of constant memory, what the kernel's own literals leave for certain."""


@dataclass(frozen=True)
class Launch:
    """One start of one entry of one text.

    Attributes
    ----------
    source
        ``NAME.knl``, or a generated text in full (anything that holds a line break).
    entry
        Name of the kernel in it.
    grid, group
        Work-groups, and work-items in each. A grid with a zero starts nothing.
    args
        In the order of the entry's parameters.
    tables
        ``(name, array)`` of each ``TABLE``, in the order of the ``TABLE_ARG``s, which come before ``args``: small arrays that
        are copied into constant memory when the launch runs.
    defines
        Constants written in front of the text.
    local
        Bytes of the kernel's ``SHARED_BIG`` array, 0 where it has none.
    together
        Whether its groups wait for each other, so that all must run side by side; at most ``Limits.together`` of them.
    own
        Whether its text has instructions of one architecture alone, as those that ``Limits.halves`` speaks of.
    """

    source: str
    entry: str
    grid: tuple[int, int, int]
    group: tuple[int, int, int]
    args: tuple[Argument, ...]
    defines: Defines = ()
    local: int = 0
    tables: tuple[tuple[str, A | W], ...] = ()
    together: bool = False
    own: bool = False


@dataclass(frozen=True)
class Program:
    """The launches that make up one kernel, in order, and the work arrays they share."""

    launches: tuple[Launch, ...]
    work: tuple[ArraySpec, ...] = ()


def rows_between(height: int, halo: int, strips: int, together: int, most: int) -> int:
    """Rows of results of a group that goes down a strip, reading ``halo`` more: all end soonest, ``together`` at a time."""
    found = []
    for rounds in range(1, 33):
        groups = min(max(rounds * together // strips, 1), height, MAX_GROUPS_Y)
        rows = min(-(-height // groups), most)
        found.append((-(-strips * -(-height // rows) // together) * (rows + halo + START), rows))
    return min(found)[1]
