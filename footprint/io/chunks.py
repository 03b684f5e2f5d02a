"""Chunks of HDF5 datasets, read and decoded one at a time into memory that was counted before.

HDF5's own way to chunks takes what one inflates to, whatever the dataset declares, and keeps maps, caches and free lists that no
one can count. Here a chunk never gives more than its declared size: deflate is inflated piece by piece, and other filters
are asked what they will make before HDF5 may run them.
"""

from __future__ import annotations

import math
import os
import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import h5py
import numpy as np

from footprint import settings
from footprint.dtypes import put_into
from footprint.errors import FormatError
from footprint.io.coded import (
    BITSHUFFLE,
    DEFLATE,
    INFLATING,
    SHUFFLE,
    Bitshuffled,
    Damaged,
    announced,
    as_it_is,
    end_of,
    inflated,
    last_of,
    put,
)
from footprint.io.frames import turn_bytes
from footprint.io.hdf5 import as_stored
from footprint.io.pieces import Piece, Target, box, marked, pieces_of, runs
from footprint.io.raw import filled, filled_each
from footprint.kernels.bitshuffle.contract import HEADER, Box
from footprint.plan.crew import MOST, shared
from footprint.plan.rates import decoding

# Bytes of a chunk below which threads wait for Python more than they decode.
_SMALL = 1 << 16
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
        self.path, self._data, self._dtype = path, dataset, dataset.dtype
        self.shape, self.chunk = tuple(dataset.shape), tuple(dataset.chunks)
        self.grid = tuple(-(-n // c) for n, c in zip(self.shape, self.chunk))
        self.count, self._total = math.prod(self.grid), math.prod(self.chunk)
        self.nbytes = self._total * dataset.dtype.itemsize
        if self.count > _MOST:
            raise FormatError(path, f"{dataset.name} is cut into {self.count} chunks", f"h5repack it into fewer than {_MOST}")
        plist = dataset.id.get_create_plist()
        self._filters = [plist.get_filter(i)[::2] for i in range(plist.get_nfilters())]
        codes = [code for code, _ in self._filters]
        # Whether each holds whole rows of one frame, as they are.
        self._lie = not codes and self.chunk[-1] == self.shape[-1] and math.prod(self.chunk[:-2]) == 1
        self.filtered, self._shuffled = bool(codes), codes[:1] == [SHUFFLE]
        whole = not self._shuffled or self._filters[0][1][:1] == (dataset.dtype.itemsize,)
        plain = as_stored(dataset)
        self._own = codes in ([], [DEFLATE], [SHUFFLE, DEFLATE]) and whole and plain
        self._last = last_of(codes, path, str(dataset.name))
        self._table: tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray] | None = None
        self._buffer: np.ndarray | None = None
        self._held, self._cache = -1, threading.Lock()
        self._fd, self._end = -1, 0
        self.threads = min(settings.threads(), MOST, self.count) if self.filtered and self.nbytes >= _SMALL else 1
        self._bits = self._bitshuffled() if codes == [BITSHUFFLE] and plain else None
        if not self._own and not self._bits:
            self.threads = 1

    def _bitshuffled(self) -> Bitshuffled | None:
        """What decodes bitshuffle-LZ4, where that is how chunks are stored."""
        values, dtype = self._filters[0][1], self._data.dtype
        if not Bitshuffled.knows(values, dtype) or self.nbytes >= 1 << 31:
            return None
        _limit_index(self._data)
        # What is not None ends it.
        first = self._data.id.chunk_iter(lambda info: info)
        head = os.pread(self._file(), HEADER, first.byte_offset) if first is not None and not first.filter_mask else b""
        bits = Bitshuffled(self._total, dtype, values, head, self.threads)
        return bits if bits.small else None

    def host_bytes(self, direct: bool = False) -> int:
        """Bytes that decoding takes: a chunk, what it is made from, threads' buffers, and the table of all chunks.

        ``direct`` is a read into rows of the file's dtype, which needs no chunk where it can be decoded in place.
        """
        table = self.count * _ENTRY + _INDEX_BYTES
        if self._bits:
            return table + self._bits.host_bytes(self.count) + (0 if direct else self.nbytes)
        if not self._own:
            return self.nbytes * (1 + _COPIES) + table
        if not self.filtered:
            return table + (0 if direct and self._wide else self.nbytes)
        return self.nbytes + self.threads * INFLATING + table

    @property
    def _wide(self) -> bool:
        """Whether rows of a chunk are whole rows."""
        return self.chunk[-1] >= self.shape[-1]

    @property
    def by_rows(self) -> bool:
        """Whether rows of a chunk are decoded without the others."""
        return not self.filtered or self._bits is not None

    def decoding(self, n_frames: int, n_rows: int) -> float:
        """Seconds to decompress rows of frames; chunks that are taller, or deeper, are decompressed whole where they must be."""
        if not self.filtered or not min(n_frames, n_rows):
            return 0.0
        (deep, high), n_x = (1, *self.chunk)[-3:-1], self.shape[-1]
        high = min(high, self.shape[-2])
        chunks = -(-n_frames // deep) * -(-n_rows // high)
        frames, rows = (n_frames, n_rows) if self._bits else (-(-n_frames // deep) * deep, -(-n_rows // high) * high)
        nbytes = frames * rows * n_x * self._dtype.itemsize
        return decoding(nbytes, chunks, self.threads, "bitshuffle" if self._bits else "deflate")

    def close(self) -> None:
        """Let the memory go, and the file."""
        self._buffer, self._table, self._held = None, None, -1
        if self._bits:
            self._bits.close()
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def read(self, start: int, stop: int, rows: slice, out: np.ndarray, early: bool = False) -> None:
        """Fill ``out`` with rows of frames, counted over all axes but the last two, cast to its dtype; ``early``: see `end_of`."""
        pieces = pieces_of(self.shape, self.chunk, start, stop, rows)
        straight = self._bits is not None or (self._own and (self._wide if not self.filtered else self.threads > 1))
        to = Target.of(out, self._dtype) if straight else None
        if to is None:
            for piece in pieces:
                self._by_part(piece, out)
            return
        # Before threads ask for them.
        self._entries()
        if self._lie and to.row == self.shape[-1] and self._as_they_lie(start, stop, rows, out):
            return
        first, second = next(pieces, None), next(pieces, None)
        if first is None or second is None:
            if first is not None:
                self._straight(0, first, True, out, to, early)
            return
        shared(marked(first, second, pieces), lambda slot, one: self._straight(slot, *one, out, to, early), self.threads)

    def _as_they_lie(self, start: int, stop: int, rows: slice, out: np.ndarray) -> bool:
        """Read such chunks, all there and of the right size, with nothing between two calls; whether that is what they are."""
        numbers, offsets, sizes, _ = self._entries()
        (per_frame, _), high, row = self.grid[-2:], self.chunk[-2], self.shape[-1] * self._dtype.itemsize
        for y in range(rows.start // high, -(-rows.stop // high)):
            first, last = max(rows.start, y * high), min(rows.stop, (y + 1) * high)
            ours = slice(start * per_frame + y, stop * per_frame, per_frame)
            there = np.array_equal(numbers[ours], np.arange(ours.start, ours.stop, per_frame))
            here = (at + (first - y * high) * row for at in offsets[ours].data)
            sound = there and (sizes[ours] == self.nbytes).all()
            if not sound or not filled_each(self._fd, here, out[:, first - rows.start : last - rows.start]):
                return False
        if not self._dtype.isnative:
            turn_bytes(out)
        return True

    def columns(self, start: int, stop: int, rows: slice, x: int, out: np.ndarray) -> None:
        """Fill ``out`` ``(stop - start, n)`` with the pixels at ``x`` of every ``rows.step``-th row: of chunks that hold any."""
        step = rows.step or 1
        for piece in pieces_of(self.shape, self.chunk, start, stop, slice(rows.start, rows.stop)):
            frames, down, across = piece.into
            first = -(-down.start // step) * step
            if across.start <= x < across.stop and first < down.stop:
                part = self._part(piece)[:, first - down.start :: step, x - across.start]
                put_into(out[frames, first // step : first // step + part.shape[1]], part)

    def _by_part(self, piece: Piece, out: np.ndarray) -> None:
        part = self._part(piece)[..., : piece.into[2].stop - piece.into[2].start]
        put_into(out[piece.into], part)

    def _straight(self, slot: int, piece: Piece, last: bool, out: np.ndarray, to: Target, early: bool) -> None:
        """Decode what is wanted to where it goes, with the buffers of one thread."""
        if self.filtered and not self._bits and (piece.number == self._held or (last and not piece.whole)):
            # Kept whole: the next read may want the rest.
            with self._cache:
                self._by_part(piece, out)
            return
        stored = self._stored(piece.number)
        if stored is None:
            out[piece.into] = self._data.fillvalue
            return
        offset, size, mask = self._checked(piece.at, stored)
        if mask:
            with self._cache:
                self._by_part(piece, out)
            return
        where, dtype = box(self.chunk, piece.frames, piece.rows, piece.into, to), self._dtype
        swap = not dtype.isnative
        try:
            if self._bits:
                self._bits.decode(slot, self._fd, stored[0], offset, size, where, to.flat)
            elif self.filtered:
                until = end_of(where, self._total, dtype.itemsize, self._shuffled) if early else 0
                made = inflated(self._fd, offset, size, self.nbytes, until)
                put(made, self._total, dtype.itemsize, self._shuffled, swap, where, to.flat)
            else:
                self._raw(offset, size, where, to.flat)
        except Damaged as error:
            raise self._named(piece.at, error) from None
        if swap and not (self._bits or self._shuffled):
            turn_bytes(out[piece.into])

    def _part(self, piece: Piece) -> np.ndarray:
        """Rows of frames of one chunk in the dtype of the file: of a decoded one, or, where it can be, no others than those."""
        if not self.by_rows or not (self._own or self._bits):
            return self.decoded(piece.at).reshape(1, *self.chunk)[(*piece.frames, piece.rows)]
        self._held, wide = -1, self.chunk[-1]
        count, height = piece.frames[-1].stop - piece.frames[-1].start, piece.rows.stop - piece.rows.start
        made = self._memory().view(self._dtype)[: count * height * wide]
        stored = self._stored(piece.number)
        if stored is None:
            made[...] = self._data.fillvalue
            return made.reshape(count, height, wide)
        offset, size, mask = self._checked(piece.at, stored)
        to = Target(made.view(np.uint8), wide, height * wide)
        where = box(self.chunk, piece.frames, piece.rows, (slice(0, count), slice(0, height), slice(0, wide)), to)
        with self._naming(piece.at):
            if self._bits and not mask & 1:
                self._bits.decode(0, self._fd, stored[0], offset, size, where, to.flat, swap=False)
            else:
                self._raw(offset, size, where, to.flat)
        return made.reshape(count, height, wide)

    def _raw(self, offset: int, size: int, where: Box, flat: np.ndarray) -> None:
        """Read what a chunk has as it is."""
        wide = self._dtype.itemsize
        for start, stop, to in runs(where, 0, self._total):
            if stop * wide > size or not filled(self._fd, offset + start * wide, flat[to * wide : (to + stop - start) * wide]):
                raise Damaged(f"is {size} bytes at {offset}, its shape needs {self.nbytes}")

    def whole(self, out: np.ndarray) -> None:
        """Fill ``out``, of the dataset's shape, with all of it."""
        for index in np.ndindex(*self.grid):
            into = tuple(slice(k * c, min((k + 1) * c, n)) for k, c, n in zip(index, self.chunk, self.shape))
            tile = self.decoded(index)
            put_into(out[into], tile[tuple(slice(0, s.stop - s.start) for s in into)])

    def decoded(self, index: tuple[int, ...]) -> np.ndarray:
        """One chunk in the dtype of the file, valid until the next; the last is kept."""
        number = int(np.ravel_multi_index(index, self.grid))
        made = self._memory().view(self._dtype).reshape(self.chunk)
        if number != self._held:
            self._held = -1
            self._decode(index, number, made)
            self._held = number
        return made

    def _memory(self) -> np.ndarray:
        if self._buffer is None:
            self._buffer = np.empty(self.nbytes, np.uint8)
        return self._buffer

    def _decode(self, index: tuple[int, ...], number: int, made: np.ndarray) -> None:
        stored = self._stored(number)
        if stored is None:
            made[...] = self._data.fillvalue
            return
        offset, size, mask = self._checked(index, stored)
        skipped = self._last < 0 or bool(mask >> self._last & 1)
        if not self._own and not self._bits:
            if not skipped:
                self._ask(index, offset, size)
            self._by_hdf5(index, made)
            return
        n, into = self._total, made.reshape(-1).view(np.uint8)
        all_of_it = Box(n, 1, 1, 0, n, n, 0, n, n)
        with self._naming(index):
            if self._bits and not skipped:
                self._bits.decode(0, self._fd, stored[0], offset, size, all_of_it, into, swap=False)
                return
            shuffled = self._shuffled and not mask & 1
            if skipped and not shuffled:
                if size != self.nbytes or not filled(self._fd, offset, into):
                    raise Damaged(f"is {size} bytes, its shape needs {self.nbytes}")
                return
            pieces = (as_it_is if skipped else inflated)(self._fd, offset, size, self.nbytes)
            put(pieces, n, made.dtype.itemsize, shuffled, False, all_of_it, into)

    def _ask(self, index: tuple[int, ...], offset: int, size: int) -> None:
        """Refuse a chunk whose compressor would make more of it than the dataset declares."""
        code, values = self._filters[self._last]
        with self._naming(index):
            if code == DEFLATE:
                deque(inflated(self._fd, offset, size, self.nbytes), 0)
                return
            says = announced(code, values, os.pread(self._fd, min(size, 64), offset))
            if says is not None and says != self.nbytes:
                raise Damaged(f"declares {says} bytes, its shape needs {self.nbytes}")

    def _by_hdf5(self, index: tuple[int, ...], made: np.ndarray) -> None:
        box = tuple(slice(k * c, min((k + 1) * c, n)) for k, c, n in zip(index, self.chunk, self.shape))
        self._data.read_direct(made, box, tuple(slice(0, s.stop - s.start) for s in box))

    def _file(self) -> int:
        if self._fd < 0:
            self._fd = os.open(self._data.file.filename, os.O_RDONLY)
            self._end = os.fstat(self._fd).st_size
        return self._fd

    def _checked(self, index: tuple[int, ...], stored: tuple[int, int, int, int]) -> tuple[int, int, int]:
        """Offset, size and skipped filters of a chunk that lies in its file and is not far too large."""
        _, offset, size, mask = stored
        if size > 2 * self.nbytes + 65536 or offset + size > self._end:
            with self._naming(index):
                raise Damaged(f"is {size} bytes at {offset}, its shape needs {self.nbytes}")
        return offset, size, mask

    def _stored(self, number: int) -> tuple[int, int, int, int] | None:
        """Its entry in the table, offset, size and skipped filters of a chunk; None where it was never written."""
        numbers, offsets, sizes, masks = self._entries()
        # Where every chunk was written, each is in its place.
        at = number if number < len(numbers) and numbers[number] == number else int(np.searchsorted(numbers, number))
        if at == len(numbers) or numbers[at] != number:
            return None
        return at, int(offsets[at]), int(sizes[at]), int(masks[at])

    def _entries(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        if self._table is None:
            self._file()
            self._table = self._find()
            if self._bits:
                self._bits.open(len(self._table[0]))
        return self._table

    def _find(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        _limit_index(self._data)
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

    @contextmanager
    def _naming(self, index: tuple[int, ...]) -> Iterator[None]:
        """Say of what chunk it is that something is wrong."""
        try:
            yield
        except Damaged as error:
            raise self._named(index, error) from None

    def _named(self, index: tuple[int, ...], error: Damaged) -> FormatError:
        at = [k * c for k, c in zip(index, self.chunk)]
        return FormatError(self.path, f"the chunk at {at} of {self._data.name} {error}", "it may be damaged")


def _limit_index(dataset: h5py.Dataset) -> None:
    """Give HDF5's metadata cache the size that is counted."""
    sizes = dataset.file.id.get_mdc_config()
    sizes.set_initial_size, sizes.initial_size, sizes.min_size, sizes.max_size = True, _INDEX, _INDEX, _INDEX
    dataset.file.id.set_mdc_config(sizes)
