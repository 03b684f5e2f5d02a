"""Ctrl-C and polite kills: the clean-up runs, a stop that Python drops in a destructor or a callback is raised again.

One that comes while a kernel is compiled waits for the compiler, which it would break: a traceback, or a crash at the end.
"""

from __future__ import annotations

import _thread
import os
import signal
import sys
import threading
import time
from pathlib import Path
from typing import Any

from footprint.backend import compiling
from footprint.errors import printable

_AGAIN = 0.05
"""Seconds after which a dropped stop is raised again: a callback has ended by then."""

_dropped, _keeping = threading.Event(), threading.Event()
_kept: list[Path] = []


def watch() -> None:
    """Have polite kills and a batch system's warnings stop as Ctrl-C does, and keep any from being lost."""
    signal.signal(signal.SIGTERM, _stop)
    for name in ("SIGHUP", "SIGXCPU", "SIGUSR1"):
        number = getattr(signal, name, None)
        # What is ignored, as nohup has it, stays so.
        if number is not None and signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, _stop)
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _stop)
    sys.unraisablehook = _keep
    compiling.listen(_compiled)


def keep(target: str) -> None:
    """Let it be known that a stop leaves what is done of an output, to be resumed."""
    _kept.append(Path(target))


def said(told: bool) -> str:
    """What a stop says; ``told``: where rows are kept was said already."""
    if not _kept:
        # The command may not have begun, and its words not been read.
        earlier = "what an earlier run has done is as it was, and --resume continues from there"
        return f"stopped; {earlier if '--resume' in sys.argv else 'nothing half-written was left behind'}."
    if not told:
        from footprint.io.unfinished import place

        left = place(Path(os.path.realpath(_kept[-1])))
        if left.exists():
            return f"stopped; what an earlier run has done is in {printable(left.name)}, and --resume continues from there."
    return "stopped."


def check() -> None:
    """Raise KeyboardInterrupt where one was dropped."""
    if _dropped.is_set():
        _dropped.clear()
        raise KeyboardInterrupt


def _stop(number: int, *_: object) -> None:
    """Raise what Ctrl-C raises: half-written files are removed on the way out. A second stop waits for no compiler."""
    if number == getattr(signal, "SIGXCPU", None):
        # It comes again every second, and would end the clean-up.
        signal.signal(number, signal.SIG_IGN)
    if _keeping.is_set() or (compiling.in_main_thread() and not _dropped.is_set()):
        _dropped.set()
        return
    _dropped.clear()
    raise KeyboardInterrupt


def _compiled(busy: bool) -> None:
    if not busy and threading.current_thread() is threading.main_thread():
        check()


def _keep(unraisable: Any) -> None:
    """Stand in for ``sys.unraisablehook``: a kernel holds signals back, and what runs first after it may be such a callback."""
    if not issubclass(unraisable.exc_type, KeyboardInterrupt):
        sys.__unraisablehook__(unraisable)
        return
    # What is raised in here would be dropped as well: a busy system may take longer to start a thread than that sleeps.
    _keeping.set()
    _dropped.set()
    # Where each kernel is followed by such a callback this one is dropped too, and the next progress step raises it.
    try:
        threading.Thread(target=_raise_again, name="footprint-stop", daemon=True).start()
    finally:
        _keeping.clear()


def _raise_again() -> None:
    """Until it has been raised where nothing drops it."""
    time.sleep(_AGAIN)
    while _dropped.is_set():
        # Not SIGINT, which a shell's background jobs ignore.
        _thread.interrupt_main(signal.SIGTERM)
        time.sleep(_AGAIN)
