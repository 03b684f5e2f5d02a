"""Reconstructed volumes, written slab by slab: HDF5, one TIFF of many pages, OME-Zarr, or a folder of slices."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from types import MappingProxyType, TracebackType
from typing import Any, Protocol

import numpy as np

from footprint.errors import ArgumentError, FormatError, ShapeError, warn
from footprint.io.frames import described, row_range
from footprint.io.hdf5_packed import Hdf5Chunks
from footprint.io.jp2 import Jp2Folder
from footprint.io.ome_zarr import ZarrSlices, check_ours, is_part
from footprint.io.output import Output, check_output, writing
from footprint.io.packing import check_packing, volume_kind
from footprint.io.raw import RawFrames
from footprint.io.slice_files import Along, SliceFolder, TiffFolder, is_slice
from footprint.io.told import attributes, room, tell, tell_hdf5
from footprint.io.unfinished import Unfinished, cut_off
from footprint.plan.done import DoneSet
from footprint.plan.rows import RowSet
from footprint.units import counted


class _Sink(Protocol):
    def writing_bytes(self, dtype: Any) -> int: ...
    def write(self, start: int, rows: slice, array: np.ndarray) -> None: ...
    def sync(self) -> None: ...
    def close(self) -> None: ...


class VolumeWriter:
    """A volume being written; it gets its name when the ``with`` block ends without an error and every slice is there.

    Attributes
    ----------
    path, shape, dtype
        The target, ``(n_z, n_y, n_x)``, and the dtype on disk.
    temporary
        Where it lies until it has its name.
    """

    def __init__(
        self,
        path: Path,
        shape: tuple[int, int, int],
        dtype: np.dtype,
        out: Output,
        sink: _Sink,
        facts: Mapping[str, Any] = MappingProxyType({}),
        told: Sequence[str] = (),
    ) -> None:
        self._facts = facts
        self.path, self.shape, self.dtype, self.temporary = path, shape, dtype, out.temporary
        self._out, self._sink, self._open = out, sink, True
        self._done, self._told = RowSet(), dict.fromkeys(told, "not counted")
        self._resumed: int | None = None

    def tell(self, name: str, text: str) -> None:
        """Say what is known only when it is whole; ``name`` is one of ``told`` of `create_volume`. It is written by `close`."""
        assert name in self._told, name
        self._told[name] = text

    def host_bytes(self, dtype: Any) -> int:
        """Bytes that `write` holds beside C-contiguous arrays of ``dtype``: for plans that count what they write to."""
        return self._sink.writing_bytes(dtype)

    def resume(self, job: Mapping[str, str], axis: str) -> DoneSet | None:
        """Which rows an earlier run of this job has written already, and where to note those of this one.

        Parameters
        ----------
        job
            What decides the numbers, by name.
        axis
            What rows are counted along: "z", or "y" in a volume of one slice.

        Returns
        -------
        plan.done.DoneSet
            None where the volume was not created to be resumed.

        Raises
        ------
        FormatError
            What is there is of another job.
        """
        unfinished = self._out.partial
        if not isinstance(unfinished, Unfinished) or not (axis == "z" or (axis == "y" and self.shape[0] == 1)):
            return None
        facts = {**job, "the axis along which it is cut": axis}
        if unfinished.known:
            unfinished.check(facts)
        else:
            unfinished.start({**self._facts, **facts})
        done, rows = unfinished.done, self.shape[1] if axis == "z" else 1
        if isinstance(self._sink, SliceFolder | ZarrSlices | Hdf5Chunks):
            kept, every = self._sink.kept, slice(0, self.shape[1])
            done.size = lambda start, stop: kept(start, stop, every) if axis == "z" else kept(0, 1, slice(start, stop))
            lost = 0 if getattr(self._sink, "whole", False) else done.compare()
            if lost:
                what = f"{counted(lost, 'slices' if axis == 'z' else 'rows')} of {unfinished.path.name}, done before"
                warn(f"{self.path}: {what}, {'is' if lost == 1 else 'are'} missing or cut off there, and made again")
        for start, stop in done.spans:
            self._done.add(start * rows, stop * rows)
        self._resumed = done.count
        return done

    @property
    def resumable(self) -> bool:
        """Whether it was created with ``resume``."""
        return isinstance(self._out.partial, Unfinished)

    @property
    def resumed(self) -> int:
        """Slices, or rows of the only slice, that a stopped run has left."""
        if self._resumed is None:
            return self._out.partial.done.count if isinstance(self._out.partial, Unfinished) else 0
        return self._resumed

    def flush(self) -> None:
        """Wait until what was written is on the disk."""
        with writing(self.path, self.resumable):
            self._sink.sync()

    def write(self, where: slice | tuple[slice, slice], array: np.ndarray) -> None:
        """Write slices ``where`` (or rows of slices, given ``(slices, rows)``), in any order.

        Raises
        ------
        ShapeError
            ``array`` has another shape, or a dtype that would lose its kind.
        FormatError
            The disk is full or failed; nothing is left behind, but of a volume created with ``resume`` what is done.
        """
        z, y = where if isinstance(where, tuple) else (where, slice(None))
        z0, z1 = row_range(z, self.shape[0], "slices")
        y0, y1 = row_range(y, self.shape[1])
        want = (z1 - z0, y1 - y0, self.shape[2])
        if array.shape != want:
            raise ShapeError("array", f"shape {array.shape}", f"shape {want} for slices {z0}:{z1}, rows {y0}:{y1}")
        if not np.can_cast(array.dtype, self.dtype, "same_kind"):
            raise ShapeError("array", f"dtype {array.dtype}", f"one that casts to the file's {self.dtype}")
        try:
            with writing(self.path, self.resumable):
                self._sink.write(z0, slice(y0, y1), array)
        except BaseException:
            self.discard()
            raise
        n_y = self.shape[1]
        if y1 - y0 == n_y:
            self._done.add(z0 * n_y, z1 * n_y)
            return
        for start in range(z0 * n_y, z1 * n_y, n_y):
            self._done.add(start + y0, start + y1)

    def close(self) -> None:
        """Finish: everything goes to the disk, then the volume gets its name."""
        if not self._open:
            return
        missing = self._done.missing(self.shape[0] * self.shape[1])
        if missing:
            self.discard()
            first, rows = missing[0][0], sum(stop - start for start, stop in missing)
            where = f"row {first % self.shape[1]}" + (f" of slice {first // self.shape[1]}" if self.shape[0] > 1 else "")
            raise FormatError(self.path, f"was closed with {counted(rows, 'rows')} missing, the first of them {where}")
        try:
            with writing(self.path, self.resumable):
                # Only of what is whole: a stopped run's rows stay as they came, to be gone on with.
                if isinstance(self._sink, ZarrSlices | Jp2Folder | Hdf5Chunks):
                    self._sink.finish()
                self._tell()
        except BaseException:
            self.discard()
            raise
        self._open = False
        self._out.commit()

    def _tell(self) -> None:
        """Say what is known now, and close the files, which are then on the disk: it is waited for once, for milliseconds."""
        hdf5 = bool(self._told) and volume_kind(self.path) == "hdf5"
        for name, text in {} if hdf5 else self._told.items():
            files = self._sink.saying() if isinstance(self._sink, SliceFolder | ZarrSlices) else [self.temporary]
            tell(files, name, text)
        if not hdf5:
            self._sink.sync()
        self._sink.close()
        if hdf5:
            tell_hdf5(self.temporary, "entry/reconstruction", self._told)

    def discard(self) -> None:
        """Give up: remove what was written."""
        if self._open:
            self._open = False
            # The error that brought us here is the one to report.
            with suppress(Exception):
                self._sink.close()
            self._out.discard()

    def __enter__(self) -> VolumeWriter:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if kind is None:
            self.close()
        else:
            self.discard()


def _check_whole(out: Output, nbytes: int) -> None:
    """Raise where what is to be resumed has lost its end: rows that its journal has as done would be 0."""
    if out.temporary.stat().st_size < nbytes:
        raise cut_off(out.path, out.temporary.name)


def check_volume(path: str | os.PathLike[str], overwrite: bool = False, resume: bool = False) -> None:
    """Raise FormatError or ArgumentError when `create_volume` would; writes nothing."""
    kind = volume_kind(path)
    if kind == "zarr":
        check_ours(path)
    check_output(path, overwrite, 0, *_checks(kind), resume)


def _lay_out(shape: tuple[int, int, int], dtype: np.dtype, attrs: Any, axis: Any, each: Any, file: Any, filters: Any) -> Any:
    """A volume's dataset in an open HDF5 file, without its chunks."""
    from footprint.io import hdf5

    results = hdf5.results_in(file, len(shape), attrs, "reconstruction", axis, each)
    return results.create_dataset("data", shape, dtype, fillvalue=0, **filters)


