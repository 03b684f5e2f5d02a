"""Arrays of Zarr (formats 2 and 3, as in OME-Zarr) read as frames: plain chunks row by row, others whole."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from footprint.dtypes import put_into
from footprint.errors import FormatError, missing_extra
from footprint.io.frames import reading
from footprint.io.kept import Ahead
from footprint.io.raw import RawFrames
from footprint.io.scale import Scale, of_ome_zarr
from footprint.io.zarr_codecs import Codec, check_made, codec_of, decode, decoded_here, decoding_bytes

_MARKS = (".zarray", ".zgroup", "zarr.json")
# What the library holds of a chunk at most: stored, decoded, and the codec's own.
_COPIES = 3
# What the library takes itself when it first decodes: its threads, and the codecs' state.
_LIBRARY = 1 << 20
# Bytes that codecs add to a chunk at most, and what stands for a chunk that a shard does not hold.
_HEADERS, _NOTHING = 1 << 10, (1 << 64) - 1
# A description longer than this describes no array.
_LONGEST = 64 << 20


def is_zarr(path: str | os.PathLike[str]) -> bool:
    """Whether a folder is a group or an array of Zarr."""
    return any((Path(path) / name).is_file() for name in _MARKS)


@dataclass(frozen=True)
class _Layout:
    """How an array lies in its folder; ``plain`` where its chunks are its numbers.

    Of what is sharded, ``chunks`` are those within a ``shard``, and ``index`` is how many bytes tell where they lie in one, at
    its end, before ``summed`` bytes, unless ``leads``. ``made`` is the most that ``codec`` may make of a stored chunk; ``own``
    where that is its numbers, and we know how.
    """

    shape: tuple[int, ...]
    chunks: tuple[int, ...]
    dtype: np.dtype
    fill: Any
    prefix: str
    separator: str
    plain: bool
    own: bool
    codec: Codec | None
    made: int
    shard: tuple[int, ...]
    index: int = 0
    summed: int = 0
    leads: bool = False


class ZarrFrames(Ahead):
    """The last two axes of an array as frames, counted over all others.

    Parameters
    ----------
    path
        The folder the user named: an array, or a group whose ``multiscales`` name one, the finest first.

    Attributes
    ----------
    about
        The group's attributes, empty for an array alone.
    whole
        The array's shape, all its axes.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        super().__init__()
        self.path = str(path)
        with reading(path, "its description"):
            self._folder, self.about = _array_of(Path(path))
            self._layout = layout = _layout(self._folder, path)
        shape = self.whole = layout.shape
        if len(shape) < 2 or layout.dtype.kind not in "biuf":
            raise FormatError(path, f"holds {layout.dtype} of shape {shape}, wanted numbers (n_z, n_y, n_x)")
        if math.prod(shape) and min(layout.chunks) < 1:
            raise FormatError(path, f"is cut into chunks of {layout.chunks}", "it may be damaged")
        full, chunk = (1, *shape)[-3:], (1, *layout.chunks)[-3:]
        self.shape: tuple[int, int, int] = (math.prod(shape[:-2]), shape[-2], shape[-1])
        self.dtype = layout.dtype.newbyteorder("=")
        self._n_z, (self.deep, self._high, self._wide) = full[0], chunk
        # The chunk that was looked at last.
        self._known: Path | None = None
        # And the last that was decoded, with its place: rows that are looked at one by one are mostly of the same.
        self._last: tuple[tuple[Any, ...], np.ndarray] | None = None
        self._library = None if layout.plain or layout.own else _by_library(self._folder)

    @property
    def scale(self) -> Scale | None:
        """Sizes of its pixels by the group's axes, None where they say nothing, or nothing that makes sense."""
        try:
            return of_ome_zarr(self.about, self.whole)
        except (AttributeError, KeyError, IndexError, TypeError, ValueError):
            return None

    def files(self) -> list[str]:
        """Its description and every chunk."""
        return [os.path.join(folder, name) for folder, _, names in os.walk(self._folder) for name in names]

    def host_bytes(self, n_rows: int, dtype: Any = None) -> int:
        """Bytes that reading holds beside ``out``: rows of a plain chunk, or a chunk and what it is decoded from."""
        if self._layout.own and self._layout.codec is not None:
            return self._layout.made + decoding_bytes(self._layout.codec, self._layout.made) + self._layout.index
        if not self._layout.plain:
            return (1 + _COPIES) * (self._layout.made + self._layout.index) + _LIBRARY
        return min(n_rows, self._high) * self._wide * self.dtype.itemsize * 2

    @property
    def _chunk(self) -> tuple[int, int, int] | None:
        return None if self._layout.plain else (self.deep, self._high, self._wide)

    def close(self) -> None:
        """Nothing is held open between reads."""
        self._kept = self._last = None

    def _read(self, start: int, stop: int, rows: slice, out: np.ndarray) -> None:
        for lead, frames, into in self._boxes(start, stop):
            for y in range(rows.start // self._high, -(-rows.stop // self._high)):
                a, b = max(rows.start, y * self._high), min(rows.stop, (y + 1) * self._high)
                for x in range(-(-self.shape[2] // self._wide)):
                    wide = slice(x * self._wide, min((x + 1) * self._wide, self.shape[2]))
                    with reading(self.path, "a chunk"):
                        self._box(lead, frames, slice(a, b), wide, out[into, a - rows.start : b - rows.start, wide])

    def columns(self, start: int, stop: int, rows: slice, x: int, out: np.ndarray) -> None:
        """Fill ``out`` ``(stop - start, n)`` with the pixels at ``x`` of every ``rows.step``-th row of frames."""
        step = rows.step or 1
        for lead, frames, into in self._boxes(start, stop):
            for y in range(rows.start // self._high, -(-rows.stop // self._high)):
                # Rows of this chunk that are asked for.
                first = rows.start + -(-max(0, y * self._high - rows.start) // step) * step
                last = min(rows.stop, (y + 1) * self._high)
                if first < last:
                    at = (first - rows.start) // step
                    part = slice(at, at + -(-(last - first) // step))
                    with reading(self.path, "a chunk"):
                        self._column(lead, frames, slice(first, last, step), x, out[into, part])

    def _boxes(self, start: int, stop: int) -> Iterator[tuple[tuple[int, ...], slice, slice]]:
        """Frames of one chunk at a time: the axes before them, which frames on their own axis, and where they go."""
        at = start
        while at < stop:
            outer, z = divmod(at, max(1, self._n_z))
            lead = tuple(int(i) for i in np.unravel_index(outer, self._layout.shape[:-3])) if len(self._layout.shape) > 3 else ()
            end = min(stop - at + z, (z // self.deep + 1) * self.deep, self._n_z)
            yield lead, slice(z, end), slice(at - start, at - start + end - z)
            at += end - z

    def _box(self, lead: tuple[int, ...], frames: slice, rows: slice, wide: slice, out: np.ndarray) -> None:
        """A box inside one chunk."""
        if not self._layout.plain:
            put_into(out, self._decoded(lead, frames, rows, wide))
            return
        file = self._file(lead, frames.start, rows.start, wide.start)
        if file is None:
            out[...] = self._layout.fill
            return
        first, z = rows.start % self._high, self._at(lead) + frames.start % self.deep
        try:
            if wide.stop - wide.start == self._wide:
                file.read(z, z + len(out), slice(first, first + rows.stop - rows.start), out)
                return
            staged = np.empty((1, rows.stop - rows.start, self._wide), self.dtype)
            for i, image in enumerate(out):
                file.read(z + i, z + i + 1, slice(first, first + rows.stop - rows.start), staged)
                put_into(image, staged[0, :, : wide.stop - wide.start])
        finally:
            file.close()

    def _column(self, lead: tuple[int, ...], frames: slice, rows: slice, x: int, out: np.ndarray) -> None:
        """Pixels below one another in the frames of one chunk."""
        if not self._layout.plain:
            put_into(out, self._decoded(lead, frames, rows, slice(x, x + 1))[..., 0])
            return
        file = self._file(lead, frames.start, rows.start, x)
        if file is None:
            out[...] = self._layout.fill
            return
        first, z = rows.start % self._high, self._at(lead) + frames.start % self.deep
        try:
            file.columns(z, z + len(out), slice(first, first + rows.stop - rows.start, rows.step), x % self._wide, out)
        finally:
            file.close()

    def _at(self, lead: tuple[int, ...]) -> int:
        """Frames of a chunk before those of ``lead``, where a chunk has several along the axes in front."""
        chunks = self._layout.chunks[:-3]
        inside = [i % c for i, c in zip(lead, chunks)]
        return int(np.ravel_multi_index(inside, chunks)) * self.deep if lead else 0

    def _file(self, lead: tuple[int, ...], *box: int) -> RawFrames | None:
        """A plain chunk's file; None where it was never written."""
        name = self._name(lead, *box)
        if not name.exists():
            return None
        frames = math.prod(self._layout.chunks[:-2])
        return RawFrames(name, 0, (frames, self._high, self._wide), self._layout.dtype)

    def _name(self, lead: tuple[int, ...], *box: int) -> Path:
        """The file of a chunk, or of the shard it lies in."""
        index = [i // c for i, c in zip((*lead, *box)[-len(self._layout.shard) :], self._layout.shard)]
        return self._folder / (self._layout.prefix + self._layout.separator.join(map(str, index)))

    def _stored(self, name: Path, lead: tuple[int, ...], *box: int) -> bytes | None:
        """What is stored of a chunk; None where it was never written, ValueError where that is more than its shape takes."""
        layout = self._layout
        # As every codec here makes of numbers that it cannot compress.
        most = layout.made + layout.made // 8 + _HEADERS
        if not name.exists():
            return None
        with open(name, "rb") as file:
            at, size = 0, os.fstat(file.fileno()).st_size
            if layout.index:
                within = [i % s // c for i, s, c in zip((*lead, *box)[-len(layout.shard) :], layout.shard, layout.chunks)]
                place = int(np.ravel_multi_index(within, [s // c for s, c in zip(layout.shard, layout.chunks)]))
                file.seek((0 if layout.leads else size - layout.index - layout.summed) + 16 * place)
                at, length = (int.from_bytes(file.read(8), "little") for _ in range(2))
                if at == length == _NOTHING:
                    return None
                size = min(length, size)
            if size > most:
                raise ValueError(f"it takes {size} bytes, its shape {layout.made}")
            file.seek(at)
            return file.read(size)

    def _check(self, lead: tuple[int, ...], *box: int) -> None:
        """Raise ValueError where a chunk decodes to more than it declares: the library makes room for whatever it says."""
        name, layout = self._name(lead, *box), self._layout
        if name == self._known:
            return
        data = self._stored(name, lead, *box)
        if data is None:
            return
        check_made(layout.codec, data, layout.made)
        if not layout.index:
            self._known = name

    def _decoded(self, lead: tuple[int, ...], *box: slice) -> np.ndarray:
        """A box inside one chunk, which is decoded for it; the last is held."""
        starts, sizes = [part.start for part in box], (self.deep, self._high, self._wide)
        which, last = (lead, *(at // n for at, n in zip(starts, sizes))), self._last
        if last is not None and last[0] == which:
            chunk = last[1]
        else:
            # It goes before the next is made.
            last = self._last = None
            chunk = self._whole(lead, starts)
            self._last = which, chunk
        inside = tuple(slice(p.start % n, p.start % n + p.stop - p.start, p.step) for p, n in zip(box, sizes))
        return chunk[inside]

    def _whole(self, lead: tuple[int, ...], starts: list[int]) -> np.ndarray:
        """A chunk's frames of ``lead``; where it reaches beyond the array perhaps no more than is inside."""
        if self._layout.own:
            return self._inflated(lead, starts)
        self._check(lead, *starts)
        sizes, ends = (self.deep, self._high, self._wide), (self._n_z, *self.shape[1:])
        box = tuple(slice(at // n * n, min(at // n * n + n, end)) for at, n, end in zip(starts, sizes, ends))
        if len(self._layout.shape) == 2:
            return np.asarray(self._library[box[1:]])[None]  # type: ignore[index]
        return np.asarray(self._library[(*lead, *box)])  # type: ignore[index]

    def _inflated(self, lead: tuple[int, ...], starts: list[int]) -> np.ndarray:
        """The same, of which as much is inflated as its shape has."""
        layout, sizes = self._layout, (self.deep, self._high, self._wide)
        data = self._stored(self._name(lead, *starts), lead, *starts)
        if data is None or layout.codec is None:
            return np.broadcast_to(np.asarray(layout.fill, layout.dtype), sizes)
        chunk = np.empty(layout.chunks, layout.dtype)
        decode(layout.codec, data, chunk.reshape(-1).view(np.uint8).data)
        return chunk[tuple(i % n for i, n in zip(lead, layout.chunks))].reshape(sizes)


def _array_of(folder: Path, series: bool = False) -> tuple[Path, dict[str, Any]]:
    """The folder of the array, and the attributes of the group it belongs to, which may be the only ``series`` of another."""
    if (folder / ".zarray").is_file():
        return folder, _table(folder / ".zattrs")
    if (folder / ".zgroup").is_file():
        about = _table(folder / ".zattrs")
        scales = about.get("multiscales")
    else:
        found = _table(folder / "zarr.json")
        about = found.get("attributes") or {}
        if found.get("node_type") == "array":
            return folder, about
        scales = (about.get("ome") or about).get("multiscales")
    if not scales and not series and "bioformats2raw.layout" in (about.get("ome") or about):
        return _array_of(_only_series(folder), True)
    names = [level["path"] for level in scales[0]["datasets"]] if scales else ["0"]
    array = (folder / names[0]).resolve()
    if folder.resolve() not in array.parents:
        raise FormatError(folder, f"names an array outside itself ({names[0]})", "give the array's own folder")
    if not (array / ".zarray").is_file() and _table(array / "zarr.json").get("node_type") != "array":
        raise FormatError(folder, "is a Zarr group without an image (no multiscales)", "give the folder of an array in it")
    return array, about


def _only_series(folder: Path) -> Path:
    """The folder of the one image of a group as bioformats2raw lays it out: a folder each, numbered."""
    numbers = sorted(int(one.name) for one in folder.iterdir() if one.name.isdecimal() and is_zarr(one))
    if len(numbers) != 1:
        places = f"give the folder of one, {folder / str(numbers[0])} to {folder / str(numbers[-1])}" if numbers else ""
        raise FormatError(folder, f"holds {len(numbers)} images (by bioformats2raw), wanted one", places)
    return folder / str(numbers[0])


def _table(path: Path) -> dict[str, Any]:
    if not path.is_file():
        return {}
    if path.stat().st_size > _LONGEST:
        raise ValueError(f"{path.name} is too long")
    found = json.loads(path.read_text("utf-8"))
    if not isinstance(found, dict):
        raise TypeError(f"{path.name} is not a table")
    return found


def _layout(folder: Path, path: object) -> _Layout:
    """What the array's description says; ``path`` is what the user named."""
    index, summed, leads = 0, 0, False
    about = _table(folder / ".zarray")
    if about:
        shape, chunks = (tuple(map(int, about[name])) for name in ("shape", "chunks"))
        dtype = np.dtype(about["dtype"])
        as_they_are = not about.get("filters") and about.get("order", "C") == "C"
        plain = about.get("compressor") is None and as_they_are
        fill, prefix, separator = about.get("fill_value"), "", about.get("dimension_separator", ".")
        told, shard = [one for one in (*(about.get("filters") or ()), about.get("compressor")) if one], chunks
    else:
        about = _table(folder / "zarr.json")
        shape = tuple(map(int, about["shape"]))
        chunks = tuple(map(int, about["chunk_grid"]["configuration"]["chunk_shape"]))
        codecs, keys = about["codecs"], about["chunk_key_encoding"]
        default = keys["name"] == "default"
        separator = keys.get("configuration", {}).get("separator", "/" if default else ".")
        plain = len(codecs) == 1 and codecs[0]["name"] == "bytes"
        fill, prefix = about.get("fill_value"), f"c{separator}" if default else ""
        told, shard = codecs, chunks
        if codecs[0]["name"] == "sharding_indexed":
            inner = codecs[0]["configuration"]
            shard, chunks = chunks, tuple(map(int, inner["chunk_shape"]))
            told, leads = inner["codecs"], inner.get("index_location") == "start"
            sums = [one["name"] for one in inner["index_codecs"][1:]]
            if len(codecs) > 1 or sums not in ([], ["crc32c"]):
                problem = "has shards, or indices of them, that are compressed as a whole, which is not read"
                raise FormatError(path, problem, "compress the chunks within them")
            if len(chunks) != len(shard) or min(chunks, default=0) < 1:
                raise ValueError(f"shards of {shard} in chunks of {chunks}")
            # An offset and a length of every chunk.
            index, summed = 16 * math.prod(-(-n // c) for n, c in zip(shard, chunks)), 4 * len(sums)
        as_they_are = [one["name"] for one in told[:-1]] == ["bytes"]
        big = told[0].get("configuration", {}).get("endian") == "big"
        dtype = np.dtype(about["data_type"]).newbyteorder(">" if big else "<")
    if len(shape) != len(chunks) or min(shape, default=0) < 0:
        raise ValueError(f"shape {shape}, chunks {chunks}")
    words = {None: 0, "NaN": np.nan, "Infinity": np.inf, "-Infinity": -np.inf}
    codec, wider = codec_of(told, path)
    fill = words.get(fill, fill)
    own = as_they_are and decoded_here(codec) and isinstance(fill, int | float)
    # Numbers may be stored in another dtype than they are read in.
    made = math.prod(chunks) * (max(dtype.itemsize, 8) if wider else dtype.itemsize) + _HEADERS * wider
    return _Layout(shape, chunks, dtype, fill, prefix, separator, plain, own, codec, made, shard, index, summed, leads)


def _by_library(folder: Path) -> Any:
    try:
        import zarr
    except ImportError as error:
        raise missing_extra("zarr", "zarr", "reading compressed or sharded Zarr") from error
    with reading(folder, "its description"):
        return zarr.open_array(store=str(folder), mode="r")
