"""Chunks of HDF5 datasets, read and decoded one at a time into memory that was counted before.

HDF5's own way to chunks takes what one inflates to, whatever the dataset declares, and keeps maps, caches and free lists that no
one can count. Here a chunk never gives more than its declared size: deflate is inflated piece by piece, and other filters
are asked what they will make before HDF5 may run them.
"""

from __future__ import annotations

import math
import os
import zlib
from collections.abc import Iterator
from typing import Any

import h5py
import numpy as np

from footprint.errors import FormatError
from footprint.io.frames import cast_into, missing_runs

_DEFLATE, _SHUFFLE, _FLETCHER32, _SZIP, _BLOSC, _LZ4, _BITSHUFFLE, _ZSTD = 1, 2, 3, 4, 32001, 32004, 32008, 32015
_HARMLESS = (_SHUFFLE, _FLETCHER32)
# Stored bytes read and bytes inflated at a time; zlib's own state beside them.
_READ, _MADE, _STATE = 1 << 16, 1 << 18, 1 << 16
# Of the table of chunks, a chunk: 28, and 16 while what is out of order is sorted. More chunks than this are no scan.
_ENTRY, _MOST = 44, 1 << 24
# What HDF5 holds to decode one chunk by a plugin: stored, decoded, and the filter's own copy.
_COPIES = 3

# HDF5's cache of the index of chunks and of all else that is no pixel grows to 32 MiB, unless it is told not to. With what HDF5
# makes of its entries the index takes 1.9 times the cache, measured.
_INDEX = 1 << 17
_INDEX_BYTES = 4 * _INDEX


