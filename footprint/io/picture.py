"""Pictures: PNG and JPEG files in grey or colour, and TIFF in colour; colours are filtered one by one, transparency is kept."""

from __future__ import annotations

import os
import stat
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from footprint.errors import ArgumentError, FormatError
from footprint.io.colour_tiff import ORIENTATION, ColourTiff, is_colour, write_tiff
from footprint.io.frames import check_out, existing_file, reading, row_range
from footprint.io.kinds import called, suffixes
from footprint.io.output import check_output, output
from footprint.io.scale import dpi_for, is_ome

# What Pillow calls them; TIFF is written without it.
_KINDS = {"png": "PNG", "jpeg": "JPEG"}
_WRITTEN = (*_KINDS, "tiff")
_BEGINNINGS = (b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff")
# Pillow's modes that are read as they are; others by the one they become.
_KEPT = ("L", "LA", "RGB", "RGBA", "I;16")
_BECOMES = {"1": "L", "P": "RGB", "PA": "RGBA"}
_CLEAR = {"1": "LA", "L": "LA", "P": "RGBA", "RGB": "RGBA"}
# Bytes that Pillow keeps of a pixel in colour, and rows that are taken from it at a time.
_PILLOW, _BAND = 4, 64


def is_picture(path: str | os.PathLike[str]) -> bool:
    """Whether a file begins as PNG or JPEG do, or is TIFF in colour; of none, or an empty one, whether it is called PNG or JPEG."""
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):
            return False  # to open a pipe is to wait for who writes to it
        with open(path, "rb") as file:
            start = file.read(8)
        if start:
            return start.startswith(_BEGINNINGS) or is_colour(path)
        return called(path, *_KINDS) is not None
    except FileNotFoundError:
        return called(path, *_KINDS) is not None
    except OSError:
        return False


