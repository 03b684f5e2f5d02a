"""Volumes as folders of a file a slice: what the files are called, and how they are written."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from footprint.errors import FormatError
from footprint.io.durable import durable
from footprint.io.raw import RawFrames, writing_bytes

_SLICE = re.compile(r"(slice_\d{5,}|center_-?\d+(\.\d+)?)\.(tif|jp2)")


def is_slice(name: str) -> bool:
    """Whether a file of a folder is called as ours are."""
    return _SLICE.fullmatch(name) is not None


@dataclass(frozen=True)
class Along:
    """What slices differ by where they are not rows of the detector: a name, and for every slice its value as it is written.

    Attributes
    ----------
    name
        Of small letters, such as ``center``.
    words
        The values as decimal numbers, all different.
    """

    name: str
    words: tuple[str, ...]

    @property
    def values(self) -> list[float]:
        """The values."""
        return [float(word) for word in self.words]

    def files(self, suffix: str = ".tif") -> list[str]:
        """Names of the files of a folder, in the order of the values: ``center_0290.50.tif``."""
        return [stem + suffix for stem in _along_stems(self)]


@cache
def _along_stems(along: Along) -> tuple[str, ...]:
    whole = max(len(word.partition(".")[0]) for word in along.words)
    after = max(len(word.partition(".")[2]) for word in along.words)
    wide = whole + (after + 1 if after else 0)
    return tuple(f"{along.name}_{float(word):0{wide}.{after}f}" for word in along.words)


def slice_name(row: int, suffix: str = ".tif") -> str:
    """Name of the file of a slice."""
    return f"slice_{row:05d}{suffix}"


def bytes_of(files: Iterable[Path]) -> int | None:
    """Bytes of all of some files; None where one is not there."""
    try:
        return sum(file.stat().st_size for file in files)
    except (FileNotFoundError, NotADirectoryError):
        return None


class SliceFolder:
    """Files of a folder, one a slice: how they are called, what each says of itself, and which are not yet on the disk."""

    suffix = ".tif"

    def __init__(
        self,
        folder: Path,
        shape: tuple[int, int, int],
        dtype: np.dtype,
        about: Mapping[str, Any],
        first: int,
        along: Along | None,
        each: Mapping[str, Sequence[float]],
    ) -> None:
        self._folder, self._shape, self._dtype, self._about = folder, shape, dtype, about
        self._first, self._along, self._each = first, along, each
        self._waiting: set[str] = set()

    def name(self, i: int) -> str:
        """Of the file of slice ``i``."""
        if self._along is None:
            return slice_name(self._first + i, self.suffix)
        return _along_stems(self._along)[i] + self.suffix

    def own(self, i: int) -> dict[str, Any]:
        """What slice ``i`` says beside what all do."""
        where = {"row": self._first + i} if self._along is None else {self._along.name: self._along.values[i]}
        return where | {what: values[i] for what, values in self._each.items()}

    def kept(self, start: int, stop: int, rows: slice) -> int | None:
        """Bytes of the files of slices ``start`` to ``stop``, whichever rows of them; None where one is not there."""
        return bytes_of(self._folder / self.name(i) for i in range(start, stop))

    def saying(self) -> list[Path]:
        """The files that say how the volume was made, all of them; `sync` then waits for them."""
        names = [self.name(i) for i in range(self._shape[0])]
        self._waiting.update(names)
        return [self._folder / name for name in names]

    def sync(self) -> None:
        """Wait until what was written is on the disk."""
        files, self._waiting = [self._folder / name for name in self._waiting], set()
        durable(files)

    def close(self) -> None:
        """Nothing is held open between writes."""


class TiffFolder(SliceFolder):
    """One TIFF per slice, each laid out when it is first written."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self._offset: dict[int, int] = {}

    def writing_bytes(self, dtype: Any) -> int:
        """Bytes that `write` holds beside C-contiguous arrays of ``dtype``."""
        return writing_bytes(self._dtype, self._shape[1:], dtype)

    def write(self, start: int, rows: slice, array: np.ndarray) -> None:
        """Write ``array`` ``(n, n_rows, n_x)`` at slice ``start`` and ``rows`` of each."""
        from footprint.io import tiff

        for i, image in enumerate(array, start):
            name = self._folder / self.name(i)
            at = self._offset.get(i) or self._begun(name)
            if at:
                file = RawFrames(name, at, (1, *self._shape[1:]), self._dtype, writable=True)
            else:
                file = tiff.create(name, self._shape[1:], self._dtype, {**self._about, **self.own(i)})
            self._offset[i] = file.offset
            self._waiting.add(name.name)
            try:
                file.write(0, rows, image[None])
            finally:
                file.close()

    def _begun(self, name: Path) -> int:
        """Where the pixels of a slice begin that a stopped run has left with some of its rows; 0 where it left none."""
        from footprint.io.tiff import TiffFile

        if not name.exists():
            return 0
        with suppress(FormatError), closing(TiffFile(name)) as file:
            if file.raw is not None and (file.shape, file.dtype) == ((1, *self._shape[1:]), self._dtype):
                return file.raw.offset
        return 0
