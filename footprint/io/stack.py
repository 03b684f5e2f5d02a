"""The files of a scan: which reader, plain stacks of frames in every format, and sinograms seen as projections."""

from __future__ import annotations

import glob
import os
from pathlib import Path
from typing import Any

import numpy as np

from footprint.errors import ArgumentError, FormatError
from footprint.io.arrays import ArrayFrames, is_array
from footprint.io.formats import format_of
from footprint.io.frames import Frames, Group, ScanParts, existing_file, files_of, reading
from footprint.io.kinds import begins

_WILD = "*?["
# How files of scans are called.
_SCANS = (".nx", ".nxs", ".h5", ".hdf5", ".hdf")


def open_parts(path: Any, entry: str | None, own_angles: bool, unit: str | None) -> ScanParts:
    """What the file, folder or array holds: a scan that describes itself, or a stack of projections."""
    if is_array(path):
        return _stack_parts("the array of projections", ArrayFrames(path, "path"))
    path = _name(path)
    file = _file(path)
    kind = None if file is None or path != file else format_of(file)
    if kind is None or kind.name != "HDF5":
        stack = _stack_parts(path, open_frames(path, "an NXtomo, DXchange, TIFF, .npy or Zarr scan"))
        stack.notes.extend(_left_out(path, stack.projections.frames))
        return stack
    from footprint.io import dxchange, hdf5, nxtomo

    opened = hdf5.open_file(path)
    try:
        with reading(path):
            parts = dxchange.read_scan(path, opened, own_angles, unit) if entry is None else None
            parts = parts or nxtomo.read_scan(path, opened, entry, own_angles, unit)
            if parts is None:
                problem = f"holds no scan (no instrument/detector/data and no exchange/data; it has {hdf5.some(opened)})"
                raise FormatError(path, problem, f'name a stack as "{path}:/NAME"')
            return parts
    except BaseException:
        opened.close()
        raise


def open_sinograms(path: Any) -> ScanParts:
    """A stack of sinograms as the projections they are made of."""
    if is_array(path):
        return _stack_parts("the array of sinograms", Turned(ArrayFrames(path, "path")))
    return _stack_parts(_name(path), Turned(open_frames(path)))


def _left_out(path: str, frames: Frames) -> list[str]:
    """What is to be said of a folder whose images are read and beside them are scans, which are not."""
    beside = sorted(item.name for item in Path(path).iterdir() if item.suffix.lower() in _SCANS) if Path(path).is_dir() else []
    if not beside or not hasattr(frames, "files"):
        return []
    read = [Path(file).name for file in frames.files()]
    several = f"{read[0]} to {read[-1]}" if len(read) > 1 else read[0]
    others = ", ".join(beside[:3]) + (f" and {len(beside) - 3} more" if len(beside) > 3 else "")
    return [f"{path} is read as {frames.shape[0]} projections in {several}; {others} beside is not read: name one to read it"]


def _name(path: Any) -> str:
    """The name of a file or folder."""
    if not isinstance(path, (str, os.PathLike)):
        raise ArgumentError("path", type(path).__name__, "the name of a file or folder, or an array (n_angles, n_z, n_x)")
    if not os.fspath(path):
        raise FormatError("''", "is not a name", "give that of a file or folder; . is the folder you are in")
    return os.fspath(path)


def _stack_parts(path: str, frames: Frames) -> ScanParts:
    n = frames.shape[0]
    kind = {
        "TiffFile": "TIFF",
        "TiffFiles": "TIFF",
        "RawFrames": "NumPy",
        "Turned": "sinograms",
        "ZarrFrames": "Zarr",
        "ArrayFrames": "array",
    }
    group = Group(frames, np.arange(n), np.arange(n, dtype=np.float64))
    return ScanParts(path, kind.get(type(frames).__name__, "HDF5"), group, name=Path(path).stem, close=[frames])


def _file(path: str) -> str | None:
    """The file that a name of a stack leads to; None for a folder and for names with ``*``."""
    if Path(path).is_dir() or (any(c in path for c in _WILD) and not Path(path).exists()):
        return None
    named = path.rpartition(":")[0] if ":/" in path and not Path(path).exists() else path
    existing_file(named, "a scan")
    return named


