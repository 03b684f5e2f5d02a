"""Outputs that appear under their name only when they are finished.

The file is written under a hidden name ending in ``.partial`` beside its target and renamed at the end.
Any exception, Ctrl-C or SIGTERM removes it.
"""

from __future__ import annotations

import atexit
import errno
import os
import shutil
import signal
import threading
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import Any

from footprint.errors import ArgumentError, FootprintError, FormatError
from footprint.units import format_bytes

_live: set[Path] = set()
_previous: dict[int, Any] = {}


class Output:
    """A file or folder that is being written: ``temporary`` until `commit` gives it its name.

    Parameters
    ----------
    path
        The target.
    overwrite
        Allow the target to exist. A folder is replaced only when ``ours`` accepts every file in it.
    nbytes
        Bytes that will be written, checked against the free space.
    folder
        The target is a folder.
    ours
        Whether a file of an existing folder may be deleted with it.

    Raises
    ------
    FormatError
        The target exists, its folder is missing or cannot be written, or the disk has no room.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        overwrite: bool = False,
        nbytes: int = 0,
        folder: bool = False,
        ours: Callable[[str], bool] = lambda name: False,
    ) -> None:
        self.path, self.overwrite, self.folder, self._ours = Path(path), overwrite, folder, ours
        check_output(path, overwrite, nbytes, folder, ours)
        self.temporary = self.path.parent / f".{self.path.name}.{os.getpid()}-{uuid.uuid4().hex[:8]}.partial"
        self._open = True
        _watch(self.temporary)
        try:
            if folder:
                self.temporary.mkdir()
            else:
                # Created now, so that a folder that cannot be written is found before the work and not after it.
                self.temporary.touch(exist_ok=False)
        except OSError as error:
            _forget(self.temporary)
            raise FormatError(path, f"cannot be written ({error.strerror})", "choose another folder") from error

    def commit(self) -> None:
        """Give the finished output its name."""
        if not self._open:
            return
        self._open = False
        target = self.path
        if not self.overwrite and target.exists() and not (self.folder and not any(target.iterdir())):
            kept = target.with_name(f"{target.stem}.{uuid.uuid4().hex[:8]}{target.suffix}")
            os.replace(self.temporary, kept)
            _forget(self.temporary)
            raise FormatError(target, "appeared while its contents were computed", f"the result is kept as {kept}")
        if self.folder and target.exists():
            _check_folder(target, self.overwrite, self._ours)
            shutil.rmtree(target)
        try:
            os.replace(self.temporary, target)
        except OSError as error:
            self._remove()
            raise FormatError(target, f"cannot be written ({error.strerror})") from error
        _forget(self.temporary)

    def discard(self) -> None:
        """Remove what was written; the target is left as it was."""
        if self._open:
            self._open = False
            self._remove()

    def _remove(self) -> None:
        _delete(self.temporary)
        _forget(self.temporary)


@contextmanager
def output(path: str | os.PathLike[str], overwrite: bool = False, nbytes: int = 0) -> Iterator[Path]:
    """Give the temporary name of an output file; rename it on success, remove it on any failure."""
    out = Output(path, overwrite, nbytes)
    try:
        with writing(path):
            yield out.temporary
    except BaseException:
        out.discard()
        raise
    out.commit()


@contextmanager
def writing(path: object) -> Iterator[None]:
    """Turn a failed write into one FormatError that says whether the disk is full."""
    try:
        yield
    except FootprintError:
        raise
    except (OSError, RuntimeError) as error:
        full = getattr(error, "errno", None) in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG) or "errno = 28" in str(error)
        reason = "the disk is full" if full else getattr(error, "strerror", None) or str(error).split("\n")[0][:200]
        raise FormatError(path, f"could not be written ({reason})", "nothing was left behind") from error


def check_output(
    path: str | os.PathLike[str],
    overwrite: bool = False,
    nbytes: int = 0,
    folder: bool = False,
    ours: Callable[[str], bool] = lambda name: False,
) -> None:
    """Raise FormatError when an output could not be written; meant to run before the work does."""
    target = Path(path)
    parent = target.parent
    if target.name in ("", ".", ".."):
        raise ArgumentError("output", repr(str(path)), "the name of a file or of a new folder")
    if not parent.is_dir():
        problem = "is not a folder" if parent.exists() else "does not exist"
        raise FormatError(path, f"cannot be written: {parent} {problem}", "create the folder first")
    if not os.access(parent, os.W_OK | os.X_OK):
        raise FormatError(path, f"cannot be written: the folder {parent} is read-only", "choose another folder")
    if folder and target.is_dir():
        _check_folder(target, overwrite, ours)
    elif target.is_dir():
        raise FormatError(path, "is a folder, a file name is wanted")
    elif target.exists():
        if folder:
            raise FormatError(path, "is a file, a folder is wanted")
        if not overwrite:
            raise FormatError(path, "exists already", "give overwrite (--overwrite) to replace it")
    if nbytes:
        disk = shutil.disk_usage(parent)
        # File systems without a size of their own (quotas, /proc) say 0.
        if disk.total and nbytes > disk.free:
            raise FormatError(path, f"needs {format_bytes(nbytes)}, the disk has {format_bytes(disk.free)} free", "free some space")


def _check_folder(target: Path, overwrite: bool, ours: Callable[[str], bool]) -> None:
    names = [item.name for item in target.iterdir()]
    if names and not overwrite:
        raise FormatError(target, "exists already and is not empty", "give overwrite (--overwrite) to replace it")
    foreign = [name for name in names if not ours(name) or (target / name).is_dir()]
    if foreign:
        raise FormatError(target, f"holds {foreign[0]}, which no earlier run wrote: it is not replaced", "choose another folder")


def _delete(path: Path) -> None:
    with suppress(OSError):
        if path.is_dir():
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
            _delete(path)


atexit.register(_remove_live)
