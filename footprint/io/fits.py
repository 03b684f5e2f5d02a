"""FITS images: rows read where they lie, big-endian and scaled ones too, and written as they are computed."""

from __future__ import annotations

import math
import os
import re
import threading
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from astropy.io import fits

from footprint.api._axes import whole_shape
from footprint.dtypes import put_into
from footprint.errors import FormatError, printable
from footprint.io.fits_tiles import TiledFrames
from footprint.io.fits_units import Unit, units
from footprint.io.frames import PIECE, Frames, existing_file, reading, staging
from footprint.io.inflated import Inflated, Plain, is_gzip
from footprint.io.raw import RawFrames
from footprint.io.raw import writing_bytes as _writing_bytes

_STORED = {8: "u1", 16: ">i2", 32: ">i4", 64: ">i8", -32: ">f4", -64: ">f8"}
# A compressed image of so many bytes is held where the budget has room for it, as passes over it would decompress it again.
_HELD = 64 << 20
_BLOCK = 2880
# Keywords that describe how another file was stored, or that its new pixels make false.
_STRUCTURE = re.compile(
    r"SIMPLE|XTENSION|BITPIX|NAXIS\d*|PCOUNT|GCOUNT|GROUPS|EXTEND|BSCALE|BZERO|BLANK|CHECKSUM|DATASUM|DATAMIN|DATAMAX|END|"
    r"Z(IMAGE|BITPIX|NAXIS\d*|TILE\d+|CMPTYPE|NAME\d+|VAL\d+|QUANTIZ|DITHER0|SIMPLE|EXTEND)|T(FIELDS|FORM\d+|TYPE\d+)"
)


class HeldFrames:
    """Frames of a compressed file, held once a plan has counted them, as every pass would decompress them again.

    Parameters
    ----------
    frames
        Where they come from.
    """

    def __init__(self, frames: RawFrames | TiledFrames | ScaledFrames) -> None:
        self._frames, self.path, self.shape, self.dtype = frames, frames.path, frames.shape, np.dtype(frames.dtype)
        self._values: np.ndarray | None = None
        self._lock = threading.Lock()
        # Not known before someone has asked what reading takes: nobody may hold what nobody has counted.
        self._holds: bool | None = None

    def host_bytes(self, n_rows: int, dtype: Any = None) -> int:
        """Bytes held: all of them, whatever they are read into, and what reading them takes; less once `lean` was called."""
        with self._lock:
            if self._holds is None:
                self._holds = True
        if not self._holds:
            return self._frames.host_bytes(n_rows, dtype)
        return math.prod(self.shape) * self.dtype.itemsize + self._frames.host_bytes(self.shape[1], self.dtype)

    def decoding(self, n_frames: int, n_rows: int) -> float:
        """Seconds that decompressing rows of frames takes, once."""
        return self._frames.decoding(n_frames, n_rows)

    @property
    def once(self) -> RawFrames | TiledFrames | ScaledFrames:
        """The same, none of it held: for who reads before anything is counted."""
        return self._frames

    def lean(self) -> bool:
        """Hold nothing from now on; False where that is so already."""
        with self._lock:
            held, self._holds, self._values = self._holds is not False, False, None
        return held

    def close(self) -> None:
        """Close the file."""
        self._frames.close()
        self._values = None

    def read(self, start: int, stop: int, rows: slice, out: np.ndarray) -> None:
        """Copy rows of frames ``start`` to ``stop``, cast."""
        with self._lock:
            if self._holds and self._values is None:
                values = np.empty(self.shape, self.dtype)
                self._frames.read(0, self.shape[0], slice(0, self.shape[1]), values)
                self._values = values
            held = self._values
        if held is None:
            self._frames.read(start, stop, rows, out)
        else:
            put_into(out, held[start:stop, rows])


