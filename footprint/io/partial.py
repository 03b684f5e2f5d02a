"""Files and folders on their way to a name: hidden beside their target, locked, and removed however the process ends.

What a killed process leaves is found by its name, ``.NAME.HOST-PID-RANDOM.partial``; see `leftovers`.
"""

from __future__ import annotations

import atexit
import fcntl
import os
import platform
import shutil
import signal
import threading
import uuid
import zlib
from contextlib import suppress
from pathlib import Path
from types import FrameType
from typing import Any

_live: set[Path] = set()
_previous: dict[int, Any] = {}


def host() -> str:
    """Tells this machine from others that write to the same disk: a process's number means nothing to them."""
    return f"{zlib.crc32(platform.node().encode()):08x}"


def name_limit(folder: Path) -> int:
    """Bytes a name in this folder may have."""
    try:
        return os.pathconf(folder, "PC_NAME_MAX")
    except (OSError, ValueError):
        return 255


def beside(target: Path, kind: str) -> Path:
    """A hidden name beside ``target`` that no other process has, cut to what the file system allows."""
    tail = f".{host()}-{os.getpid()}-{uuid.uuid4().hex[:8]}.{kind}"
    return target.parent / f".{cut(target.name, name_limit(target.parent) - len(tail) - 1)}{tail}"


def cut(name: str, nbytes: int) -> str:
    """The start of a name that takes at most ``nbytes``."""
    return name if len(os.fsencode(name)) <= nbytes else os.fsencode(name)[:nbytes].decode("utf-8", "ignore")


class Partial:
    """An empty hidden file or folder beside its target; `release` when it has its name, `remove` to give it up.

    Raises
    ------
    OSError
        It cannot be made.
    """

    def __init__(self, target: Path, folder: bool) -> None:
        self.path = beside(target, "partial")
        self._lock = -1
        _watch(self.path)
        try:
            if folder:
                self.path.mkdir()
                self._lock = os.open(self.path, os.O_RDONLY)
            else:
                # Made now, so that a folder that cannot be written is found before the work and not after it.
                self._lock = os.open(self.path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o666)
            with suppress(OSError):
                # Shared, so that others may read; who would remove it asks for the whole. Some file systems have no locks.
                fcntl.flock(self._lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BaseException:
            self.remove()
            raise

    def release(self) -> None:
        """It is no longer partial."""
        if self._lock >= 0:
            os.close(self._lock)
        self._lock = -1
        _forget(self.path)

    def remove(self) -> None:
        """Delete it."""
        delete(self.path)
        self.release()


def delete(path: Path) -> None:
    """Remove a file or a folder, if it is there and can be."""
    with suppress(OSError):
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)


def _signals() -> list[int]:
    return [signal.SIGTERM, *([signal.SIGHUP] if hasattr(signal, "SIGHUP") else [])]


def _watch(path: Path) -> None:
    """Remember a temporary, and have a polite kill remove it where the program does not catch signals itself."""
    if not _live and threading.current_thread() is threading.main_thread():
        for number in _signals():
            if signal.getsignal(number) is signal.SIG_DFL:
                _previous[number] = signal.signal(number, _killed)
    _live.add(path)


def _forget(path: Path) -> None:
    _live.discard(path)
    if not _live and threading.current_thread() is threading.main_thread():
        for number, handler in _previous.items():
            if signal.getsignal(number) is _killed:
                signal.signal(number, handler)
        _previous.clear()


def _killed(number: int, frame: FrameType | None) -> None:
    _remove_live()
    signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)


_owner = os.getpid()


def _remove_live() -> None:
    # A forked worker inherits the set, but not the right to delete its parent's files.
    if os.getpid() == _owner:
        for path in list(_live):
            delete(path)


atexit.register(_remove_live)
