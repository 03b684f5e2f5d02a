"""An output that outlives a run that was stopped: hidden beside its target, with a journal of what is in it.

``.NAME.unfinished`` holds the data, ``.NAME.unfinished.job`` what job it is of, ``.NAME.unfinished.done`` the rows that are done
and durable. They go when the data gets its name.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from footprint.errors import FormatError, printable, warn
from footprint.io.partial import cut, delete, name_limit
from footprint.plan.done import DoneSet

_TAIL = ".unfinished"
_LONGEST = len(f"{_TAIL}.done")


def place(target: Path) -> Path:
    """Where the unfinished data of a target lies."""
    return target.parent / f".{cut(target.name, name_limit(target.parent) - _LONGEST - 1)}{_TAIL}"


def _journal(path: Path) -> tuple[Path, Path]:
    return path.with_name(f"{path.name}.job"), path.with_name(f"{path.name}.done")


def mention(target: Path) -> None:
    """Warn where an unfinished run of ``target`` is left alone; the journal of one that was killed with its name given goes."""
    path = place(target)
    job, rows = _journal(path)
    if job.exists() and not path.exists():
        with suppress(OSError):
            lock = os.open(job, os.O_RDWR)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                # Whoever begins makes the data with the lock held.
                if not path.exists():
                    delete(rows)
                    delete(job)
            finally:
                os.close(lock)
    if path.exists():
        name = printable(path.name)
        ways = f"--resume continues it; this run leaves it as it is; delete {name}* if it is not needed"
        warn(f"{target}: there is an unfinished run of it, {name}: {ways}")


def cut_off(target: object, name: str) -> FormatError:
    """What is to be resumed has lost its end, and nobody knows how much of it."""
    return FormatError(target, f"cannot be resumed: {name} is damaged, its end is missing", f"delete {name}* to begin again")


class Unfinished:
    """The data of one target and its journal, locked against other processes; `release` when it has its name.

    Parameters
    ----------
    target
        The output.
    folder
        The target is a folder.

    Raises
    ------
    FormatError
        Another run is writing it, or the journal cannot be read.
    OSError
        It cannot be made.
    """

    def __init__(self, target: Path, folder: bool) -> None:
        self.path, self._target = place(target), target
        self._job, rows = _journal(self.path)
        self._lock = -1
        self._other = False
        try:
            self._take_lock()
            self.known = self._read()
            if not self.known or not self.path.exists():
                self._forget(rows)
                self.known = {}
            self.done = DoneSet(rows)
            if not self.known:
                if folder:
                    self.path.mkdir()
                else:
                    self.path.touch()
        except BaseException:
            self.release()
            raise

    def _take_lock(self) -> None:
        """Hold the journal; one that its last owner removed meanwhile is nobody's."""
        while True:
            self._lock = os.open(self._job, os.O_CREAT | os.O_RDWR, 0o666)
            try:
                fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                problem = "is being written by another run"
                os.close(self._lock)
                self._lock = -1
                raise FormatError(self._target, problem, "wait for it to end") from None
            with suppress(FileNotFoundError):
                if os.path.samestat(os.stat(self._job), os.fstat(self._lock)):
                    return
            os.close(self._lock)

    def _forget(self, rows: Path) -> None:
        os.ftruncate(self._lock, 0)
        delete(rows)
        delete(self.path)

    def _read(self) -> dict[str, Any]:
        """What the journal says of the job; nothing where it was torn before anything was done."""
        try:
            found = json.loads(os.pread(self._lock, os.fstat(self._lock).st_size, 0) or b"{}")
        except ValueError:
            return {}
        return found if isinstance(found, dict) else {}

    def start(self, facts: Mapping[str, Any]) -> None:
        """Write down what job this is, durably; to be called before a row is done."""
        self.known = dict(facts)
        text = json.dumps(self.known).encode()
        os.ftruncate(self._lock, 0)
        os.pwrite(self._lock, text, 0)
        os.fsync(self._lock)
        folder = os.open(self.path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)

    def check(self, facts: Mapping[str, Any]) -> None:
        """Raise FormatError where what is there is of another job, naming what differs."""
        for name, now in facts.items():
            before = self.known.get(name)
            if before != now:
                self._other = True
                raise FormatError(
                    self._target,
                    f"cannot be resumed: {name} was {before} and is now {now}",
                    f"start it with the same settings, or delete {printable(self.path.name)}* to begin again",
                )

    def release(self) -> None:
        """It has its name: the journal goes."""
        if self._lock >= 0:
            if not self.path.exists():
                # The job last: a run that finds it removes both.
                with suppress(AttributeError):
                    delete(self.done.path)
                delete(self._job)
            os.close(self._lock)
        self._lock = -1

    def remove(self) -> None:
        """The run was stopped: what is done stays; where nothing is, all goes."""
        if self._lock >= 0 and self.done.count:
            name = printable(self.path.name)
            said = f"stopped; what is done is kept in {name}, and --resume continues from there"
            if self._other:
                said = f"nothing was done; what the previous run did is kept in {name}"
            warn(f"{self._target}: {said}")
        elif self._lock >= 0:
            delete(self.path)
        self.release()
