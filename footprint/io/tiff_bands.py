"""Rows of a compressed TIFF page, a row of its tiles or one of its strips at a time."""

from __future__ import annotations

from typing import Any

import numpy as np


class Bands:
    """What decodes a page by bands: rows that are compressed together, and that are decoded together.

    Parameters
    ----------
    page
        The first page; the others are laid out alike.
    n_z, n_x, dtype
        Of every plane.
    """

    def __init__(self, page: Any, n_z: int, n_x: int, dtype: np.dtype) -> None:
        self._n_z, self._n_x, self._dtype = n_z, n_x, dtype
        high, wide = (page.tilelength, page.tilewidth) if page.is_tiled else (page.rowsperstrip, n_x)
        self.high, self._wide = min(max(int(high), 1), n_z), max(int(wide), 1)
        # The band that was decoded last: the next rows begin in it, mostly.
        self._last: tuple[tuple[int, int, int], np.ndarray] | None = None

    @staticmethod
    def suit(page: Any) -> bool:
        """Whether a page is made of segments that are decoded by themselves."""
        plain = page.imagedepth == 1 and not page.is_contiguous and not page.is_subsampled
        return plain and getattr(page, "jpegheader", None) is None and page.rowsperstrip + page.tilelength > 0

    @property
    def nbytes(self) -> int:
        """Bytes that reading holds: a band, and one of its segments as it is stored and as it is undone, step by step."""
        return (self._n_x + 3 * self._wide) * self.high * self._dtype.itemsize

    def forget(self) -> None:
        """Let the last band go."""
        self._last = None

    def band(self, number: int, page: Any, plane: int, at: int) -> np.ndarray:
        """Rows from ``at * high`` on of a plane of page ``number``."""
        key = (number, plane, at)
        if self._last is None or self._last[0] != key:
            # The one before is let go first.
            self._last = None
            self._last = key, self._decoded(page, plane, at)
        return self._last[1]

    def _decoded(self, page: Any, plane: int, at: int) -> np.ndarray:
        keyframe, first = page.keyframe, at * self.high
        band = np.empty((min(self.high, self._n_z - first), self._n_x), self._dtype)
        across = -(-self._n_x // self._wide)
        start = (plane * -(-self._n_z // self.high) + at) * across
        tables = {"jpegtables": page.jpegtables} if getattr(page, "jpegtables", None) is not None else {}
        for index in range(start, start + across):
            if index >= len(page.dataoffsets):
                raise ValueError(f"segment {index} is missing")
            data = None
            if page.databytecounts[index]:
                file = page.parent.filehandle
                file.seek(page.dataoffsets[index])
                data = file.read(page.databytecounts[index])
            segment, (_, _, row, x, _), shape = keyframe.decode(data, index, **tables)
            into = band[row - first : row - first + shape[1], x : x + shape[2]]
            into[...] = keyframe.nodata if segment is None else segment[0, : into.shape[0], : into.shape[1], 0]
        return band
