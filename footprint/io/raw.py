"""Plain arrays inside files (FITS, uncompressed TIFF, NPY): rows read and written at a byte offset.

The file is never mapped: mapped pages count as the process's memory, and the plan promises how much that is.
"""

from __future__ import annotations

import math
import os
import threading
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from footprint.dtypes import put_into
from footprint.errors import FormatError
from footprint.io import direct
from footprint.io.direct import SECTOR, Direct
from footprint.io.frames import PIECE, reading, staging, turn_bytes
from footprint.io.inflated import Inflated
from footprint.plan import crew
from footprint.plan.faces import COPIERS
from footprint.plan.rates import decoding

_AGAIN = "copy or write it again"

# Pixels that are so many bytes apart are asked for one by one: to read all between them would take longer, measured.
_APART = 16 << 10
# Bytes that are worth a thread of their own when they are read, and from which a single read is.
_SHARED, _LONG = 1 << 20, 256 << 10
# Bytes cast or byte-swapped at a time on their way to a file: enough for the system's memory, and still in the processor's cache;
# and enough for a disk, where they go there at once.
STAGED, DIRECT = 128 << 10, 2 << 20
# Arrays of so many bytes go to the disk while they are written, and not when the file is closed; a piece that has arrived there
# leaves the system's memory, which then serves for the next one: pages that are new to it take longer than the copy into them.
LARGE, _LEAVES = 256 << 20, 16 << 20


def writing_bytes(stored: np.dtype, shape: tuple[int, ...], given: Any, flip: bool = False, offset: int = 0) -> int:
    """Bytes that writing C-contiguous blocks of dtype ``given`` to an array at byte ``offset`` of a file holds beside them."""
    nbytes = math.prod(shape) * stored.itemsize
    plain = np.dtype(given) == stored and not flip
    if nbytes < direct.LARGE:
        return 0 if plain else min(STAGED, nbytes)
    # Where rows lie in the file as they do in memory, the disk takes them from there.
    return 0 if plain and not (offset % SECTOR or shape[-1] * stored.itemsize % SECTOR) else DIRECT


def _bytes(array: np.ndarray) -> memoryview:
    return array.reshape(-1).view(np.uint8).data


def filled(fd: int, offset: int, array: np.ndarray) -> bool:
    """Fill a contiguous array with a file's bytes; whether there were enough. Any number of threads may, at once."""
    done = os.preadv(fd, [array.data], offset)
    if done == array.nbytes:
        return True
    view = _bytes(array)
    while done < len(view):
        got = os.preadv(fd, [view[done : done + (1 << 30)]], offset + done)
        if not got:
            return False
        done += got
    return True


def filled_each(fd: int, offsets: Iterable[int], parts: np.ndarray) -> bool:
    """Fill each of some contiguous arrays of one size with a file's bytes; whether there were enough."""
    # Where each is small, what Python takes between two calls shows: nothing but the call is left for most.
    preadv, nbytes = os.preadv, parts[0].nbytes
    return all(preadv(fd, (part,), offset) == nbytes or filled(fd, offset, part) for part, offset in zip(parts, offsets))


