"""Pieces of a read shared among threads: those that copy, and the one that asked."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from queue import SimpleQueue
from typing import Any, Generic, TypeVar

from footprint.plan.faces import COPIERS

T = TypeVar("T")

# Python, which one thread runs at a time, hands out pieces and reads for them: more threads would wait for it.
MOST = 12


def shared(pieces: Iterator[T], work: Callable[[int, T], None], threads: int) -> None:
    """Call ``work(number, piece)`` for every piece, in so many threads numbered from 0, the first of which is this one.

    Raises
    ------
    Exception
        The first that ``work`` raised, when all threads have stopped.
    """
    _Crew(pieces, work).run(threads)


class _Crew(Generic[T]):
    def __init__(self, pieces: Iterator[T], work: Callable[[int, T], None]) -> None:
        self._pieces, self._work = pieces, work
        self._turn, self._changed = threading.Lock(), threading.Condition()
        self._running, self._closed = 0, False
        self._error: BaseException | None = None

    def run(self, threads: int) -> None:
        """See `shared`."""
        box: SimpleQueue[Any] = SimpleQueue()
        for number in range(1, threads):
            COPIERS.start(box, None, self._help, number)
        self._go(0)
        with self._changed:
            # Whoever has not come by now need not: those threads may be busy, and even waiting for this one.
            self._closed = True
            while self._running:
                self._changed.wait()
        if self._error is not None:
            # As in `drive.Job.side_by_side`: kept here, it would keep the memory its frames hold.
            error, self._error = self._error, None
            try:
                raise error
            finally:
                del error

    def _help(self, number: int) -> None:
        with self._changed:
            if self._closed:
                return
            self._running += 1
        self._go(number)
        with self._changed:
            self._running -= 1
            self._changed.notify_all()

    def _go(self, number: int) -> None:
        try:
            while True:
                with self._turn:
                    piece = None if self._error is not None else next(self._pieces, None)
                if piece is None:
                    return
                self._work(number, piece)
        except BaseException as error:
            self._error = self._error or error
