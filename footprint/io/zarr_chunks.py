"""A level of a volume in Zarr 2 on the disk: what its folder tells, and the files of its chunks."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from footprint.io.frames import cast_into, reading
from footprint.io.packed import name_of, pack, settings, unpack
from footprint.io.raw import RawFrames


def write_table(path: Path, content: Mapping[str, Any]) -> None:
    """Write a table as JSON."""
    path.write_text(json.dumps(content, indent=1), "utf-8")


def lay_out(folder: Path, shape: tuple[int, ...], dtype: np.dtype, tall: int, compression: str) -> None:
    """The folder of one level, and what its chunks are."""
    array = {
        "zarr_format": 2,
        "shape": list(shape),
        "chunks": [1, tall, shape[2]],
        "dtype": dtype.str,
        "compressor": settings(compression),
        "fill_value": 0,
        "order": "C",
        "filters": None,
        "dimension_separator": "/",
    }
    folder.mkdir(exist_ok=True)
    write_table(folder / ".zarray", array)


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
        with reading(folder):
            about = json.loads((folder / ".zarray").read_text("utf-8"))
        self.whole: tuple[int, int, int] = tuple(about["shape"])
        self.path, self._slice, self.tall = str(folder), folder / str(index), about["chunks"][1]
        self.shape, self.dtype = (1, *self.whole[1:]), np.dtype(about["dtype"])
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
            name = self._slice / str(chunk) / "0"
            if self.packing != "none":
                plain = np.empty((self.tall, self.shape[2]), self.dtype)
                with reading(name):
                    unpack(self.packing, name.read_bytes(), plain, name)
                cast_into(out[0, a - rows.start : b - rows.start], plain[a - first : b - first])
                continue
            file = RawFrames(name, 0, (1, self.tall, self.shape[2]), self.dtype)
            try:
                file.read(0, 1, slice(a - first, b - first), out[:, a - rows.start : b - rows.start])
            finally:
                file.close()

    def close(self) -> None:
        """Nothing is held open."""
