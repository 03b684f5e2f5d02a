"""Images on disk with one face: FITS, TIFF, HDF5, NumPy and Zarr, read and written by rows."""

from __future__ import annotations

import math
import os
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np

from footprint.api._axes import plane_header
from footprint.api._header import Beam, beam_of, celestial, pixel_area, unit_of
from footprint.errors import ArgumentError, FormatError
from footprint.io.beams import own_beam
from footprint.io.formats import Planes, format_of, is_stored
from footprint.io.frames import Frames, check_out, existing_file, reading, row_range
from footprint.io.image_writer import ImageWriter, check_image, create_image
from footprint.io.kinds import bracketed, called, checked
from footprint.io.picture import is_picture
from footprint.io.raw import RawFrames
from footprint.io.scale import Scale
from footprint.units import format_bytes

_OTHER_PICTURES = (".bmp", ".gif", ".webp", ".heic", ".avif", ".ppm", ".pgm")

__all__ = ["Beam", "Image", "ImageWriter", "check_image", "create_image", "open_image", "open_planes"]


class Image:
    """A two-dimensional image on disk; nothing but its description is in memory.

    Attributes
    ----------
    path
        The file.
    shape, dtype
        ``(n_y, n_x)`` and the dtype in native byte order, after scaling.
    header
        astropy's FITS header, None for other formats; of a plane of a cube, it says where along the cube's axes the plane lies, and
        has the beam of its channel where each has its own (CASA's table of BEAMS).
    file_header
        The same as it is in the file.
    plane
        Which plane of a cube this is, counted over all leading axes.
    """

    def __init__(self, path: str, frames: Frames, plane: int, header: Any = None, lead: tuple[int, ...] = ()) -> None:
        self.path, self.header, self.file_header, self.plane, self._frames = path, header, header, plane, frames
        if header is not None:
            place = [int(at) for at in np.unravel_index(plane, lead)] if lead else []
            with_beam = own_beam(header, path, place) if "CASAMBM" in header else header
            self.header = plane_header(with_beam, place) if lead else with_beam
        self.shape: tuple[int, int] = (frames.shape[1], frames.shape[2])
        self.dtype = np.dtype(frames.dtype)

    def __repr__(self) -> str:
        return f"<Image {self.path}: {self.shape[0]} x {self.shape[1]} {self.dtype}>"

    def read(self, rows: slice, out: np.ndarray) -> None:
        """Fill ``out`` ``(n_rows, n_x)`` with rows of the image, cast to its dtype and byte-swapped.

        Parameters
        ----------
        rows
            Rows from 0, the first in the file.
        out
            Floating-point, bool, or of a dtype that holds the image's; where it is contiguous and of the image's nothing is staged.

        Raises
        ------
        ShapeError
            ``out`` has another shape, or integers that do not hold the image's numbers.
        FormatError
            The file is damaged.
        """
        r0, r1 = row_range(rows, self.shape[0])
        check_out(out, (r1 - r0, self.shape[1]), self.dtype)
        self._frames.read(self.plane, self.plane + 1, slice(r0, r1), out[None])

    def array(self) -> np.ndarray:
        """Return the whole image, new, in `dtype`."""
        return self._whole(self.dtype)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        """The same for NumPy, in the dtype it asks for; ArgumentError for ``copy=False``, as it is in a file."""
        if copy is False:
            raise ArgumentError("copy", copy, "None or True, as the image is in a file")
        return self._whole(self.dtype if dtype is None else np.dtype(dtype))

    def _whole(self, dtype: np.dtype) -> np.ndarray:
        try:
            out = np.empty(self.shape, dtype)
        except (MemoryError, ValueError) as error:
            nbytes = format_bytes(self.shape[0] * self.shape[1] * dtype.itemsize)
            problem = f"holds {self.shape[0]} x {self.shape[1]} pixels, {nbytes}, which do not fit into memory at once"
            raise FormatError(self.path, problem, "give a smaller one") from error
        self.read(slice(0, self.shape[0]), out)
        return out

    def host_bytes(self, n_rows: int, dtype: Any = None) -> int:
        """Bytes that `read` of ``n_rows`` rows holds beside ``out``, a bound; ``dtype`` is that of a contiguous ``out``."""
        held = self._frames.host_bytes(n_rows, dtype)
        if isinstance(self._frames, RawFrames) and not self._frames.inflated:
            # One frame is read at a time, so a few rows never fill the piece that many frames would.
            return min(held, n_rows * self._frames.row_bytes)
        return held

    def load(self, most: int) -> None:
        """Read a row for nobody: the library that decodes a file takes memory of its own at its first; see `FrameSource`.

        Nothing of it is kept, and nothing is read where that would take more than ``most`` bytes.
        """
        frames = getattr(self._frames, "once", self._frames)
        if frames.host_bytes(1, self.dtype) <= most:
            frames.read(self.plane, self.plane + 1, slice(0, 1), np.empty((1, 1, self.shape[1]), self.dtype))
            if hasattr(frames, "forget"):
                frames.forget()

    def decoding(self, n_rows: int) -> float:
        """Seconds that decompressing ``n_rows`` rows takes; 0 where the file is not compressed."""
        seconds = getattr(self._frames, "decoding", None)
        return float(seconds(1, n_rows)) if seconds else 0.0

    @property
    def known(self) -> tuple[Any, ...] | None:
        """All that `host_bytes` goes by, so that a plan does for every such image; None where more decides."""
        frames = self._frames
        plain = type(frames) is RawFrames and not frames.inflated
        return (frames.shape, frames.dtype.str, frames.row_bytes) if plain else None  # type: ignore[attr-defined]

    def lean(self) -> bool:
        """Hold nothing of a compressed file from now on, but decompress what is asked for; False where that is so already."""
        lean = getattr(self._frames, "lean", None)
        return lean is not None and bool(lean())

    @property
    def indexed(self) -> bool:
        """Whether its numbers are shown in colours of a palette."""
        return bool(getattr(self._frames, "indexed", False))

    @property
    def inverted(self) -> bool:
        """Whether 0 is white in it, as some TIFF files have it; its numbers are as they are stored."""
        return bool(getattr(self._frames, "inverted", False))

    @property
    def scale(self) -> Scale | None:
        """Sizes of pixels by what TIFF (its tags, ImageJ, OME) or OME-Zarr says; None where nothing is said."""
        return getattr(self._frames, "scale", None)

    @property
    def unit(self) -> str:
        """``BUNIT`` as written, empty where there is none."""
        return "" if self.header is None else unit_of(self.header)

    @cached_property
    def wcs(self) -> Any:
        """The celestial part of the header's astropy WCS, None where there is none or it makes no sense."""
        return None if self.header is None else celestial(self.header)[0]

    @cached_property
    def beam(self) -> Beam | None:
        """The restoring beam of ``BMAJ BMIN BPA``, or of the last AIPS CLEAN line of the history; None where there is none."""
        return None if self.header is None else beam_of(self.header, pixel_area(self.wcs))

    def close(self) -> None:
        """Close the file."""
        self._frames.close()

    def __enter__(self) -> Image:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()


