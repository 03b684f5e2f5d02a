"""OME-Zarr 0.4 (Zarr 2) and 0.5 (Zarr 3): a folder of plain files, which need no library and no memory, or of compressed ones.

A slice is a chunk, or several of whole rows where it is large; its file is laid out when it is first written. Of what is
compressed a chunk is packed as soon as all its rows are given at once; rows that come apart wait in a plain file beside it until
the volume is closed. Coarser levels are made of the finer ones then, so that a run may stop and go on anywhere.
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
from footprint.io.durable import durable
from footprint.io.raw import RawFrames, writing_bytes
from footprint.io.scale import Scale
from footprint.io.slice_files import bytes_of
from footprint.io.zarr_chunks import chunk_file, lay_out, put_chunk, write_table
from footprint.io.zarr_levels import make_levels

# Bytes of a chunk at most, but for a row: viewers read chunks whole.
_CHUNK = 64 << 20
# The same where chunks are compressed or levels are made: a few are then in memory.
_PACKED = 2 << 20
_PARTS = (".zgroup", ".zattrs", "zarr.json")
_ROWS = ".rows"
LEVELS = 16
"""The most levels there may be."""
FORMATS = {2: "0.4", 3: "0.5"}
"""Formats of Zarr, and the version of OME-Zarr that each is of."""


def is_part(name: str) -> bool:
    """Whether something in the folder may be ours."""
    return name in _PARTS or (name.endswith("/") and name[:-1].isdecimal())


def check_ours(path: str | os.PathLike[str]) -> None:
    """Raise FormatError where a folder of that name holds something that no run of ours wrote."""
    if not Path(path).is_dir() or not any(Path(path).iterdir()):
        return
    known = any(_is_ours(Path(path) / name) for name in (".zattrs", "zarr.json"))
    if not known:
        raise FormatError(path, "is a folder that no earlier run wrote: it is not replaced", "choose another name")


def packing_bytes(shape: tuple[int, int, int], dtype: np.dtype, compression: str, levels: int) -> int:
    """Bytes that compressing chunks, or making levels of them, holds; 0 where neither is done."""
    if compression == "none" and levels == 1:
        return 0
    # A chunk before and after packing, twice; for coarser levels sums of four of its pixels, and what is added to them.
    pixels = _tall(shape, dtype, compression, levels) * shape[2]
    return pixels * (4 * dtype.itemsize + (16 if levels > 1 else 0)) + (1 << 20)


def _tall(shape: tuple[int, int, int], dtype: np.dtype, compression: str, levels: int) -> int:
    """Rows of a chunk."""
    most = _CHUNK if compression == "none" and levels == 1 else _PACKED
    return min(shape[1], max(1, most // max(1, shape[2] * dtype.itemsize)))


def _is_ours(table: Path) -> bool:
    try:
        found = json.loads(table.read_text("utf-8"))
        return "footprint" in (found.get("attributes") or found)
    except (OSError, ValueError, TypeError, AttributeError):
        return False


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
    compression
        Of chunks; see `packed.COMPRESSIONS`.
    levels
        Of resolution, each half as fine as the one before.
    form
        Of Zarr: 2 or 3.
    scale
        Sizes of pixels, where they are known by another file.
    """

    def __init__(
        self,
        folder: Path,
        shape: tuple[int, int, int],
        dtype: np.dtype,
        about: Mapping[str, Any],
        compression: str = "none",
        levels: int = 1,
        form: int = 2,
        scale: Scale | None = None,
    ) -> None:
        self._form = form
        self._folder, self._shape, self._dtype = folder, shape, dtype.newbyteorder("=")
        self._packing, self._levels = compression, levels
        self._tall = _tall(shape, dtype, compression, levels)
        self._waiting: set[Path] = set()
        scales, own = _scales(about, levels, scale), plain_table(about)
        if form == 3:
            said = {"ome": {"version": FORMATS[3], "multiscales": [scales]}, "footprint": own}
            write_table(folder / "zarr.json", {"zarr_format": 3, "node_type": "group", "attributes": said})
        else:
            write_table(folder / ".zgroup", {"zarr_format": 2})
            write_table(folder / ".zattrs", {"multiscales": [{"version": FORMATS[2], **scales}], "footprint": own})
        lay_out(folder / "0", shape, self._dtype, self._tall, compression, form)

    def saying(self) -> list[Path]:
        """The file that says how the volume was made; `sync` then waits for it."""
        name = self._folder / ("zarr.json" if self._form == 3 else ".zattrs")
        self._waiting.add(name)
        return [name]

    def writing_bytes(self, dtype: Any) -> int:
        """Bytes that `write` and `finish` hold beside C-contiguous arrays of ``dtype``."""
        if self._packing != "none" or self._levels > 1:
            return packing_bytes(self._shape, self._dtype, self._packing, self._levels)
        return writing_bytes(self._dtype, self._shape[1:], dtype)

    def write(self, start: int, rows: slice, array: np.ndarray) -> None:
        """Write ``array`` ``(n, n_rows, n_x)`` at slice ``start`` and ``rows`` of each."""
        for z, image in enumerate(array, start):
            for chunk, own, part in self._parts(rows):
                if self._packing != "none" and own == slice(0, min(self._tall, self._shape[1] - chunk * self._tall)):
                    self._pack(z, chunk, image[part])
                    continue
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
        name = self._name(z, chunk)
        if self._packing != "none":
            name = name.with_name(name.name + _ROWS)
        size = self._tall * self._shape[2] * self._dtype.itemsize
        if not name.exists() or name.stat().st_size != size:
            name.parent.mkdir(parents=True, exist_ok=True)
            with open(name, "wb") as file:
                file.truncate(size)
        self._waiting.add(name)
        return RawFrames(name, 0, (1, self._tall, self._shape[2]), self._dtype, writable=True)

    def kept(self, start: int, stop: int, rows: slice) -> int | None:
        """Bytes of the files that rows of slices ``start`` to ``stop`` are in; None where one is not there."""
        chunks = [chunk for chunk, _, _ in self._parts(rows)]
        return bytes_of(self._holding(z, chunk) for z in range(start, stop) for chunk in chunks)

    def _holding(self, z: int, chunk: int) -> Path:
        """A chunk's file, or the one that its rows wait in."""
        name = self._name(z, chunk)
        waiting = name.with_name(name.name + _ROWS)
        return waiting if self._packing != "none" and waiting.exists() else name

    def _name(self, z: int, chunk: int) -> Path:
        return chunk_file(self._folder / "0", z, chunk, self._form)

    def _pack(self, z: int, chunk: int, rows: np.ndarray) -> None:
        name = self._name(z, chunk)
        put_chunk(name, rows, self._tall, self._dtype, self._packing)
        self._waiting.add(name)

    def sync(self) -> None:
        """Wait until what was written is on the disk."""
        files, self._waiting = list(self._waiting), set()
        durable(files)

    def close(self) -> None:
        """Nothing is held open between writes."""

    def finish(self) -> None:
        """Pack what came in rows, and make the coarser levels of what is there."""
        if self._packing != "none":
            for file in sorted((self._folder / "0").rglob(f"0{_ROWS}")):
                z, chunk = int(file.parent.parent.name), int(file.parent.name)
                rows = min(self._tall, self._shape[1] - chunk * self._tall)
                plain = np.fromfile(file, self._dtype, rows * self._shape[2]).reshape(rows, -1)
                self._pack(z, chunk, plain)
                self._waiting.discard(file)
                # Rows are let go when what was made of them is on the disk.
                self.sync()
                file.unlink()
            self.sync()
        make_levels(self._folder, self._levels)


def _scales(about: Mapping[str, Any], levels: int, scale: Scale | None) -> dict[str, Any]:
    """Levels of resolution: axes, and pixels where their size is known; a coarse one's centre lies amid those it is the mean of."""
    size = about.get("pixel_size")
    if isinstance(size, int | float) and size > 0:
        scale = Scale(float(size), float(size), float(size), "centimeter")
    # An axis without a unit counts its pixels.
    sizes = [None] * 3 if scale is None else [scale.z, scale.y, scale.x]
    axes = [{"name": name, "type": "space"} for name in "zyx"]
    datasets = []
    for axis, known in zip(axes, sizes):
        if known is not None and scale is not None:
            axis["unit"] = scale.unit
    for level in range(levels):
        pixels = [1.0 if known is None else known for known in sizes]
        places: list[dict[str, Any]] = [{"type": "scale", "scale": [pixel * 2**level for pixel in pixels]}]
        if level:
            places.append({"type": "translation", "translation": [pixel * (2**level - 1) / 2 for pixel in pixels]})
        datasets.append({"path": str(level), "coordinateTransformations": places})
    return {"name": str(about.get("sample", "volume")), "axes": axes, "datasets": datasets}
