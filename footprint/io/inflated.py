"""Gzipped files read as if they were not: at any byte, with little memory, mostly forwards."""

from __future__ import annotations

import os
import threading
import zlib
from contextlib import suppress
from pathlib import Path

import numpy as np

from footprint.io.apart import Apart
from footprint.plan.plan import THREAD

# Compressed bytes read at a time, bytes between copies of zlib's state, and of a file's first bytes.
_READ, _MADE, _FIRST = 1 << 14, 1 << 17, 1 << 16
# Bytes inflated at a time: zlib's module has these in one block, and puts together what are more, which takes them twice.
_PIECE = 1 << 15
# Bytes inflated at most beyond the last that are wanted, to come to the checksum of all: a FITS file ends within 2,880.
_TAIL = 1 << 20
# A copy of zlib's state with its window of 32 KiB, measured 47 KiB, and at most `_READ` of what it was given; one is kept every so
# many bytes to start again from.
_STATE, _SPAN, _POINTS = 1 << 16, 32 << 20, 32
# And the last few: at the newest multiple of `_MADE`, of twice as much, and so on, each an odd multiple, so that whoever goes back
# some rows, as for the neighbours of the next part, inflates little more than twice those. More than `_SPAN` no one needs.
_STEPS = (_SPAN // _MADE).bit_length()

# Bytes inflated, compressed bytes that this took, and the engine: None for a new one.
_Point = tuple[int, int, "zlib._Decompress | None"]


class Inflated:
    """The bytes inside a gzip file of one member or several.

    Parameters
    ----------
    path
        The file.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._file = open(path, "rb", buffering=0)
        self._size, self._span = Path(path).stat().st_size, _SPAN
        # The copies of zlib's state are renewed all the time, and stay from pass to pass of a job: in one heap, not in one for
        # every thread that reads.
        self._lock, self._apart = threading.Lock(), Apart()
        self._points: list[_Point] = [(0, 0, None)]
        self._recent: dict[int, _Point] = {}
        self._go(self._points[0])

    @staticmethod
    def host_bytes(nbytes: int) -> int:
        """Bytes that reading ``nbytes`` inside takes."""
        states = 1 + min(nbytes // _SPAN, _POINTS) + min((nbytes // _MADE).bit_length(), _STEPS)
        return _READ * 2 + _PIECE * 2 + _STATE * states + THREAD

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._apart.end()
            self._points, self._recent = [], {}
            self._file.close()

    def read_at(self, offset: int, count: int) -> bytes:
        """At most ``count`` bytes from ``offset``; fewer where the file ends."""
        out = np.empty(count, np.uint8)
        return out[: self.readinto_at(offset, out.data)].tobytes()

    def readinto_at(self, offset: int, view: memoryview) -> int:
        """Fill ``view`` with the bytes from ``offset``; how many there were."""
        with self._lock:
            return self._apart.call(self._fill, offset, view)

    def check(self) -> None:
        """Compare what was read up to here with the checksum behind it, if that is near; zlib.error where they differ."""
        with self._lock:
            self._apart.call(self._finish)

    def _fill(self, offset: int, view: memoryview) -> int:
        near = max((p for p in (*self._points, *self._recent.values()) if p[0] <= offset), key=lambda point: point[0])
        if offset < self._at or near[0] > self._at:
            self._go(near)
        done = 0
        while done < len(view):
            skip = offset + done - self._at
            piece = self._some(skip or len(view) - done)
            if not piece:
                break
            if not skip:
                view[done : done + len(piece)] = piece
                done += len(piece)
        return done

    def _finish(self) -> None:
        end = self._at + _TAIL
        # Bytes that are missing behind the last that are wanted are missed by nobody.
        with suppress(EOFError):
            while self._at < end and self._some(_PIECE):
                pass

    def _go(self, point: _Point) -> None:
        self._at, self._from, engine = point
        self._rest = b""
        self._engine = engine.copy() if engine else zlib.decompressobj(31)
        self._ends = False

    def _some(self, most: int) -> bytes:
        """The next bytes, at most so many and a piece; none at the end of the file."""
        while not self._ends:
            if not self._rest and self._from < self._size:
                self._rest = os.pread(self._file.fileno(), _READ, self._from)
                self._from += len(self._rest)
            made = self._engine.decompress(self._rest, min(most, _PIECE, _MADE - self._at % _MADE))
            used, self._rest = self._rest, self._engine.unconsumed_tail
            if self._engine.eof:
                # Members follow each other; zeros may pad the last.
                self._rest = self._engine.unused_data
                self._next_member()
            elif not made and not used:
                raise EOFError("it ends inside its compressed data")
            if made:
                self._at += len(made)
                self._remember()
                return made
        return b""

    def _next_member(self) -> None:
        while True:
            self._rest = self._rest.lstrip(b"\0")
            if self._rest or self._from >= self._size:
                break
            self._rest = os.pread(self._file.fileno(), _READ, self._from)
            self._from += len(self._rest)
        self._ends = not self._rest
        self._engine = zlib.decompressobj(31)

    def _remember(self) -> None:
        if self._ends or self._at % _MADE:
            return
        point = self._at, self._from - len(self._rest), self._engine.copy()
        number = self._at // _MADE
        # Of every power of two its last odd multiple, so that the farther back, the farther apart they lie.
        self._recent[min((number & -number).bit_length(), _STEPS) - 1] = point
        if self._at >= self._points[-1][0] + self._span:
            if len(self._points) > _POINTS:
                self._points, self._span = self._points[::2], 2 * self._span
            else:
                self._points.append(point)


class Plain:
    """The bytes of a file as it is, with the same face.

    Parameters
    ----------
    path
        The file.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._file = open(path, "rb", buffering=0)

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def read_at(self, offset: int, count: int) -> bytes:
        """At most ``count`` bytes from ``offset``; fewer where the file ends."""
        return os.pread(self._file.fileno(), count, offset)


def is_gzip(path: str | os.PathLike[str]) -> bool:
    """Whether the file starts as a gzip file does."""
    with open(path, "rb") as file:
        return file.read(2) == b"\x1f\x8b"


def first_bytes(path: str | os.PathLike[str], count: int) -> bytes:
    """The first bytes inside a gzip file, from no more than its first 64 KiB; fewer where it is damaged."""
    with open(path, "rb") as file:
        try:
            return zlib.decompressobj(31).decompress(file.read(_FIRST), count)
        except zlib.error:
            return b""