def open_image(
    path: str | os.PathLike[str], plane: int | tuple[int, ...] | None = None, extension: int | str | None = None
) -> Image:
    """Open an image: FITS (gzipped or tile-compressed too), TIFF, HDF5 dataset, ``.npy`` or Zarr; recognised by content.

    Parameters
    ----------
    path
        The file; ``FILE.h5:/DATASET`` names a dataset, ``FILE.fits[SCI]`` an extension. For Zarr, the folder of an array, or of an
        OME-Zarr group, whose finest level is taken.
    plane
        Which plane of a cube: a number, or one for each axis longer than 1 before the last two. Axes of length 1 need none; a
        single number where there are several axes counts the planes of all, in the file's order.
    extension
        Number or name of a FITS extension, or its name and version, ``SCI,2``; the first with an image by default.

    Returns
    -------
    Image
        A context manager; close it, or use it in a ``with`` block.

    Raises
    ------
    FormatError
        Missing, damaged or unknown file, no image in it, or a cube and no ``plane``.
    ArgumentError
        ``plane`` outside the cube.

    Examples
    --------
    >>> import tempfile, os, numpy as np
    >>> import footprint as fp
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     np.save(os.path.join(folder, "a.npy"), np.arange(12.0).reshape(3, 4))
    ...     with fp.open_image(os.path.join(folder, "a.npy")) as image:
    ...         row = np.empty((1, 4), np.float32)
    ...         image.read(slice(2, 3), row)
    >>> row
    array([[ 8.,  9., 10., 11.]], dtype=float32)
    """
    name, frames, shape, header = open_planes(path, extension)
    try:
        return Image(name, frames, _plane_number(name, shape, plane), header, shape[:-2])
    except BaseException:
        frames.close()
        raise


