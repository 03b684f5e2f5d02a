"""Stacks of frames, read one after another: TIFF pages, cubes, folders of images, videos; every frame is like the first."""

from __future__ import annotations

import os
import re
from pathlib import Path
from types import TracebackType
from typing import Any, NoReturn

import numpy as np

from footprint.dtypes import put_into
from footprint.errors import FormatError, missing_extra, warn
from footprint.io.formats import is_stored
from footprint.io.frames import Frames, existing_file, looked_at, reading
from footprint.io.image import Image, open_image, open_planes
from footprint.io.kinds import called, suffixes
from footprint.io.picture import check_depth
from footprint.io.raw import RawFrames
from footprint.io.scale import Scale, of_dpi

_PICTURES = ("png", "jpeg", "bmp")
IMAGES = ("tiff", "fits", "npy", "hdf5", *_PICTURES)
# Bytes of a frame that are cast at a time.
_STAGED = 1 << 20
# A decoder keeps frames that later ones refer to, 16 in H.264, some that wait for their turn, and tables beside each. Measured with
# everything as large as it may be: 26 frames for H.264, 9 with its usual options, 5 to 7 for MPEG-4, FFV1 and VP9.
_DECODED = 30
# Pillow's modes that are luminance alone.
_LUMINANCE = ("1", "L", "I", "F")
_IN_COLOUR = "are in colour or transparent; their luminance is filtered; give each picture alone (PNG) if its colours are meant"


class FrameSource:
    """A stack ``(n_frames, n_y, n_x)``; nothing but its description is in memory. One class below for each kind.

    Attributes
    ----------
    path
        The file or folder.
    shape, dtype
        ``(n_frames, n_y, n_x)``, and the dtype in native byte order.
    header
        astropy's FITS header, None for other formats.
    scale
        Sizes of pixels, None where nothing is said of them.
    inverted
        Whether 0 is white.
    lost
        A sentence on what frames have that is not filtered, empty where there is nothing.
    """

    path: str
    shape: tuple[int, int, int]
    dtype: np.dtype
    header: Any = None
    scale: Scale | None = None
    inverted: bool = False
    lost: str = ""

    def read(self, number: int, out: np.ndarray) -> None:
        """Fill ``out`` ``(n_y, n_x)`` with a frame, cast to its dtype; frames are asked for in order."""
        raise NotImplementedError

    def host_bytes(self, dtype: Any) -> int:
        """Bytes that `read` holds beside a contiguous ``out`` of this dtype, a bound."""
        raise NotImplementedError

    def load(self) -> None:
        """Read a frame for nobody: libraries take memory of their own at their first."""
        self.read(0, np.empty(self.shape[1:], self.dtype))

    def close(self) -> None:
        """Close the file."""

    def __enter__(self) -> FrameSource:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def _check(self, name: object, found: tuple[int, ...], dtype: Any) -> None:
        """Raise FormatError where a frame is unlike the first."""
        if tuple(found) != self.shape[1:] or np.dtype(dtype) != self.dtype:
            words = [
                f"{np.dtype(kind)} {' x '.join(map(str, shape))}" for kind, shape in ((dtype, found), (self.dtype, self.shape[1:]))
            ]
            raise FormatError(name, f"is {words[0]}, the first frame is {words[1]}", "frames are of one size and dtype")


def open_source(path: str | os.PathLike[str], plane: int | tuple[int, ...] | None = None) -> Image | FrameSource:
    """Open one image, or a stack of them where there are several and no ``plane`` is asked for.

    Parameters
    ----------
    path
        What `open_image` takes; a TIFF file of many pages, a FITS cube, or a ``.npy`` file or dataset of three dimensions; a folder
        of images, in the order of the numbers in their names; a video.
    plane
        Which plane of a cube, as `open_image` takes it, to have one image.

    Raises
    ------
    FormatError
        As `open_image`; a folder without images, frames that differ, a damaged video.
    ExtraError
        A video, and PyAV is not installed.
    """
    if plane is None and Path(path).is_dir() and not is_stored(path):
        return Folder(path)
    if called(path, "video") and plane is None:
        return Video(path)
    if plane is not None:
        return open_image(path, plane)
    name, frames, shape, header = open_planes(path)
    if len(shape) == 2:
        return Image(name, frames, 0, header)
    # Pages are images of their own along however many axes.
    if len(shape) == 3 or hasattr(frames, "tags"):
        return Planes(name, frames, header, shape)
    frames.close()
    wanted = "an image (n_y, n_x) or a stack of them (n_frames, n_y, n_x)"
    raise FormatError(path, f"holds an array of shape {shape}, wanted {wanted}", "give plane=N (--plane) for one image of it")


