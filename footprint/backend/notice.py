"""Tells whoever waits for a call from Python that kernels are being compiled, once that has taken a second.

The commands have a progress line for it. Here the logger "footprint" is told at level INFO, and where a person watches, at a
terminal or in a notebook, one line goes to standard error, unless that logger has handlers of the program's own, or
``FOOTPRINT_NOTICE=0``.
"""

from __future__ import annotations

import logging
import sys
import threading
import time

from footprint import settings

DELAY = 1.0
"""Seconds of compiling after which it is said."""
# Compilations that so many seconds lie between are of different calls, mostly.
_APART = 5.0
_TEXT = "compiling kernels for a first call of this kind; they are kept for later ones"

LOG = logging.getLogger("footprint")
LOG.addHandler(logging.NullHandler())


class Notice:
    """Counts the seconds of compilations that follow each other, and says so once when there are enough."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._timer: threading.Timer | None = None
        self._began = self._ended = self._spent = 0.0
        self._said = False

    def begins(self) -> None:
        """A compilation begins, no other being under way."""
        with self._lock:
            self._began = time.monotonic()
            if self._began - self._ended > _APART:
                self._spent, self._said = 0.0, False
            if not self._said:
                self._timer = threading.Timer(max(0.0, DELAY - self._spent), self._late)
                self._timer.daemon = True
                self._timer.start()

    def ends(self) -> None:
        """It has ended."""
        with self._lock:
            self._ended = time.monotonic()
            self._spent += self._ended - self._began
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None

    def _late(self) -> None:
        with self._lock:
            # What ended just now was in time.
            if self._timer is not threading.current_thread():
                return
            self._timer, self._said = None, True
        say()


def say() -> None:
    """Tell the log, and a person who watches."""
    LOG.info(_TEXT)
    own = any(not isinstance(handler, logging.NullHandler) for handler in LOG.handlers)
    if settings.notice() and not own and is_watched():
        print(f"footprint: {_TEXT}", file=sys.stderr, flush=True)


def is_watched() -> bool:
    """Whether somebody sees standard error as it is written: a terminal, or a notebook."""
    return "ipykernel" in sys.modules or (sys.stderr is not None and sys.stderr.isatty())
