"""Slices as JPEG 2000 (ISO 15444-1, .jp2): a file each, encoded when all its rows are there, decoded whole.

How a volume was made is JSON in a box of XML behind the image, where readers look for none and pass it.
"""

from __future__ import annotations

import html
import json
import os
import re
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from footprint import settings
from footprint.dtypes import put_into
from footprint.errors import FormatError, missing_extra
from footprint.io.about import plain_table
from footprint.io.frames import reading
from footprint.io.kept import Ahead
from footprint.io.kinds import called
from footprint.io.raw import RawFrames
from footprint.io.slice_files import SliceFolder, bytes_of

SUFFIX = ".jp2"
_ROWS = ".rows"
# Bytes of a box that are looked at for how a volume was made.
_SAID = 1 << 20


def encoding_bytes(shape: tuple[int, int], dtype: np.dtype) -> int:
    """Bytes that encoding a slice takes: a bound, for noise that no one can compress; the slice itself, and OpenJPEG's own.

    Measured on 300 to 3000 squared: a pixel takes it 9.7 bytes of 8 bits, 12.8 of 16, what is encoded and kept to be freed in it.
    """
    return shape[0] * shape[1] * (8 + 4 * dtype.itemsize) + (2 << 20)


def check_codec() -> Any:
    """The library, or the sentence that says what to install."""
    try:
        import imagecodecs
    except ImportError:
        raise missing_extra("imagecodecs", "jp2", "JPEG 2000") from None
    return imagecodecs


class Jp2Folder(SliceFolder):
    """One JPEG 2000 file a slice, lossless unless a quality is asked for.

    Parameters
    ----------
    folder, shape, dtype, about, first, along, each
        As of `TiffFolder`; the dtype is uint8 or uint16.
    quality
        Peak signal to noise in decibels; None loses nothing.
    """

    suffix = SUFFIX

    def __init__(self, *slices: Any, quality: float | None) -> None:
        super().__init__(*slices)
        self._quality = quality

    def writing_bytes(self, dtype: Any) -> int:
        """Bytes that `write` and `finish` hold beside C-contiguous arrays of ``dtype``."""
        return encoding_bytes(self._shape[1:], self._dtype)

    def write(self, start: int, rows: slice, array: np.ndarray) -> None:
        """Write ``array`` ``(n, n_rows, n_x)`` at slice ``start`` and ``rows`` of each; what is no whole slice waits beside."""
        for i, image in enumerate(array, start):
            if len(image) == self._shape[1]:
                self._encode(i, image)
                continue
            name = self._folder / (self.name(i) + _ROWS)
            size = self._shape[1] * self._shape[2] * self._dtype.itemsize
            if not name.exists() or name.stat().st_size != size:
                with open(name, "wb") as empty:
                    empty.truncate(size)
            self._waiting.add(name.name)
            file = RawFrames(name, 0, (1, *self._shape[1:]), self._dtype, writable=True)
            try:
                file.write(0, rows, image[None])
            finally:
                file.close()

    def kept(self, start: int, stop: int, rows: slice) -> int | None:
        """Bytes of the files of slices ``start`` to ``stop``, or of those that their rows wait in; None where one is not there."""
        names = [self._folder / self.name(i) for i in range(start, stop)]
        waiting = [name.with_name(name.name + _ROWS) for name in names]
        return bytes_of(rows if rows.exists() else name for rows, name in zip(waiting, names))

    def finish(self) -> None:
        """Encode what came in rows."""
        for i in range(self._shape[0]):
            name = self._folder / (self.name(i) + _ROWS)
            if name.exists():
                self._encode(i, np.fromfile(name, self._dtype).reshape(self._shape[1:]))
                self._waiting.discard(name.name)
                # Rows are let go when what was made of them is on the disk.
                self.sync()
                name.unlink()
        self.sync()

    def _encode(self, i: int, image: np.ndarray) -> None:
        codec, plain = check_codec(), np.ascontiguousarray(image, self._dtype)
        # The same bytes from any number of threads.
        how = {"level": self._quality or 0, "codecformat": "JP2", "numthreads": settings.threads()}
        try:
            made = codec.jpeg2k_encode(plain, **how)
        except codec.Jpeg2kError as error:
            raise FormatError(self._folder / self.name(i), f"cannot be encoded ({error})") from error
        with open(self._folder / self.name(i), "wb") as file:
            file.write(made)
            file.write(_box({**self._about, **self.own(i)}))
        self._waiting.add(self.name(i))


def _box(about: Mapping[str, Any]) -> bytes:
    """A box of XML with a table as JSON."""
    said = html.escape(json.dumps(plain_table(about)), quote=False)
    text = f'<?xml version="1.0" encoding="UTF-8"?>\n<footprint>{said}</footprint>\n'.encode()
    return (8 + len(text)).to_bytes(4, "big") + b"xml " + text


