"""Decoded rows kept for the reads that follow."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from footprint.io.frames import cast_into, missing_runs


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
        cast_into(out, self._values[start:stop, rows.start - self._from : rows.stop - self._from])
        return True
