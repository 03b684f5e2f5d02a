"""TIFF: a folder of one page a file, or files of many pages; uncompressed pages are read row by row."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import tifffile

from footprint.dtypes import put_into
from footprint.errors import FormatError
from footprint.io.about import plain_table
from footprint.io.direct import starts
from footprint.io.frames import existing_file, looked_at, reading
from footprint.io.kept import Ahead
from footprint.io.kinds import begins, called
from footprint.io.raw import RawFrames
from footprint.io.scale import Scale, of_tiff, tiff_tags
from footprint.io.tiff_bands import Bands
from footprint.io.tiff_pages import open_tiff, opened
from footprint.units import counted

# What the library takes itself for files whose pages it decodes: what is known of some of them, until Python looks for circles.
_LIBRARY = 1 << 20


def in_order(files: Iterable[Path]) -> list[Path]:
    """Files by name, numbers in their names compared as numbers."""
    return sorted(files, key=lambda p: [int(w) if w.isdigit() else w for w in re.split(r"(\d+)", p.name)])


def folder_files(path: str | os.PathLike[str]) -> list[Path]:
    """TIFF files of a folder, in order, but for hidden ones: macOS keeps what it knows of a file in one called ._ and its name."""
    try:
        files = [p for p in Path(path).iterdir() if called(p, "tiff") and not p.name.startswith(".") and p.is_file()]
    except OSError as error:
        raise FormatError(path, f"cannot be listed ({error.strerror})") from error
    return in_order(files)


class TiffFile(Ahead):
    """Pages of one TIFF file as frames ``(n_pages, n_z, n_x)``.

    Parameters
    ----------
    path
        The file.
    planes
        Take the planes of one page for frames: a stack of three or four that was written without a word of what it is.
    several
        Take pages along several axes, as of channels and times, one after another.

    Attributes
    ----------
    whole
        The shape with all axes of its pages.
    indexed
        Whether its numbers are shown in colours of a palette.
    inverted
        Whether 0 is white in it.
    """

    def __init__(self, path: str | os.PathLike[str], planes: bool = False, several: bool = False) -> None:
        super().__init__()
        existing_file(path, "a TIFF file")
        self.path, self._planes, self._several = str(path), 4 if planes else 1, several
        if not begins(path, "tiff"):
            raise FormatError(path, "is not a TIFF file")
        self.raw: RawFrames | None = None
        self._bands: Bands | None = None
        with reading(path):
            self._tiff = open_tiff(path)
            try:
                self._open()
            except BaseException:
                self._tiff.close()
                raise

    def _open(self) -> None:
        if not self._tiff.series:
            raise FormatError(self.path, "holds no image")
        # Pages that were added one by one are a series each; reduced copies of a page are not the data.
        several = [found for found in self._tiff.series if found is self._tiff.series[0] or not found.keyframe.is_reduced]
        series = several[0]
        page = series.keyframe
        apart = self._planes > 1 and page.planarconfig == 2 and len(series.shape) == 3 and len(several) == 1
        self._planes = page.samplesperpixel if apart else 1
        if series.dtype is None or series.dtype.kind not in "biuf" or page.samplesperpixel != self._planes:
            found = f"{series.dtype} pixels of {page.samplesperpixel} samples"
            fix = _remedy(page, sum(len(one.pages) for one in several)) if page.samplesperpixel > 1 else ""
            raise FormatError(self.path, f"holds {found}, wanted one grey value", fix)
        shape = tuple(int(n) for n in series.shape)
        if len(shape) < 2 or (len(shape) > 3 and max(shape[:-3]) > 1 and not self._several):
            fix = "save one channel and one time, as a stack of its own" if len(shape) > 3 else ""
            raise FormatError(self.path, f"holds an array of shape {shape}, wanted one stack of pages (n_y, n_x)", fix)
        for other in several[1:]:
            if (other.shape[-2:], other.dtype) != (series.shape[-2:], series.dtype):
                found = " and ".join(f"{one.dtype} {' x '.join(map(str, one.shape[-2:]))}" for one in (series, other))
                where = f"page {other.keyframe.index}, counted from 0"
                raise FormatError(self.path, f"holds pages that differ: {found} ({where})", "wanted pages of one size and dtype")
        self.indexed = page.photometric == tifffile.PHOTOMETRIC.PALETTE and not _is_grey(page.colormap)
        self.inverted = page.photometric == tifffile.PHOTOMETRIC.MINISWHITE
        self._keyframe = page
        # One series is asked page by page: a list of its pages would parse them all.
        self._pages: Any = series.pages if len(several) == 1 else [page for one in several for page in one.pages]
        n_pages = len(self._pages) if len(several) > 1 else math.prod(shape[:-2])
        self.shape: tuple[int, int, int] = (n_pages, shape[-2], shape[-1])
        self.whole: tuple[int, ...] = self.shape if len(several) > 1 else shape
        self.dtype = np.dtype(series.dtype).newbyteorder("=")
        if series.dataoffset is not None and len(several) == 1:
            stored = np.dtype(series.dtype).newbyteorder(self._tiff.byteorder)
            self.raw = RawFrames(self.path, series.dataoffset, self.shape, stored)
        elif len(self._pages) * self._planes != self.shape[0]:
            deep = getattr(page, "imagedepth", 1) > 1
            fix = "it has several frames in a page, which are not read; write it with a page for each" if deep else ""
            raise FormatError(self.path, f"has {counted(len(self._pages), 'pages')} for {self.shape[0]} frames", fix)
        elif Bands.suit(page):
            self._bands = Bands(page, *self.shape[1:], self.dtype)

    def host_bytes(self, n_rows: int, dtype: Any = None) -> int:
        """Bytes that reading holds beside ``out``: a staged piece, or a band or page decoded, its strip and its stored bytes."""
        if self.raw is not None:
            return self.raw.host_bytes(n_rows, dtype)
        if self._bands is not None:
            return self._bands.nbytes + _LIBRARY
        # The page before is let go only when the next one is there.
        return 4 * self._planes * self.shape[1] * self.shape[2] * self.dtype.itemsize + _LIBRARY

    @property
    def _chunk(self) -> tuple[int, int, int] | None:
        if self._bands is not None:
            return 1, self._bands.high, self.shape[2]
        return None if self.raw is not None else (self._planes, *self.shape[1:])

    def close(self) -> None:
        """Close the file."""
        self._kept = None
        if self._bands is not None:
            self._bands.forget()
        self._tiff.close()
        if self.raw is not None:
            self.raw.close()

    def _read(self, start: int, stop: int, rows: slice, out: np.ndarray) -> None:
        """Fill ``out`` with rows of pages ``start`` to ``stop``, cast and byte-swapped."""
        if out.size == 0:
            return
        if self.raw is not None:
            self.raw.read(start, stop, rows, out)
            return
        for i in range(start, stop):
            # maxworkers=1: the reader runs beside the kernels, whose threads are the ones that count.
            with reading(self.path, f"page {i}"):
                page = self._pages[i // self._planes]
                if page is None:
                    fix = "give those that are there one by one (--plane, plane=), or write it anew"
                    raise FormatError(self.path, f"page {i} is not in it, although its description counts it", fix)
                with opened(page):
                    if self._bands is not None and page.shape == self._keyframe.shape:
                        self._by_bands(i, page, rows, out[i - start])
                        continue
                    values = page.asarray(maxworkers=1)
                values = values[i % self._planes] if self._planes > 1 else values
            if values.shape != self.shape[1:]:
                raise FormatError(self.path, f"page {i} is not {self.shape[1]} x {self.shape[2]} like the first")
            put_into(out[i - start], values[rows])

    def _by_bands(self, i: int, page: Any, rows: slice, out: np.ndarray) -> None:
        """Fill ``out`` with rows of frame ``i``, decoding no more of its page than they are in."""
        bands = self._bands
        assert bands is not None
        for at in range(rows.start // bands.high, -(-rows.stop // bands.high)):
            first = at * bands.high
            start, stop = max(rows.start, first), min(rows.stop, first + bands.high)
            found = bands.band(i // self._planes, page, i % self._planes, at)
            put_into(out[start - rows.start : stop - rows.start], found[start - first : stop - first])

    @property
    def scale(self) -> Scale | None:
        """Sizes of its pixels, None where it says nothing, or nothing that makes sense."""
        return of_tiff(self._tiff, self._tiff.series[0])

    def tags(self) -> list[tuple[str, Any]]:
        """What the first page says in words and single numbers."""
        with reading(self.path, "its tags"):
            page = self._tiff.pages[0]
            found = [(tag.name, tag.value) for tag in getattr(page, "tags", ()) if tag.count <= 2 or isinstance(tag.value, str)]
        return [(name, value) for name, value in found if not name.startswith(("Strip", "Tile"))]

    def columns(self, start: int, stop: int, rows: slice, x: int, out: np.ndarray) -> None:
        """Fill ``out`` ``(stop - start, n)`` with the pixels at ``x`` of every ``rows.step``-th row of pages."""
        if self.raw is not None:
            self.raw.columns(start, stop, rows, x, out)
            return
        page = np.empty((1, rows.stop - rows.start, self.shape[2]), self.dtype)
        for i, line in enumerate(out, start):
            self.read(i, i + 1, slice(rows.start, rows.stop), page)
            put_into(line, page[0, :: rows.step, x])


class TiffFiles(Ahead):
    """Several TIFF files as one stack of frames.

    Parameters
    ----------
    path
        What the user named: a folder, or names with ``*``.
    files
        The files, in order: of one page each, or of any number where the first has several.
    """

    def __init__(self, path: str | os.PathLike[str], files: list[Path]) -> None:
        super().__init__()
        self.path, self._files = str(path), files
        if not files:
            raise FormatError(path, "holds no .tif or .tiff files")
        first = TiffFile(files[0], len(files) == 1)
        first.close()
        self.dtype, self._first = first.dtype, first
        # Thousands of files of one page each are not opened to be counted: `check_headers` does, of those that are to be read.
        counts = [first.shape[0], *(_count(name) if first.shape[0] > 1 else 1 for name in files[1:])]
        self._starts = np.r_[0, np.cumsum(counts)]
        self.shape = (int(self._starts[-1]), first.shape[1], first.shape[2])
        # Where each file's pixels start, once it was parsed: every chunk of rows opens every file again.
        self._offsets: dict[int, tuple[int, np.dtype]] = {}
        self._seen = {0}

    def files(self) -> list[Path]:
        """One a frame, or for several."""
        return self._files

    def check_headers(self, index: np.ndarray) -> None:
        """Raise FormatError where the file of one of these frames is unlike the first; see `looked_at`."""
        wanted = np.unique(np.searchsorted(self._starts, index, side="right") - 1)
        for i in looked_at([int(i) for i in wanted if int(i) not in self._seen]):
            with closing(self._file(i)) as file:
                self._know(i, file)
            self._seen.add(i)

    def host_bytes(self, n_rows: int, dtype: Any = None) -> int:
        """Bytes that reading holds beside ``out``: one file's."""
        return self._first.host_bytes(n_rows, dtype)

    @property
    def _chunk(self) -> tuple[int, int, int] | None:
        return self._first._chunk

    def close(self) -> None:
        """Nothing is held open between reads."""
        self._kept = None

    def _read(self, start: int, stop: int, rows: slice, out: np.ndarray) -> None:
        """Fill ``out`` with rows of frames ``start`` to ``stop``, cast and byte-swapped."""
        for file, pages, into in self._files_of(start, stop):
            file.read(pages.start, pages.stop, rows, out[into])

    def columns(self, start: int, stop: int, rows: slice, x: int, out: np.ndarray) -> None:
        """Fill ``out`` ``(stop - start, n)`` with the pixels at ``x`` of every ``rows.step``-th row of frames."""
        for file, pages, into in self._files_of(start, stop):
            file.columns(pages.start, pages.stop, rows, x, out[into])

    def tags(self) -> list[tuple[str, Any]]:
        """What the first page of the first file says."""
        with closing(TiffFile(self._files[0], len(self._files) == 1)) as file:
            return file.tags()

    def _files_of(self, start: int, stop: int) -> Iterator[tuple[TiffFile | RawFrames, slice, slice]]:
        """The files that hold some frames, one open at a time: which of its pages, and where they go."""
        at = start
        while at < stop:
            i = int(np.searchsorted(self._starts, at, side="right")) - 1
            first, end = int(self._starts[i]), min(stop, int(self._starts[i + 1]))
            with closing(self._file(i)) as file:
                yield file, slice(at - first, end - first), slice(at - start, end - start)
                self._know(i, file)
            at = end

    def _know(self, i: int, file: TiffFile | RawFrames) -> None:
        """Remember where the pixels of a file start that was parsed."""
        if isinstance(file, TiffFile) and file.raw is not None:
            self._offsets[i] = (file.raw.offset, file.raw.stored)

    def _file(self, i: int) -> TiffFile | RawFrames:
        want = (int(self._starts[i + 1] - self._starts[i]), *self.shape[1:])
        if i in self._offsets:
            return RawFrames(self._files[i], self._offsets[i][0], want, self._offsets[i][1])
        file = TiffFile(self._files[i], len(self._files) == 1)
        if file.shape != want or file.dtype != self.dtype:
            file.close()
            is_, first = (
                f"{dtype} {shape[1]} x {shape[2]} of {counted(shape[0], 'pages')}"
                for dtype, shape in ((file.dtype, file.shape), (self.dtype, want))
            )
            raise FormatError(self._files[i], f"is {is_}, the first is {first}", "all files of a stack must be alike")
        return file


