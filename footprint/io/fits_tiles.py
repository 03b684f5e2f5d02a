"""FITS images in compressed tiles (``.fz``): a band of tiles is decompressed at a time, whatever the image."""

from __future__ import annotations

import math
import threading
import warnings
from typing import Any

import numpy as np
from astropy.io import fits

from footprint.errors import FormatError
from footprint.io.fits_units import Unit
from footprint.io.frames import cast_into, reading
from footprint.io.inflated import Inflated, Plain, is_gzip
from footprint.io.tile_sizes import TileSizes

# Bytes that astropy takes for a pixel of the tile it decompresses, beside the pixels that come of it: 13 were measured at most, of
# float64 by GZIP_2.
_TILE = 16
# Of the table of tiles: its rows, and the columns that every look at it copies.
_TABLES = 3
# Cards, columns and other small things of the library.
_SMALL = 1 << 18


class TiledFrames:
    """Frames in compressed tiles, as they are stored: neither scaled nor blanked.

    Parameters
    ----------
    path
        The file.
    unit
        Where in the file the tiles are.
    planes
        ``(n, n_y, n_x)`` of the image's shape.
    """

    def __init__(self, path: str, unit: Unit, planes: tuple[int, int, int]) -> None:
        self.path, self.shape = path, planes
        self._whole = unit.shape("ZNAXIS")
        sides = [unit.number(f"ZTILE{i}", length if i == 1 else 1) for i, length in enumerate(reversed(self._whole), 1)]
        # Of axes from the slowest on, as shapes are; a tile larger than the image ends with it.
        self._tile = tuple(max(1, min(side, length)) for side, length in zip(reversed(sides), self._whole))
        tiles, rows = math.prod(self._counts()) * -(-self._whole[-1] // self._tile[-1]), unit.number("NAXIS2")
        if tiles != rows:
            raise FormatError(path, f"announces {tiles} tiles, its table has {rows}", "it may be damaged or truncated")
        # A gzipped file can only be read forwards: its compressed tiles are held.
        zipped = is_gzip(path)
        self._table = unit.number("NAXIS1") * unit.number("NAXIS2")
        self._heap = unit.number("PCOUNT") if zipped or math.prod(self._counts()) == 1 else 0
        if zipped:
            self._heap += Inflated.host_bytes(unit.offset + unit.data_bytes)
        self._file = fits.open(path, memmap=False, lazy_load_hdus=True, do_not_scale_image_data=True)
        try:
            hdu: Any = self._file[unit.index]
            if tuple(hdu.shape) != self._whole or tuple(map(min, hdu.tile_shape, hdu.shape)) != self._tile:
                raise FormatError(path, f"has tiles of {hdu.tile_shape} in an image of {self._whole}", "it may be damaged")
            self.header, self._section = hdu.header, hdu.section
            self.dtype = np.dtype(self._section.dtype).newbyteorder("=")
        except BaseException:
            self._file.close()
            raise
        self._bytes: Inflated | Plain = Inflated(path) if zipped else Plain(path)
        self._sizes = TileSizes(path, unit, self._bytes)
        self._lock = threading.Lock()
        self._band: tuple[Any, np.ndarray] | None = None

    @property
    def stored(self) -> np.dtype:
        """What the tiles decompress to."""
        return self.dtype

    def _counts(self) -> list[int]:
        """Tiles along every axis but the last, of which a band has all."""
        return [-(-length // side) for length, side in zip(self._whole[:-1], self._tile[:-1])]

    def host_bytes(self, n_rows: int, dtype: Any = None) -> int:
        """Bytes that reading holds beside ``out``: a band of tiles, one of them on its way, and the table that finds them."""
        tile = math.prod(self._tile)
        band = tile // self._tile[-1] * self._whole[-1] * self.dtype.itemsize
        return 2 * band + _TILE * tile + _TABLES * self._table + self._heap + _SMALL

    def close(self) -> None:
        """Close the file."""
        self._band = None
        self._file.close()
        self._bytes.close()

    def read(self, start: int, stop: int, rows: slice, out: np.ndarray) -> None:
        """Copy rows of frames ``start`` to ``stop``, cast."""
        high, n_y = self._tile[-2], self._whole[-2]
        with self._lock:
            for frame in range(start, stop):
                lead = [int(at) for at in np.unravel_index(frame, self._whole[:-2])] if len(self._whole) > 2 else []
                tile = tuple(at // side for at, side in zip(lead, self._tile))
                within = tuple(at % side for at, side in zip(lead, self._tile))
                for first in range(rows.start // high * high, rows.stop, high):
                    top, bottom = max(first, rows.start), min(first + high, rows.stop)
                    band = self._band_at(tile, first, min(first + high, n_y))[within]
                    cast_into(out[frame - start, top - rows.start : bottom - rows.start], band[top - first : bottom - first])

    def _band_at(self, lead: tuple[int, ...], first: int, last: int) -> np.ndarray:
        """All tiles beside each other that have these rows, from the last time where they are the same."""
        if self._band is None or self._band[0] != (lead, first):
            self._band = None
            inside = [slice(at * side, min((at + 1) * side, n)) for at, side, n in zip(lead, self._tile, self._whole)]
            if self._sizes.needed:
                across = -(-self._whole[-1] // self._tile[-1])
                row = int(np.ravel_multi_index((*lead, first // self._tile[-2]), self._counts())) * across
                self._sizes.check(row, row + across, math.prod(self._tile))
            with warnings.catch_warnings(), reading(self.path):
                warnings.simplefilter("ignore")
                self._band = (lead, first), np.asarray(self._section[(*inside, slice(first, last), slice(None))])
        return self._band[1]
