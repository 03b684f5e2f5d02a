"""Decoded rows kept for the reads that follow, where rows cannot be decoded alone."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable

import numpy as np

from footprint.dtypes import put_into
from footprint.io.frames import missing_runs
from footprint.plan.rates import decoding


class Kept:
    """Rows of all frames that were decoded for the rows before them: chunks taller than what is read are decoded once a window.

    Parameters
    ----------
    source
        ``source(start, stop, rows, out)`` fills ``out`` with rows of frames.
    shape
        Of the frames ``(n, n_z, n_x)``.
    dtype
        As stored.
    chunk
        Frames and rows of a chunk.
    rows
        How many are kept.
    """

    def __init__(
        self,
        source: Callable[[int, int, slice, np.ndarray], None],
        shape: tuple[int, int, int],
        dtype: np.dtype,
        chunk: tuple[int, int],
        rows: int,
    ) -> None:
        self._source, self._n_z, (self._deep, self._high) = source, shape[1], chunk
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
            self._source(first, end, slice(self._from, self._to), self._values[first:end, : self._to - self._from])
            self._known[first:end] = True
        put_into(out, self._values[start:stop, rows.start - self._from : rows.stop - self._from])
        return True


class Ahead:
    """Frames in a file whose chunks may be compressed, and are then decoded whole for any row of theirs.

    What they are read by is `_read`; `_chunk` says how many frames, rows and columns a chunk has, None where none is compressed.
    """

    shape: tuple[int, int, int]
    dtype: np.dtype
    _kept: Kept | None = None

    @property
    def _chunk(self) -> tuple[int, int, int] | None:
        raise NotImplementedError

    def _read(self, start: int, stop: int, rows: slice, out: np.ndarray) -> None:
        raise NotImplementedError

    def __init__(self) -> None:
        self._ahead = threading.Lock()

    def decoding(self, n_frames: int, n_rows: int) -> float:
        """Seconds that decompressing rows of frames takes, whole chunks at a time."""
        if self._chunk is None or not min(n_frames, n_rows):
            return 0.0
        counts = [-(-n // size) for n, size in zip((n_frames, n_rows, self.shape[2]), self._chunk)]
        return decoding(math.prod(counts) * math.prod(self._chunk) * self.dtype.itemsize, math.prod(counts))

    def decodings(self, n_rows: int) -> int:
        """How often every chunk is decoded where ``n_rows`` rows are read at a time."""
        high = 1 if self._chunk is None else min(self._chunk[1], self.shape[1])
        return -(-high // max(1, n_rows))

    def window_bytes(self, n_rows: int) -> int:
        """Bytes of ``n_rows`` rows of all frames, as `keep` keeps them."""
        return self.shape[0] * n_rows * self.shape[2] * self.dtype.itemsize

    def keep(self, n_rows: int, last: int = 0) -> None:
        """Decode ``n_rows`` rows of all frames at a time where chunks are compressed, and keep them; 0 lets them go.

        ``last`` is the row that reads go on to: nothing comes of it here, as chunks are always decoded to their end.
        """
        with self._ahead:
            chunk = self._chunk if n_rows > 0 else None
            self._kept = None if chunk is None else Kept(self._read, self.shape, self.dtype, chunk[:2], n_rows)

    def read(self, start: int, stop: int, rows: slice, out: np.ndarray) -> None:
        """Fill ``out`` with rows of frames ``start`` to ``stop``, cast and byte-swapped."""
        if self._kept is None:
            self._read(start, stop, rows, out)
            return
        with self._ahead:
            if not (self._kept and self._kept.read(start, stop, rows, out)):
                self._read(start, stop, rows, out)