def _is_grey(palette: Any) -> bool:
    """Whether a palette ``(3, n)`` shows larger numbers as lighter grey, as they would be shown without one."""
    return palette is None or bool((palette == palette[0]).all() and (np.diff(palette[0].astype(int)) >= 0).all())


def _remedy(page: Any, n_pages: int) -> str:
    """What to do about colours that cannot be read as one number, and are no picture that is taken colour by colour."""
    if page.planarconfig == 2:
        # tifffile takes a stack of three or four images for the colours of one, unless it is told.
        fix = 'if these are images of their own, write them with photometric="minisblack"'
        return f'{fix}; if colours, pixel by pixel, with planarconfig="contig"'
    if page.photometric == tifffile.PHOTOMETRIC.YCBCR:
        return "its colours are YCbCr, as JPEG packs them; write them as RGB, packed without loss or not at all"
    if page.photometric != tifffile.PHOTOMETRIC.RGB or page.samplesperpixel not in (3, 4):
        return "save colours as RGB, with or without transparency, and grey without"
    if page.dtype not in (np.uint8, np.uint16):
        return "colours of 8 or 16 bits are taken; save each of these as a grey image"
    if n_pages > 1:
        return f"of pictures in colour one page is taken, this has {n_pages}; save each as a file"
    return "footprint convolve and footprint filter take it as a picture"