class Planes(FrameSource):
    """Pages of a TIFF file, or planes of a FITS cube, a ``.npy`` file or a dataset."""

    def __init__(self, path: str, frames: Frames, header: Any = None, whole: tuple[int, ...] = ()) -> None:
        self.path, self.header, self._frames, self.whole = path, header, frames, whole
        if hasattr(frames, "lean"):
            # Every frame is read once: nothing is gained by holding what was decompressed.
            frames.lean()
        self.shape, self.dtype = frames.shape, np.dtype(frames.dtype)
        self.indexed, self.inverted = getattr(frames, "indexed", False), getattr(frames, "inverted", False)
        self.scale = getattr(frames, "scale", None)
        self._plain = isinstance(getattr(frames, "raw", frames), RawFrames)
        row = self.shape[2] * self.dtype.itemsize
        self._piece = (min(self.shape[1], max(1, _STAGED // max(1, row))), self.shape[2])
        self._staged: np.ndarray | None = None

    def read(self, number: int, out: np.ndarray) -> None:
        """See `FrameSource`."""
        if not self._plain or out.dtype == self.dtype:
            self._frames.read(number, number + 1, slice(0, self.shape[1]), out[None])
            return
        # One buffer for all frames: one a frame would leave the allocator with more than one.
        if self._staged is None:
            self._staged = np.empty(self._piece, self.dtype)
        for start in range(0, self.shape[1], self._piece[0]):
            rows = slice(start, min(start + self._piece[0], self.shape[1]))
            part = self._staged[: rows.stop - start]
            self._frames.read(number, number + 1, rows, part[None])
            put_into(out[rows], part)

    def host_bytes(self, dtype: Any) -> int:
        """See `FrameSource`."""
        if self._plain:
            return 0 if np.dtype(dtype) == self.dtype else self._piece[0] * self._piece[1] * self.dtype.itemsize
        return self._frames.host_bytes(self.shape[1], dtype)

    def close(self) -> None:
        """Close the file."""
        self._frames.close()


class Folder(FrameSource):
    """A folder of images of any kind, one a file; other files in it are left alone."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = os.fspath(path)
        try:
            files = [p for p in Path(path).iterdir() if called(p, *IMAGES) and not p.name.startswith(".") and p.is_file()]
        except OSError as error:
            raise FormatError(path, f"cannot be listed ({error.strerror})") from error
        if not files:
            raise FormatError(
                path, f"is a folder without images ({', '.join(suffixes(*IMAGES))})", "give one image, or a folder of them"
            )
        # Numbers as numbers; \d is what int() takes.
        self._files = sorted(
            files, key=lambda p: [(0, int(w), "") if w.isdecimal() else (1, 0, w) for w in re.split(r"(\d+)", p.name)]
        )
        with _image(self._files[0]) as first:
            self.shape, self.dtype = (len(files), *first.shape), first.dtype
            self.scale, self.inverted = first.scale, first.inverted
            self.lost = f"{self.path}: its frames {_IN_COLOUR}." if getattr(first, "coloured", False) else ""
        for file in looked_at(self._files[1:]):
            with _image(file) as image:
                self._check(image.path, image.shape, image.dtype)

    def read(self, number: int, out: np.ndarray) -> None:
        """See `FrameSource`."""
        with _image(self._files[number]) as image:
            self._check(image.path, image.shape, image.dtype)
            if getattr(image, "coloured", False) and not self.lost:
                self.lost = f"{image.path}: this frame, and perhaps others, {_IN_COLOUR}."
                warn(self.lost)
            image.read(slice(0, self.shape[1]), out)

    def host_bytes(self, dtype: Any) -> int:
        """See `FrameSource`; a file that is unlike the first in how it is stored may take what the largest kind does."""
        kinds = {p.suffix.lower(): p for p in reversed(self._files)}
        most = 0
        for file in kinds.values():
            with _image(file) as image:
                most = max(most, image.host_bytes(image.shape[0], dtype))
        return most


class Picture:
    """A PNG, JPEG or BMP file as `Image` offers one: grey, or the luminance of its colours; 16 bits of grey stay 16."""

    inverted = False

    def __init__(self, path: Path) -> None:
        from PIL import Image as pillow

        self.path = str(existing_file(path, "an image"))
        check_depth(self.path)
        with reading(path):
            self._file = pillow.open(path)
            self.coloured, self.scale = _has_colours(self._file), of_dpi(self._file.info)
        self.shape: tuple[int, int] = (self._file.height, self._file.width)
        # Other modes are colours, palettes and bits.
        self._grey = self._file.mode.startswith(("I", "F"))
        self.dtype = np.dtype({"I": "i4", "F": "f4"}.get(self._file.mode, "u2") if self._grey else "u1")

    def host_bytes(self, n_rows: int, dtype: Any = None) -> int:
        """Decoded, and once more as luminance and as an array."""
        return self.shape[0] * self.shape[1] * (4 + 2 * self.dtype.itemsize)

    def read(self, rows: slice, out: np.ndarray) -> None:
        """As `Image.read`."""
        with reading(self.path):
            grey = self._file if self._grey else self._file.convert("L")
            put_into(out, np.asarray(grey)[rows])

    def __enter__(self) -> Picture:
        return self

    def __exit__(self, *error: object) -> None:
        self._file.close()


def _has_colours(image: Any) -> bool:
    """Whether one of Pillow's images is more than its luminance; a palette of greys is none of colours."""
    if image.mode == "P":
        palette = np.reshape(image.getpalette("RGB") or [], (-1, 3))
        # Frames of a GIF are drawn over one another through what is transparent in them.
        return bool((palette != palette[:, :1]).any()) or ("transparency" in image.info and image.format != "GIF")
    return not (image.mode in _LUMINANCE or image.mode.startswith("I;16"))


def _gif_has_colours(path: str) -> bool:
    """Whether the first frame of a GIF is more than grey: PyAV makes colours of all."""
    from PIL import Image as pillow

    with reading(path), pillow.open(path) as image:
        return _has_colours(image)


def _image(path: Path) -> Image | Picture:
    """One image of a folder."""
    if called(path, *_PICTURES):
        return Picture(path)
    name, frames, shape, _ = open_planes(path)
    if len(shape) == 2:
        return Image(name, frames, 0)
    frames.close()
    raise FormatError(path, f"holds an array of shape {shape}", "a folder holds one image per file; give this file alone")


class Video(FrameSource):
    """A video by PyAV: frames of luminance, with as many bits as the video has: 0 to 255, or 0 to 4095 where it has 12."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = str(existing_file(path, "a video"))
        try:
            import av
        except ImportError as error:
            raise missing_extra("av", "video", f"reading the video {self.path}") from error
        count = 0
        with reading(path, "the video", "it may be damaged, or no video"):
            with av.open(self.path) as trial:
                if not trial.streams.video:
                    raise FormatError(path, "holds no video, only other streams")
                # Containers may say how many frames there are, and be wrong; packets are counted without decoding them.
                for packet in trial.demux(trial.streams.video[0]):
                    count += bool(packet.size) and not packet.is_discard
            if not count:
                raise FormatError(path, "holds a video without frames")
            self._asked, self._container = 0, av.open(self.path)
            self._coming, stream = self._frames(self._container)
            self._bits = stream.format.padded_bits_per_pixel
        if self.path.lower().endswith(".gif") and _gif_has_colours(self.path):
            self.lost = f"{self.path}: its frames {_IN_COLOUR}."
        deep = max(component.bits for component in stream.format.components)
        # Kinds of luminance that every PyAV makes: what has 9 to 15 bits becomes 16, and goes back to its own by a shift.
        self._kind = "gray16le" if deep > 8 else "gray"
        self._shift: int = max(16 - deep, 0) if deep > 8 else 0
        self.shape, self.dtype = (count, stream.height, stream.width), np.dtype(np.uint16 if deep > 8 else np.uint8)

    @staticmethod
    def _frames(container: Any) -> tuple[Any, Any]:
        stream = container.streams.video[0]
        # Threads that each decode a frame would hold as many more.
        stream.thread_type = "SLICE"
        return container.decode(stream), stream

    def load(self) -> None:
        """See `FrameSource`."""
        import av

        with reading(self.path), av.open(self.path) as container:
            frame = next(self._frames(container)[0], None)
            if frame is not None:
                frame.to_ndarray(format=self._kind)

    def read(self, number: int, out: np.ndarray) -> None:
        """See `FrameSource`."""
        if number != self._asked:
            raise AssertionError(f"frame {number} of a video was asked for after frame {self._asked - 1}")
        frame = self._next()
        self._asked += 1
        if frame is None:
            self._miscounted(f"only {number}")
        self._check(f"{self.path}, frame {number}", (frame.height, frame.width), self.dtype)
        with reading(self.path, f"frame {number}"):
            grey = frame.to_ndarray(format=self._kind)
            put_into(out, grey >> self._shift if self._shift else grey)
            del grey
        del frame
        if self._asked == self.shape[0] and self._next() is not None:
            self._miscounted("more")

    def _next(self) -> Any:
        with reading(self.path, f"frame {self._asked}"):
            return next(self._coming, None)

    def _miscounted(self, found: str) -> NoReturn:
        problem = f"declares {self.shape[0]} frames and has {found}"
        raise FormatError(self.path, problem, "it may be damaged; write it again, as with ffmpeg -i OLD -c:v ffv1 NEW.mkv")

    def host_bytes(self, dtype: Any) -> int:
        """See `FrameSource`: what the decoder keeps, and the luminance, twice; once more where it is shifted."""
        pixels = self.shape[1] * self.shape[2]
        return _DECODED * pixels * self._bits // 8 + (3 if self._shift else 2) * pixels * self.dtype.itemsize

    def close(self) -> None:
        """Close the file."""
        self._coming.close()
        self._container.close()