def open_frames(path: str | os.PathLike[str], wanted: str = "a stack of frames: TIFF, .npy, HDF5 or Zarr") -> Frames:
    """Open a stack of frames: TIFF file or folder, names with ``*``, ``.npy``, Zarr, or HDF5 dataset ``FILE:/DATASET``."""
    text = os.fspath(path)
    file = _file(text)
    if file is not None:
        kind = format_of(file)
        if kind is None or kind.frames is None:
            raise FormatError(file, "is not HDF5, TIFF, JPEG 2000 or .npy", f"give {wanted}")
        return kind.frames(file, "" if file == text else text[len(file) + 1 :])
    from footprint.io.jp2 import Jp2Files, jp2_files
    from footprint.io.tiff import TiffFiles, folder_files, in_order

    if Path(text).is_dir():
        kind = format_of(text)
        if kind is not None and kind.frames is not None:
            return kind.frames(text, "")
        tiffs = folder_files(text)
        slices = [] if tiffs else in_order(jp2_files(text))
        return Jp2Files(text, slices) if slices else TiffFiles(text, tiffs)
    found = in_order(Path(name) for name in glob.glob(text))
    if not found:
        raise FormatError(text, "there is no such file", "check the path")
    if len(found) == 1:
        return open_frames(found[0], wanted)
    return Jp2Files(text, found) if begins(found[0], "jp2") else TiffFiles(text, found)


def attach(parts: ScanParts, flats: Any, darks: Any) -> None:
    """Bring flats and darks from files or arrays of their own, and check that every stack has the projections' size."""
    for name, given in (("flats", flats), ("darks", darks)):
        if given is not None:
            one = is_array(given) and len(given.shape) == 2
            own = None if is_array(given) else _keyed(os.fspath(given), name, parts.notes)
            if own is None:
                frames = ArrayFrames(np.asarray(given)[None] if one else given, name) if is_array(given) else open_frames(given)
                own = Group.all_of(frames, -1.0)
            parts.close.append(own.frames)
            setattr(parts, name, own)
        group: Group | None = getattr(parts, name)
        if group is None or group.frames.shape[0] == 0:
            setattr(parts, name, None)
            less = "projections are not divided by one" if name == "flats" else "none is subtracted"
            parts.notes.append(f"{parts.path} has no {name}: {less}; give some with {name}=FILE")
        elif group.frames.shape[1:] != parts.projections.frames.shape[1:]:
            found, want = group.frames.shape[1:], parts.projections.frames.shape[1:]
            raise FormatError(group.frames.path, f"{name} are {found[0]} x {found[1]}, projections are {want[0]} x {want[1]}")


def _keyed(path: str, name: str, notes: list[str]) -> Group | None:
    """The flats, or darks, of a scan that has frames of other kinds, too; None for a stack of nothing else."""
    file = _file(path)
    kind = None if file is None or file != path else format_of(file)
    if kind is None or kind.name != "HDF5":
        return None
    from footprint.io import hdf5, nxtomo

    found, opened = None, hdf5.open_file(path)
    try:
        found = nxtomo.frames_of_kind(path, opened, name, notes)
        return found
    finally:
        if found is None:
            opened.close()


class Turned:
    """Sinograms ``(n_z, n_angles, n_x)`` with the face of the projections ``(n_angles, n_z, n_x)``.

    Parameters
    ----------
    frames
        The sinograms, closed with this.
    """

    def __init__(self, frames: Frames) -> None:
        self._frames, self.path, self.dtype = frames, frames.path, frames.dtype
        n_z, n_angles, n_x = frames.shape
        self.shape = (n_angles, n_z, n_x)

    def files(self) -> list[Path]:
        """Those of the sinograms."""
        return files_of(self._frames)

    def check_headers(self, index: np.ndarray) -> None:
        """Raise FormatError where a sinogram's file is unlike the first: every projection has a row of each."""
        check = getattr(self._frames, "check_headers", None)
        if check is not None:
            check(np.arange(self._frames.shape[0]))

    def host_bytes(self, n_rows: int, dtype: Any = None) -> int:
        """Bytes that reading holds beside ``out``: rows of projections lie apart, so they are staged."""
        return self._frames.host_bytes(self.shape[0], None)

    def close(self) -> None:
        """Close the file."""
        self._frames.close()

    def read(self, start: int, stop: int, rows: slice, out: np.ndarray) -> None:
        """Fill ``out`` with rows of projections ``start`` to ``stop``."""
        if out.size:
            self._frames.read(rows.start, rows.stop, slice(start, stop), out.swapaxes(0, 1))
