"""One slice of a volume that was written as OME-Zarr, read back for a picture."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np

from footprint.io.frames import reading
from footprint.io.image import Image
from footprint.io.raw import RawFrames


class _Chunks:
    """The chunks of a slice as a frame."""

    def __init__(self, folder: Path, index: int) -> None:
        with reading(folder):
            about = json.loads((folder / "0" / ".zarray").read_text("utf-8"))
        _, n_y, n_x = about["shape"]
        self.path, self._slice, self._tall = str(folder), folder / "0" / str(index), about["chunks"][1]
        self.shape, self.dtype = (1, n_y, n_x), np.dtype(about["dtype"])

    def host_bytes(self, n_rows: int, dtype: Any = None) -> int:
        """Bytes that reading holds beside ``out``."""
        return 0 if dtype is not None and np.dtype(dtype) == self.dtype else n_rows * self.shape[2] * self.dtype.itemsize

    def read(self, start: int, stop: int, rows: slice, out: np.ndarray) -> None:
        """Fill ``out`` with rows of the slice."""
        for chunk in range(rows.start // self._tall, -(-rows.stop // self._tall)):
            first = chunk * self._tall
            a, b = max(rows.start, first), min(rows.stop, first + self._tall)
            file = RawFrames(self._slice / str(chunk) / "0", 0, (1, self._tall, self.shape[2]), self.dtype)
            try:
                file.read(0, 1, slice(a - first, b - first), out[:, a - rows.start : b - rows.start])
            finally:
                file.close()

    def close(self) -> None:
        """Nothing is held open."""


def open_slice(folder: str | os.PathLike[str], index: int) -> Image:
    """Open one slice of such a volume."""
    return Image(str(folder), _Chunks(Path(folder), index), 0)
