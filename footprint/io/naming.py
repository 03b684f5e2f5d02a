"""Finished outputs of a job get their names together, or none does, however the process ends meanwhile.

A stop waits until all are named. For a process that is killed a note lies beside the outputs, ``.NAME.HOST-PID-RANDOM.names``, of
what is to be renamed; by it the next run in that folder names the rest.
"""

from __future__ import annotations

import fcntl
import json
import os
import signal
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from footprint.errors import FormatError, warn
from footprint.io.partial import beside, delete

NAMED: deque[str] = deque(maxlen=4)
"""What got its name last in this process, for who has to say that it is there."""


@dataclass(frozen=True)
class Finished:
    """What is complete under the name ``temporary``, and is to be ``target``; ``path`` is what the user calls it."""

    path: object
    temporary: Path
    target: Path


@dataclass(frozen=True)
class _Move:
    """One renaming, and where what has the name now is kept until all are through."""

    temporary: Path
    target: Path
    old: Path | None


def give_names(outputs: Sequence[Finished], check: Callable[[], None]) -> None:
    """Rename all, or put everything back as it was; ``check`` has the last word before.

    Raises
    ------
    FormatError
        One cannot be renamed.
    """
    with _stops_wait():
        check()
        # One file takes another's place in a single step, and needs no way back.
        alone = len(outputs) == 1 and not outputs[0].temporary.is_dir()
        moves = [_Move(out.temporary, out.target, None if alone else _aside(out.target)) for out in outputs]
        begun: list[_Move] = []
        with _Note(moves if len(moves) > 1 else []):
            try:
                for out, move in zip(outputs, moves, strict=True):
                    begun.append(move)
                    with _naming(out.path):
                        _rename(move)
            except BaseException:
                for move in reversed(begun):
                    _put_back(move)
                raise
        NAMED.extend(str(out.path) for out in outputs)
        for move in moves:
            if move.old is not None:
                delete(move.old)
                if os.path.lexists(move.old):
                    warn(f"{move.target}: replaced, but what had its name cannot be removed, and is now {move.old.name}")


@contextmanager
def _naming(path: object) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise FormatError(path, f"cannot be written ({error.strerror})") from error


def _aside(target: Path) -> Path | None:
    """Where what has the name is kept until all is done; None if nothing has it."""
    return beside(target, "replaced") if os.path.lexists(target) else None


def _rename(move: _Move) -> None:
    """Give the name; what has it is set aside first, and a file keeps it meanwhile where the file system can do that."""
    if move.old is not None and not os.path.lexists(move.old):
        linked = False
        if not move.target.is_dir():
            with suppress(OSError):
                os.link(move.target, move.old)
                linked = True
        if not linked:
            os.rename(move.target, move.old)
    os.replace(move.temporary, move.target)


def _put_back(move: _Move) -> None:
    if not move.temporary.exists():
        delete(move.target)
    if move.old is None or not os.path.lexists(move.old):
        return
    if os.path.lexists(move.target):
        delete(move.old)
    else:
        os.rename(move.old, move.target)


class _Note:
    """What is to be renamed, in every folder of it, for as long as that takes."""

    def __init__(self, moves: Sequence[_Move]) -> None:
        folders = {move.target.parent: move.target for move in moves}
        self._paths = [beside(target, "names") for target in folders.values()]
        named = [[str(move.temporary), str(move.target), None if move.old is None else str(move.old)] for move in moves]
        self._text = json.dumps({"names": named, "notes": [str(path) for path in self._paths]}).encode()
        self._locks: list[int] = []

    def __enter__(self) -> None:
        try:
            for path in self._paths:
                lock = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666)
                self._locks.append(lock)
                with suppress(OSError):
                    # For a machine that shares the disk, or a container: the process's number says nothing there.
                    fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
                os.write(lock, self._text)
        except OSError:
            # A full disk: the names can be given all the same.
            self.__exit__()

    def __exit__(self, *_: object) -> None:
        for path in self._paths:
            delete(path)
        while self._locks:
            os.close(self._locks.pop())


def finish(note: Path) -> None:
    """Do what is left of a note whose process was killed, say so in a warning for each name, and remove the note."""
    lock = os.open(note, os.O_RDONLY | os.O_NOFOLLOW)
    try:
        with suppress(OSError):
            # Whoever holds it is doing the same, and would lose what is cleared here meanwhile.
            fcntl.flock(lock, fcntl.LOCK_EX)
        if not note.exists():
            return
        with suppress(ValueError, TypeError, KeyError, OSError):
            found: dict[str, Any] = json.loads(os.read(lock, os.fstat(lock).st_size))
            moves = [_Move(Path(temporary), Path(target), old and Path(old)) for temporary, target, old in found["names"]]
            for move in moves:
                _finish(move)
            olds = [move.old for move in moves if move.old is not None and move.target.exists()]
            for path in (*olds, *map(Path, found["notes"])):
                delete(path)
        # One that was torn was written before anything was renamed.
        delete(note)
    finally:
        os.close(lock)


def _finish(move: _Move) -> None:
    # What has taken a name that was free is somebody else's.
    if move.temporary.exists() and (move.old is not None or not os.path.lexists(move.target)):
        _rename(move)
        warn(f"{move.target}: complete, and has its name now: the run that made it was killed while it named its outputs")


_STOPS = signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGXCPU, signal.SIGUSR1


@contextmanager
def _stops_wait() -> Iterator[None]:
    """Hold back Ctrl-C and polite kills, which would leave a result set aside; the first that came is raised at the end."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[int] = []
    watched = {number: signal.getsignal(number) for number in _STOPS}
    handlers = {number: handler for number, handler in watched.items() if handler not in (None, signal.SIG_IGN)}
    try:
        for number in handlers:
            signal.signal(number, lambda number, frame: came.append(number))
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
        if came:
            signal.raise_signal(came[0])
