"""Images written by rows: FITS, TIFF, HDF5, NumPy and Zarr, which get their name when they are finished."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np

from footprint.errors import ArgumentError, ShapeError
from footprint.io import raw
from footprint.io.frames import described
from footprint.io.kinds import called, suffixes
from footprint.io.ome_zarr import ZarrSlices, check_ours, is_part
from footprint.io.output import Output, check_output, writing
from footprint.io.scale import check_ome, is_ome
from footprint.io.told import attributes
from footprint.io.volume import VolumeWriter


class ImageWriter:
    """An image being written; it gets its name when the ``with`` block ends without an error and every row is there.

    Attributes
    ----------
    path, shape, dtype
        The target, ``(n_y, n_x)``, and the dtype asked for.
    """

    def __init__(self, volume: VolumeWriter) -> None:
        self._volume = volume
        self.path, self.shape, self.dtype = volume.path, volume.shape[1:], volume.dtype

    def host_bytes(self, dtype: Any) -> int:
        """Bytes that `write` holds beside C-contiguous arrays of ``dtype``: for plans that count what they write to."""
        return self._volume.host_bytes(dtype)

    def write(self, rows: slice, array: np.ndarray) -> None:
        """Write rows, in any order; ShapeError where ``array`` ``(n_rows, n_x)`` does not fit, FormatError where the disk fails."""
        if array.ndim != 2:
            self._volume.discard()
            raise ShapeError("array", f"shape {array.shape}", f"rows (n_rows, {self.shape[1]})")
        self._volume.write((slice(0, 1), rows), array[None])

    def close(self) -> None:
        """Finish: everything goes to the disk, then the image gets its name."""
        self._volume.close()

    def discard(self) -> None:
        """Give up: remove what was written."""
        self._volume.discard()

    def __enter__(self) -> ImageWriter:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._volume.__exit__(kind, error, trace)


def image_kind(path: str | os.PathLike[str]) -> str:
    """Return ``fits``, ``tiff``, ``npy``, ``hdf5`` or ``zarr``, by the suffix."""
    kinds = ("fits", "tiff", "npy", "hdf5", "nexus", "zarr")
    kind = called(path, *kinds)
    if kind is None:
        fix = "a PNG or JPEG can be made only of a PNG, a JPEG or a TIFF in colour" if called(path, "png", "jpeg") else ""
        raise ArgumentError("output", repr(str(path)), f"a name ending in one of {', '.join(suffixes(*kinds))}", fix)
    return "hdf5" if kind == "nexus" else kind


def check_image(path: str | os.PathLike[str], overwrite: bool = False) -> None:
    """Raise FormatError or ArgumentError when `create_image` would; writes nothing."""
    folder = image_kind(path) == "zarr"
    if folder:
        check_ours(path)
    check_output(path, overwrite, 0, folder, is_part)


def writing_bytes(path: str | os.PathLike[str], shape: tuple[int, ...], dtype: Any, given: Any = None) -> int:
    """Bytes that writing an image or a stack to ``path`` will hold beside blocks of dtype ``given`` (its own); creates nothing."""
    stored, given = _stored(dtype), np.dtype(dtype if given is None else given)
    if image_kind(path) != "fits":
        return raw.writing_bytes(stored, shape, given)
    from footprint.io import fits

    return fits.writing_bytes(shape, stored, given)


def _stored(dtype: Any) -> np.dtype:
    """What a file keeps of a dtype."""
    plain = np.dtype(dtype).newbyteorder("=")
    return np.dtype(np.uint8) if plain.kind == "b" else plain


def create_image(
    path: str | os.PathLike[str],
    shape: tuple[int, int],
    dtype: Any = "float32",
    overwrite: bool = False,
    header: Any = None,
    attrs: Mapping[str, Any] | None = None,
    like: Any = None,
) -> ImageWriter:
    """Create an image ``(n_y, n_x)`` to be written by rows.

    Parameters
    ----------
    path
        ``.fits .fit .fts``, ``.tif .tiff`` (``.ome.tif .ome.tiff`` with OME-XML), ``.npy``, HDF5 (``.h5 .hdf5 .hdf .nx .nxs``:
        ``entry/image/results/data``), or
        ``.zarr`` (OME-Zarr 0.4, of one slice).
    shape
        ``(n_y, n_x)``.
    dtype
        A real dtype or bool (stored as uint8); FITS stores float16 as float32 and unsigned integers by their BZERO.
    overwrite
        Replace an existing file.
    header
        astropy header whose cards a FITS output keeps, except those that describe the old pixels; and with them the axes of
        length 1 that its image has.
    attrs
        How it was made; HDF5 keeps it as attributes of ``entry/image``, Zarr as ``footprint``, FITS as HISTORY.
    like
        An open image with the same pixel size: its ``scale`` goes into TIFF and Zarr, and TIFF shows 0 as white where it does
        (``inverted``).

    Returns
    -------
    ImageWriter
        A context manager with ``write(rows, array)``.

    Raises
    ------
    FormatError
        The output exists, its folder is missing or read-only, or the disk is full.
    ArgumentError
        Unknown suffix, or a dtype that OME-TIFF lacks.

    Examples
    --------
    >>> import tempfile, os, numpy as np
    >>> import footprint as fp
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with fp.create_image(os.path.join(folder, "a.fits"), (3, 4)) as image:
    ...         image.write(slice(0, 3), np.ones((3, 4), np.float32))
    ...     os.listdir(folder)
    ['a.fits']
    """
    lengths, asked = described(shape, dtype, "(n_y, n_x)")
    return ImageWriter(_writer(path, lengths, asked, overwrite, header, attrs, like))


def create_stack(
    path: str | os.PathLike[str],
    shape: tuple[int, int, int],
    dtype: Any = "float32",
    overwrite: bool = False,
    header: Any = None,
    like: Any = None,
) -> VolumeWriter:
    """Create a stack of images ``(n_frames, n_y, n_x)``, written frame by frame: TIFF pages, a FITS cube, ``.npy``, HDF5, OME-Zarr.

    Parameters and errors are those of `create_image`.
    """
    lengths, asked = described(shape, dtype, "(n_frames, n_y, n_x)")
    return _writer(path, lengths, asked, overwrite, header, None, like)


def _writer(
    path: str | os.PathLike[str], shape: tuple[int, ...], asked: np.dtype, overwrite: bool, header: Any, attrs: Any, like: Any
) -> VolumeWriter:
    kind, stored = image_kind(path), _stored(asked)
    if min(shape) < 1:
        raise ShapeError("shape", shape, "at least one pixel")
    if stored.kind not in "iuf" or stored.itemsize > 8:
        raise ShapeError("dtype", stored, "a real number type of at most 64 bits")
    if kind == "zarr":
        check_ours(path)
    elif kind == "tiff":
        check_ome(path, stored)
    out = Output(path, overwrite, math.prod(shape) * stored.itemsize, kind == "zarr", is_part)
    try:
        with writing(path):
            sink = _create(kind, out.temporary, shape, stored, header, attributes(attrs), like, is_ome(path))
    except BaseException:
        out.discard()
        raise
    frames = (math.prod(shape[:-2]), shape[-2], shape[-1])
    return VolumeWriter(Path(path), frames, stored, out, sink)


def _create(
    kind: str, path: Path, shape: tuple[int, ...], dtype: np.dtype, header: Any, attrs: Mapping[str, Any], like: Any, ome: bool
) -> Any:
    scale = getattr(like, "scale", None)
    if kind == "fits":
        from footprint.io import fits

        return fits.create(path, shape, dtype, header, [f"footprint: {k} = {v}" for k, v in attrs.items() if v is not None])
    if kind == "tiff":
        from footprint.io import tiff

        return tiff.create(path, shape, dtype, None, scale, bool(getattr(like, "inverted", False)), ome)
    if kind == "npy":
        from footprint.io import npy

        return npy.create(path, shape, dtype)
    if kind == "zarr":
        slices, n_y, n_x = (1, *shape)[-3:]
        return ZarrSlices(path, (slices, n_y, n_x), dtype, attrs, scale=scale)
    from footprint.io import hdf5

    return hdf5.create_array(path, shape, dtype, attrs, "image")
