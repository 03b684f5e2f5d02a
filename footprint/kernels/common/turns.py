"""Long launches in turns: Python sees Ctrl-C only when machine code is through, and a large slice alone is seconds of it."""

from __future__ import annotations

from collections.abc import Iterator

TURN = 1_000_000_000
"""Updates of a pixel by an angle that a core does in one turn: a sixth to a third of a second."""


def turns(units: int, updates: int, threads: int) -> Iterator[tuple[int, int]]:
    """Split ``units``, of so many updates each, into the ranges that one launch does; threads share a range evenly."""
    most = max(TURN // max(updates, 1), 1) * threads
    for first in range(0, units, most):
        yield first, min(first + most, units)
