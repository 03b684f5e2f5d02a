"""Threads for functions that hold no interpreter: one compilation serves few units and many, where Numba's own loops take two."""

from __future__ import annotations

import functools
from concurrent.futures import ThreadPoolExecutor


@functools.cache
def pool(threads: int) -> ThreadPoolExecutor:
    """Threads that all plans share; they start when they are first needed."""
    return ThreadPoolExecutor(threads)
