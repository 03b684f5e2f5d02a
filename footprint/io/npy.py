"""NumPy's own files, read and written row by row."""

from __future__ import annotations

import math
import os

import numpy as np

from footprint.errors import FormatError
from footprint.io.direct import starts
from footprint.io.frames import existing_file, reading
from footprint.io.raw import RawFrames

# NumPy reads a header whole before it refuses one that is longer.
_LONGEST = 10_000


def header(path: str | os.PathLike[str]) -> tuple[tuple[int, ...], np.dtype, int]:
    """Return the shape, the dtype on disk and the offset of the first number."""
    existing_file(path, "a .npy file")
    with reading(path, "its header"), open(path, "rb") as file:
        version = np.lib.format.read_magic(file)
        wide = 2 if version == (1, 0) else 4
        length = int.from_bytes(file.read(wide), "little")
        if length > _LONGEST:
            raise FormatError(path, f"declares a header of {length} bytes, wanted at most {_LONGEST}", "it may be damaged")
        file.seek(-wide, os.SEEK_CUR)
        read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        shape, fortran, dtype = read(file)
        if fortran and sum(n > 1 for n in shape) > 1:
            raise FormatError(path, "is stored column by column (Fortran order)", "save numpy.ascontiguousarray of it")
        if dtype.kind not in "biuf" or min(shape, default=1) < 0:
            raise FormatError(path, f"holds {dtype} of shape {shape}, wanted real numbers")
        return tuple(shape), dtype, file.tell()


def open_frames(path: str | os.PathLike[str]) -> RawFrames:
    """Open an array ``(n, n_z, n_x)`` or ``(n_z, n_x)`` as frames."""
    shape, dtype, offset = header(path)
    if len(shape) not in (2, 3):
        raise FormatError(path, f"holds an array of shape {shape}, wanted (n_frames, n_z, n_x) or (n_z, n_x)")
    full = (1, *shape) if len(shape) == 2 else shape
    return RawFrames(path, offset, (full[0], full[1], full[2]), dtype)


def create(path: str | os.PathLike[str], shape: tuple[int, ...], dtype: np.dtype) -> RawFrames:
    """Write the header of a C-ordered image, or of a stack of them, and return its rows for writing."""
    nbytes = math.prod(shape) * dtype.itemsize
    with open(path, "wb") as file:
        fields = {"descr": np.lib.format.dtype_to_descr(dtype), "fortran_order": False, "shape": shape}
        np.lib.format.write_array_header_1_0(file, fields)
        offset = -(-file.tell() // starts(nbytes)) * starts(nbytes)
        if offset > file.tell():
            # Blanks before the end of its line make a header as long as one likes.
            file.seek(-1, os.SEEK_CUR)
            file.write(b" " * (offset - 1 - file.tell()) + b"\n")
            file.seek(np.lib.format.MAGIC_LEN)
            file.write((offset - np.lib.format.MAGIC_LEN - 2).to_bytes(2, "little"))
        file.truncate(offset + nbytes)
    frames = (math.prod(shape[:-2]), shape[-2], shape[-1])
    return RawFrames(path, offset, frames, dtype, writable=True)
