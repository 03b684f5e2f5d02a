"""Planes of volumes in every format: the values of NumPy, whatever lies in which chunk, in memory that does not grow with it."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
import threading
import tracemalloc
import zlib

import h5py
import hdf5plugin
import numpy as np
import pytest
import tifffile
from astropy.io import fits

import footprint as fp
from footprint.io import npy, raw, zarr_frames
from footprint.io.planes import Outdated, Planes
from footprint.io.stack import open_frames
from footprint.io.volume_source import open_volume
from footprint.io.zarr_codecs import codec_of
from footprint.io.zarr_frames import ZarrFrames

MB = 1 << 20


def _hdf5(**storage):
    def write(path, values):
        with h5py.File(path / "v.h5", "w") as file:
            file.create_dataset("a/data", data=values, **storage)
            file["a"].attrs["note"] = "tooth <b>"
            file["a/data"].attrs["long"] = np.zeros(4000)
        return path / "v.h5"

    return write


def _ours(name):
    def write(path, values):
        with fp.create_volume(path / name, values.shape, values.dtype, attrs={"note": "tooth <b>"}) as volume:
            volume.write(slice(None), values)
        return path / name

    return write


def _tiff(path, values):
    tifffile.imwrite(path / "v.tif", values.astype(values.dtype.newbyteorder(">")), compression="zlib")
    return path / "v.tif"


def _npy(path, values):
    np.save(path / "v.npy", values.astype(values.dtype.newbyteorder(">")))
    return path / "v.npy"


def _fits(path, values):
    fits.writeto(path / "v.fits", values)
    return path / "v.fits"


def _zarr(**how):
    def write(path, values):
        zarr = pytest.importorskip("zarr")
        array = zarr.create_array(store=path / "v.zarr", shape=values.shape, dtype=values.dtype, **how)
        array[...] = values
        return path / "v.zarr"

    return write


FORMATS = {
    "plain HDF5": _ours("v.h5"),
    "chunks": _hdf5(chunks=(4, 5, 6), compression="gzip"),
    "bitshuffle": _hdf5(chunks=(2, 17, 29), **hdf5plugin.Bitshuffle()),
    "TIFF": _ours("v.tif"),
    "compressed TIFF": _tiff,
    "folder": _ours("slices"),
    "OME-Zarr": _ours("v.zarr"),
    "Zarr 2": _zarr(chunks=(3, 4, 7), compressors=None, zarr_format=2),
    "Zarr 3": _zarr(chunks=(3, 4, 7), compressors=None, zarr_format=3),
    "sharded Zarr": _zarr(chunks=(3, 4, 7), shards=(6, 12, 7), zarr_format=3),
    "npy": _npy,
    "FITS": _fits,
}
WORDS = ("plain HDF5", "chunks", "TIFF", "folder", "OME-Zarr")


@pytest.fixture
def values(rng):
    values = rng.random((11, 17, 29), dtype=np.float32)
    values[3, 4, 5] = np.nan
    return values


def across(values, axis, index):
    found = values.take(index, "zyx".index(axis))
    return found.T if axis == "x" else found


@pytest.mark.parametrize("kind", FORMATS)
def test_planes_are_those_of_the_volume(tmp_path, values, kind, monkeypatch):
    """Whole, in part, thinned, along a line, and one pixel; pixels below one another are asked for together and one by one."""
    source = open_volume(FORMATS[kind](tmp_path, values))
    assert source.frames.shape == values.shape and ("size", "21.2 KiB") in source.about
    assert (kind in WORDS) <= any("tooth <b>" in text for _, text in source.about)
    assert not any(len(text) > 700 for _, text in source.about)
    for apart in (1, 1 << 20):
        monkeypatch.setattr(raw, "_APART", apart)
        planes = Planes(source.frames, 100 * MB)
        for axis, n in zip("zyx", values.shape):
            for index in (0, n // 2, n - 1):
                whole = across(values, axis, index)
                np.testing.assert_array_equal(planes.plane(axis, index).values, whole)
                part = planes.plane(axis, index, (3, 9, 2, 10), 3)
                (a, b), (top, bottom, left, right) = part.steps, part.box
                assert (a, b) == (2, 3) and (top, bottom, left, right) == (2, 9, 0, 10)
                blocks = whole[top:bottom, left:right]
                # Along which axes blocks are averaged, and along which one of them is taken.
                down, across_them = {"z": (a, b), "y": (1, b), "x": (1, 1)}[axis]
                want = [
                    [np.nanmean(blocks[i : i + down, j : j + across_them]) for j in range(0, right - left, b)]
                    for i in range(0, bottom - top, a)
                ]
                np.testing.assert_allclose(part.values, want, rtol=1e-6)
    whole = across(values, "x", 7)
    distances, line = planes.line("x", 7, (2, 0), (14, 9))
    assert len(distances) == 16 and distances[-1] == 15
    rows, columns = 2 + 12 * distances / 15, 9 * distances / 15
    i, j = rows.astype(int), columns.astype(int)
    v, u = rows - i, columns - j
    want = (1 - v) * ((1 - u) * whole[i, j] + u * whole[i, j + 1]) + v * ((1 - u) * whole[i + 1, j] + u * whole[i + 1, j + 1])
    np.testing.assert_allclose(line, want, rtol=1e-5)
    assert np.isnan(planes.value(3, 4, 5)) and planes.value(10, 16, 28) == values[10, 16, 28]
    # Neighbours without weight are not asked for, be they NaN or outside.
    np.testing.assert_array_equal(planes.line("z", 3, (4, 6), (4, 28))[1], values[3, 4, 6:])
    source.close()


@pytest.mark.parametrize("dtype", ["u1", "i2", "u4", "f8", "?"])
def test_dtypes_keep_their_digits(tmp_path, dtype):
    values = np.arange(60).reshape(3, 4, 5).astype(dtype)
    if dtype in ("u4", "f8"):
        values += 4_000_000_001 - 60
    np.save(tmp_path / "v.npy", values)
    planes = Planes(open_frames(str(tmp_path / "v.npy")), 50 * MB)
    np.testing.assert_array_equal(planes.plane("x", 2).values, values[:, :, 2].T.astype("f8"))
    assert planes.dtype.itemsize == (8 if dtype in ("u4", "f8") else 4)


@pytest.mark.parametrize("shape", [(5, 7), (1, 1), (1, 6, 1), (1, 4000), (3000, 1, 2)])
def test_odd_shapes(tmp_path, rng, shape):
    values = rng.random(shape)
    np.save(tmp_path / "v.npy", values)
    planes = Planes(open_frames(str(tmp_path / "v.npy")), 400 * MB)
    values = values.reshape(planes.shape)
    for axis, n in zip("zyx", planes.shape):
        found = planes.plane(axis, n - 1, side=4000)
        assert max(found.values.shape) <= 1600
        a, b = found.steps
        if axis == "x":
            np.testing.assert_array_equal(found.values, across(values, axis, n - 1)[::a, ::b])
        line = planes.line(axis, n - 1, (0, 0), tuple(k - 1 for k in planes.extent(axis)))[1]
        assert line[0] == across(values, axis, n - 1)[0, 0] and line[-1] == pytest.approx(across(values, axis, n - 1)[-1, -1])


@pytest.mark.parametrize("kind", ["npy", "chunks"])
def test_memory_is_that_of_a_picture(tmp_path, kind):
    """A sparse file of 1.6 GB, and one of many small chunks: nothing that grows with a volume is held for a plane of it."""
    if kind == "npy":
        npy.create(tmp_path / "v.npy", (100, 2000, 2000), np.dtype("f4")).close()
        frames = open_frames(str(tmp_path / "v.npy"))
    else:
        with h5py.File(tmp_path / "v.h5", "w") as file:
            file.create_dataset("data", (100, 2000, 2000), "f4", chunks=(20, 250, 250), compression="gzip")[0, 0, 0] = 1
        frames = open_frames(str(tmp_path / "v.h5"))
    with pytest.raises(fp.BudgetError) as refused:
        Planes(frames, 1000)
    least = refused.value.smallest
    planes = Planes(frames, least)
    for axis in "zyx":
        tracemalloc.start()
        planes.plane(axis, 50)
        planes.line(axis, 50, (0, 0), (99, 99))
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < least
    assert Planes(frames, 2 * least).side > planes.side == 100


def test_planes_are_kept_while_there_is_room(tmp_path, values, monkeypatch):
    np.save(tmp_path / "v.npy", values)
    frames = open_frames(str(tmp_path / "v.npy"))
    asked, read = [], frames.read
    monkeypatch.setattr(frames, "read", lambda *a: (asked.append(a), read(*a)))
    planes = Planes(frames, 100 * MB)
    assert planes.plane("z", 4) is planes.plane("z", 4) and len(asked) == 1
    planes._room = 2 * 17 * 29 * 4
    for index in (0, 1, 0):
        planes.plane("z", index)
    assert len(asked) == 3 and len(planes._kept) == 2


def test_a_plane_that_takes_long_can_be_given_up_and_keeps_nobody_waiting(tmp_path, values):
    """While another plane is between two of its parts, whoever waits for the file has it first."""
    np.save(tmp_path / "v.npy", values)
    planes = Planes(open_frames(str(tmp_path / "v.npy")), 100 * MB)
    asked, found = threading.Event(), []

    def other():
        asked.set()
        found.append(planes.value(1, 2, 3))

    thread, parts = threading.Thread(target=other), 0

    def wanted():
        nonlocal parts
        parts += 1
        if parts == 2:
            thread.start()
            asked.wait()
            thread.join(30)
        return parts < 4

    with pytest.raises(Outdated):
        planes.plane("y", 0, wanted=wanted)
    assert found == [values[1, 2, 3]] and parts == 4 and not planes._kept


def test_what_cannot_be_shown(tmp_path, values):
    np.save(tmp_path / "v.npy", values)
    planes = Planes(open_frames(str(tmp_path / "v.npy")), 100 * MB)
    for bad in (("w", 0), ("z", 11), ("x", -1), ("z", 0, (0, 18, 0, 5)), ("z", 0, (4, 4, 0, 5))):
        with pytest.raises(fp.ArgumentError):
            planes.plane(*bad)
    for start, end in (((0, 0), (0, 29)), ((-0.5, 0), (1, 1)), ((0, 0), (float("nan"), 1))):
        with pytest.raises(fp.ArgumentError, match="line"):
            planes.line("z", 0, start, end)
    np.save(tmp_path / "empty.npy", np.empty((0, 3, 4)))
    with pytest.raises(fp.FormatError, match="no pixels"):
        Planes(open_volume(tmp_path / "empty.npy").frames, 100 * MB)
    (tmp_path / "none.zarr").mkdir()
    (tmp_path / "group").mkdir()
    (tmp_path / "group" / ".zgroup").write_text('{"zarr_format": 2}')
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / ".zgroup").write_text("{}")
    (tmp_path / "out" / ".zattrs").write_text('{"multiscales": [{"datasets": [{"path": "../group"}]}]}')
    (tmp_path / "text.h5").write_text("no volume")
    np.save(tmp_path / "complex.npy", np.ones((2, 3), "c8"))
    for name, words in (
        *(("none.zarr", "without a description"), ("group", "without an image"), ("out", "outside itself")),
        *(("text.h5", "not a FITS"), ("complex.npy", "wanted real numbers"), ("nothing.h5", "no such file")),
    ):
        with pytest.raises(fp.FormatError, match=words):
            open_volume(tmp_path / name)


def test_of_a_shard_a_chunk_is_held(tmp_path):
    zarr = pytest.importorskip("zarr")
    zarr.create_array(store=tmp_path / "v", shape=(8, 64, 64), chunks=(2, 8, 64), shards=(8, 64, 64), dtype="f4")
    assert ZarrFrames(tmp_path / "v").host_bytes(64) == 4 * (2 * 8 * 64 * 4 + 16 * 32) + (1 << 20)


def test_chunks_of_zarr_that_were_never_written_and_axes_before_slices(tmp_path, rng):
    """Of time and channels; with `fill_value` where a file is missing, and chunks that stick out."""
    zarr = pytest.importorskip("zarr")
    values = rng.random((2, 3, 5, 7, 6)).astype("f4")
    for number, (compressors, version) in enumerate(((None, 2), ("auto", 3))):
        array = zarr.create_array(store=tmp_path / str(number), shape=values.shape, chunks=(2, 1, 2, 3, 4), dtype="f4",
            fill_value=-1, compressors=compressors, zarr_format=version)  # fmt: skip
        array[:, :, :4] = values[:, :, :4]
        want = values.copy()
        want[:, :, 4:] = -1
        frames, want = ZarrFrames(tmp_path / str(number)), want.reshape(30, 7, 6)
        out, column = np.empty((25, 5, 6), "f8"), np.empty((25, 2), "f8")
        frames.read(3, 28, slice(2, 7), out)
        np.testing.assert_array_equal(out, want[3:28, 2:7])
        frames.columns(3, 28, slice(1, 7, 4), 5, column)
        np.testing.assert_array_equal(column, want[3:28, 1:7:4, 5])


def test_deflated_chunks_of_zarr_are_inflated_once_and_by_nobody_else(tmp_path, rng, monkeypatch):
    zarr = pytest.importorskip("zarr")
    import numcodecs

    values = rng.random((2, 3, 5, 7, 6)).astype(">f4")
    inner = {"chunks": (1, 1, 2, 3, 4)}
    ways = [{"zarr_format": 2, "compressors": codec, **inner} for codec in (numcodecs.Zlib(1), numcodecs.LZMA(), numcodecs.BZ2(1))]
    ways += [{"compressors": zarr.codecs.GzipCodec(level=1), **inner, **more} for more in ({}, {"shards": (1, 3, 4, 6, 8)})]
    ways[-1]["serializer"] = zarr.codecs.BytesCodec(endian="big")
    for number, how in enumerate(ways):
        array = zarr.create_array(store=tmp_path / str(number), shape=values.shape, dtype=values.dtype, fill_value=-1, **how)
        array[:, :, :4] = values[:, :, :4]
    want = values.copy()
    want[:, :, 4:] = -1
    want = want.reshape(30, 7, 6)
    monkeypatch.setattr(zarr_frames, "_by_library", None)
    for number in range(len(ways)):
        frames, out, column = ZarrFrames(tmp_path / str(number)), np.empty((25, 5, 6), "f8"), np.empty((25, 2), "f8")
        frames.read(3, 28, slice(2, 7), out)
        np.testing.assert_array_equal(out, want[3:28, 2:7])
        frames.columns(3, 28, slice(1, 7, 4), 5, column)
        np.testing.assert_array_equal(column, want[3:28, 1:7:4, 5])
    name = next(path for path in (tmp_path / "0").iterdir() if path.name[0] in "01")
    name.write_bytes(zlib.compress(bytes(95)))
    with pytest.raises(fp.FormatError, match="decodes to 95 bytes, its shape has 96"):
        ZarrFrames(tmp_path / "0").read(0, 30, slice(0, 7), np.empty((30, 7, 6)))


def _bombs(size):
    """Codecs of Zarr 2, and bytes of a chunk by each that decode to more than ``size``, or say that they do."""
    zeros = bytes(size + 1)
    deflated = zlib.compressobj(9, zlib.DEFLATED, 31)
    blocks = b"".join((size << 3 | 1 << 1).to_bytes(3, "little") + b"\0" for _ in range(4))
    return [
        ("gzip", deflated.compress(zeros) + deflated.flush()),
        ("gzip", gzip.compress(zeros[:size]) + gzip.compress(zeros)),
        ("zlib", zlib.compress(zeros)),
        ("bz2", bz2.compress(zeros)),
        ("lzma", lzma.compress(zeros)),
        ("blosc", bytes(4) + (1 << 30).to_bytes(4, "little") + bytes(8)),
        ("lz4", (1 << 30).to_bytes(4, "little") + bytes(8)),
        ("zstd", b"\x28\xb5\x2f\xfd\xa0" + (1 << 30).to_bytes(4, "little") + bytes(8)),
        # Without a size, of blocks of one byte each said often.
        ("zstd", b"\x28\xb5\x2f\xfd\x00\x58" + blocks),
    ]


@pytest.mark.parametrize("form", [2, 3])
def test_chunks_of_zarr_that_decode_to_more_than_they_declare_are_never_decoded(tmp_path, monkeypatch, form):
    monkeypatch.setattr(zarr_frames, "_by_library", lambda folder: object())
    size = 512 * 1024
    for i, (codec, data) in enumerate(_bombs(size)):
        folder = tmp_path / str(i)
        (folder / ("c/0/0" if form == 3 else "0.0")).parent.mkdir(parents=True)
        (folder / ("c/0/0" if form == 3 else "0.0")).write_bytes(data)
        name = codec if codec in ("gzip", "blosc", "zstd") else f"numcodecs.{codec}"
        about = {"zarr_format": 2, "shape": [512, 1024], "chunks": [512, 1024], "dtype": "|u1", "fill_value": 0, "order": "C"}
        about |= {"filters": None, "compressor": {"id": codec}}
        if form == 3:
            about = {"zarr_format": 3, "node_type": "array", "shape": [512, 1024], "data_type": "uint8", "fill_value": 0}
            about |= {"chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [512, 1024]}}, "attributes": {}}
            about |= {"chunk_key_encoding": {"name": "default"}, "codecs": [{"name": "bytes"}, {"name": name}]}
        (folder / (".zarray" if form == 2 else "zarr.json")).write_text(json.dumps(about))
        with pytest.raises(fp.FormatError, match="it decodes to more than the 524288 bytes of its shape"):
            ZarrFrames(folder).read(0, 1, slice(0, 1), np.empty((1, 1, 1024), "u1"))
    strings = {"id": "astype", "encode_dtype": "u1", "decode_dtype": "S9999999"}
    for told, words in (
        ([{"id": "pickle"}], "not read"),
        ([strings], "else than numbers"),
        ([{"id": "zlib"}] * 2, "more than once"),
    ):
        with pytest.raises(fp.FormatError, match=f"a.zarr: .*{words}"):
            codec_of(told, "a.zarr")


@pytest.mark.parametrize("index", ["start", "end"])
def test_a_chunk_in_a_shard_that_decodes_to_more_is_found(tmp_path, index):
    zarr = pytest.importorskip("zarr")
    shards = {"shape": (16, 64, 64), "index_location": index}
    array = zarr.create_array(store=tmp_path / "v", shape=(16, 64, 64), chunks=(2, 8, 64), shards=shards, dtype="f4")
    array[...] = want = np.arange(16 * 64 * 64, dtype="f4").reshape(16, 64, 64)
    out = np.empty((1, 8, 64), "f4")
    ZarrFrames(tmp_path / "v").read(5, 6, slice(24, 32), out)
    np.testing.assert_array_equal(out, want[5:6, 24:32])
    (name,) = (path for path in (tmp_path / "v" / "c").rglob("*") if path.is_file())
    data = name.read_bytes()
    # The third chunk of the third eight says it is a byte larger.
    at = data.index(b"\x28\xb5\x2f\xfd", int.from_bytes(data[(0 if index == "start" else -1028) + 16 * 19 :][:8], "little"))
    assert data[at + 4] == 0x60, data[at + 4]
    name.write_bytes(data[: at + 5] + (4096 - 256 + 1).to_bytes(2, "little") + data[at + 7 :])
    with pytest.raises(fp.FormatError, match="decodes to more than the 4096 bytes"):
        ZarrFrames(tmp_path / "v").read(5, 6, slice(24, 32), out)
