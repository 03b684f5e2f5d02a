"""Writes that go from memory to a disk at once, without a copy in the system's memory.

The copy, and finding pages for it, take a core half a second for a gigabyte, which small files never notice and two cores that
compute do. A file system may refuse such a write, and then the ordinary one does: it only saves time.
"""

from __future__ import annotations

import errno
import os
import time
from contextlib import suppress
from io import FileIO
from pathlib import Path

LARGE = 32 << 20
"""Bytes of an array that is written so."""
LEAST = 1 << 19
"""Bytes below which a single write is not worth it: each waits for the disk."""
PAGE = 4096
"""Only whole pages of the file are written so: none is shared with what is written the ordinary way."""
SECTOR = 512
"""Disks want memory at multiples of it."""
# Local file systems that take such writes as they are: a server's cache is better than waiting for the server.
_SYSTEMS = ("ext4", "xfs")
# A disk that takes fewer bytes a second is left to the system, which goes on beside the computing; so many seconds are forgiven.
_RATE, _FORGIVEN = 1.5e9, 0.2
# Linux writes no more in one call.
_MOST = 1 << 30


class Direct:
    """Such writes to one file, as long as its disk is fast.

    Parameters
    ----------
    path
        The file, which is there.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._file: FileIO | None = None
        self._seconds, self._bytes = 0.0, 0
        with suppress(OSError):
            if hasattr(os, "O_DIRECT") and _system(path) in _SYSTEMS:
                self._file = FileIO(path, "r+", opener=lambda name, how: os.open(name, how | os.O_DIRECT))

    @property
    def open(self) -> bool:
        """Whether the next write may go so."""
        return self._file is not None

    def close(self) -> None:
        """Write nothing any more."""
        if self._file is not None:
            self._file.close()
        self._file = None

    def put(self, at: int, view: memoryview, address: int) -> tuple[int, int]:
        """Write what can be of bytes that begin at byte ``at`` of the file: from which of them to which it was, and the rest not.

        Parameters
        ----------
        address
            Of the first byte in memory.

        Raises
        ------
        OSError
            The disk is full, or failed.
        """
        first, last = -at % PAGE, (at + len(view)) // PAGE * PAGE - at
        if self._file is None or last - first < LEAST or (address + first) % SECTOR:
            return 0, 0
        done, since = first, time.perf_counter()
        try:
            while done < last and (done - first) % PAGE == 0:
                done += os.pwrite(self._file.fileno(), view[done : min(last, done + _MOST)], at + done)
        except OSError as error:
            if error.errno != errno.EINVAL:
                raise
            # Not from this memory, or not at all.
            self.close()
        self._seconds, self._bytes = self._seconds + time.perf_counter() - since, self._bytes + done - first
        if self._seconds > _FORGIVEN + self._bytes / _RATE:
            self.close()
        return first, done


def starts(nbytes: int) -> int:
    """What an array of so many bytes begins at a multiple of in its file: a page where it is to be written so, else 1."""
    return PAGE if nbytes >= LARGE else 1


def _system(path: str | os.PathLike[str]) -> str:
    """The kind of the file system that a file is on; empty where the system does not tell."""
    device = os.stat(path).st_dev
    number = f"{os.major(device)}:{os.minor(device)}"
    for line in Path("/proc/self/mountinfo").read_text(errors="replace").splitlines():
        words = line.split()
        if words[2] == number:
            return words[words.index("-") + 1]
    return ""
