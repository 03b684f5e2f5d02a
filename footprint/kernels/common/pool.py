"""Threads for functions that hold no interpreter: one compilation serves few units and many, where Numba's own loops take two."""

from __future__ import annotations

import functools
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor


@functools.cache
def pool(threads: int) -> ThreadPoolExecutor:
    """Threads that all plans share; they start when they are first needed."""
    return ThreadPoolExecutor(threads)


def each(function: Callable[[int], None], threads: int) -> None:
    """Call ``function`` with 0, 1, ... in so many threads, of which this is the first; back when all are."""
    if threads == 1:
        function(0)
        return
    others = [pool(threads).submit(function, t) for t in range(1, threads)]
    try:
        function(0)
    finally:
        for other in others:
            other.result()
