"""Some detector rows of a scan, read once and kept: a row that is reconstructed many times is not read as often."""

from __future__ import annotations

from typing import Any

import numpy as np

from footprint.dtypes import put_into, read_dtype

# What reads ahead in compressed files has nothing to do here.
_OF_FILES = ("keep", "decoding", "decodings", "window_bytes", "projection")


def held_bytes(scan: Any, first: int, last: int) -> int:
    """Bytes of so many rows of all projections, and of the means of flats and darks."""
    n_angles, _, n_x = scan.shape
    return (last - first) * n_x * (n_angles * np.dtype(read_dtype(scan.dtype)).itemsize + 4 * (int(scan.n_flat_groups) + 1))


class Held:
    """Rows ``first`` to ``last`` of a scan in memory, with the face of the scan; no others can be read."""

    def __init__(self, scan: Any, first: int, last: int) -> None:
        self._scan, self._first = scan, first
        n_angles, _, n_x = scan.shape
        rows = slice(first, last)
        self._frames = np.empty((n_angles, last - first, n_x), read_dtype(scan.dtype))
        scan.read(rows, self._frames)
        self._flats = scan.flat_means(rows) if scan.n_flats else None
        self._dark = scan.dark_mean(rows)

    def __getattr__(self, name: str) -> Any:
        if name in _OF_FILES:
            raise AttributeError(name)
        return getattr(self._scan, name)

    def _here(self, rows: slice) -> slice:
        return slice(rows.start - self._first, rows.stop - self._first)

    def host_bytes(self, n_rows: int, dtype: Any = None) -> int:
        """Nothing is staged."""
        return 0

    def read(self, rows: slice, out: np.ndarray, angles: slice | None = None) -> None:
        """Fill ``out`` with rows of projections."""
        put_into(out, self._frames[slice(None) if angles is None else angles, self._here(rows)])

    def flat_means(self, rows: slice) -> Any:
        """Means of flats."""
        return None if self._flats is None else self._flats[:, self._here(rows)]

    def dark_mean(self, rows: slice) -> Any:
        """Mean of darks."""
        return None if self._dark is None else self._dark[self._here(rows)]
