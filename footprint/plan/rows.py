"""Sets of rows: of an array, which are written; of a job, which are done."""

from __future__ import annotations

import threading
from bisect import bisect_left, bisect_right


class RowSet:
    """Numbers from 0, put in by ranges that may overlap and come in any order and from any thread.

    Ranges that touch are kept as one, so what is put in in order takes no more than one pair of numbers, and what is put in twice
    stands for no other.
    """

    def __init__(self) -> None:
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

    def clear(self) -> None:
        """Take all out."""
        with self._lock:
            self._starts.clear()
            self._stops.clear()

    @property
    def spans(self) -> list[tuple[int, int]]:
        """What is in it, as ``(start, stop)`` in order, none touching another."""
        with self._lock:
            return list(zip(self._starts, self._stops))

    def covers(self, start: int, stop: int) -> bool:
        """Whether all of ``start`` to ``stop`` is in it."""
        return any(a <= start and stop <= z for a, z in self.spans)

    def missing(self, total: int) -> list[tuple[int, int]]:
        """The ranges below ``total`` that are not in it, in order."""
        with self._lock:
            return [(a, b) for a, b in zip([0, *self._stops], [*self._starts, total]) if a < b]