class Picture:
    """An open picture; its pixels are decoded when they are first asked for.

    Attributes
    ----------
    path, shape, dtype
        The file, ``(n_y, n_x)``, uint8 or uint16.
    channels, colours
        All of a pixel's numbers, and how many of them are colours: the last one may be transparency.
    info
        What Pillow tells of the file, and ``orientation``, which way is up as EXIF counts it.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        from PIL import Image

        self.path = os.fspath(path)
        existing_file(path, "a picture")
        check_depth(self.path)
        with reading(path, "the picture"):
            self._image = Image.open(path)
        self.info: dict[str, Any] = {str(name): value for name, value in self._image.info.items()}
        self.info["orientation"] = _orientation(self._image)
        mode = self._image.mode
        self._mode = _BECOMES.get(mode, mode)
        # Of a palette some colours are transparent; of others one is, a key that no filtered picture could keep.
        if "transparency" in self._image.info and mode in _CLEAR:
            self._mode = _CLEAR[mode]
        if self._mode not in _KEPT or (mode == "I;16" and "transparency" in self._image.info):
            self._image.close()
            if mode == "I;16":
                raise FormatError(path, "has transparency beside grey of 16 bits, which Pillow cannot write", "save it without")
            raise FormatError(path, f"holds pixels of the kind {mode}", "give grey or RGB, with or without transparency")
        self.shape: tuple[int, int] = (self._image.height, self._image.width)
        self.dtype = np.dtype(np.uint16 if self._mode == "I;16" else np.uint8)
        self.channels = {"L": 1, "I;16": 1, "LA": 2, "RGB": 3, "RGBA": 4}[self._mode]
        self.colours = self.channels - (self._mode in ("LA", "RGBA"))
        self._pixels: np.ndarray | None = None

    @property
    def pixels(self) -> np.ndarray:
        """``(n_y, n_x, channels)``."""
        if self._pixels is None:
            with reading(self.path, "the picture"):
                image = self._image if self._image.mode == self._mode else self._image.convert(self._mode)
                found = np.empty((*self.shape, self.channels), self.dtype)
                # By bands, as Pillow copies twice what it is asked for; then its own pixels go.
                for first in range(0, self.shape[0], _BAND):
                    band = image.crop((0, first, self.shape[1], min(first + _BAND, self.shape[0])))
                    found[first : first + _BAND] = np.asarray(band).reshape(-1, self.shape[1], self.channels)
                image.close()
                self._image.close()
            self._pixels = found
        return self._pixels

    def held_bytes(self, shape: tuple[int, ...]) -> int:
        """Bytes of the pixels, of a result of ``shape``, and of what Pillow has of either; a bound."""
        each = self.channels * self.dtype.itemsize
        pixels, results = self.shape[0] * self.shape[1], shape[0] * shape[1]
        decoded = pixels * (_PILLOW + (0 if self._image.mode == self._mode else _PILLOW))
        band = 3 * _BAND * self.shape[1] * _PILLOW
        return each * (pixels + results) + max(decoded, _PILLOW * results) + band

    def forget(self) -> None:
        """Give the pixels up."""
        self._pixels = None

    def close(self) -> None:
        """Close the file."""
        self._image.close()


def channel(picture: Picture | ColourTiff, number: int, shape: tuple[int, ...] | None = None) -> Channel:
    """One colour of a picture, whose result has ``shape``; its own by default."""
    return Channel(picture, number, picture.held_bytes(picture.shape if shape is None else shape))


def save(picture: Picture | ColourTiff, target: str | os.PathLike[str], pixels: np.ndarray, overwrite: bool = False) -> None:
    """Write other ``pixels`` of as many channels, with what the picture's file says of its colours and of how it was taken.

    The picture's own are given up before.
    """
    kind = called(target, *_WRITTEN) or "png"
    picture.forget()
    with output(target, overwrite) as temporary, reading(target, "the picture"):
        if kind == "tiff":
            write_tiff(temporary, pixels, picture.colours, picture.info, is_ome(target))
            return
        from PIL import Image

        info: dict[str, Any] = {name: picture.info[name] for name in ("icc_profile", "exif") if name in picture.info}
        info |= dpi_for(kind, picture.info)
        if "exif" not in info and picture.info.get("orientation", 1) != 1:
            told = Image.Exif()
            told[ORIENTATION] = picture.info["orientation"]
            info["exif"] = told.tobytes()
        how: dict[str, Any] = {"quality": 95} if kind == "jpeg" else {}
        flat = pixels[..., 0] if picture.channels == 1 else pixels
        Image.fromarray(flat).save(temporary, format=_KINDS[kind], **how, **info)


class Channel:
    """One colour of a picture, read by rows as an `Image` is."""

    header = None

    def __init__(self, picture: Picture | ColourTiff, number: int, held: int) -> None:
        self.path, self.shape, self.dtype = picture.path, picture.shape, picture.dtype
        self._picture, self._number, self._held = picture, number, held

    def read(self, rows: slice, out: np.ndarray) -> None:
        """Fill ``out`` ``(n_rows, n_x)``."""
        first, last = row_range(rows, self.shape[0])
        check_out(out, (last - first, self.shape[1]), self.dtype)
        out[...] = self._picture.pixels[first:last, :, self._number]

    def host_bytes(self, n_rows: int, dtype: Any = None) -> int:
        """What the whole picture and its result take."""
        return self._held


@contextmanager
def open_picture(path: str | os.PathLike[str]) -> Iterator[Picture | ColourTiff]:
    """Open a picture.

    Raises
    ------
    FormatError
        Missing or damaged, pixels of another kind, or a PNG with colours of 16 bits, which Pillow would cut to 8.
    """
    picture = ColourTiff(path) if is_colour(path) else Picture(path)
    try:
        yield picture
    finally:
        picture.close()


def check_picture(
    picture: Picture | ColourTiff, target: str | os.PathLike[str], shape: tuple[int, ...], overwrite: bool = False
) -> None:
    """Raise where `save` of a result of ``shape`` would; writes nothing."""
    kind = called(target, *_WRITTEN)
    if kind is None:
        raise ArgumentError("out", repr(str(target)), f"a name ending in {', '.join(suffixes(*_WRITTEN))}, as for any picture")
    if kind != "tiff" and picture.dtype == np.uint16 and picture.colours == 3:
        raise ArgumentError("out", repr(str(target)), f"a name ending in {', '.join(suffixes('tiff'))} for colours of 16 bits")
    if kind == "jpeg" and (picture.colours < picture.channels or picture.dtype != np.uint8):
        what = "16 bits" if picture.dtype != np.uint8 else "transparency"
        raise ArgumentError("out", repr(str(target)), f"a name ending in .png for a picture with {what}, which JPEG lacks")
    if picture.colours < picture.channels and shape != picture.shape:
        raise ArgumentError("mode", f"a result of {shape}", "same, for a picture with transparency, which is kept as it is")
    check_output(target, overwrite)


def _orientation(image: Any) -> int:
    """Which way is up by a picture's EXIF; 1, as its rows are, where that says nothing or is damaged."""
    try:
        found = int(image.getexif().get(ORIENTATION, 1))
    except Exception:  # of a parser that is fed damaged bytes; the pixels may be sound
        return 1
    return found if 1 <= found <= 8 else 1


def check_depth(path: str) -> None:
    """Refuse colours of 16 bits: Pillow reads them as 8 without a word."""
    with open(path, "rb") as file:
        start = file.read(26)
    if start.startswith(_BEGINNINGS[0]) and len(start) == 26:
        depth, kind = struct.unpack(">BB", start[24:26])
        if depth == 16 and kind != 0:
            raise FormatError(path, "has colours or transparency of 16 bits, which Pillow cuts to 8", "give a TIFF")
