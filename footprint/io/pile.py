"""Chunks of a volume heaped up in one file in the order they are done, each behind a head that says which it is.

A stopped run's heap is walked from head to head, up to one that is torn; of a chunk that is there twice the last counts.
"""

from __future__ import annotations

import os
import struct
import threading
import zlib
from pathlib import Path

import numpy as np

from footprint.errors import FormatError

# Magic, number of the chunk, bytes behind the head, whether they are packed; then a checksum of these.
_HEAD = struct.Struct("<8sQQQ")
_MAGIC = b"chunk\r\n\x1a"
_HEAD_BYTES = _HEAD.size + 4


class Pile:
    """Chunks by their number, packed, or plain while their rows come.

    Parameters
    ----------
    path
        Empty, or what a stopped run has left.
    count
        Chunks of the volume.
    """

    def __init__(self, path: Path, count: int) -> None:
        self.path = path
        self._file = open(path, "r+b", buffering=0)
        self._lock = threading.Lock()
        # Where bytes begin and how many they are; 0 where there are none. Plain chunks have their place from the first row on.
        self.packed, self.sizes, self.plain = (np.zeros(count, np.int64) for _ in range(3))
        self._end = self._walk()

    @staticmethod
    def host_bytes(count: int) -> int:
        """Bytes that so many chunks are known in."""
        return 24 * count

    def _walk(self) -> int:
        end, size = 0, os.fstat(self._file.fileno()).st_size
        while end + _HEAD_BYTES <= size:
            head = os.pread(self._file.fileno(), _HEAD_BYTES, end)
            magic, number, nbytes, packed = _HEAD.unpack_from(head)
            good = magic == _MAGIC and zlib.crc32(head[: _HEAD.size]) == int.from_bytes(head[_HEAD.size :], "little")
            if not good or number >= len(self.packed) or end + _HEAD_BYTES + nbytes > size:
                break
            self._know(number, end + _HEAD_BYTES, nbytes, packed)
            end += _HEAD_BYTES + nbytes
        os.ftruncate(self._file.fileno(), end)
        return end

    def _know(self, number: int, at: int, nbytes: int, packed: int) -> None:
        if packed:
            self.packed[number], self.sizes[number] = at, nbytes
        else:
            self.plain[number] = at

    def add(self, number: int, data: memoryview) -> None:
        """Add a packed chunk; any number of threads may, at once."""
        at = self._place(number, len(data), 1)
        self._put(at, data)
        self._know(number, at, len(data), 1)

    def add_rows(self, number: int, nbytes: int, at: int, rows: memoryview) -> None:
        """Put rows at byte ``at`` of a chunk that is plain, of ``nbytes`` in all."""
        if not self.plain[number]:
            place = self._place(number, nbytes, 0)
            # Its last byte, so that the heap has all of it.
            self._put(place + nbytes - 1, memoryview(b"\0"))
            self._know(number, place, nbytes, 0)
        self._put(int(self.plain[number]) + at, rows)

    def _place(self, number: int, nbytes: int, packed: int) -> int:
        head = _HEAD.pack(_MAGIC, number, nbytes, packed)
        with self._lock:
            at = self._end
            self._end += _HEAD_BYTES + nbytes
        self._put(at, memoryview(head + zlib.crc32(head).to_bytes(4, "little")))
        return at + _HEAD_BYTES

    def _put(self, at: int, data: memoryview) -> None:
        done = 0
        while done < len(data):
            done += os.pwrite(self._file.fileno(), data[done:], at + done)

    def holds(self, number: int) -> int:
        """Bytes of a chunk that is packed; 1 of one whose rows come one by one, 0 where nothing of it is there."""
        return int(self.sizes[number]) or int(self.plain[number] > 0)

    def take(self, at: int, out: memoryview) -> None:
        """Fill ``out`` with the bytes from ``at`` on."""
        if os.preadv(self._file.fileno(), [out], at) != len(out):
            raise FormatError(self.path, "ended early while it was read", "it may have been changed meanwhile")

    def sync(self) -> None:
        """Wait until what was added is on the disk."""
        os.fsync(self._file.fileno())

    def close(self) -> None:
        """Close the file."""
        self._file.close()
