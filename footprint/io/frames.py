"""What every file of detector frames offers, and the checks that files of all formats share."""

from __future__ import annotations

import math
import mmap
import operator
import os
import re
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, TypeVar

import numpy as np

from footprint.errors import FootprintError, FormatError, ShapeError
from footprint.io.kinds import called

# Bytes staged at a time while a file's numbers are cast: small beside any chunk, large beside a disk request.
PIECE = 1 << 20
# What is staged in fewer bytes may stay with every thread.
_SMALL = 1 << 16
# Seconds of looking at headers; opening a file takes .1 to .7 ms.
_LOOK = 10.0

One = TypeVar("One")


class Frames(Protocol):
    """A stack of frames ``(n_frames, n_z, n_x)`` in a file, read by frames and rows."""

    path: str
    shape: tuple[int, int, int]
    dtype: np.dtype

    def read(self, start: int, stop: int, rows: slice, out: np.ndarray) -> None:
        """Fill ``out`` ``(stop - start, n_rows, n_x)`` with rows of frames ``start`` to ``stop``, cast to its dtype."""
        ...

    def host_bytes(self, n_rows: int, dtype: Any = None) -> int:
        """Bytes that reading ``n_rows`` rows holds beside ``out``: a bound.

        ``dtype`` is that of a contiguous ``out``; None is any other ``out``, which may have to be staged.
        """
        ...

    def close(self) -> None:
        """Close the file."""
        ...


def looked_at(files: Iterable[One]) -> Iterator[One]:
    """Files of a stack whose headers are read before it is: all of them, or those that are reached in `_LOOK` seconds.

    One that is unlike the others is then told of at once, where it would end a run in its middle. A disk that is slow to open files
    keeps nobody waiting: what was not reached is checked when it is read.
    """
    end = time.monotonic() + _LOOK
    for file in files:
        yield file
        if time.monotonic() > end:
            return


def files_of(frames: Frames) -> list[Path]:
    """The files that a stack is read from; none of an array in memory."""
    own = getattr(frames, "files", None)
    return [Path(frames.path)] if own is None else [Path(file) for file in own()]


@dataclass
class Group:
    """Frames of one kind: which frames of which file, and when each was taken (a frame number, or unknown = before all).

    ``current`` is the beam's at each, or what a monitor counted; None where the file does not say.
    """

    frames: Frames
    index: np.ndarray
    time: np.ndarray
    current: np.ndarray | None = None

    @classmethod
    def all_of(cls, frames: Frames, time: float = 0.0) -> Group:
        """Return every frame of a file, all taken at ``time``."""
        n = frames.shape[0]
        return cls(frames, np.arange(n), np.full(n, time))


@dataclass
class ScanParts:
    """What a file's reader found; `footprint.io.scan.Scan` makes one face of it.

    ``angles`` are as the file has them, in ``angle_unit``: `footprint.io.angles` makes radians of them.
    """

    path: str
    layout: str
    projections: Group
    flats: Group | None = None
    darks: Group | None = None
    angles: np.ndarray | None = None
    angle_unit: str = "deg"
    pixel_size: float | None = None
    energy: float | None = None
    distance: float | None = None
    field_of_view: str | None = None
    name: str = ""
    notes: list[str] = field(default_factory=list)
    close: list[Frames] = field(default_factory=list)


@contextmanager
def reading(path: object, what: str = "the file", fix: str = "") -> Iterator[None]:
    """Turn whatever a format library raises on damaged bytes into one FormatError."""
    try:
        yield
    except (FootprintError, ImportError):
        raise
    except Exception as error:
        # Parsers fed damaged bytes raise anything from KeyError to ZeroDivisionError; the user needs the file's name.
        reason = str(error).strip().split("\n")[0][:200].rstrip(".") or type(error).__name__
        cut = re.search(r"truncated file: eof = (\d+),.*stored_eof = (\d+)", reason)
        if cut:
            problem = f"is truncated: its header declares {cut[2]} bytes, it has {cut[1]}"
            raise FormatError(path, problem, "copy or write it again") from error
        raise FormatError(path, f"{what} cannot be read ({reason})", fix or "it may be damaged or truncated") from error


