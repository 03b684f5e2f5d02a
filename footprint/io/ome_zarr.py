"""OME-Zarr 0.4 (Zarr 2), uncompressed: a folder of plain files, so that writing it needs no library and holds nothing.

A slice is a chunk, or several of whole rows where it is large; its file is laid out when it is first written.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from footprint.errors import FormatError
from footprint.io.about import plain_table
from footprint.io.raw import RawFrames, writing_bytes

# Bytes of a chunk at most, but for a row: viewers read chunks whole.
_CHUNK = 64 << 20
_PARTS = (".zgroup", ".zattrs", "0/")


def is_part(name: str) -> bool:
    """Whether something in the folder may be ours."""
    return name in _PARTS


def check_ours(path: str | os.PathLike[str]) -> None:
    """Raise FormatError where a folder of that name holds something that no run of ours wrote."""
    about = Path(path) / ".zattrs"
    if not Path(path).is_dir() or not any(Path(path).iterdir()):
        return
    try:
        known = "footprint" in json.loads(about.read_text("utf-8"))
    except (OSError, ValueError, TypeError):
        known = False
    if not known:
        raise FormatError(path, "is a folder that no earlier run wrote: it is not replaced", "choose another name")


class ZarrSlices:
    """A volume's slices, written in any order.

    Parameters
    ----------
    folder
        Empty, or what a stopped run has left.
    shape, dtype
        ``(n_z, n_y, n_x)``.
    about
        How it was made; a ``pixel_size`` in centimetres is the scale, too.
    """

    def __init__(self, folder: Path, shape: tuple[int, int, int], dtype: np.dtype, about: Mapping[str, Any]) -> None:
        self._folder, self._shape, self._dtype = folder, shape, dtype.newbyteorder("=")
        row = max(1, shape[2] * dtype.itemsize)
        self._tall = min(shape[1], max(1, _CHUNK // row))
        self._waiting: set[Path] = set()
        array = {
            "zarr_format": 2,
            "shape": list(shape),
            "chunks": [1, self._tall, shape[2]],
            "dtype": self._dtype.str,
            "compressor": None,
            "fill_value": 0,
            "order": "C",
            "filters": None,
            "dimension_separator": "/",
        }
        (folder / "0").mkdir(exist_ok=True)
        _write(folder / ".zgroup", {"zarr_format": 2})
        _write(folder / ".zattrs", {"multiscales": [_scales(about)], "footprint": plain_table(about)})
        _write(folder / "0" / ".zarray", array)

    def writing_bytes(self, dtype: Any) -> int:
        """Bytes that `write` holds beside C-contiguous arrays of ``dtype``."""
        return writing_bytes(self._dtype, self._shape[1] * self._shape[2] * self._dtype.itemsize, dtype)

    def write(self, start: int, rows: slice, array: np.ndarray) -> None:
        """Write ``array`` ``(n, n_rows, n_x)`` at slice ``start`` and ``rows`` of each."""
        for z, image in enumerate(array, start):
            for chunk, own, part in self._parts(rows):
                file = self._open(z, chunk)
                try:
                    file.write(0, own, image[None, part])
                finally:
                    file.close()

    def _parts(self, rows: slice) -> Iterator[tuple[int, slice, slice]]:
        """Chunks that rows lie in: which of a chunk's rows, and which of those given."""
        for chunk in range(rows.start // self._tall, -(-rows.stop // self._tall)):
            first = chunk * self._tall
            a, b = max(rows.start, first), min(rows.stop, first + self._tall)
            yield chunk, slice(a - first, b - first), slice(a - rows.start, b - rows.start)

    def _open(self, z: int, chunk: int) -> RawFrames:
        """A chunk's file; all chunks are of one size, what is beyond the slice is zeros."""
        name = self._folder / "0" / str(z) / str(chunk) / "0"
        size = self._tall * self._shape[2] * self._dtype.itemsize
        if not name.exists() or name.stat().st_size != size:
            name.parent.mkdir(parents=True, exist_ok=True)
            with open(name, "wb") as file:
                file.truncate(size)
        self._waiting.add(name)
        return RawFrames(name, 0, (1, self._tall, self._shape[2]), self._dtype, writable=True)

    def sync(self) -> None:
        """Wait until what was written is on the disk."""
        while self._waiting:
            with open(self._waiting.pop(), "rb+") as file:
                os.fsync(file.fileno())

    def close(self) -> None:
        """Nothing is held open between writes."""


def _write(path: Path, content: Mapping[str, Any]) -> None:
    path.write_text(json.dumps(content, indent=1), "utf-8")


def _scales(about: Mapping[str, Any]) -> dict[str, Any]:
    """The one level of resolution: axes, and pixels where their size is known."""
    size = about.get("pixel_size")
    known = isinstance(size, int | float) and size > 0
    unit = {"unit": "centimeter"} if known else {}
    scale = {"type": "scale", "scale": [float(size) if known else 1.0] * 3}  # type: ignore[arg-type]
    return {
        "version": "0.4",
        "name": str(about.get("sample", "volume")),
        "axes": [{"name": name, "type": "space", **unit} for name in "zyx"],
        "datasets": [{"path": "0", "coordinateTransformations": [scale]}],
    }
