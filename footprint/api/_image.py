"""Images as the verbs of source finding see them: rows of an array or a file, and the passes that are made over them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from footprint.api._arrays import Array, Progress, receive, where
from footprint.api._axes import one_of
from footprint.api._call import Described, Face, Stream
from footprint.errors import ShapeError
from footprint.ops.sigma_clip import as_rows
from footprint.plan.faces import Filler, Region
from footprint.plan.slots import Given
from footprint.spec import ArraySpec

# Bytes a file's library holds beside the block while so many rows are read into it, contiguous and of this dtype.
Reading = Callable[[int, str], int]

# Elements of a strided array that are copied at once where it cannot be seen as rows: as many as NumPy's own casts, no plan counts.
_PIECE = 1 << 13


@dataclass(frozen=True)
class Image:
    """An image seen as rows.

    Attributes
    ----------
    face
        What a plan meets: an array, or what fills blocks of rows.
    file
        What was opened by the caller, None for an array.
    """

    face: Array | Stream
    file: Any = None

    @property
    def spec(self) -> ArraySpec:
        """Shape ``(height, width)`` and the dtype the image has."""
        return self.face.spec

    def where(self, device: str) -> str:
        """The device a call runs on."""
        return where(device, *([self.face] if isinstance(self.face, Array) else []))


def see(image: Any, name: str = "image", flat: bool = False) -> Image:
    """An array, or an open image with ``shape``, ``dtype`` and ``read(rows, out)``; ``flat`` lets it have any number of axes."""
    # A CCDData reads, too, but whole files.
    if (
        not isinstance(image, np.ndarray)
        and hasattr(image, "read")
        and hasattr(image, "shape")
        and not hasattr(image, "uncertainty")
    ):
        if not flat and len(image.shape) != 2:
            raise ShapeError(name, f"shape {tuple(image.shape)}", "(n_y, n_x)")

        def read(region: Region, block: np.ndarray) -> None:
            image.read(slice(region[0].start, region[0].stop), block)

        spec = ArraySpec(as_rows(image.shape, name), np.dtype(image.dtype).str)
        known = getattr(image, "known", None)
        return Image(from_file(spec, getattr(image, "host_bytes", None), read, known), image)
    array = receive(image, name)
    shape = tuple(array.data.shape)
    if not flat and len(shape) != 2:
        raise ShapeError(name, f"shape {shape}", "(n_y, n_x)", one_of(name, shape))
    rows = as_rows(shape, name)
    data = array.data
    if shape != rows:
        if array.device != "cpu" and not array.direct:
            # CuPy would make a copy that no plan has counted.
            raise ShapeError(name, f"strides {data.strides} on a device", "2 axes, or a C-contiguous array there", "copy it first")
        viewed = data.reshape(rows)
        if array.device == "cpu" and not np.may_share_memory(viewed, data):
            return Image(Stream(_from_strides(data, rows[1]), ArraySpec(rows, data.dtype.str), key="strides"))
        data = viewed
    return Image(Array(data, array.kind, array.device))


def from_file(
    spec: ArraySpec,
    reading: Reading | None,
    read: Callable[[Region, np.ndarray], None] | None = None,
    known: tuple[Any, ...] | None = None,
) -> Stream:
    """An image that comes by rows; without ``read`` for a plan alone. ``known`` is all that ``reading`` goes by."""
    beside = None if reading is None else lambda block: reading(block.shape[0], block.dtype)
    data = Filler(read) if read is not None else None
    if known is not None:
        return Stream(data, spec, beside, key=("file", *known), owner="source", plan_alone=True, loose=True)
    return Stream(data, spec, beside, decoding=decoding_of(reading), lean=lean_of(reading))


def lean_of(reading: Reading | None) -> Callable[[], bool] | None:
    """What asks a reader to hold nothing, where ``reading`` is its ``host_bytes`` and it has such a way; see `Given`."""
    return getattr(getattr(reading, "__self__", None), "lean", None)


def decoding_of(reading: Reading | None) -> Callable[[tuple[int, ...]], float] | None:
    """Seconds that a reader decompresses blocks for, where ``reading`` is its ``host_bytes`` and it can tell; see `Given`."""
    seconds = getattr(getattr(reading, "__self__", None), "decoding", None)
    return None if seconds is None else lambda shape: seconds(shape[0])


def host(array: np.ndarray) -> Array:
    """A small result of ours."""
    return Array(array, "numpy", "cpu")


def foretold(*specs: ArraySpec) -> list[Face]:
    """C-contiguous arrays on the host, for plans."""
    return [Described(spec, Given("host", np.dtype(spec.dtype).isnative)) for spec in specs]


def _from_strides(data: np.ndarray, width: int) -> Filler:
    def fill(region: Region, block: np.ndarray) -> None:
        target, start, stop = block.reshape(-1), region[0].start * width, region[0].stop * width
        for at in range(start, stop, _PIECE):
            end = min(at + _PIECE, stop)
            target[at - start : end - start] = data.flat[at:end]

    return Filler(fill)


class Passes:
    """Tells the caller how far a job of several passes is, counting every one of them.

    Parameters
    ----------
    progress
        ``progress(rows_done, rows)``.
    rows
        Of the image.
    usual
        How many passes there are, mostly.
    """

    def __init__(self, progress: Progress, rows: int, usual: int) -> None:
        self.progress, self.rows, self.usual = progress, rows, usual
        self.turn, self.last = 0, 0

    def __call__(self, done: int, total: int) -> None:
        """A part is through."""
        self.turn += done <= self.last
        self.last = done
        self.progress(self.turn * self.rows + done * self.rows // total, max(self.usual, self.turn + 1) * self.rows)

    def end(self) -> None:
        """The job is through."""
        self.progress((self.turn + 1) * self.rows, (self.turn + 1) * self.rows)
