"""Compressed volumes in HDF5: chunks of whole rows of a slice, packed by several threads, none of them inside HDF5.

HDF5's own index of a file that is being written does not outlive a killed process, so chunks are heaped up beside it as they are
done (`pile`), and go into the file, as they are, when all are there. Rows that come apart wait in the heap as they are.
"""

from __future__ import annotations

import os
import threading
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, cast

import numpy as np

from footprint import settings
from footprint.dtypes import put_into
from footprint.io.partial import Partial
from footprint.io.pile import Pile
from footprint.io.unfinished import cut_off
from footprint.kernels.bitshuffle.contract import PLACES, stored_bytes
from footprint.plan.crew import MOST, shared

# Bytes of a chunk at most, but for a row: viewers read chunks whole, and every thread holds a few of them.
_CHUNK = 512 << 10
# Up to level 6 shuffled slices become no more than 2 % smaller.
_LEVEL = 1
# What deflate takes for itself, and the bytes it is given at a time.
_DEFLATE, _PIECE = 320 << 10, 1 << 15
_SIGNATURE = b"\x89HDF\r\n\x1a\n"


def _tall(shape: tuple[int, int, int], dtype: np.dtype) -> int:
    """Rows of a chunk."""
    return min(shape[1], max(1, _CHUNK // max(1, shape[2] * dtype.itemsize)))


def _elements(dtype: np.dtype) -> int:
    """Of a block of bitshuffle: its own 8 KiB."""
    return max(8192 // dtype.itemsize // 8 * 8, 8)


def _room(nbytes: int, dtype: np.dtype, compression: str) -> int:
    """Bytes that a chunk is packed into, at most."""
    if compression == "bitshuffle":
        return stored_bytes(nbytes // dtype.itemsize, dtype.itemsize, _elements(dtype))
    # More than deflate makes of what it cannot compress.
    return nbytes + nbytes // 256 + 4096


def chunk_bytes(shape: tuple[int, int, int], dtype: np.dtype, compression: str) -> int:
    """Bytes that packing the chunks of a volume holds; 0 where nothing is compressed."""
    if compression == "none" or min(shape) == 0:
        return 0
    tall = _tall(shape, dtype)
    nbytes, count = tall * shape[2] * dtype.itemsize, shape[0] * -(-shape[1] // tall)
    state = _DEFLATE + nbytes if compression == "gzip" else 2 * 8192 + 2 * PLACES
    room = _room(nbytes, dtype, compression)
    # One more on its way into the file, and HDF5, which keeps its index of chunks meanwhile.
    return _threads(count) * (nbytes + room + state) + room + Pile.host_bytes(count) + 96 * count + (1 << 20)


def _threads(count: int) -> int:
    return min(settings.threads(), MOST, count)


class _Packer:
    """One thread's buffers, and what it makes of a chunk's rows."""

    def __init__(self, shape: tuple[int, int], dtype: np.dtype, compression: str) -> None:
        self.plain = np.empty(shape, dtype)
        self._bytes, self._width, self._way = self.plain.reshape(-1).view(np.uint8), dtype.itemsize, compression
        self._out = np.empty(_room(self._bytes.nbytes, dtype, compression), np.uint8)
        if compression == "gzip":
            self._shuffled = np.empty_like(self._bytes)
        else:
            self._block = _elements(dtype)
            self._words, self._planes = np.empty(self._block // 8, np.uint64), np.empty(self._block * self._width, np.uint8)
            self._table = np.empty(PLACES, np.uint16)

    def pack(self, rows: np.ndarray | None = None) -> memoryview:
        """A chunk's bytes, of its rows or what is in ``plain``; rows beyond those given are zeros."""
        if rows is not None:
            put_into(self.plain[: len(rows)], rows)
            self.plain[len(rows) :] = 0
        return self._out[: self._deflated() if self._way == "gzip" else self._encoded()].data

    def _encoded(self) -> int:
        from footprint.kernels.bitshuffle.encode import encode

        buffers = self._words, self._planes, self._table
        made = int(encode(self._bytes, self._width, self._block, self._out, *buffers))
        assert made, (self.plain.shape, self.plain.dtype, self._out.size)
        return made

    def _deflated(self) -> int:
        """First bytes of all elements, then their second, and so on, as HDF5's shuffle has them."""
        self._shuffled.reshape(self._width, -1)[...] = self._bytes.reshape(-1, self._width).T
        engine, done = zlib.compressobj(_LEVEL), 0
        for at in range(0, len(self._bytes) + _PIECE, _PIECE):
            piece = engine.compress(self._shuffled[at : at + _PIECE].data) if at < len(self._bytes) else engine.flush()
            self._out[done : done + len(piece)] = np.frombuffer(piece, np.uint8)
            done += len(piece)
        return done


class Hdf5Chunks:
    """A volume's slices, written in any order, packed where whole chunks of them come.

    Parameters
    ----------
    path
        Empty, what a stopped run has left of this volume, or all of it where a run was stopped when it was whole.
    target
        The name that it will have, for what is made of the heap beside it.
    shape, dtype
        ``(n_z, n_y, n_x)``, none of them 0.
    compression
        "bitshuffle", which is bitshuffle-LZ4, or "gzip", shuffled.
    lay_out
        Called with an open file and the settings of a dataset, returns the dataset.
    begun
        Whether a run before this has finished rows.

    Attributes
    ----------
    whole
        All of it was there before.
    """

    def __init__(
        self,
        path: Path,
        target: Path,
        shape: tuple[int, int, int],
        dtype: np.dtype,
        compression: str,
        lay_out: Callable[[Any, Mapping[str, Any]], Any],
        begun: bool,
    ) -> None:
        self._path, self._target, self._shape, self._dtype = path, target, shape, dtype
        self._way, self._lay_out, self._tall = compression, lay_out, _tall(shape, dtype)
        self._chunks = -(-shape[1] // self._tall)
        self._lock, self._packers = threading.Lock(), dict[int, _Packer]()
        with open(path, "rb") as file:
            # All of it was there, and only its name was not.
            self.whole = begun and file.read(len(_SIGNATURE)) == _SIGNATURE
        if self.whole:
            self._check_whole()
        self._pile = None if self.whole else Pile(path, shape[0] * self._chunks)

    def _check_whole(self) -> None:
        """Raise where HDF5 finds less than its file says."""
        import h5py

        try:
            h5py.File(self._path).close()
        except OSError:
            raise cut_off(self._target, self._path.name) from None

    def writing_bytes(self, dtype: Any) -> int:
        """Bytes that `write` and `finish` hold beside C-contiguous arrays of ``dtype``."""
        return chunk_bytes(self._shape, self._dtype, self._way)

    def write(self, start: int, rows: slice, array: np.ndarray) -> None:
        """Write ``array`` ``(n, n_rows, n_x)`` at slice ``start`` and ``rows`` of each."""
        if self._pile is None:
            return
        pile, every = self._pile, range(rows.start // self._tall, -(-rows.stop // self._tall))

        def work(slot: int, piece: tuple[int, int]) -> None:
            z, chunk = piece
            first = chunk * self._tall
            a, b = max(rows.start, first), min(rows.stop, first + self._tall)
            part, number = array[z, a - rows.start : b - rows.start], (start + z) * self._chunks + chunk
            if b - a == min(self._tall, self._shape[1] - first):
                pile.add(number, self._packer(slot).pack(part))
                return
            staged = self._packer(slot).plain[: b - a]
            put_into(staged, part)
            row = self._shape[2] * self._dtype.itemsize
            pile.add_rows(number, self._tall * row, (a - first) * row, staged.reshape(-1).view(np.uint8).data)

        # Buffers are the threads' of one call; several devices may write at once.
        with self._lock:
            shared(((z, chunk) for z in range(len(array)) for chunk in every), work, _threads(self._shape[0] * self._chunks))

    def kept(self, start: int, stop: int, rows: slice) -> int | None:
        """Bytes of the packed chunks that rows of slices ``start`` to ``stop`` are in, others 1; None where one is not there."""
        if self._pile is None:
            return None
        chunks = range(rows.start // self._tall, -(-rows.stop // self._tall))
        found = [self._pile.holds(z * self._chunks + chunk) for z in range(start, stop) for chunk in chunks]
        return sum(found) if all(found) else None

    def _packer(self, slot: int) -> _Packer:
        if slot not in self._packers:
            self._packers[slot] = _Packer((self._tall, self._shape[2]), self._dtype, self._way)
        return self._packers[slot]

    def sync(self) -> None:
        """Wait until what was written is on the disk."""
        if self._pile is not None:
            self._pile.sync()

    def close(self) -> None:
        """Close the heap, and let the memory go."""
        self._packers = {}
        if self._pile is not None:
            self._pile.close()

    def finish(self) -> None:
        """Put the chunks into an HDF5 file, in their order, which then takes the heap's place."""
        if self._pile is None:
            return
        self._packers = {}
        made = Partial(self._target, False)
        try:
            with open(made.path, "r+b", buffering=0) as file:
                self._assemble(file, self._pile)
                os.fsync(file.fileno())
            os.replace(made.path, self._path)
        except BaseException:
            made.remove()
            raise
        made.release()

    def _assemble(self, file: Any, pile: Pile) -> None:
        import h5py

        from footprint.backend.memory import give_back

        packer = self._packer(0)
        taken, out = _Faults(file), np.empty(int(pile.sizes.max(initial=0)), np.uint8)
        with h5py.File(taken, "w") as opened:
            data = self._lay_out(opened, self._filters())
            for number in range(len(pile.packed)):
                z, chunk = divmod(number, self._chunks)
                if pile.packed[number]:
                    stored = out[: pile.sizes[number]].data
                    pile.take(int(pile.packed[number]), stored)
                else:
                    pile.take(int(pile.plain[number]), packer.plain.reshape(-1).view(np.uint8).data)
                    stored = packer.pack()
                data.id.write_direct_chunk((z, chunk * self._tall, 0), stored)
                if taken.error is not None:
                    break
        give_back()
        if taken.error is not None:
            # Kept there, it would keep what it is raised through, this frame's buffers too, until Python looks for cycles.
            raise taken.gone()

    def _filters(self) -> dict[str, Any]:
        how: dict[str, Any] = {"chunks": (1, self._tall, self._shape[2])}
        if self._way == "gzip":
            return how | {"compression": "gzip", "compression_opts": _LEVEL, "shuffle": True}
        import hdf5plugin

        return how | dict(hdf5plugin.Bitshuffle(nelems=_elements(self._dtype), cname="lz4"))


class _Faults:
    """A file for HDF5, which crashes where it is closed after a failed write: it is told that all went well, and we are not."""

    def __init__(self, file: Any) -> None:
        self._file, self.error = file, cast("OSError | None", None)
        self.readinto, self.seek, self.tell = file.readinto, file.seek, file.tell

    def read(self, count: int = -1) -> bytes:
        """As of any file."""
        return bytes(self._file.read(count))

    def write(self, data: memoryview) -> int:
        """Keep the first error."""
        return self._safely(lambda: self._all(data), len(data))

    def truncate(self, size: int) -> int:
        """Keep the first error."""
        return self._safely(lambda: self._file.truncate(size), size)

    def flush(self) -> None:
        """Nothing is buffered."""

    def gone(self) -> OSError:
        """The error, which is kept here no more."""
        error, self.error = self.error, None
        assert error is not None
        return error

    def _all(self, data: memoryview) -> None:
        done = 0
        while done < len(data):
            done += self._file.write(data[done:])

    def _safely(self, work: Callable[[], Any], result: int) -> int:
        if self.error is None:
            try:
                work()
            except OSError as error:
                self.error = error
        return result
