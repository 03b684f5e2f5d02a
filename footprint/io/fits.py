"""FITS images: rows read where they lie, big-endian and scaled ones too, and written as they are computed."""

from __future__ import annotations

import gzip
import os
import re
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from astropy.io import fits

from footprint.errors import FormatError, printable
from footprint.io.frames import PIECE, Frames, cast_into, existing_file, reading
from footprint.io.raw import RawFrames
from footprint.io.raw import writing_bytes as _writing_bytes

_BLOCK = 2880
# Keywords that describe how another file was stored, or that its new pixels make false.
_STRUCTURE = re.compile(
    r"SIMPLE|XTENSION|BITPIX|NAXIS\d*|PCOUNT|GCOUNT|GROUPS|EXTEND|BSCALE|BZERO|BLANK|CHECKSUM|DATASUM|DATAMIN|DATAMAX|END|"
    r"Z(IMAGE|BITPIX|NAXIS\d*|TILE\d+|CMPTYPE|NAME\d+|VAL\d+|QUANTIZ|DITHER0|SIMPLE|EXTEND)|T(FIELDS|FORM\d+|TYPE\d+)"
)


def is_fits(path: str | os.PathLike[str]) -> bool:
    """Whether the file starts as a FITS file does, gzipped or not."""
    with open(path, "rb") as file:
        start = file.read(6)
    if start[:2] == b"\x1f\x8b":
        try:
            with gzip.open(path) as packed:
                start = packed.read(6)
        except (OSError, EOFError):
            return False
    return start == b"SIMPLE"


class HeldFrames:
    """Frames that had to be read whole (a gzipped or compressed file), held in memory."""

    def __init__(self, path: str, values: np.ndarray) -> None:
        self.path, self._values = path, values
        self.shape: tuple[int, int, int] = (values.shape[0], values.shape[1], values.shape[2])
        self.dtype = values.dtype.newbyteorder("=")

    def host_bytes(self, n_rows: int, dtype: Any = None) -> int:
        """Bytes held: all of them, whatever they are read into."""
        return self._values.nbytes

    def close(self) -> None:
        """Nothing is open."""

    def read(self, start: int, stop: int, rows: slice, out: np.ndarray) -> None:
        """Copy rows of frames ``start`` to ``stop``, cast."""
        cast_into(out, self._values[start:stop, rows])