def _axis(along: Along | None) -> dict[str, list[float]]:
    return {} if along is None else {along.name: along.values}


def _checks(kind: str) -> tuple[bool, Callable[[str], bool]]:
    """Whether a volume of a kind is a folder, and which of its files are ours."""
    return kind in ("folder", "zarr"), is_part if kind == "zarr" else is_slice


def create_volume(
    path: str | os.PathLike[str],
    shape: tuple[int, int, int],
    dtype: Any = "float32",
    overwrite: bool = False,
    attrs: Mapping[str, Any] | None = None,
    first: int = 0,
    resume: bool = False,
    along: Along | None = None,
    each: Mapping[str, Sequence[float]] = MappingProxyType({}),
    compression: str = "none",
    levels: int = 1,
    zarr_format: int = 2,
    image_format: str = "tif",
    quality: float | None = None,
    told: Sequence[str] = (),
) -> VolumeWriter:
    """Create a volume ``(n_z, n_y, n_x)`` to be written slab by slab.

    Parameters
    ----------
    path
        ``.h5 .hdf5 .hdf .nx .nxs``: HDF5, the volume at ``entry/reconstruction/results/data``. ``.tif .tiff``: one file
        of many pages, BigTIFF from 4 GB on. ``.zarr``: OME-Zarr, a chunk a slice. No suffix: a folder of
        ``slice_00000.tif`` (or ``.jp2``) ..., numbered from ``first`` on.
    shape
        ``(n_z, n_y, n_x)``.
    dtype
        A real dtype.
    overwrite
        Replace an existing file, or a folder that holds nothing but slices.
    attrs
        How it was made: HDF5 keeps it as attributes of ``entry/reconstruction``, TIFF as JSON in ``ImageDescription`` (of the first
        page, or of every file with its ``row``). A ``pixel_size`` in centimetres is the TIFF's resolution, too.
    first
        Detector row of the first slice, for the names of files.
    resume
        Continue what a stopped `reconstruct` left, and allow this run to be resumed if it is stopped: finished parts stay beside
        the target under a hidden name.
    along
        What distinguishes slices that are not rows, such as axes: HDF5 has it as an axis of the data, files of a folder are named
        after it, and every TIFF records its own; a TIFF of many pages records all in order.
    each
        Numbers for every slice, by name: HDF5 has them beside the data, every file of a folder records its own, other formats all
        in order.
    compression
        For HDF5: "none", "bitshuffle" (with LZ4; other programs read it with hdf5plugin) or "gzip" (shuffled; every HDF5 reads it).
        For OME-Zarr: "none", "blosc" (zstd, shuffled), "zstd" or "gzip".
    levels
        For OME-Zarr: the number of resolutions, each made of the means of 2 x 2 x 2 pixels of the one before.
    zarr_format
        2 for OME-Zarr 0.4, 3 for OME-Zarr 0.5.
    image_format : {"tif", "jp2"}
        For a folder: TIFF, or JPEG 2000 of whole numbers of 8 or 16 bits, with the extra ``jp2``.
    quality
        For JPEG 2000: peak signal-to-noise ratio in decibels; lossless without it.
    told
        Names of facts that are known only when the volume is complete, in addition to ``attrs``: each a sentence, given to
        `VolumeWriter.tell`.

    Returns
    -------
    VolumeWriter
        A context manager with ``write(slices, array)``.

    Raises
    ------
    FormatError
        The output exists, its folder is missing or read-only, or the disk is full; or what is to be resumed is something else.
    ArgumentError
        Unknown suffix, or a compression that this format, or this dtype, does not have.

    Examples
    --------
    >>> import tempfile, os, numpy as np
    >>> import footprint as fp
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with fp.create_volume(os.path.join(folder, "v.h5"), (2, 3, 4)) as volume:
    ...         volume.write(slice(0, 2), np.ones((2, 3, 4), np.float32))
    """
    (n_z, n_y, n_x), asked = described(shape, dtype, "(n_z, n_y, n_x)")
    kind, stored, shape = volume_kind(path), asked.newbyteorder("="), (n_z, n_y, n_x)
    if min(shape) < 0:
        raise ShapeError("shape", shape, "(n_z, n_y, n_x), none below 0")
    if kind != "hdf5" and min(shape) == 0:
        raise ShapeError("shape", shape, "at least one pixel in a TIFF", "write .h5 instead")
    if stored.kind not in "iuf":
        raise ShapeError("dtype", stored, "a real number type")
    check_packing(path, compression, levels, zarr_format, image_format, quality, stored)
    if zarr_format == 3 and stored.itemsize > 8:
        raise ShapeError("dtype", stored, "numbers of at most 8 bytes in Zarr 3")
    nbytes = n_z * n_y * n_x * stored.itemsize
    if kind == "zarr":
        check_ours(path)
    if isinstance(first, bool) or not isinstance(first, int | np.integer) or first < 0:
        raise ArgumentError("first", repr(first), "a detector row, 0 or more")
    attrs = attributes(attrs) | ({} if kind == "hdf5" else {name: room(name) for name in told})
    out = Output(path, overwrite, nbytes, *_checks(kind), resume, compression != "none" or image_format == "jp2")
    facts = {"the shape": str(shape), "the dtype": str(stored)}
    facts |= {"compression and levels": f"{compression}, {levels}", "Zarr's format": str(zarr_format)} if kind == "zarr" else {}
    facts |= {"compression": compression} if kind == "hdf5" else {}
    facts |= {"images and quality": f"{image_format}, {quality}"} if image_format != "tif" else {}
    sink: _Sink
    try:
        with writing(path, resume):
            known = out.partial.known if isinstance(out.partial, Unfinished) else {}
            if known:
                assert isinstance(out.partial, Unfinished)
                out.partial.check(facts)
            if kind == "folder" and image_format == "jp2":
                sink = Jp2Folder(out.temporary, shape, stored, attrs, first, along, each, quality=quality)
            elif kind == "folder":
                sink = TiffFolder(out.temporary, shape, stored, attrs, first, along, each)
            elif kind == "zarr":
                about = {**attrs, **_axis(along), **each}
                sink = ZarrSlices(out.temporary, shape, stored, about, compression, levels, zarr_format)
            elif known and known["offset"]:
                _check_whole(out, known["offset"] + math.prod(shape) * stored.itemsize)
                sink = RawFrames(out.temporary, known["offset"], shape, stored, writable=True)
            elif kind == "hdf5" and compression != "none" and nbytes:
                begun = isinstance(out.partial, Unfinished) and out.partial.done.count > 0
                lay_out = partial(_lay_out, shape, stored, attrs, _axis(along), each)
                sink = Hdf5Chunks(out.temporary, out.target, shape, stored, compression, lay_out, begun)
            elif kind == "hdf5":
                from footprint.io import hdf5

                sink = hdf5.create_array(out.temporary, shape, stored, attrs, "reconstruction", _axis(along), each)
            else:
                from footprint.io import tiff

                sink = tiff.create(out.temporary, shape, stored, {**attrs, **_axis(along), **each})
    except BaseException:
        out.discard()
        raise
    return VolumeWriter(Path(path), shape, stored, out, sink, {**facts, "offset": getattr(sink, "offset", 0)}, told)
