"""Stacks of frames in HDF5 datasets: read as hyperslabs where they lie as they are, by decoded chunks where they are compressed."""

from __future__ import annotations

import math
import threading
from collections.abc import Iterator
from typing import Any

import h5py
import numpy as np

from footprint.dtypes import put_into
from footprint.errors import FormatError
from footprint.io.chunks import Chunks
from footprint.io.frames import PIECE, reading, staging
from footprint.io.hdf5 import contiguous
from footprint.io.kept import Kept
from footprint.io.raw import RawFrames
from footprint.io.virtual import sources_of, use_plugins
from footprint.units import format_bytes

# Bytes of an attribute that is shown.
_SAID = 4096
# Numbers that are no pixels: angles, keys, positions.
_MANY = 1 << 20


def values(path: str, dataset: h5py.Dataset, what: str) -> np.ndarray:
    """Read a small dataset of numbers whole, as float64 in one dimension; FormatError where it declares too many."""
    if dataset.dtype.kind not in "biuf":
        raise FormatError(path, f"{dataset.name} holds {dataset.dtype}, wanted numbers ({what})")
    chunk = math.prod(dataset.chunks or ()) * dataset.dtype.itemsize
    size = dataset.size or 0
    if size > _MANY or chunk > 8 * _MANY:
        has = f"{size} values" if size > _MANY else f"chunks of {format_bytes(chunk)}"
        raise FormatError(path, f"{dataset.name} has {has}, too many for {what} (at most {_MANY})")
    use_plugins(dataset)
    with reading(path, dataset.name):
        if not (dataset.chunks and size):
            return np.asarray(dataset[()], np.float64).reshape(-1)
        found = np.empty(dataset.shape)
        chunks = Chunks(path, dataset)
        try:
            chunks.whole(found)
        finally:
            chunks.close()
        return found.reshape(-1)


def _said(value: Any) -> Any:
    """An attribute without NumPy's words around it."""
    plain = value.tolist() if isinstance(value, np.ndarray | np.generic) else value
    return plain.decode("utf-8", "replace") if isinstance(plain, bytes) else plain


