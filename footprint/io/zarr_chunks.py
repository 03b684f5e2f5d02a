"""A level of a volume in Zarr on the disk, formats 2 and 3: what its folder tells, and the files of its chunks."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from footprint.dtypes import put_into
from footprint.io.frames import reading
from footprint.io.packed import name_of, pack, settings, unpack
from footprint.io.raw import RawFrames


def write_table(path: Path, content: Mapping[str, Any]) -> None:
    """Write a table as JSON."""
    path.write_text(json.dumps(content, indent=1), "utf-8")


def lay_out(folder: Path, shape: tuple[int, ...], dtype: np.dtype, tall: int, compression: str, form: int) -> None:
    """The folder of one level, and what its chunks are, in Zarr 2 or 3."""
    chunks = [1, tall, shape[2]]
    folder.mkdir(exist_ok=True)
    if form == 3:
        little = {"name": "bytes", "configuration": {"endian": sys.byteorder}}
        packed = settings(compression, 3, dtype.itemsize)
        array = {
            "zarr_format": 3,
            "node_type": "array",
            "shape": list(shape),
            "data_type": dtype.name,
            "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": chunks}},
            "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
            "fill_value": 0,
            "codecs": [little] if packed is None else [little, packed],
            "dimension_names": list("zyx"),
            "attributes": {},
        }
        write_table(folder / "zarr.json", array)
        return
    array = {
        "zarr_format": 2,
        "shape": list(shape),
        "chunks": chunks,
        "dtype": dtype.str,
        "compressor": settings(compression),
        "fill_value": 0,
        "order": "C",
        "filters": None,
        "dimension_separator": "/",
    }
    write_table(folder / ".zarray", array)


def chunk_file(level: Path, z: int | str, chunk: int | str, form: int) -> Path:
    """The file of a chunk."""
    return level / ("c" if form == 3 else "") / str(z) / str(chunk) / "0"


def put_chunk(name: Path, rows: np.ndarray, tall: int, dtype: np.dtype, compression: str) -> None:
    """Write a chunk's file; rows beyond those given are zeros."""
    whole = np.zeros((tall, rows.shape[1]), dtype)
    np.copyto(whole[: len(rows)], rows, casting="same_kind")
    name.parent.mkdir(parents=True, exist_ok=True)
    with open(name, "wb") as file:
        file.write(whole.data if compression == "none" else pack(compression, whole))


class Chunks:
    """The chunks of a slice of a level as a frame."""

    def __init__(self, folder: Path, index: int) -> None:
        self.form = 3 if (folder / "zarr.json").is_file() else 2
        with reading(folder):
            about = json.loads((folder / ("zarr.json" if self.form == 3 else ".zarray")).read_text("utf-8"))
        self.whole: tuple[int, int, int] = tuple(about["shape"])
        self.path, self._index, self._folder, self.shape = str(folder), index, folder, (1, *self.whole[1:])
        if self.form == 3:
            self.tall, self.dtype = about["chunk_grid"]["configuration"]["chunk_shape"][1], np.dtype(about["data_type"])
            self.packing = name_of(next(iter(about["codecs"][1:]), None))
        else:
            self.tall, self.dtype = about["chunks"][1], np.dtype(about["dtype"])
            self.packing = name_of(about["compressor"])

    def host_bytes(self, n_rows: int, dtype: Any = None) -> int:
        """Bytes that reading holds beside ``out``."""
        if self.packing != "none":
            return 3 * self.tall * self.shape[2] * self.dtype.itemsize
        return 0 if dtype is not None and np.dtype(dtype) == self.dtype else n_rows * self.shape[2] * self.dtype.itemsize

    def read(self, start: int, stop: int, rows: slice, out: np.ndarray) -> None:
        """Fill ``out`` with rows of the slice."""
        for chunk in range(rows.start // self.tall, -(-rows.stop // self.tall)):
            first = chunk * self.tall
            a, b = max(rows.start, first), min(rows.stop, first + self.tall)
            name = chunk_file(self._folder, self._index, chunk, self.form)
            if self.packing != "none":
                plain = np.empty((self.tall, self.shape[2]), self.dtype)
                with reading(name):
                    unpack(self.packing, name.read_bytes(), plain, name)
                put_into(out[0, a - rows.start : b - rows.start], plain[a - first : b - first])
                continue
            file = RawFrames(name, 0, (1, self.tall, self.shape[2]), self.dtype)
            try:
                file.read(0, 1, slice(a - first, b - first), out[:, a - rows.start : b - rows.start])
            finally:
                file.close()

    def close(self) -> None:
        """Nothing is held open."""
