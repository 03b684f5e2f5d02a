"""What killed runs left in a folder: named in a warning, and removed, put back, or given the name that it was about to get.

It is known by its name, ``.NAME.HOST-PID-RANDOM.KIND``, and touched if it was written on this machine, by this user, and by a
process that is no more and whose lock the system has given back.
"""

from __future__ import annotations

import fcntl
import os
import re
from contextlib import suppress
from pathlib import Path

from footprint.errors import warn
from footprint.io.naming import finish
from footprint.io.partial import delete, host
from footprint.units import format_bytes

_NAME = re.compile(r"\.(?P<name>.*)\.(?P<host>[0-9a-f]{8})-(?P<pid>\d+)-[0-9a-f]{8}\.(?P<kind>names|partial|replaced)", re.S)


def clear(folder: Path) -> None:
    """Finish, remove or put back what killed runs left in a folder, and say so in a warning for each."""
    try:
        names = [entry.name for entry in os.scandir(folder)]
    except OSError:
        return
    found = [match for match in map(_NAME.fullmatch, names) if match is not None]
    # What is to have a name gets it before it could be removed.
    for match in sorted(found, key=lambda match: match["kind"]):
        with suppress(OSError):
            _clear(folder / match[0], match)


def _clear(path: Path, match: re.Match[str]) -> None:
    about = path.lstat()
    if match["host"] != host() or path.is_symlink() or about.st_uid != os.geteuid() or _alive(int(match["pid"])):
        return
    if match["kind"] == "names":
        finish(path)
        return
    lock = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
    try:
        with suppress(OSError):
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                # A process of the same number in another container, or a child that still writes.
                return
        target = path.with_name(match["name"])
        if match["kind"] == "replaced" and not target.exists():
            # Killed between taking the old result aside and giving the new one its name.
            os.rename(path, target)
            warn(f"{target}: put back: a killed run had moved it aside")
            return
        files = [item.stat().st_size for item in path.rglob("*")] if path.is_dir() else [about.st_size]
        delete(path)
        if not path.exists():
            warn(f"{path}: removed ({format_bytes(sum(files))}, left by a run that was killed)")
    finally:
        os.close(lock)


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True