class Hdf5Frames:
    """Frames of a dataset ``(n, n_z, n_x)``; one ``(n_z, n_x)`` counts as a single frame.

    Parameters
    ----------
    path
        The file the user named, for error sentences.
    dataset
        The dataset; its file is closed by `close`.
    planes
        Allow more dimensions; frames are then counted over all leading axes.
    """

    def __init__(self, path: str, dataset: h5py.Dataset, planes: bool = False) -> None:
        if dataset.dtype.kind not in "biuf" or dataset.ndim < 2 or (dataset.ndim > 3 and not planes):
            wanted = "an image (n_y, n_x)" if planes else "numbers (n_frames, n_z, n_x)"
            raise FormatError(path, f"{dataset.name} is {dataset.dtype} {dataset.shape}, wanted {wanted}")
        self.path, self._data = path, dataset
        with reading(path, str(dataset.name)):
            self._virtual, chunk = use_plugins(dataset)
            # Chunks of a virtual dataset's sources are decoded anew for every piece.
            self._piece = max(PIECE, chunk)
            lead = math.prod(dataset.shape[:-2])
            self.shape: tuple[int, int, int] = (lead, dataset.shape[-2], dataset.shape[-1])
            self.dtype = dataset.dtype.newbyteorder("=")
            self._chunks = Chunks(path, dataset) if dataset.chunks and dataset.size else None
            # As it lies in the file; None where HDF5 has to put it together.
            self.raw: RawFrames | None = contiguous(dataset, self.shape)
            self._kept: Kept | None = None
            self._lock = threading.Lock()

    def files(self) -> list[str]:
        """Where the dataset is, behind links, and what it is assembled from."""
        own = self._data.file.filename
        return [own, *(sources_of(self._data) if self._data.is_virtual else ())]

    def host_bytes(self, n_rows: int, dtype: Any = None) -> int:
        """Bytes that reading holds beside ``out``: what is staged, decoded chunks, and HDF5's own for chunks.

        Nothing is staged where ``out`` is contiguous and of the file's ``dtype``; None is any other ``out``.
        """
        if self._chunks:
            return self._chunks.host_bytes(direct=dtype is not None and np.dtype(dtype) == self.dtype)
        if self.raw:
            return self.raw.host_bytes(n_rows, dtype)
        frame = n_rows * self.shape[2] * self.dtype.itemsize
        direct = dtype is not None and np.dtype(dtype) == self._data.dtype
        staged = 0 if direct else min(self._step(frame), self.shape[0]) * frame
        return staged + self._virtual

    def decoding(self, n_frames: int, n_rows: int) -> float:
        """Seconds that decompressing ``n_rows`` rows of ``n_frames`` frames takes, those that come with them included."""
        return self._chunks.decoding(n_frames, n_rows) if self._chunks else 0.0

    def decodings(self, n_rows: int) -> int:
        """How often every chunk is decoded where the stack is read by ``n_rows`` rows at a time; 1 where rows are decoded alone."""
        high = 1 if not self._chunks or self._chunks.by_rows else min(self._chunks.chunk[-2], self.shape[1])
        return -(-high // max(1, n_rows))

    def window_bytes(self, n_rows: int) -> int:
        """Bytes of ``n_rows`` rows of all frames, as `keep` keeps them."""
        return self.shape[0] * n_rows * self.shape[2] * self.dtype.itemsize

    def keep(self, n_rows: int, last: int = 0) -> None:
        """Decode ``n_rows`` rows of all frames at a time where chunks are compressed, and keep them; 0 lets them go.

        Where reads go on to row ``last``, what lies behind the rows that are kept is decoded, and checked, with those only.
        """
        with self._lock:
            useful = n_rows > 0 and self._chunks is not None and not self._chunks.by_rows
            self._kept = None
            if useful and self._chunks:
                deep, high = (1, *self._chunks.chunk)[-3:-1]
                read = self._chunks.read
                source = lambda start, stop, rows, out: read(start, stop, rows, out, early=rows.stop < last)
                self._kept = Kept(source, self.shape, self._data.dtype, (deep, high), n_rows)

    def close(self) -> None:
        """Close the file."""
        self._kept = None
        if self._chunks:
            self._chunks.close()
        if self.raw:
            self.raw.close()
        if self._data:
            self._data.file.close()

    def _step(self, frame: int) -> int:
        """Frames a piece."""
        return max(1, self._piece // max(1, frame))

    def read(self, start: int, stop: int, rows: slice, out: np.ndarray) -> None:
        """Fill ``out`` with rows of frames ``start`` to ``stop``, cast and byte-swapped."""
        if out.size == 0:
            return
        with reading(self.path, f"{self._data.name}[{start}:{stop}, {rows.start}:{rows.stop}]"):
            if self._chunks:
                with self._lock:
                    if not (self._kept and self._kept.read(start, stop, rows, out)):
                        self._chunks.read(start, stop, rows, out)
                return
            if self.raw:
                self.raw.read(start, stop, rows, out)
                return
            step = self._step(out[0].size * self.dtype.itemsize)
            direct = out.dtype == self._data.dtype and out.flags.c_contiguous
            staged = None if direct else staging((min(step, stop - start), *out.shape[1:]), self._data.dtype)
            at = start
            while at < stop:
                # Straight into ``out`` as well: HDF5 keeps kilobytes for every chunk of a read.
                end = min(stop, (at // step + 1) * step)
                part = out[at - start : end - start]
                self._read(at, end, rows, part if staged is None else staged[: end - at])
                if staged is not None:
                    put_into(part, staged[: end - at])
                at = end

    def columns(self, start: int, stop: int, rows: slice, x: int, out: np.ndarray) -> None:
        """Fill ``out`` ``(stop - start, n)`` with the pixels at ``x`` of every ``rows.step``-th row of frames."""
        source = self._chunks or self.raw
        with reading(self.path, f"{self._data.name}[{start}:{stop}, {rows.start}:{rows.stop}, {x}]"), self._lock:
            if source:
                source.columns(start, stop, rows, x, out)
                return
            lead = self._data.shape[:-2]
            for i, line in enumerate(out, start):
                line[...] = self._data[(*map(int, np.unravel_index(i, lead)), rows, x)] if lead else self._data[rows, x]

    def attributes(self) -> Iterator[tuple[str, Any]]:
        """Attributes of the dataset and of the groups it lies in, but for long ones."""
        with reading(self.path, "its attributes"):
            name = str(self._data.name)
            yield "dataset", name
            here = self._data
            while True:
                for key in here.attrs:
                    kind = here.attrs.get_id(key)
                    # What is large stays in the file.
                    if kind.get_storage_size() <= _SAID:
                        yield f"{str(here.name).rpartition('/')[2]}@{key}", _said(here.attrs[key])
                if here.name == "/":
                    return
                here = here.parent

    @property
    def deep(self) -> int:
        """Frames that are decoded together."""
        return (1, *self._chunks.chunk)[-3] if self._chunks else 1

    def _read(self, start: int, stop: int, rows: slice, out: np.ndarray) -> None:
        if self._data.ndim == 2:
            self._data.read_direct(out[0], np.s_[rows.start : rows.stop, :])
        elif self._data.ndim == 3:
            self._data.read_direct(out, np.s_[start:stop, rows.start : rows.stop, :])
        else:
            for i in range(start, stop):
                lead = tuple(int(k) for k in np.unravel_index(i, self._data.shape[:-2]))
                self._data.read_direct(out[i - start], (*lead, slice(rows.start, rows.stop), slice(None)))
