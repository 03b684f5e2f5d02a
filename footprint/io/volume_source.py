"""Volumes of every format as stacks of slices, with what their files say about them."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from footprint.errors import FormatError, printable
from footprint.io.formats import format_of
from footprint.io.frames import Frames
from footprint.io.kinds import called
from footprint.units import format_bytes

# What is said of a volume: so many lines of so many letters.
_LINES, _LETTERS = 400, 600


@dataclass
class VolumeSource:
    """A volume in a file or a folder.

    Attributes
    ----------
    path
        What the user named.
    frames
        Its slices.
    about
        Names and what they say, in the file's order.
    """

    path: str
    frames: Frames
    about: list[tuple[str, str]]

    def close(self) -> None:
        """Close the file."""
        self.frames.close()


def open_volume(path: str | os.PathLike[str]) -> VolumeSource:
    """Open a volume, or an image as a volume of one slice, by content.

    Parameters
    ----------
    path
        HDF5 (``FILE.h5:/DATASET`` where it holds several arrays), TIFF, JPEG 2000, a folder of slices in one of these or their
        names with ``*``, OME-Zarr, ``.npy`` or FITS (``FILE.fits[SCI]``).

    Raises
    ------
    FormatError
        Missing, damaged or unknown, or without an array of real numbers.
    ExtraError
        Compressed OME-Zarr, and its library is not installed.
    """
    text = os.fspath(path)
    frames, said = _open(text)
    n_z, n_y, n_x = frames.shape
    stored = np.dtype(frames.dtype)
    facts = [
        ("file", text),
        ("shape", f"{n_z} x {n_y} x {n_x}" if n_z > 1 else f"{n_y} x {n_x}"),
        ("dtype", stored.name),
        ("size", format_bytes(n_z * n_y * n_x * stored.itemsize)),
    ]
    return VolumeSource(text, frames, [*facts, *_short(said)])


def _open(path: str) -> tuple[Frames, Iterator[tuple[str, Any]]]:
    from footprint.io.image import open_planes
    from footprint.io.stack import open_frames

    there, folder = Path(path).exists(), Path(path).is_dir()
    kind = format_of(path) if folder or (there and Path(path).stat().st_size) else None
    if folder and called(path, "zarr") and kind is None:
        raise FormatError(path, "is a folder without a description of Zarr (.zgroup, .zarray or zarr.json)")
    slices = folder or (not there and any(c in path for c in "*?"))
    if slices or (kind is not None and kind.volume == "frames"):
        frames = open_frames(path, "a volume")
        return frames, _tags(frames)
    _, frames, _, header = open_planes(path)
    if header is not None:
        return frames, ((card.keyword, card.value) for card in header.cards if card.keyword)
    return frames, _tags(frames)


def _tags(frames: Any) -> Iterator[tuple[str, Any]]:
    """What a file says beside its numbers, where its format has words."""
    from footprint.io import jp2, stacks, tiff, zarr_frames

    if isinstance(frames, zarr_frames.ZarrFrames):
        yield from _branches(frames.about)
    elif isinstance(frames, jp2.Jp2Files):
        yield from _branches(frames.said())
    elif isinstance(frames, stacks.Hdf5Frames):
        yield from frames.attributes()
    elif isinstance(frames, tiff.TiffFile | tiff.TiffFiles):
        for name, value in frames.tags():
            try:
                said = json.loads(value) if isinstance(value, str) and value.startswith("{") else None
            except ValueError:
                said = None
            if isinstance(said, dict):
                yield from _branches(said)
            else:
                yield name, value


def _branches(table: dict[str, Any], under: str = "") -> Iterator[tuple[str, Any]]:
    """Tables in tables as names with dots."""
    for name, value in table.items():
        if isinstance(value, dict):
            yield from _branches(value, f"{under}{name}.")
        else:
            yield f"{under}{name}", value


def _short(said: Iterable[tuple[str, Any]]) -> Iterator[tuple[str, str]]:
    """As text that can be shown, however much there is."""
    for number, (name, value) in enumerate(said):
        if number == _LINES:
            yield "...", f"more than {_LINES} entries"
            return
        text = value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
        yield printable(str(name)[:_LETTERS]), printable(text if len(text) <= _LETTERS else text[:_LETTERS] + " ...")
