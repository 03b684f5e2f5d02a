"""Which format a file is of, told by what it begins with, and what each format can give: the one table of readers.

What a name promises, and first bytes, are in ``kinds.py``. Libraries are imported when a file is theirs.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from footprint.api._axes import kept_axes
from footprint.errors import FormatError, ShapeError
from footprint.io.frames import Frames
from footprint.io.inflated import first_bytes, is_gzip
from footprint.io.kinds import begins


class Planes(NamedTuple):
    """Images in a file: all planes, the array's shape without axes of length 1 in front, and astropy's FITS header if any."""

    frames: Frames
    shape: tuple[int, ...]
    header: Any = None


class Format(NamedTuple):
    """A format of files, or of folders, and who reads it.

    Attributes
    ----------
    name
        What errors call it.
    begins
        Whether a file or folder begins as this format does.
    planes
        Opens the images of a path: ``planes(path, dataset, extension)``; None where it has none.
    frames
        Opens a path as a stack of frames, ``frames(path, dataset)``; None where it is no stack.
    volume
        Which of the two makes a volume of it.
    folder
        Whether it is a folder.
    parts
        How a part of a file is named: "dataset" as ``FILE:/NAME``, "extension" as ``FILE[NAME]``, "" where none can be.
    """

    name: str
    begins: Callable[[str], bool]
    planes: Callable[[str, str, int | str | None], Planes] | None
    frames: Callable[[str, str], Frames] | None
    volume: str
    folder: bool = False
    parts: str = ""

    def check_part(self, path: str, dataset: str, extension: int | str | None) -> None:
        """Raise where a name asks for a part that files of this format do not have, and would get another."""
        for word, part in (("dataset", dataset), ("extension", extension)):
            if part in ("", None) or word == self.parts:
                continue
            named = {"dataset": f'a dataset is named "{path}:/NAME"', "extension": f'an extension is named "{path}[NAME]"'}
            fix = named.get(self.parts, "give the file's name alone, and --plane (plane=) for one image of several")
            raise FormatError(path, f"is {self.name}, which has no {word} {part}", fix)


def format_of(path: str | os.PathLike[str]) -> Format | None:
    """The format of a file or folder that exists; None for one that is not known."""
    name, folder = os.fspath(path), Path(path).is_dir()
    return next((one for one in FORMATS if one.folder == folder and one.begins(name)), None)


def is_stored(path: str | os.PathLike[str]) -> bool:
    """Whether a folder is one image, or one array of them, and no folder of files."""
    return Path(path).is_dir() and _is_zarr(os.fspath(path))


def _npy_planes(path: str, dataset: str, extension: int | str | None) -> Planes:
    from footprint.io import npy

    shape, dtype, offset = npy.header(path)
    if len(shape) < 2:
        raise FormatError(path, f"holds an array of shape {shape}, wanted an image (n_y, n_x)")
    return Planes(npy.RawFrames(path, offset, _stacked(shape), dtype), _useful(shape))


def _npy_frames(path: str, dataset: str) -> Frames:
    from footprint.io.npy import open_frames

    return open_frames(path)


def _tiff_planes(path: str, dataset: str, extension: int | str | None) -> Planes:
    from footprint.io.tiff import TiffFile

    pages = TiffFile(path, several=True)
    return Planes(pages, _useful(pages.whole, last=pages.whole[-2:]))


def _tiff_frames(path: str, dataset: str) -> Frames:
    from footprint.io.tiff import TiffFile

    return TiffFile(path, planes=True)


def _jp2_frames(path: str, dataset: str) -> Frames:
    from footprint.io.jp2 import Jp2Files

    return Jp2Files(path, [Path(path)])


def _is_fits(path: str) -> bool:
    if is_gzip(path):
        return first_bytes(path, 6) == b"SIMPLE"
    return begins(path, "fits")


def _fits_planes(path: str, dataset: str, extension: int | str | None) -> Planes:
    from footprint.io.fits import open_planes

    frames, shape, header = open_planes(path, extension, _stacked)
    return Planes(frames, _useful(shape), header)


def _is_hdf5(path: str) -> bool:
    from footprint.io.hdf5 import is_hdf5

    return is_hdf5(path)


def _hdf5_planes(path: str, dataset: str, extension: int | str | None) -> Planes:
    from footprint.io import hdf5, stacks

    found = hdf5.open_dataset(path, dataset or None)
    return Planes(stacks.Hdf5Frames(path, found, planes=True), _useful(found.shape, last=found.shape[-2:]))


def _hdf5_frames(path: str, dataset: str) -> Frames:
    from footprint.io import hdf5, stacks

    found = hdf5.open_dataset(path, dataset or None)
    try:
        return stacks.Hdf5Frames(path, found)
    except BaseException:
        found.file.close()
        raise


def _is_zarr(path: str) -> bool:
    from footprint.io.zarr_frames import is_zarr

    return is_zarr(path)


def _zarr_planes(path: str, dataset: str, extension: int | str | None) -> Planes:
    frames = _zarr(path, dataset)
    return Planes(frames, _useful(frames.whole, last=frames.whole[-2:]))


def _zarr(path: str, dataset: str) -> Any:
    from footprint.io.zarr_frames import ZarrFrames

    folder = Path(path, dataset.strip("/"))
    if dataset and not is_stored(folder):
        raise FormatError(path, f"holds no array {dataset}", "give the name of one in it")
    return ZarrFrames(folder)


def _zarr_frames(path: str, dataset: str) -> Frames:
    return _zarr(path, dataset)


# Asked in this order: those that need no library are told first.
FORMATS = (
    # A volume of one row is no image: its axes of length 1 count.
    Format("NumPy", lambda path: begins(path, "npy"), _npy_planes, _npy_frames, "frames"),
    Format("TIFF", lambda path: begins(path, "tiff"), _tiff_planes, _tiff_frames, "planes"),
    Format("JPEG 2000", lambda path: begins(path, "jp2"), None, _jp2_frames, "frames"),
    Format("FITS", _is_fits, _fits_planes, None, "planes", parts="extension"),
    Format("HDF5", _is_hdf5, _hdf5_planes, _hdf5_frames, "planes", parts="dataset"),
    Format("Zarr", _is_zarr, _zarr_planes, _zarr_frames, "frames", folder=True, parts="dataset"),
)


def _useful(shape: tuple[int, ...], last: tuple[int, ...] | None = None) -> tuple[int, ...]:
    """Drop axes of length 1, leading ones first, until two are left; ``last`` axes stay whatever their length."""
    return tuple(shape[axis] for axis in kept_axes(shape, 0 if last is None else 2))


def _stacked(shape: tuple[int, ...]) -> tuple[int, int, int]:
    """Of all planes, the leading axes as one."""
    useful = _useful(shape)
    if len(useful) < 2:
        raise ShapeError("image", f"shape {shape}", "(n_y, n_x)")
    return math.prod(useful[:-2]), useful[-2], useful[-1]