def _together(read: Callable[[int, int], None], rows: int, nbytes: int, each: int) -> None:
    """Call ``read(start, stop)`` for all of some rows, ``nbytes`` in all, in several threads where there are cores for them.

    One copies 3 to 6 GB/s from the system's memory, and waits for a disk: less than several cores compute and fast disks give.
    Reads that are short, of ``each`` so many bytes, are no faster so: Python, which one thread runs at a time, takes as long.
    """
    threads = min(COPIERS.readers, nbytes // _SHARED) if each >= _LONG else 1
    if threads < 2:
        read(0, rows)
        return
    step = max(1, rows * _SHARED // nbytes)
    crew.shared(((i, min(i + step, rows)) for i in range(0, rows, step)), lambda _, some: read(*some), threads)


class RawFrames:
    """A C-ordered array ``(n, n_rows, n_x)`` of ``dtype`` that starts at byte ``offset`` of a file.

    Parameters
    ----------
    path
        The file.
    offset
        Byte of the first number.
    shape
        ``(n, n_rows, n_x)``.
    dtype
        The dtype on disk, byte order included.
    writable
        Open for writing too.
    flip
        What is written has its top bit flipped: FITS's way to unsigned integers wider than 8 bits, and to signed bytes.
    inflated
        Where the bytes come from in a gzipped file; how many it has is then seen when they are read.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        offset: int,
        shape: tuple[int, int, int],
        dtype: np.dtype,
        writable: bool = False,
        flip: bool = False,
        inflated: Inflated | None = None,
    ) -> None:
        self.path, self.offset, self.shape = str(path), int(offset), shape
        self.stored = np.dtype(dtype)
        self.dtype = self.stored.newbyteorder("=")
        self.row_bytes, self._flip = shape[2] * self.stored.itemsize, flip
        need, have = self.offset + shape[0] * shape[1] * self.row_bytes, Path(path).stat().st_size
        if have < need and not writable and not inflated:
            # Python writes no number of thousands of digits.
            said = need if need.bit_length() < 128 else f"over 2^{need.bit_length() - 1}"
            raise FormatError(path, f"is truncated: its header declares {said} bytes, it has {have}", _AGAIN)
        self._file = open(path, "r+b" if writable else "rb", buffering=0)
        self.inflated, self._inflating = inflated, Inflated.host_bytes(need) if inflated else 0
        self._lock = threading.RLock()
        self._leaves = writable and need - self.offset >= LARGE and hasattr(os, "posix_fadvise")
        self._direct = Direct(path) if writable and need - self.offset >= direct.LARGE else None
        # What blocks go through on their way to the disk, where it cannot have them as they lie.
        self._staging: np.ndarray | None = None
        # From and to which byte it was written since the beginning, and how much since the disk was last told.
        self._written, self._since = (need, 0), 0

    def host_bytes(self, n_rows: int, dtype: Any = None) -> int:
        """Bytes that reading holds beside ``out``: a staged piece, none for a contiguous ``out`` of the file's ``dtype``."""
        if dtype is not None and np.dtype(dtype) == self.dtype:
            return self._inflating
        rows = n_rows * (self.shape[0] if n_rows == self.shape[1] else 1)
        return min(max(1, PIECE // max(1, self.row_bytes)), rows) * self.row_bytes + self._inflating

    def decoding(self, n_frames: int, n_rows: int) -> float:
        """Seconds that inflating rows of frames takes."""
        return decoding(n_frames * n_rows * self.row_bytes, 0) if self.inflated else 0.0

    def close(self) -> None:
        """Close the file."""
        self._file.close()
        if self._direct:
            self._direct.close()
        if self.inflated:
            self.inflated.close()

    def sync(self) -> None:
        """Wait until what was written is on the disk."""
        os.fsync(self._file.fileno())

    def read(self, start: int, stop: int, rows: slice, out: np.ndarray) -> None:
        """Fill ``out`` with rows of frames ``start`` to ``stop``, cast and byte-swapped."""
        n_rows = rows.stop - rows.start
        if out.size == 0:
            return
        whole = rows.start == 0 and n_rows == self.shape[1]
        if (whole or stop - start == 1) and out.flags.c_contiguous:
            # Rows that lie one behind the other.
            flat = out.reshape(-1, self.shape[2])
            self._read_rows(start * self.shape[1] + rows.start, flat, self._staged(flat))
            return
        if out.dtype == self.dtype and out[0].flags.c_contiguous and not self.inflated:
            step = self.shape[1] * self.row_bytes
            at, fd = self.offset + start * step + rows.start * self.row_bytes, self._file.fileno()

            def some(i: int, j: int) -> None:
                self._enough(filled_each(fd, range(at + i * step, at + j * step, step), out[i:j]))
                self._swap(out[i:j])

            _together(some, stop - start, out.nbytes, out[0].nbytes)
            return
        staged = self._staged(out[0])
        for i in range(start, stop):
            self._read_rows(i * self.shape[1] + rows.start, out[i - start], staged)

    def columns(self, start: int, stop: int, rows: slice, x: int, out: np.ndarray) -> None:
        """Fill ``out`` ``(stop - start, n)`` with the pixels at ``x`` of every ``rows.step``-th row of frames."""
        step = rows.step or 1
        if step * self.row_bytes >= _APART and not self.inflated:
            wide = self.stored.itemsize
            found = np.empty((stop - start, len(range(rows.start, rows.stop, step))), self.stored)
            at = self.offset + x * wide + (start * self.shape[1] + rows.start) * self.row_bytes
            for i, line in enumerate(found):
                self._scattered(at + i * self.shape[1] * self.row_bytes, step * self.row_bytes, line)
            put_into(out, found)
            return
        many = max(1, PIECE // max(1, step * self.row_bytes))
        for i in range(start, stop):
            for j in range(0, out.shape[1], many):
                line = out[i - start, j : j + many]
                first = rows.start + j * step
                part = np.empty((1, (len(line) - 1) * step + 1, self.shape[2]), self.dtype)
                self.read(i, i + 1, slice(first, first + part.shape[1]), part)
                put_into(line, part[0, ::step, x])

    def _scattered(self, at: int, step: int, out: np.ndarray) -> None:
        """Fill ``out`` with numbers of the file that lie ``step`` bytes apart."""
        fd, wide = self._file.fileno(), out.itemsize
        found = b"".join([os.pread(fd, wide, at + i * step) for i in range(len(out))])
        self._enough(len(found) == out.nbytes)
        out[...] = np.frombuffer(found, out.dtype)

    def _staged(self, out: np.ndarray) -> np.ndarray | None:
        """What rows of ``out`` ``(n, n_x)`` go through on their way, a piece at a time; None where they need not."""
        if out.dtype == self.dtype and out.flags.c_contiguous:
            return None
        return staging((min(max(1, PIECE // self.row_bytes), len(out)), self.shape[2]), self.stored)

    def _read_rows(self, first: int, out: np.ndarray, staged: np.ndarray | None) -> None:
        """Fill ``out`` ``(n, n_x)`` with rows counted over all frames."""
        if staged is None:

            def some(i: int, j: int) -> None:
                self._fill(first + i, out[i:j])
                self._swap(out[i:j])

            _together(some, len(out), out.nbytes, 0 if self.inflated else out.nbytes)
            return
        for i in range(0, len(out), len(staged)):
            part = staged[: min(len(staged), len(out) - i)]
            self._fill(first + i, part)
            put_into(out[i : i + len(part)], part)

    def _swap(self, out: np.ndarray) -> None:
        """Make the file's numbers the processor's own."""
        if not self.stored.isnative:
            turn_bytes(out)

    def _fill(self, first: int, array: np.ndarray) -> None:
        view = _bytes(array)
        if self.inflated:
            with reading(self.path, "its compressed data"):
                got = self.inflated.readinto_at(self.offset + first * self.row_bytes, view)
                if first * self.row_bytes + got == self.shape[0] * self.shape[1] * self.row_bytes:
                    # Bits that have turned over inflate to other numbers; only the checksum tells.
                    self.inflated.check()
            if got < len(view):
                raise FormatError(self.path, f"is truncated: it ends {len(view) - got} bytes before its last row does", _AGAIN)
            return
        self._enough(filled(self._file.fileno(), self.offset + first * self.row_bytes, array))

    def _enough(self, enough: bool) -> None:
        if not enough:
            raise FormatError(self.path, "ended early while it was read", "it may have been changed meanwhile")

    def writing_bytes(self, dtype: Any) -> int:
        """Bytes that `write` holds beside C-contiguous arrays of ``dtype``; others are staged like another dtype."""
        return writing_bytes(self.stored, self.shape, dtype, self._flip, self.offset)

    def write(self, start: int, rows: slice, array: np.ndarray) -> None:
        """Write ``array`` ``(n, n_rows, n_x)`` at frame ``start`` and ``rows`` of each frame, cast piece by piece."""
        if array.flags.c_contiguous and rows.stop - rows.start == self.shape[1]:
            self._write_flat(start * self.shape[1] * self.row_bytes, array.reshape(-1))
            return
        for i, frame in enumerate(array):
            at = ((start + i) * self.shape[1] + rows.start) * self.row_bytes
            if frame.flags.c_contiguous:
                self._write_flat(at, frame.reshape(-1))
                continue
            for r, row in enumerate(frame):
                self._write_flat(at + r * self.row_bytes, row)

    def _write_flat(self, at: int, values: np.ndarray) -> None:
        """Write numbers at byte ``at`` of the array; through a small buffer where they are not as the file has them, or lie."""
        plain = values.dtype == self.stored and values.flags.c_contiguous and not self._flip
        nbytes = len(values) * self.stored.itemsize
        if self._direct and self._direct.open and nbytes >= direct.LEAST and self.writing_bytes(values.dtype):
            at_once = plain and (self.offset + at - values.ctypes.data) % SECTOR == 0
            if not at_once:
                with self._lock:
                    if self._staging is None:
                        self._staging = staging((DIRECT,), np.dtype(np.uint8))
                    # Each piece lies as far from a page of memory as it will from one of the file.
                    self._staged_through(self._staging, (self.offset + at) % direct.PAGE, at, values)
                return
        if plain:
            self._put(at, values)
        else:
            self._staged_through(np.empty(min(STAGED, nbytes), np.uint8), 0, at, values)

    def _staged_through(self, staged: np.ndarray, lead: int, at: int, values: np.ndarray) -> None:
        """Write numbers through a buffer of bytes; the first of them ``lead`` bytes from its start."""
        size, i = self.stored.itemsize, 0
        while i < len(values):
            n = min((len(staged) - lead) // size, len(values) - i)
            part, given = staged[lead : lead + n * size].view(self.stored), values[i : i + n]
            if self._flip:
                plain = part.view(f"u{size}")
                put_into(plain, given)
                plain ^= plain.dtype.type(1 << (8 * size - 1))
                if not self.stored.isnative:
                    turn_bytes(plain)
            else:
                put_into(part, given)
            self._put(at + i * size, part)
            i, lead = i + n, 0

    def _put(self, at: int, array: np.ndarray) -> None:
        if array.size == 0:
            return
        view, at = _bytes(array), self.offset + at
        with self._lock:
            first, last = self._direct.put(at, view, array.ctypes.data) if self._direct else (0, 0)
            for start, stop in ((0, first), (last, len(view))):
                self._file.seek(at + start)
                done = start
                while done < stop:
                    done += self._file.write(view[done : min(stop, done + (1 << 30))])
                if self._leaves and start < stop:
                    self._leave(at + start, stop - start)

    def _leave(self, at: int, nbytes: int) -> None:
        """Have the disk begin with what was written, and the system let go of what has arrived."""
        first, last = self._written
        self._written, self._since = (min(first, at), max(last, at + nbytes)), self._since + nbytes
        if self._since >= _LEAVES:
            self._since = 0
            with suppress(OSError):
                os.posix_fadvise(self._file.fileno(), self._written[0], self._written[1] - self._written[0], os.POSIX_FADV_DONTNEED)