class ScaledFrames:
    """Integers or floats on disk that stand for ``BZERO + BSCALE * stored``, BLANK for NaN.

    Parameters
    ----------
    raw
        The stored numbers.
    scale, zero, blank
        The keywords' values; ``blank`` None where there is none.
    """

    def __init__(self, raw: RawFrames | TiledFrames, scale: float, zero: float, blank: int | None) -> None:
        self.path, self._raw, self.shape = raw.path, raw, raw.shape
        self._scale, self._zero, self._blank = scale, zero, blank
        stored, bits = raw.dtype, 8 * raw.dtype.itemsize
        # FITS has no unsigned integers wider than 8 bits: they are stored with their top bit flipped.
        self._flip = stored.kind in "iu" and scale == 1 and blank is None and zero == (-128 if bits == 8 else 2.0 ** (bits - 1))
        if self._flip:
            self.dtype = np.dtype(f"{'i' if bits == 8 else 'u'}{bits // 8}")
        elif stored.kind == "f":
            self.dtype = stored
        else:
            self.dtype = np.dtype(np.float32 if bits <= 16 else np.float64)

    def _rows(self, n_rows: int) -> int:
        """Rows of a piece."""
        return min(max(1, PIECE // max(1, 8 * self.shape[2])), n_rows)

    def host_bytes(self, n_rows: int, dtype: Any = None) -> int:
        """Bytes that reading holds beside ``out``, whatever its dtype: rows as stored, as float64, and where they are blank."""
        each = self._raw.dtype.itemsize + (0 if self._flip else 8 + (self._blank is not None))
        return self._rows(n_rows) * self.shape[2] * each + self._raw.host_bytes(n_rows, self._raw.dtype)

    def decoding(self, n_frames: int, n_rows: int) -> float:
        """Seconds that decompressing rows of frames takes, where they are compressed."""
        return self._raw.decoding(n_frames, n_rows)

    def forget(self) -> None:
        """Keep no rows for the next."""
        if isinstance(self._raw, TiledFrames):
            self._raw.forget()

    def close(self) -> None:
        """Close the file."""
        self._raw.close()

    def read(self, start: int, stop: int, rows: slice, out: np.ndarray) -> None:
        """Fill ``out`` with scaled rows of frames ``start`` to ``stop``."""
        step = self._rows(rows.stop - rows.start)
        shape = (1, step, self.shape[2])
        stored = staging(shape, self._raw.dtype)
        values = None if self._flip else staging(shape, np.dtype(np.float64))
        blank = None if self._blank is None else staging(shape, np.dtype(bool))
        for i in range(start, stop):
            for r in range(rows.start, rows.stop, step or 1):
                last = min(rows.stop, r + step)
                some, *rest = (None if one is None else one[:, : last - r] for one in (stored, values, blank))
                assert some is not None
                self._raw.read(i, i + 1, slice(r, last), some)
                put_into(out[i - start, r - rows.start : last - rows.start], self._convert(some, *rest)[0])

    def _convert(self, stored: np.ndarray, values: np.ndarray | None, blank: np.ndarray | None) -> np.ndarray:
        """What is stored, as it is meant; in ``values``, or where it is."""
        if values is None:
            bits = 8 * stored.dtype.itemsize
            plain = stored.view(f"u{bits // 8}")
            plain ^= plain.dtype.type(1 << (bits - 1))
            return stored.view(self.dtype)
        np.copyto(values, stored)
        with np.errstate(over="ignore", invalid="ignore"):
            if self._scale != 1:
                values *= self._scale
            values += self._zero
        if blank is not None and self._blank is not None and stored.dtype.kind in "iu":
            np.equal(stored, self._blank, out=blank)
            values[blank] = np.nan
        return values


def open_planes(
    path: str, extension: int | str | None, planes_of: Callable[[tuple[int, ...]], tuple[int, int, int]]
) -> tuple[Frames, tuple[int, ...], Any]:
    """Open an image extension: its planes, its whole shape (slowest axis first), and its header.

    ``planes_of`` says which of the axes are the image's.
    """
    existing_file(path, "a FITS file")
    source, kept = Inflated(path) if is_gzip(path) else Plain(path), False
    try:
        with warnings.catch_warnings(), reading(path):
            # What astropy warns of in a damaged header is checked here: sizes against the file's, values as they are used.
            warnings.simplefilter("ignore")
            unit = _choose(path, source, extension)
            shape = unit.shape("ZNAXIS" if unit.compressed else "NAXIS")
            if len(shape) < 2:
                raise FormatError(path, f"holds an array of shape {shape}, wanted an image of two dimensions or more")
            if min(shape) < 1:
                raise FormatError(path, f"holds an empty image (shape {shape})")
            planes = planes_of(shape)
            if unit.compressed:
                tiles = TiledFrames(path, unit, planes)
                header = _readable(tiles.header)
                return _held(_scaled(tiles, header)), shape, header
            header = _readable(fits.Header.fromstring(unit.header))
            bits = unit.number("BITPIX")
            if bits not in _STORED:
                raise FormatError(path, f"has BITPIX = {bits}, wanted one of {', '.join(map(str, _STORED))}", "it may be damaged")
            inflated = source if isinstance(source, Inflated) else None
            raw = RawFrames(path, unit.offset, planes, np.dtype(_STORED[bits]), inflated=inflated)
            kept = inflated is not None
    finally:
        if not kept:
            source.close()
    frames = _scaled(raw, header)
    return _held(frames) if raw.inflated else frames, shape, header


def _held(frames: RawFrames | TiledFrames | ScaledFrames) -> Frames:
    """Frames that are decompressed: held, where they are few enough."""
    return HeldFrames(frames) if math.prod(frames.shape) * frames.dtype.itemsize <= _HELD else frames


def _scaled(raw: RawFrames | TiledFrames, header: fits.Header) -> RawFrames | TiledFrames | ScaledFrames:
    scale, zero = float(header.get("BSCALE", 1)), float(header.get("BZERO", 0))
    blank = header.get("BLANK") if raw.stored.kind in "iu" else None
    if (scale, zero) == (1, 0) and blank is None:
        return raw
    return ScaledFrames(raw, scale, zero, None if blank is None else int(blank))


def _readable(header: fits.Header) -> fits.Header:
    """Copy a header without its damaged cards, which would raise whenever someone looks at them."""
    kept = fits.Header()
    for card in header.cards:
        try:
            card.verify("silentfix")
            copy = fits.Card.fromstring(str(card))
            _ = copy.keyword, copy.value, copy.comment
        except Exception:
            # astropy raises VerifyError, ValueError or UnicodeError here, by the damage.
            continue
        kept.append(copy, end=True)
    return kept


def _choose(path: str, source: Inflated | Plain, extension: int | str | None) -> Unit:
    """Return the extension asked for, or the first with an image in it."""
    seen: list[str] = []
    for unit in units(path, source):
        name = unit.text("EXTNAME") or ("PRIMARY" if unit.index == 0 else "")
        version = unit.number("EXTVER", 1)
        called = (name.upper(), f"{name.upper()},{version}")
        asked = extension == unit.index or (isinstance(extension, str) and extension.upper().replace(", ", ",") in called)
        if asked and not unit.is_image:
            raise FormatError(path, f"holds no image in extension {extension}")
        if asked or (extension is None and unit.is_image):
            return unit
        seen.append(f"{unit.index} {name}{f',{version}' * (version > 1)}".strip())
    if extension is None:
        raise FormatError(path, "holds no image, only headers and tables")
    names = ", ".join(seen[:20]) + (" ..." if len(seen) > 20 else "")
    raise FormatError(path, f"has no extension {extension}", f"it has {names}")


def _stored(dtype: np.dtype) -> tuple[np.dtype, bool]:
    """What a FITS file keeps of a dtype: big-endian, and whether the top bit is flipped; float16 becomes float32."""
    kept = np.dtype(np.float32) if dtype == np.float16 else dtype
    flip = (kept.kind == "u" and kept.itemsize > 1) or kept == np.int8
    plain = np.dtype(f"{'u' if kept.itemsize == 1 else 'i'}{kept.itemsize}") if kept.kind in "iu" else kept
    return plain.newbyteorder(">"), flip


def writing_bytes(shape: tuple[int, ...], dtype: np.dtype, given: Any) -> int:
    """Bytes that writing an image of ``dtype`` holds beside C-contiguous blocks of dtype ``given``."""
    stored, flip = _stored(dtype)
    # Where its numbers begin, the length of its header says.
    return _writing_bytes(stored, shape, given, flip, offset=1)


def create(path: str | os.PathLike[str], shape: tuple[int, ...], dtype: np.dtype, header: Any, history: list[str]) -> RawFrames:
    """Write the header of an image, or of a cube, and return its rows for writing; float16 is stored as float32.

    Axes of length 1 that the given header has are in the file, too: what it says of them then has its place.
    """
    on_disk, flip = _stored(dtype)
    cards = fits.Header()
    cards["SIMPLE"] = True
    cards["BITPIX"] = 8 * on_disk.itemsize * (-1 if on_disk.kind == "f" else 1)
    whole = whole_shape(shape, header)
    cards["NAXIS"] = len(whole)
    for axis, length in enumerate(reversed(whole), 1):
        cards[f"NAXIS{axis}"] = length
    if flip:
        cards["BSCALE"], cards["BZERO"] = 1, -128 if dtype == np.int8 else 1 << (8 * on_disk.itemsize - 1)
    with warnings.catch_warnings(), reading("header", "the given FITS header"):
        warnings.simplefilter("ignore")
        for card in header.cards if header is not None else ():
            if not _STRUCTURE.fullmatch(card.keyword):
                cards.append(card, end=True)
        for line in history:
            cards.add_history(printable(line).encode("ascii", "replace").decode())
        text = cards.tostring(padding=True).encode("ascii")
    nbytes = math.prod(shape) * on_disk.itemsize
    with open(path, "wb") as file:
        file.write(text)
        file.truncate(len(text) + -(-nbytes // _BLOCK) * _BLOCK)
    frames = (math.prod(shape[:-2]), shape[-2], shape[-1])
    return RawFrames(path, len(text), frames, on_disk, writable=True, flip=flip)
