"""Says that a kernel is being compiled to whoever wants to know: a progress line, whose reader wonders why nothing moves.

Where nobody listens, as in calls from Python, `footprint.backend.notice` tells a log and a terminal.
"""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from footprint.backend.notice import Notice

Listener = Callable[[bool], None]
"""Called with True when the first of several compilations begins and with False when the last has ended, in any thread."""

_lock = threading.Lock()
_listeners: list[Listener] = []
_notice = Notice()
_running = _in_main = _shown = 0
_untidy = False


def listen(listener: Listener) -> None:
    """Tell ``listener``, which shows nobody anything, of compilations from now on."""
    with _lock:
        _listeners.append(listener)


def in_main_thread() -> bool:
    """Whether the thread that signals come to is compiling."""
    return _in_main > 0


@contextmanager
def watched(listener: Listener) -> Iterator[None]:
    """Tell ``listener``, which shows them where they are to be shown, of compilations while the block runs."""
    global _shown
    with _lock:
        _listeners.append(listener)
        _shown += 1
        if _running:
            listener(True)
    try:
        yield
    finally:
        with _lock:
            _listeners.remove(listener)
            _shown -= 1


@contextmanager
def compiling() -> Iterator[None]:
    """Around a compilation, by whatever compiler."""
    begins()
    try:
        yield
    finally:
        ends()


def begins() -> None:
    """A compilation begins."""
    _count(1)


def ends() -> None:
    """It has ended."""
    _count(-1)


def tidy() -> None:
    """Before much memory is asked for, or a plan takes another's place: give back what a compilation left behind.

    Numba's leaves errors it has dealt with in circles with their frames, and frames hold those they were called from: a plan's
    memory among them, until Python looks for circles. To have it look takes a tenth of a second and more.
    """
    global _untidy
    if _untidy:
        _untidy = False
        gc.collect()


def _count(by: int) -> None:
    global _running, _in_main, _untidy
    with _lock:
        before, _running = _running, _running + by
        _in_main += by if threading.current_thread() is threading.main_thread() else 0
        _untidy = True
        if bool(before) != bool(_running):
            for listener in _listeners:
                listener(bool(_running))
            if _running and not _shown:
                _notice.begins()
            elif not _running:
                _notice.ends()
