"""Which rows of an array are written: a set of rows, so that one written twice stands for no other."""

from __future__ import annotations

import threading
from bisect import bisect_left, bisect_right


class DoneSet:
    """Numbers from 0 to ``total``, put in by ranges that may overlap and come in any order and from any thread.

    Ranges that touch are kept as one, so what is written in order takes no more than one pair of numbers.
    """

    def __init__(self, total: int) -> None:
        self._total = total
        self._starts: list[int] = []
        self._stops: list[int] = []
        self._lock = threading.Lock()

    def add(self, start: int, stop: int) -> None:
        """Put in ``start`` to ``stop``."""
        if stop <= start:
            return
        with self._lock:
            first, last = bisect_left(self._stops, start), bisect_right(self._starts, stop)
            if first < last:
                start, stop = min(start, self._starts[first]), max(stop, self._stops[last - 1])
            self._starts[first:last] = [start]
            self._stops[first:last] = [stop]

    def missing(self) -> list[tuple[int, int]]:
        """The ranges that are not in it, in order."""
        with self._lock:
            return [(a, b) for a, b in zip([0, *self._stops], [*self._starts, self._total]) if a < b]
