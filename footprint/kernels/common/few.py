"""Small jobs on one thread: waking the others takes longer than the work, and far longer on a busy machine."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numba

SMALL = 8_000_000
"""Multiply-adds one core does in about 0.15 ms."""
TOUCH = 50
"""Multiply-adds that take as long as moving one element through memory."""


@contextmanager
def threads_for(operations: int) -> Iterator[None]:
    """Run what follows on one thread where it is small; parallel kernels are compiled once for both."""
    threads = numba.get_num_threads()
    if operations >= SMALL or threads == 1:
        yield
        return
    numba.set_num_threads(1)
    try:
        yield
    finally:
        numba.set_num_threads(threads)