class Jp2Slice:
    """A slice as a stack of one frame, decoded whole when it is first read."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = str(path)
        codec = check_codec()
        try:
            self._values = codec.jpeg2k_decode(Path(path).read_bytes())
        except (OSError, codec.Jpeg2kError) as error:
            raise FormatError(path, f"cannot be decoded ({error})", "it may be damaged") from error
        if self._values.ndim != 2 or self._values.dtype.kind not in "ui":
            raise FormatError(path, f"is {self._values.dtype} {self._values.shape}", "a slice is grey, of whole numbers")
        self.shape: tuple[int, int, int] = (1, *self._values.shape)
        self.dtype = self._values.dtype

    def host_bytes(self, n_rows: int, dtype: Any = None) -> int:
        """Bytes of the slice and of its decoder."""
        return encoding_bytes(self.shape[1:], self.dtype)

    def read(self, start: int, stop: int, rows: slice, out: np.ndarray) -> None:
        """Fill ``out`` with rows of the slice."""
        put_into(out[0], self._values[rows])

    def close(self) -> None:
        """Let the slice go."""
        self._values = self._values[:0]


def jp2_files(path: str | os.PathLike[str]) -> list[Path]:
    """JPEG 2000 files of a folder, in no order; hidden ones are left out."""
    with reading(path):
        return [item for item in Path(path).iterdir() if called(item, "jp2") and item.name[0] != "." and item.is_file()]


class Jp2Files(Ahead):
    """Slices in files of their own as a stack; the last one that was decoded is kept.

    Parameters
    ----------
    path
        What the user named: a file, a folder, or names with ``*``.
    files
        The files, in order; at least one.
    """

    def __init__(self, path: str | os.PathLike[str], files: Sequence[Path]) -> None:
        super().__init__()
        self.path, self._files, self._lock = str(path), files, threading.Lock()
        self._number, self._slice = 0, Jp2Slice(files[0])
        self.shape: tuple[int, int, int] = (len(files), *self._slice.shape[1:])
        self.dtype = self._slice.dtype

    def files(self) -> list[Path]:
        """One a frame, or for several."""
        return list(self._files)

    def host_bytes(self, n_rows: int, dtype: Any = None) -> int:
        """Bytes of a slice and of its decoder."""
        return self._slice.host_bytes(n_rows, dtype)

    @property
    def _chunk(self) -> tuple[int, int, int] | None:
        return (1, *self.shape[1:])

    def _read(self, start: int, stop: int, rows: slice, out: np.ndarray) -> None:
        """Fill ``out`` with rows of slices ``start`` to ``stop``."""
        for i in range(start, stop):
            with self._lock:
                self._decoded(i).read(0, 1, rows, out[i - start : i - start + 1])

    def _decoded(self, i: int) -> Jp2Slice:
        if i != self._number:
            # One at a time.
            self._slice.close()
            self._number = -1
            found = Jp2Slice(self._files[i])
            if (found.shape[1:], found.dtype) != (self.shape[1:], self.dtype):
                got, want = (
                    f"{dtype} {shape[0]} x {shape[1]}"
                    for dtype, shape in ((found.dtype, found.shape[1:]), (self.dtype, self.shape[1:]))
                )
                raise FormatError(self._files[i], f"is {got}, {self._files[0].name} is {want}")
            self._number, self._slice = i, found
        return self._slice

    def said(self) -> dict[str, Any]:
        """How the volume was made, where the first file says so."""
        for kind, data in _boxes(self._files[0]):
            found = re.search(r"<footprint>(.*)</footprint>", data.decode("utf-8", "replace"), re.S) if kind == b"xml " else None
            if found:
                with suppress(ValueError):
                    said = json.loads(html.unescape(found[1]))
                    return said if isinstance(said, dict) else {}
        return {}

    def close(self) -> None:
        """Let the slice go."""
        self._kept = None
        self._slice.close()


def _boxes(path: Path) -> Iterator[tuple[bytes, bytes]]:
    """Kinds of a file's boxes, and what is in them, the start of it where it is long."""
    with open(path, "rb") as file:
        at, end = 0, os.fstat(file.fileno()).st_size
        while at + 8 <= end:
            file.seek(at)
            head = file.read(16)
            size, skip = int.from_bytes(head[:4], "big"), 8
            if size == 1:
                size, skip = int.from_bytes(head[8:], "big"), 16
            # The last box may say 0: to the end.
            stop = at + size if size >= skip else end
            file.seek(at + skip)
            yield head[4:8], file.read(min(stop - at - skip, _SAID))
            at = stop