def open_planes(path: str | os.PathLike[str], extension: int | str | None = None) -> tuple[str, Frames, tuple[int, ...], Any]:
    """Open a file of images as `open_image` does: its name, planes, shape without axes of length 1 in front, and header."""
    name, dataset = checked(path), ""
    plain, word = bracketed(path)
    if word is not None and extension is None:
        name, extension = plain, word
    elif not Path(name).exists() and ":/" in name:
        name, _, dataset = name.rpartition(":")
    if not is_stored(name):
        existing_file(name, "an image")
    frames, shape, header = _open_planes(name, dataset, extension)
    if len(shape) < 2 or min(shape) < 1:
        frames.close()
        if len(shape) < 2:
            raise FormatError(path, f"holds no image (shape {shape}), wanted (n_y, n_x)")
        raise FormatError(path, f"holds an empty image (shape {shape}), wanted one that has pixels")
    return name, frames, shape, header


def _open_planes(path: str, dataset: str, extension: int | str | None) -> Planes:
    """The planes of a file, by the table of formats."""
    with reading(path):
        kind = format_of(path)
        if kind is not None and kind.planes is not None:
            kind.check_part(path, dataset, extension)
            return kind.planes(path, dataset, extension)
    fix = "read a picture with Pillow or OpenCV; footprint convolve and footprint filter take it" if is_picture(path) else ""
    promised = called(path, "png", "jpeg")
    if promised and not fix:
        raise FormatError(path, f"is not a {promised.upper()} file, although its name says so", "save the picture as PNG")
    if path.lower().endswith(_OTHER_PICTURES):
        fix = "save the picture as PNG, which footprint convolve and footprint filter take"
    raise FormatError(path, "is not a FITS, TIFF, HDF5, NumPy or Zarr image", fix)


def _plane_number(path: str, shape: tuple[int, ...], plane: int | tuple[int, ...] | None) -> int:
    lead = shape[:-2]
    if plane is None:
        if lead:
            wanted = f"0 to {math.prod(lead) - 1}"
            if len(lead) > 1:
                wanted += f", counted over {' x '.join(map(str, lead))} planes"
            raise FormatError(path, f"holds a cube of shape {shape}, not one image", f"give plane={wanted} (--plane)")
        return 0
    if isinstance(plane, int | np.integer) and len(lead) > 1 and 0 <= plane < math.prod(lead):
        # As the planes of a file are numbered where all of them are taken.
        return int(plane)
    chosen = plane if isinstance(plane, tuple) else (plane,)
    if not all(isinstance(p, int | np.integer) for p in chosen):
        raise ArgumentError("plane", repr(plane), "a whole number, or a tuple of one for each axis before the last two")
    if not lead and set(chosen) <= {0}:
        return 0
    if len(chosen) != len(lead) or any(not 0 <= p < n for p, n in zip(chosen, lead)):
        wanted = ", ".join(f"0 to {n - 1}" for n in lead) or "0"
        if len(lead) > 1 and not isinstance(plane, tuple):
            wanted = f"0 to {math.prod(lead) - 1}, or one of each of {wanted},"
        got = ",".join(map(str, plane)) if isinstance(plane, tuple) else plane
        raise ArgumentError("plane", got, f"{wanted} for the shape {shape}")
    return int(np.ravel_multi_index(chosen, lead))
