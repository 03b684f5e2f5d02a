"""How volumes are packed: which ways a format has, what is refused, and what packing holds in memory."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from footprint.errors import ArgumentError, choose
from footprint.io.hdf5_packed import chunk_bytes
from footprint.io.jp2 import check_codec, encoding_bytes
from footprint.io.kinds import called, suffixes
from footprint.io.ome_zarr import FORMATS, LEVELS, packing_bytes
from footprint.io.packed import COMPRESSIONS, check_compression

USUAL = {"compression": "none", "levels": 1, "zarr_format": 2, "image_format": "tif", "quality": None}
"""How volumes are packed unless it is said."""

_OF = {"levels": "zarr", "zarr_format": "zarr", "image_format": "folder", "quality": "folder"}
_CALLED = {"zarr": "a volume called .zarr", "folder": "a folder of slices, a name without suffix"}


def volume_kind(path: str | os.PathLike[str]) -> str:
    """Return ``hdf5``, ``tiff``, ``zarr`` or ``folder``, by the suffix; a name without one is a folder."""
    kinds = ("hdf5", "nexus", "tiff", "zarr")
    kind = called(path, *kinds)
    if kind is not None:
        return "hdf5" if kind == "nexus" else kind
    if Path(path).suffix and not Path(path).is_dir():
        wanted = ", ".join(suffixes(*kinds))
        raise ArgumentError("output", repr(str(path)), f"a name ending in one of {wanted}, or a folder's name without suffix")
    return "folder"


def check_packing(
    path: str | os.PathLike[str],
    compression: str = "none",
    levels: int = 1,
    zarr_format: int = 2,
    image_format: str = "tif",
    quality: float | None = None,
    dtype: Any = None,
) -> None:
    """Raise where a volume of that name, and dtype where it is known, cannot be packed so."""
    kind = volume_kind(path)
    every = [name for names in COMPRESSIONS.values() for name in names]
    if compression not in every:
        choose("compression", compression, COMPRESSIONS.get(kind) or list(dict.fromkeys(every)))
    if compression not in COMPRESSIONS.get(kind, ("none",)):
        zarr, hdf5 = (", ".join(COMPRESSIONS[one][1:]) for one in ("zarr", "hdf5"))
        wanted = f"{zarr} with a volume called .zarr, {hdf5} with .h5"
        raise ArgumentError("compression", repr(compression), wanted, f"{path} takes none of that name")
    check_compression(compression)
    if isinstance(levels, bool) or not isinstance(levels, int) or not 1 <= levels <= LEVELS:
        raise ArgumentError("levels", repr(levels), f"a whole number from 1 to {LEVELS}")
    if isinstance(zarr_format, bool) or not isinstance(zarr_format, int | np.integer) or zarr_format not in FORMATS:
        raise ArgumentError("zarr_format", repr(zarr_format), "2 (OME-Zarr 0.4) or 3 (OME-Zarr 0.5)")
    choose("image_format", image_format, ("tif", "jp2"))
    if quality is not None and not isinstance(quality, int | float):
        raise ArgumentError("quality", repr(quality), "a number of decibels")
    given = {"levels": levels, "zarr_format": zarr_format, "image_format": image_format, "quality": quality}
    for name, value in given.items():
        if value != USUAL[name] and kind != _OF[name]:
            raise ArgumentError(name, repr(value), f"it with {_CALLED[_OF[name]]}", f"{path} is none")
    if image_format == "jp2":
        check_codec()
        if dtype is not None and np.dtype(dtype) not in (np.uint8, np.uint16):
            fix = "cast them: --output-dtype uint16 (out_dtype=)"
            raise ArgumentError("image_format", "'jp2'", f"it with uint8 or uint16, not {np.dtype(dtype)}", fix)
    if quality is not None and (image_format != "jp2" or not isinstance(quality, int | float) or not 10 <= quality <= 200):
        raise ArgumentError("quality", repr(quality), "decibels from 10 to 200, with image_format jp2")


class Packed:
    """What packing the slices of a volume holds in memory, for plans made before there is one.

    Parameters
    ----------
    path
        The volume's name.
    shape
        ``(n_z, n_y, n_x)``.
    packing
        As `check_packing` takes it.
    """

    def __init__(self, path: str | os.PathLike[str], shape: tuple[int, ...], packing: Mapping[str, Any]) -> None:
        n_z, n_y, n_x = shape
        self._kind, self._shape, self._how = volume_kind(path), (n_z, n_y, n_x), {**USUAL, **packing}

    def host_bytes(self, dtype: Any) -> int:
        """Bytes beside arrays of ``dtype``."""
        if self._how["image_format"] == "jp2":
            return encoding_bytes(self._shape[1:], np.dtype(dtype))
        if self._kind == "hdf5":
            return chunk_bytes(self._shape, np.dtype(dtype), self._how["compression"])
        return packing_bytes(self._shape, np.dtype(dtype), self._how["compression"], self._how["levels"])
