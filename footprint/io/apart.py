"""A thread of its own for what keeps allocating: the C library's heap for it, whoever asks."""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any

_Task = tuple[threading.Event, list[tuple[Any, "BaseException | None"]], Callable[..., Any], tuple[Any, ...]]


class Apart:
    """Calls made in one thread, begun with the first of them; one call at a time.

    glibc has a heap for each thread, of which it keeps what was freed: objects that stay from one call to the next, made by the
    threads of a job's passes in turn, leave as many heaps of them.
    """

    def __init__(self) -> None:
        self._tasks: SimpleQueue[_Task | None] | None = None
        self._pid = 0

    def call(self, work: Callable[..., Any], *args: Any) -> Any:
        """What ``work(*args)`` returns or raises; when it is over, whatever interrupts the wait for it."""
        if self._pid != os.getpid():
            self._begin()
        if self._tasks is None:
            return work(*args)
        done, got = threading.Event(), list[tuple[Any, "BaseException | None"]]()
        self._tasks.put((done, got, work, args))
        try:
            done.wait()
        except BaseException:
            # What it fills is the caller's, who may have other use for it.
            done.wait()
            raise
        value, error = got.pop()
        if error is not None:
            # Kept here, it would keep this frame with the arrays until Python looks for cycles.
            try:
                raise error
            finally:
                del error
        return value

    def end(self) -> None:
        """Let the thread go; whoever calls all the same does it in his own."""
        if self._tasks is not None:
            self._tasks.put(None)
        self._tasks, self._pid = None, os.getpid()

    def _begin(self) -> None:
        # A fork has none of the threads.
        self._tasks, self._pid = SimpleQueue(), os.getpid()
        try:
            threading.Thread(target=_serve, args=(self._tasks,), name="footprint-inflate", daemon=True).start()
        except RuntimeError:
            # None can be started: whoever calls does it.
            self._tasks = None
        else:
            weakref.finalize(self, self._tasks.put, None)


def _serve(tasks: SimpleQueue[_Task | None]) -> None:
    while (task := tasks.get()) is not None:
        _do(*task)
        # Nothing of a call is kept alive while there is no next one.
        del task


def _do(done: threading.Event, got: list[Any], work: Callable[..., Any], args: tuple[Any, ...]) -> None:
    try:
        got.append((work(*args), None))
    except BaseException as error:
        got.append((None, error))
    finally:
        done.set()
