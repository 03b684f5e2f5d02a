"""What gzipped tiles of a FITS image inflate to, told before astropy inflates them: it takes however many bytes come."""

from __future__ import annotations

import re
import zlib
from typing import NamedTuple

from footprint.errors import FormatError
from footprint.io.fits_units import Bytes, Unit
from footprint.units import format_bytes

# Bytes of a value of a table's column, by its letter; bits are apart.
_WIDE = {"L": 1, "B": 1, "I": 2, "J": 4, "K": 8, "A": 1, "E": 4, "D": 8, "C": 8, "M": 16, "P": 8, "Q": 16}
# Deflate makes no more than this of a byte; what a tile with a false trailer may come to without its bytes being counted; pieces.
_MOST, _SLACK, _PIECE = 1032, 16 << 20, 1 << 16


class _Column(NamedTuple):
    """Where in a row of the table a tile's length and place in the heap are, and of how many bytes each."""

    at: int
    wide: int


class TileSizes:
    """Sizes of the gzipped tiles of an image.

    Parameters
    ----------
    path
        The file.
    unit
        Where in the file the tiles are.
    source
        The file's bytes; it is this object's to close.
    """

    def __init__(self, path: str, unit: Unit, source: Bytes) -> None:
        self._path, self._unit, self._source = path, unit, source
        self._row = unit.number("NAXIS1")
        self._heap = unit.offset + unit.number("THEAP", self._row * unit.number("NAXIS2"))
        columns = _columns(unit)
        # The first that has anything of a tile counts.
        self._first = columns.get("COMPRESSED_DATA")
        self._gzipped = unit.text("ZCMPTYPE").startswith("GZIP")
        self._second = columns.get("GZIP_COMPRESSED_DATA")
        # Pixels of floats that were rounded, and of integers, may have four bytes each.
        self._pixel = max(abs(unit.number("ZBITPIX")) // 8, 4)

    @property
    def needed(self) -> bool:
        """Whether any tile may be gzipped."""
        return self._first is not None and (self._gzipped or self._second is not None)

    def check(self, first: int, last: int, pixels: int) -> None:
        """FormatError where one of these tiles inflates to more than so many pixels."""
        most = pixels * self._pixel
        for tile in range(first, last):
            size, at = self._place(self._first, tile)
            if size == 0:
                size, at = self._place(self._second, tile)
            elif not self._gzipped:
                continue
            if size < 4:
                continue
            told = int.from_bytes(self._source.read_at(at + size - 4, 4), "little")
            # Several members, or a trailer that does not tell the truth.
            if told > most or (_MOST * size > most + _SLACK and self._inflates_beyond(at, size, most)):
                wants = f"its {pixels} pixels need {format_bytes(most)} at most"
                raise FormatError(self._path, f"has a tile, number {tile}, that inflates to more: {wants}", "it may be damaged")

    def _place(self, column: _Column | None, tile: int) -> tuple[int, int]:
        """Bytes of a tile, and where in the file they begin."""
        if column is None:
            return 0, 0
        told = self._source.read_at(self._unit.offset + tile * self._row + column.at, 2 * column.wide)
        size, at = (int.from_bytes(told[i * column.wide : (i + 1) * column.wide], "big") for i in (0, 1))
        return size, self._heap + at

    def _inflates_beyond(self, at: int, size: int, most: int) -> bool:
        """Whether more than so many bytes come of it; what is damaged is astropy's to refuse."""
        engine, done, rest, end = zlib.decompressobj(31), 0, b"", at + size
        try:
            while done <= most:
                if not rest:
                    rest = self._source.read_at(at, min(_PIECE, end - at))
                    at += len(rest)
                    if not rest:
                        break
                done += len(engine.decompress(rest, _PIECE))
                rest = engine.unconsumed_tail
                if engine.eof:
                    rest, engine = engine.unused_data.lstrip(b"\0"), zlib.decompressobj(31)
        except zlib.error:
            pass
        return done > most


def _columns(unit: Unit) -> dict[str, _Column]:
    """Those whose rows say where in the heap something is."""
    found, at = {}, 0
    for i in range(1, unit.number("TFIELDS") + 1):
        form = re.match(r"(\d*)([A-Z])", unit.text(f"TFORM{i}"))
        count, letter = (int(form[1] or 1), form[2]) if form is not None else (0, "A")
        if letter in "PQ" and count:
            found[unit.text(f"TTYPE{i}")] = _Column(at, _WIDE[letter] // 2)
        at += -(-count // 8) if letter == "X" else count * _WIDE.get(letter, 0)
    return found
