"""What a GPU kernel asks for: sources, constants, grid and arguments, as frozen data no vendor is named in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from footprint.spec import ArraySpec


class A(NamedTuple):
    """The ``index``-th array of the launch."""

    index: int


class W(NamedTuple):
    """The ``index``-th work array of the launch."""

    index: int


class V(NamedTuple):
    """The ``index``-th array of the launch, a constant of the plan, as a ``TABLE`` in the constant bank.

    CUDA passes it by value (at most `TABLE_BYTES` for all arguments together), OpenCL as ``__constant`` memory.
    """

    index: int


# CUDA: 4 KB of arguments on every chip and driver; OpenCL promises 64 KB of constant memory.
TABLE_BYTES = 4000

Argument = A | W | V | np.generic


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
    defines
        Constants written in front of the text.
    local
        Bytes of the kernel's ``SHARED_BIG`` array, 0 where it has none.
    """

    source: str
    entry: str
    grid: tuple[int, int, int]
    group: tuple[int, int, int]
    args: tuple[Argument, ...]
    defines: tuple[tuple[str, int | float | str], ...] = ()
    local: int = 0


@dataclass(frozen=True)
class Program:
    """The launches that make up one kernel, in order, and the work arrays they share."""

    launches: tuple[Launch, ...]
    work: tuple[ArraySpec, ...] = ()
