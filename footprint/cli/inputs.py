"""Inputs that are written anew while a job reads them: what it makes is of the one and of the other, and is said to be."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator

from footprint.errors import warn

_State = tuple[int, int]
# Of every name that a job reads, the files that it stands for.
_before: dict[str, dict[str, _State]] = {}


def watch(names: Iterable[str]) -> None:
    """Remember the sizes and times of files, and of those that lie in folders."""
    _before.clear()
    _before.update((name, dict(_states(name))) for name in names)


def tell() -> None:
    """Warn of what has changed since. What has grown is being added to, which is no harm to what was there."""
    changed = []
    for name, before in _before.items():
        for file, (size, time) in _states(name):
            least, then = before.get(file, (size, time))
            if time != then and size <= least:
                changed.append(file)
    _before.clear()
    if changed:
        more = f" and {len(changed) - 1} more were" if len(changed) > 1 else " was"
        warn(f"{changed[0]}{more} written while this job read it: the result may mix what was there before and after")


def _states(name: str) -> Iterator[tuple[str, _State]]:
    """A file, or those of a folder, each looked at once."""
    try:
        if not os.path.isdir(name):
            found = os.stat(name)
            yield name, (found.st_size, found.st_mtime_ns)
            return
        with os.scandir(name) as entries:
            for entry in entries:
                if entry.is_file():
                    found = entry.stat()
                    yield os.path.join(name, entry.name), (found.st_size, found.st_mtime_ns)
    except OSError:
        # Whoever reads it says so.
        return