def existing_file(path: str | os.PathLike[str], wanted: str = "a file") -> Path:
    """Return the path of a file that can be read, or raise FormatError saying why it cannot."""
    if not os.fspath(path):
        raise FormatError("''", "is not a name", f"give that of {wanted}")
    name = Path(path)
    try:
        if name.is_dir():
            raise FormatError(path, f"is a folder, not {wanted}")
        if not name.exists():
            if name.is_symlink():
                raise FormatError(path, "is a link that leads to no file")
            file = os.fspath(path).partition(":")[0]
            named = file != os.fspath(path) and os.path.isfile(file)
            part = f'an extension is named "{file}[NAME]"' if called(file, "fits") else f'a dataset is named "{file}:/NAME"'
            raise FormatError(path, "there is no such file", part if named else "check the path")
        if not name.is_file():
            raise FormatError(path, f"is a pipe or a device, not {wanted}", "save its data to a file first")
        if name.stat().st_size == 0:
            raise FormatError(path, "the file is empty")
        with open(name, "rb"):
            pass
    except (OSError, ValueError) as error:
        if isinstance(error, FootprintError):
            raise
        raise FormatError(path, f"cannot be opened ({getattr(error, 'strerror', None) or error})") from error
    return name


def described(shape: Any, dtype: Any, axes: str) -> tuple[tuple[int, ...], np.dtype]:
    """Shape and dtype of an array to be written, as asked for; ShapeError where they are none. ``axes`` is ``(n_y, n_x)`` or so."""
    try:
        lengths = tuple(operator.index(n) for n in shape)
    except TypeError:
        raise ShapeError("shape", repr(shape), f"{axes}, whole numbers") from None
    if len(lengths) != axes.count(",") + 1:
        raise ShapeError("shape", lengths, axes)
    try:
        return lengths, np.dtype(dtype)
    except TypeError:
        raise ShapeError("dtype", repr(dtype), "a dtype of real numbers, such as 'float32' or 'uint16'") from None


def row_range(rows: slice | None, n: int, name: str = "rows") -> tuple[int, int]:
    """Resolve a slice of rows to ``(start, stop)`` inside ``n``; steps other than 1 are refused."""
    start, stop, step = (rows if rows is not None else slice(None)).indices(n)
    if step != 1:
        raise ShapeError(name, rows, "a slice with step 1")
    return start, max(start, stop)


def check_out(out: np.ndarray, shape: tuple[int, ...], dtype: Any) -> None:
    """Raise ShapeError unless ``out`` can take a read of ``shape`` of what is stored as ``dtype``: smaller integers would wrap."""
    if out.shape != shape:
        raise ShapeError("out", f"shape {out.shape}", f"shape {shape}")
    if not out.flags.writeable:
        raise ShapeError("out", "a read-only array", "one that can be written")
    if out.dtype.kind not in "bfc" and not np.can_cast(dtype, out.dtype, "safe"):
        held = np.dtype(dtype).name
        raise ShapeError(
            "out", f"dtype {out.dtype.name}", f"one that holds {held}", f"read it as {held}, then round, clip and cast"
        )


def runs(index: np.ndarray) -> Iterator[tuple[int, int, int]]:
    """Yield ``(position, start, stop)`` of each run of consecutive numbers in ``index``."""
    if len(index) == 0:
        return
    edges = np.flatnonzero(np.diff(index) != 1) + 1
    for a, b in zip(np.r_[0, edges], np.r_[edges, len(index)]):
        yield int(a), int(index[a]), int(index[b - 1]) + 1


def missing_runs(known: np.ndarray) -> Iterator[tuple[int, int]]:
    """Yield ``(start, stop)`` of each run of what is not yet known."""
    for _, start, stop in runs(np.flatnonzero(~known)):
        yield start, stop


def staging(shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """An array in pages of its own, which go back at once: in the C library's heap every thread would leave one behind."""
    count = math.prod(shape)
    nbytes = count * dtype.itemsize
    if nbytes < _SMALL:
        return np.empty(shape, dtype)
    # All of it is used, and pages that come together come faster.
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | getattr(mmap, "MAP_POPULATE", 0)
    return np.frombuffer(mmap.mmap(-1, nbytes, flags=flags), dtype, count).reshape(shape)


def turn_bytes(array: np.ndarray) -> None:
    """Turn the bytes of every number about, where it lies.

    NumPy's copy to itself does so by vectors, without holding the interpreter: its ``byteswap`` takes four times as long, and stops
    all threads meanwhile.
    """
    if array.flags.c_contiguous:
        flat = array.reshape(-1)
        np.copyto(flat, flat.view(flat.dtype.newbyteorder()))
    else:
        array.byteswap(inplace=True)
