"""FITS images in compressed tiles (``.fz``): a band of tiles, or a few where tiles are low, is decompressed at a time."""

from __future__ import annotations

import math
import threading
import warnings
from typing import Any

import numpy as np
from astropy.io import fits

from footprint.dtypes import put_into
from footprint.errors import FormatError
from footprint.io.fits_units import Unit
from footprint.io.frames import reading
from footprint.io.inflated import Inflated, Plain, is_gzip
from footprint.io.tile_sizes import TileSizes
from footprint.plan.rates import decoding

# Bytes that astropy takes for a pixel of the tile it decompresses, beside the band that its pixels go to: so many for each of the
# pixel's own, and others. Of a tile after another, whose arrays are still there, measured at most: 24.1 of float32 that was rounded
# to integers (these in another order and as bytes, the floats, and these as bytes) by HCOMPRESS, 30.7 of float64 by GZIP_2.
_TILE, _TILE_OTHERS = 2, 20
# Of the table of tiles: its rows, and the columns that every look at it copies.
_TABLES = 3
# Cards, columns and other small things of the library.
_SMALL = 1 << 19
# Bytes of bands that are decompressed together: astropy checks its header and copies its table once for all of them, which takes
# a millisecond, ten times as long as to decompress a row of pixels.
_TOGETHER = 1 << 20


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
        depth = math.prod(self._tile[:-2])
        band = depth * self._tile[-2] * self._whole[-1] * max(abs(unit.number("ZBITPIX")) // 8, 1)
        # Of a band, or of as many as are decompressed together.
        self._rows = self._tile[-2] * max(1, _TOGETHER // band)
        # The library reads all that is compressed at once where all is asked for.
        all_at_once = self._rows >= self._whole[-2] and math.prod(self._counts()[:-1]) == 1
        self._heap = unit.number("PCOUNT") if zipped or all_at_once else 0
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
        """Bytes that reading holds beside ``out``: bands of tiles, a tile on its way, and the table that finds them."""
        tile, high = math.prod(self._tile), self._tile[-2]
        # Rows that begin within a band need one more.
        rows = min(self._rows, (-(-n_rows // high) + 1) * high, self._whole[-2])
        band = math.prod(self._tile[:-2]) * rows * self._whole[-1] * self.dtype.itemsize
        decoding = (_TILE * self.dtype.itemsize + _TILE_OTHERS) * tile
        return band + decoding + _TABLES * self._table + self._heap + _SMALL

    def decoding(self, n_frames: int, n_rows: int) -> float:
        """Seconds that decompressing rows of frames takes, all tiles that they are in."""
        high = self._tile[-2]
        bands = n_frames * -(-n_rows // high)
        return decoding(bands * high * self._whole[-1] * self.dtype.itemsize, bands)

    def forget(self) -> None:
        """Keep no band for the next rows."""
        with self._lock:
            self._band = None

    def close(self) -> None:
        """Close the file."""
        self._band = None
        self._file.close()
        self._bytes.close()

    def read(self, start: int, stop: int, rows: slice, out: np.ndarray) -> None:
        """Copy rows of frames ``start`` to ``stop``, cast."""
        with self._lock:
            for frame in range(start, stop):
                lead = [int(at) for at in np.unravel_index(frame, self._whole[:-2])] if len(self._whole) > 2 else []
                tile = tuple(at // side for at, side in zip(lead, self._tile))
                within = tuple(at % side for at, side in zip(lead, self._tile))
                top = rows.start
                while top < rows.stop:
                    first, bands = self._bands_at(tile, top, rows.stop)
                    bottom = min(first + bands.shape[-2], rows.stop)
                    part = bands[within][top - first : bottom - first]
                    put_into(out[frame - start, top - rows.start : bottom - rows.start], part)
                    top = bottom
                    # These go before the next come.
                    del bands, part

    def _bands_at(self, lead: tuple[int, ...], top: int, stop: int) -> tuple[int, np.ndarray]:
        """Bands of tiles from that with row ``top`` on, up to ``stop`` or less far, after their first row; kept for the next."""
        if self._band is not None:
            (where, first), bands = self._band
            if where == lead and first <= top < first + bands.shape[-2]:
                return first, bands
            # These go before the next come.
            del bands
        self._band = None
        high = self._tile[-2]
        first = top // high * high
        last = min(first + self._rows, -(-stop // high) * high, self._whole[-2])
        inside = [slice(at * side, min((at + 1) * side, n)) for at, side, n in zip(lead, self._tile, self._whole)]
        if self._sizes.needed:
            across = -(-self._whole[-1] // self._tile[-1])
            row = int(np.ravel_multi_index((*lead, first // high), self._counts())) * across
            self._sizes.check(row, row + across * -(-(last - first) // high), math.prod(self._tile))
        with warnings.catch_warnings(), reading(self.path):
            warnings.simplefilter("ignore")
            self._band = (lead, first), np.asarray(self._section[(*inside, slice(first, last), slice(None))])
        return first, self._band[1]