class Chunks:
    """The chunks of a dataset of any number of dimensions.

    Parameters
    ----------
    path
        The file the user named, for error sentences.
    dataset
        Is stored in chunks.
    """

    def __init__(self, path: str, dataset: h5py.Dataset) -> None:
        self.path, self._data = path, dataset
        self.shape, self.chunk = tuple(dataset.shape), tuple(dataset.chunks)
        self.grid = tuple(-(-n // c) for n, c in zip(self.shape, self.chunk))
        self.count, self.nbytes = math.prod(self.grid), math.prod(self.chunk) * dataset.dtype.itemsize
        if self.count > _MOST:
            raise FormatError(path, f"{dataset.name} is cut into {self.count} chunks", f"h5repack it into fewer than {_MOST}")
        plist = dataset.id.get_create_plist()
        self._filters = [plist.get_filter(i)[::2] for i in range(plist.get_nfilters())]
        codes = [code for code, _ in self._filters]
        self.filtered, self._shuffled = bool(codes), codes[:1] == [_SHUFFLE]
        whole = not self._shuffled or self._filters[0][1][:1] == (dataset.dtype.itemsize,)
        # Where the file begins with a block of the user's, offsets mean different things to different versions of HDF5.
        self._own = codes in ([], [_DEFLATE], [_SHUFFLE, _DEFLATE]) and whole and dataset.file.userblock_size == 0
        self._last = len(codes) - (2 if codes[-1:] == [_FLETCHER32] else 1)
        if any(code not in _HARMLESS for code in codes[: max(self._last, 0)]):
            raise FormatError(path, f"{dataset.name} is compressed twice (filters {codes})", "h5repack it with one of them")
        self._table: tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray] | None = None
        self._buffers: list[np.ndarray] = []
        self._held = -1
        self._fd = -1

    def host_bytes(self) -> int:
        """Bytes that decoding takes: a chunk, what it is made from, and the table of all chunks."""
        if not self._own:
            return self.nbytes * (1 + _COPIES) + self.count * _ENTRY + _INDEX_BYTES
        made = self.nbytes * (1 + self._shuffled) + (_READ + _MADE + _STATE if self.filtered else 0)
        return made + self.count * _ENTRY + _INDEX_BYTES

    def close(self) -> None:
        """Let the memory go, and the file."""
        self._buffers, self._table, self._held = [], None, -1
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def read(self, start: int, stop: int, rows: slice, out: np.ndarray) -> None:
        """Fill ``out`` with rows of frames ``start`` to ``stop``, counted over all axes but the last two, cast to its dtype."""
        (high, wide), n_x = self.chunk[-2:], self.shape[-1]
        lead, cut = (1, *self.shape)[:-2], (1, *self.chunk)[:-2]
        at = start
        while at < stop:
            place = [int(k) for k in np.unravel_index(at, lead)]
            along = place[-1] % cut[-1]
            end = min(stop, at + min(cut[-1] - along, lead[-1] - place[-1]))
            frames = (*(k % c for k, c in zip(place[:-1], cut)), slice(along, along + end - at))
            for y in range(rows.start // high, -(-rows.stop // high)):
                y0, y1 = max(rows.start, y * high), min(rows.stop, (y + 1) * high)
                for x in range(-(-n_x // wide)):
                    x1 = min(n_x, (x + 1) * wide)
                    index = (*(k // c for k, c in zip(place, cut)), y, x)[1:]
                    part = self._part(index, frames, slice(y0 - y * high, y1 - y * high))[..., : x1 - x * wide]
                    cast_into(out[at - start : end - start, y0 - rows.start : y1 - rows.start, x * wide : x1], part)
            at = end

    def _part(self, index: tuple[int, ...], frames: tuple[Any, ...], rows: slice) -> np.ndarray:
        """Rows of frames of one chunk: of a decoded one, or, where it is stored as it is, no others than those."""
        stored = None if self.filtered or not self._own else self._stored(int(np.ravel_multi_index(index, self.grid)))
        if stored is None:
            return self.decoded(index).reshape(1, *self.chunk)[(*frames, rows)]
        self._held, (high, wide) = -1, self.chunk[-2:]
        lead, count, height = (1, *self.chunk)[:-2], frames[-1].stop - frames[-1].start, rows.stop - rows.start
        first = int(np.ravel_multi_index((*frames[:-1], frames[-1].start), lead))
        made = self._memory()[0].view(self._data.dtype)[: count * height * wide].reshape(count, height, wide)
        row = wide * made.dtype.itemsize
        # Whole frames lie together.
        for part, k in [(made, 0)] if height == high else zip(made, range(count)):
            at = ((first + k) * high + rows.start) * row
            if at + part.nbytes > stored[1] or not _filled(self._fd, stored[0] + at, part):
                raise self._lie(index, f"is {stored[1]} bytes at {stored[0]}")
        return made

    def whole(self, out: np.ndarray) -> None:
        """Fill ``out``, of the dataset's shape, with all of it."""
        for index in np.ndindex(*self.grid):
            into = tuple(slice(k * c, min((k + 1) * c, n)) for k, c, n in zip(index, self.chunk, self.shape))
            tile = self.decoded(index)
            cast_into(out[into], tile[tuple(slice(0, s.stop - s.start) for s in into)])

    def decoded(self, index: tuple[int, ...]) -> np.ndarray:
        """One chunk in the dtype of the file, valid until the next; the last is kept."""
        number = int(np.ravel_multi_index(index, self.grid))
        made = self._memory()[0].view(self._data.dtype).reshape(self.chunk)
        if number != self._held:
            self._held = -1
            self._decode(index, number, made)
            self._held = number
        return made

    def _memory(self) -> list[np.ndarray]:
        if not self._buffers:
            self._buffers = [np.empty(self.nbytes, np.uint8) for _ in range(1 + (self._own and self._shuffled))]
        return self._buffers

    def _decode(self, index: tuple[int, ...], number: int, made: np.ndarray) -> None:
        stored = self._stored(number)
        if stored is None:
            made[...] = self._data.fillvalue
            return
        offset, size, mask = stored
        skipped = self._last < 0 or bool(mask >> self._last & 1)
        if size > 2 * self.nbytes + 65536 or offset + size > os.fstat(self._fd).st_size:
            raise self._lie(index, f"is {size} bytes at {offset}")
        if not self._own:
            if not skipped:
                self._ask(index, offset, size)
            self._by_hdf5(index, made)
            return
        shuffled = self._shuffled and not mask & 1
        into = self._buffers[-1] if shuffled else self._buffers[0]
        if skipped:
            if size != self.nbytes:
                raise self._lie(index, f"is {size} bytes")
            _filled(self._fd, offset, into)
        else:
            self._inflate(index, offset, size, into)
        if shuffled:
            wide = made.dtype.itemsize
            self._buffers[0].reshape(-1, wide)[...] = into.reshape(wide, -1).T

    def _inflate(self, index: tuple[int, ...], offset: int, size: int, into: np.ndarray | None) -> None:
        """Inflate to exactly the declared size, into memory or, to know only that it can be, into none."""
        engine, done = zlib.decompressobj(), 0
        for piece in _pieces(self._fd, offset, size):
            made = b"first"
            while not engine.eof and (piece or made):
                made = engine.decompress(piece, min(_MADE, self.nbytes - done + 1))
                piece = engine.unconsumed_tail
                if done + len(made) > self.nbytes:
                    raise self._lie(index, f"inflates to more than {self.nbytes} bytes")
                if into is not None:
                    into[done : done + len(made)] = np.frombuffer(made, np.uint8)
                done += len(made)
        if done != self.nbytes or not engine.eof:
            raise self._lie(index, f"inflates to {done} bytes")

    def _ask(self, index: tuple[int, ...], offset: int, size: int) -> None:
        """Refuse a chunk whose compressor would make more of it than the dataset declares."""
        code, values = self._filters[self._last]
        if code == _DEFLATE:
            return self._inflate(index, offset, size, None)
        says = announced(code, values, os.pread(self._fd, min(size, 64), offset))
        if says is not None and says != self.nbytes:
            raise self._lie(index, f"announces {says} bytes")

    def _by_hdf5(self, index: tuple[int, ...], made: np.ndarray) -> None:
        box = tuple(slice(k * c, min((k + 1) * c, n)) for k, c, n in zip(index, self.chunk, self.shape))
        self._data.read_direct(made, box, tuple(slice(0, s.stop - s.start) for s in box))

    def _stored(self, number: int) -> tuple[int, int, int] | None:
        """Offset, size and skipped filters of a chunk; None where it was never written."""
        if self._table is None:
            self._fd = os.open(self._data.file.filename, os.O_RDONLY) if self._fd < 0 else self._fd
            self._table = self._find()
        numbers, offsets, sizes, masks = self._table
        at = int(np.searchsorted(numbers, number))
        if at == len(numbers) or numbers[at] != number:
            return None
        return int(offsets[at]), int(sizes[at]), int(masks[at])

    def _find(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        self._data.file.id.set_mdc_config(_small(self._data.file.id.get_mdc_config()))
        count = min(self._data.id.get_num_chunks(), self.count)
        # Each lies together: searching a column of a table would copy it for every chunk.
        numbers, offsets, sizes = (np.empty(count, np.int64) for _ in range(3))
        masks = np.empty(count, np.uint32)
        steps = [math.prod(self.grid[i + 1 :]) for i in range(len(self.grid))]
        at = 0

        def add(info: Any) -> None:
            nonlocal at
            if at < count:
                numbers[at] = sum(o // c * s for o, c, s in zip(info.chunk_offset, self.chunk, steps))
                offsets[at], sizes[at], masks[at] = info.byte_offset, info.size, info.filter_mask
                at += 1

        self._data.id.chunk_iter(add)
        found = numbers[:at], offsets[:at], sizes[:at], masks[:at]
        if (found[0][1:] <= found[0][:-1]).any():
            order = np.argsort(found[0])
            for column in found:
                column[:] = column[order]
        return found

    def _lie(self, index: tuple[int, ...], found: str) -> FormatError:
        at = [k * c for k, c in zip(index, self.chunk)]
        return FormatError(
            self.path, f"the chunk at {at} of {self._data.name} {found}, its shape wants {self.nbytes}", "it may be damaged"
        )


class Kept:
    """Rows of all frames that were decoded for the rows before them: chunks taller than what is read are decoded once a window.

    Parameters
    ----------
    chunks
        Where they come from.
    shape
        Of the frames ``(n, n_z, n_x)``.
    dtype
        As stored.
    rows
        How many are kept.
    """

    def __init__(self, chunks: Chunks, shape: tuple[int, int, int], dtype: np.dtype, rows: int) -> None:
        self._chunks, self._n_z, (self._deep, self._high) = chunks, shape[1], (1, *chunks.chunk)[-3:-1]
        self._values, self._known = np.empty((shape[0], rows, shape[2]), dtype), np.zeros(shape[0], bool)
        self._from = self._to = 0

    def read(self, start: int, stop: int, rows: slice, out: np.ndarray) -> bool:
        """Fill ``out``; False where more rows are wanted than are kept."""
        if self._values.shape[0] == 0:
            return False
        n = self._values.shape[1]
        if rows.stop - rows.start > n:
            return False
        if rows.start < self._from or rows.stop > self._to:
            self._known[:] = False
            stop_at = min(rows.start + n, self._n_z)
            whole = stop_at // self._high * self._high
            # Up to the end of a chunk: the rest of it would be decoded again with the next rows.
            self._from, self._to = rows.start, whole if rows.stop <= whole else stop_at
        for a, b in missing_runs(self._known[start:stop]):
            # Whole chunks: their other frames are decoded anyway.
            first, end = (start + a) // self._deep * self._deep, min(-(-(start + b) // self._deep) * self._deep, len(self._known))
            self._chunks.read(first, end, slice(self._from, self._to), self._values[first:end, : self._to - self._from])
            self._known[first:end] = True
        cast_into(out, self._values[start:stop, rows.start - self._from : rows.stop - self._from])
        return True


def _small(sizes: Any) -> Any:
    """The settings of HDF5's metadata cache with the size that is counted."""
    sizes.set_initial_size, sizes.initial_size, sizes.min_size, sizes.max_size = True, _INDEX, _INDEX, _INDEX
    return sizes


def announced(code: int, values: tuple[int, ...], head: bytes) -> int | None:
    """Bytes that a filter's own header says a chunk decodes to; None where it does not say."""
    if code == _LZ4 or (code == _BITSHUFFLE and len(values) > 4 and values[4]):
        return int.from_bytes(head[:8], "big")
    if code == _BLOSC:
        return int.from_bytes(head[4:8], "little")
    if code == _SZIP:
        return int.from_bytes(head[:4], "little")
    if code == _ZSTD:
        return _zstd(head)
    return None


def _zstd(head: bytes) -> int:
    """The content size of a Zstandard frame (RFC 8878, 3.1.1.1); -1 where it has none, which its filter would guess at."""
    if len(head) < 6 or head[:4] != b"\x28\xb5\x2f\xfd":
        return -1
    flags = head[4]
    single, code = flags >> 5 & 1, flags >> 6
    wide = (1 if single else 0, 2, 4, 8)[code]
    at = 5 + (not single) + (0, 1, 2, 4)[flags & 3]
    if not wide:
        return -1
    return int.from_bytes(head[at : at + wide], "little") + (256 if wide == 2 else 0)


def _pieces(fd: int, offset: int, size: int) -> Iterator[bytes]:
    for at in range(0, size, _READ):
        yield os.pread(fd, min(_READ, size - at), offset + at)


def _filled(fd: int, offset: int, array: np.ndarray) -> bool:
    """Fill an array with a file's bytes; whether there were enough."""
    view, done = array.reshape(-1).view(np.uint8).data, 0
    while done < len(view):
        got = os.preadv(fd, [view[done : done + (1 << 30)]], offset + done)
        if not got:
            return False
        done += got
    return True
