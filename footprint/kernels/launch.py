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


Argument = A | W | np.generic


@dataclass(frozen=True)
class Launch:
    """One start of one entry of one text; ``grid`` counts work-groups, ``group`` work-items, ``local`` dynamic local bytes."""

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