def _count(path: Path) -> int:
    file = TiffFile(path)
    file.close()
    return file.shape[0]


def create(
    path: str | os.PathLike[str],
    shape: tuple[int, ...],
    dtype: np.dtype,
    about: Mapping[str, Any] | None = None,
    scale: Scale | None = None,
    inverted: bool = False,
    ome: bool = False,
) -> RawFrames:
    """Create an uncompressed TIFF (BigTIFF from 4 GB on) of zeros, whose pages can be written in any order.

    ``about`` says how it was made, as JSON in the first page's description; or ``scale`` how large pixels are, with OME-XML where
    ``ome`` is asked for. ``inverted`` says that 0 is white.
    """
    nbytes = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
    # A page costs about 300 bytes of tags; the offsets of a classic TIFF end at 4 GiB.
    big = nbytes + 512 * int(np.prod(shape[:-2], dtype=np.int64)) > (1 << 32) - (1 << 25)
    with tifffile.TiffWriter(path, bigtiff=big, ome=ome) as file:
        offset, _ = file.write(
            data=None,
            shape=shape,
            dtype=dtype,
            photometric="miniswhite" if inverted else "minisblack",
            returnoffset=True,
            align=max(16, starts(nbytes)),
            **(_tags(about) if about else tiff_tags(scale, shape, ome)),
        ) or (None, None)
    if offset is None:
        raise FormatError(path, f"a TIFF of shape {shape} cannot be laid out", "write .h5 instead")
    frames = (int(np.prod(shape[:-2], dtype=np.int64)), shape[-2], shape[-1])
    return RawFrames(path, offset, frames, dtype, writable=True)


def _tags(about: Mapping[str, Any]) -> dict[str, Any]:
    """Provenance as tifffile takes it: JSON in the description, the program, and pixels a centimetre."""
    said = plain_table(about)
    tags: dict[str, Any] = {"metadata": said, "software": str(about.get("program", "footprint"))}
    size = about.get("pixel_size")
    if isinstance(size, int | float) and size > 0:
        tags |= {"resolution": (1 / size, 1 / size), "resolutionunit": "CENTIMETER"}
    return tags
