"""Stacks of frames that are in memory already, with the face of a file's."""

from __future__ import annotations

from typing import Any

import numpy as np

from footprint.errors import ArgumentError, ShapeError
from footprint.plan.faces import COPIERS


def is_array(given: Any) -> bool:
    """Whether it is an array, or what is cut as one (an HDF5 dataset, a Zarr array), and no name of a file."""
    return hasattr(given, "shape") and hasattr(given, "dtype") and hasattr(given, "__getitem__")


class ArrayFrames:
    """Frames ``(n, n_rows, n_x)`` of an array.

    Parameters
    ----------
    array
        NumPy's, also one that maps a file, or what gives NumPy arrays when it is cut, as h5py's datasets do. It is read when it is
        asked for, and must not change before.
    name
        What errors call it.

    Raises
    ------
    ShapeError
        It has not three axes, or one of length 0.
    ArgumentError
        It is on a device, or not of real numbers.
    """

    def __init__(self, array: Any, name: str) -> None:
        self.path, self._array = name, array
        if hasattr(array, "__cuda_array_interface__"):
            fix = "give its copy on the host (.get() of a CuPy array): projections go to the device block by block"
            raise ArgumentError(name, "an array on a device", "one in the host's memory", fix)
        shape, dtype = tuple(array.shape), np.dtype(array.dtype)
        if len(shape) != 3 or min(shape) < 1:
            raise ShapeError(name, f"shape {shape}", "(n_frames, n_z, n_x), none of them 0")
        if dtype.kind not in "biuf":
            raise ArgumentError(name, f"dtype {dtype}", "real numbers")
        self.shape, self.dtype = (shape[0], shape[1], shape[2]), dtype.newbyteorder("=")

    @property
    def in_memory(self) -> np.ndarray | None:
        """The array itself where it is NumPy's, of native byte order."""
        return self._array if isinstance(self._array, np.ndarray) and self._array.dtype.isnative else None

    def files(self) -> list[str]:
        """None that is known."""
        return []

    def host_bytes(self, n_rows: int, dtype: Any = None) -> int:
        """Bytes that reading holds beside ``out``: none of NumPy's, a block of another's."""
        return 0 if isinstance(self._array, np.ndarray) else self.shape[0] * n_rows * self.shape[2] * self.dtype.itemsize

    def read(self, start: int, stop: int, rows: slice, out: np.ndarray) -> None:
        """Fill ``out`` with rows of frames ``start`` to ``stop``, cast, by several threads."""
        if out.size:
            COPIERS.copy(out, np.asarray(self._array[start:stop, rows]))

    def close(self) -> None:
        """Let the array go."""
        self._array = np.empty((0, 0, 0), self.dtype)
