"""Files that are waited for together: a disk settles many in the time of a few, and one after the other each takes its own."""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

# As many threads wait, which takes none of them a core.
_WAIT = 8


def durable(files: Sequence[Path]) -> None:
    """Wait until files are on the disk.

    Raises
    ------
    OSError
        The disk is full or failed.
    """
    if len(files) > 1:
        # Where the system starts no more threads, one after the other.
        with suppress(RuntimeError), ThreadPoolExecutor(min(_WAIT, len(files)), "footprint-durable") as pool:
            for _ in pool.map(_wait, files):
                pass
            return
    for file in files:
        _wait(file)


def _wait(path: Path) -> None:
    with open(path, "rb+") as file:
        os.fsync(file.fileno())
