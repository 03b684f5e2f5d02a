"""Compressed HDF5: h5py's numbers, the same bytes from any number of threads, in any order and after any stop."""

from __future__ import annotations

import errno
import os
import re

import h5py
import numpy as np
import pytest
from click.testing import CliRunner

import footprint as fp
from footprint.cli.main import main
from footprint.io import hdf5_packed
from footprint.io.hdf5_packed import chunk_bytes
from footprint.io.image import open_image
from footprint.io.phantom import write_scan

DATA = "entry/reconstruction/results/data"


@pytest.fixture(autouse=True)
def small(monkeypatch):
    """Chunks of a few rows, and more threads than there are cores."""
    monkeypatch.setenv("FOOTPRINT_THREADS", "3")
    monkeypatch.setattr(hdf5_packed, "_CHUNK", 1000)


def write(path, values, compression, slabs, **how):
    with fp.create_volume(path, values.shape, values.dtype, compression=compression, **how) as volume:
        for where in slabs:
            volume.write(where, values[where])
    return path


@pytest.mark.parametrize("compression", ["gzip", "bitshuffle"])
@pytest.mark.parametrize(("dtype", "shape"), [("f4", (5, 37, 23)), ("u2", (3, 64, 41)), ("u1", (1, 1, 7)), ("f8", (2, 3, 300))])
def test_the_numbers_are_those_that_h5py_reads(tmp_path, rng, dtype, shape, compression):
    values = (rng.standard_normal(shape) * 50 + 99).astype(dtype)
    if dtype[0] == "f":
        values[0, 0, :2] = np.nan, -0.0
    n_z, n_y, _ = shape
    # Rows of a slice that come apart, backwards; the other slices whole, strided and of the other byte order.
    apart = [(slice(0, 1), slice(y, min(y + 5, n_y))) for y in range(0, n_y, 5)][::-1]
    rest = [slice(1, n_z)] if n_z > 1 else []
    path = write(tmp_path / "v.h5", np.asfortranarray(values), compression, apart + rest, attrs={"pixel_size": 0.5})
    with h5py.File(path) as file:
        data = file[DATA]
        np.testing.assert_array_equal(data[()].view("u1"), values.view("u1"))
        codes = [data.id.get_create_plist().get_filter(i)[0] for i in range(data.id.get_create_plist().get_nfilters())]
        assert codes == ([2, 1] if compression == "gzip" else [32008]) and data.chunks[0] == 1
        assert data.id.get_num_chunks() == n_z * -(-n_y // data.chunks[1])
        assert file["entry/reconstruction"].attrs["pixel_size"] == 0.5 and data.dtype == values.dtype
    with open_image(f"{path}:/{DATA}", n_z - 1) as image:
        part = np.empty((min(5, n_y), shape[2]), dtype)
        image.read(slice(n_y - len(part), n_y), part)
    np.testing.assert_array_equal(part, values[-1, -len(part) :])
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("compression", ["gzip", "bitshuffle"])
def test_any_order_threads_and_stop_make_the_same_file(tmp_path, rng, monkeypatch, compression):
    values = rng.standard_normal((6, 30, 20)).astype(">f4")
    want = write(tmp_path / "v.h5", values, compression, [slice(0, 6)]).read_bytes()
    monkeypatch.setenv("FOOTPRINT_THREADS", "1")
    slabs = [slice(4, 6), slice(0, 3), (slice(3, 4), slice(11, 30)), (slice(3, 4), slice(0, 11))]
    assert write(tmp_path / "w.h5", values, compression, slabs).read_bytes() == want

    def begin():
        volume = fp.create_volume(tmp_path / "x.h5", values.shape, "f4", resume=True, compression=compression)
        return volume, volume.resume({"a": "b"}, "z")

    for row in (0, 2):
        volume, done = begin()
        assert done.count == row
        volume.write(slice(row, row + 2), values[row : row + 2])
        volume.flush()
        done.add(row, row + 2)
        # Durable, not noted, and written once more.
        volume.write(slice(row + 2, row + 3), values[row : row + 1])
        heap = volume.temporary
        with pytest.warns(UserWarning, match="--resume continues"):
            volume.discard()
        whole = heap.read_bytes()
        # A chunk that was torn, and what was never a chunk.
        heap.write_bytes(whole[:-9] if row else whole + bytes(99))
    with pytest.raises(fp.FormatError, match=r"compression was .* and is now none"):
        fp.create_volume(tmp_path / "x.h5", values.shape, "f4", resume=True)
    volume, done = begin()
    volume.write(slice(4, 6), values[4:])
    volume.flush()
    done.add(4, 6)
    # Killed when all was in its file, which had no name yet.
    volume._sink.finish()
    with pytest.warns(UserWarning, match="--resume continues"):
        volume.discard()
    volume, done = begin()
    assert done.count == 6 and volume.temporary.read_bytes() == want
    volume.close()
    assert (tmp_path / "x.h5").read_bytes() == want and len(list(tmp_path.iterdir())) == 3


@pytest.mark.parametrize("where", ["pile", "hdf5"])
def test_a_full_disk_is_an_error_and_no_crash(tmp_path, rng, monkeypatch, where):
    values, writes = rng.standard_normal((6, 30, 20)).astype("f4"), []

    def full(*_):
        writes.append(1)
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(hdf5_packed.Pile if where == "pile" else hdf5_packed._Faults, "_put" if where == "pile" else "_all", full)
    with pytest.raises(fp.FormatError, match="the disk is full"):
        write(tmp_path / "v.h5", values, "gzip", [slice(0, 6)])
    # HDF5 is not asked to go on.
    assert writes and len(writes) <= 3 and list(tmp_path.iterdir()) == []


def test_the_shell_packs_within_the_plan(tmp_path):
    scan = write_scan(tmp_path / "scan.nx", n_angles=40, n_z=4, n_x=48).path
    words = ["reconstruct", str(scan), "--center", "27.2", "--device", "cpu", "--json", "--compression", "bitshuffle"]
    done = CliRunner().invoke(main, [*words, "-o", str(tmp_path / "v.h5"), "--png", str(tmp_path / "p.png"), "--resume"])
    assert done.exit_code == 0, (done.output, done.exception)
    assert int(re.search(r'"plan_library": (\d+)', done.output)[1]) > chunk_bytes((4, 48, 48), np.dtype("f4"), "bitshuffle") > 0
    with fp.open_scan(scan) as opened, h5py.File(tmp_path / "v.h5") as file:
        np.testing.assert_array_equal(file[DATA][()], fp.reconstruct(opened, center=27.2, device="cpu"))


@pytest.mark.parametrize(
    ("name", "compression", "word"),
    [("v.h5", "zstd", "bitshuffle, gzip with .h5"), ("v.zarr", "bitshuffle", "blosc, zstd, gzip with")],
)
def test_what_a_format_does_not_have_is_refused(tmp_path, name, compression, word):
    with pytest.raises(fp.ArgumentError, match=word):
        fp.create_volume(tmp_path / name, (1, 2, 3), compression=compression)
