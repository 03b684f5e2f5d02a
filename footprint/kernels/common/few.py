"""Small jobs on the thread that is here: waking the others takes longer than the work, and far longer on a busy machine.

A kernel's loop is a function of the units from ``first`` up to ``last``; where there is enough to do, a parallel function calls it
for each thread's share.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

SMALL = 8_000_000
"""Multiply-adds one core does in about 0.15 ms."""
TOUCH = 50
"""Multiply-adds that take as long as moving one element through memory."""
STREAM = 12
"""The same where elements come one after another, and little is done with each."""


_small = SMALL


def few(operations: int) -> bool:
    """Whether a loop of so many multiply-adds is small."""
    return operations < _small


@contextmanager
def in_threads() -> Iterator[None]:
    """Nothing is small while the block runs: a job of a few pixels then loads and compiles what a large one needs."""
    global _small
    _small = 0
    try:
        yield
    finally:
        _small = SMALL