class ScaledFrames:
    """Integers or floats on disk that stand for ``BZERO + BSCALE * stored``, BLANK for NaN.

    Parameters
    ----------
    raw
        The stored numbers.
    scale, zero, blank
        The keywords' values; ``blank`` None where there is none.
    """

    def __init__(self, raw: RawFrames, scale: float, zero: float, blank: int | None) -> None:
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

    def host_bytes(self, n_rows: int, dtype: Any = None) -> int:
        """Bytes that reading holds beside ``out``, whatever its dtype: rows as stored, as float64, and where they are blank."""
        rows = min(max(1, PIECE // max(1, 8 * self.shape[2])), n_rows)
        # What was stored of the piece before is let go only when the next one is there.
        return rows * self.shape[2] * (2 * self._raw.dtype.itemsize + 9)

    def close(self) -> None:
        """Close the file."""
        self._raw.close()

    def read(self, start: int, stop: int, rows: slice, out: np.ndarray) -> None:
        """Fill ``out`` with scaled rows of frames ``start`` to ``stop``."""
        step = max(1, PIECE // max(1, 8 * self.shape[2]))
        for i in range(start, stop):
            for r in range(rows.start, rows.stop, step):
                stop_row = min(rows.stop, r + step)
                stored = np.empty((1, stop_row - r, self.shape[2]), self._raw.dtype)
                self._raw.read(i, i + 1, slice(r, stop_row), stored)
                cast_into(out[i - start, r - rows.start : stop_row - rows.start], self._convert(stored)[0])

    def _convert(self, stored: np.ndarray) -> np.ndarray:
        if self._flip:
            bits = 8 * stored.dtype.itemsize
            return (stored.view(f"u{bits // 8}") ^ np.array(1 << (bits - 1), f"u{bits // 8}")).view(self.dtype)
        values = stored.astype(np.float64)
        with np.errstate(over="ignore", invalid="ignore"):
            values *= self._scale
            values += self._zero
        if self._blank is not None and stored.dtype.kind in "iu":
            values[stored == self._blank] = np.nan
        return values


def open_planes(
    path: str, extension: int | str | None, planes_of: Callable[[tuple[int, ...]], tuple[int, int, int]]
) -> tuple[Frames, tuple[int, ...], Any]:
    """Open an image extension: its planes, its whole shape (slowest axis first), and its header.

    ``planes_of`` says which of the axes are the image's.
    """
    existing_file(path, "a FITS file")
    with warnings.catch_warnings(), reading(path):
        # What astropy warns of in a damaged header is checked here: sizes against the file's, values as they are used.
        warnings.simplefilter("ignore")
        with open(path, "rb") as file:
            packed = file.read(2) == b"\x1f\x8b"
        with fits.open(path, memmap=not packed, lazy_load_hdus=True, do_not_scale_image_data=True) as hdus:
            hdu = _choose(path, hdus, extension)
            shape = tuple(int(n) for n in hdu.shape)
            if len(shape) < 2:
                raise FormatError(path, f"holds an array of shape {shape}, wanted an image of two dimensions or more")
            if min(shape) < 1:
                raise FormatError(path, f"holds an empty image (shape {shape})")
            header = _readable(hdu.header)
            planes = planes_of(shape)
            if packed or isinstance(hdu, fits.CompImageHDU):
                hdu._do_not_scale_image_data = False
                return HeldFrames(path, np.asarray(hdu.data).reshape(planes)), shape, header
            bits = int(header["BITPIX"])
            stored = np.dtype({8: "u1", 16: ">i2", 32: ">i4", 64: ">i8", -32: ">f4", -64: ">f8"}[bits])
            raw = RawFrames(path, hdu.fileinfo()["datLoc"], planes, stored)
    scale, zero = float(header.get("BSCALE", 1)), float(header.get("BZERO", 0))
    blank = header.get("BLANK") if stored.kind in "iu" else None
    if (scale, zero) == (1, 0) and blank is None:
        return raw, shape, header
    return ScaledFrames(raw, scale, zero, None if blank is None else int(blank)), shape, header


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


def _choose(path: str, hdus: fits.HDUList, extension: int | str | None) -> Any:
    """Return the extension asked for, or the first with an image in it."""
    images = (fits.PrimaryHDU, fits.ImageHDU, fits.CompImageHDU)
    if extension is not None:
        try:
            hdu = hdus[extension]
        except (KeyError, IndexError) as error:
            names = ", ".join(f"{i} {h.name}".strip() for i, h in enumerate(hdus))
            raise FormatError(path, f"has no extension {extension}", f"it has {names}") from error
        if not isinstance(hdu, images) or not hdu.shape:
            raise FormatError(path, f"holds no image in extension {extension}")
        return hdu
    for hdu in hdus:
        if isinstance(hdu, images) and hdu.shape:
            return hdu
    raise FormatError(path, "holds no image, only headers and tables")


def _stored(dtype: np.dtype) -> tuple[np.dtype, bool]:
    """What a FITS file keeps of a dtype: big-endian, and whether the top bit is flipped; float16 becomes float32."""
    kept = np.dtype(np.float32) if dtype == np.float16 else dtype
    flip = (kept.kind == "u" and kept.itemsize > 1) or kept == np.int8
    plain = np.dtype(f"{'u' if kept.itemsize == 1 else 'i'}{kept.itemsize}") if kept.kind in "iu" else kept
    return plain.newbyteorder(">"), flip


def writing_bytes(shape: tuple[int, int], dtype: np.dtype) -> int:
    """Bytes that writing an image holds beside C-contiguous blocks of its ``dtype``."""
    stored, flip = _stored(dtype)
    return _writing_bytes(stored, shape[0] * shape[1] * stored.itemsize, dtype, flip)


def create(path: str | os.PathLike[str], shape: tuple[int, int], dtype: np.dtype, header: Any, history: list[str]) -> RawFrames:
    """Write the header of an image and return its rows for writing; float16 is stored as float32."""
    on_disk, flip = _stored(dtype)
    cards = fits.Header()
    cards["SIMPLE"] = True
    cards["BITPIX"] = 8 * on_disk.itemsize * (-1 if on_disk.kind == "f" else 1)
    cards["NAXIS"], cards["NAXIS1"], cards["NAXIS2"] = 2, shape[1], shape[0]
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
    nbytes = shape[0] * shape[1] * on_disk.itemsize
    with open(path, "wb") as file:
        file.write(text)
        file.truncate(len(text) + -(-nbytes // _BLOCK) * _BLOCK)
    return RawFrames(path, len(text), (1, *shape), on_disk, writable=True, flip=flip)
