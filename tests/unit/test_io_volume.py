"""Volumes: what is written is read back, and nothing unfinished ever carries the name of a result."""

from __future__ import annotations

import errno
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import h5py
import numpy as np
import pytest
import tifffile

from footprint.errors import ArgumentError, FormatError, ShapeError
from footprint.io import raw
from footprint.io.output import writing
from footprint.io.raw import RawFrames
from footprint.io.volume import check_volume, create_volume
from footprint.plan.rows import RowSet

NAMES = ["v.h5", "v.tif", "folder"]


def load(path: Path) -> np.ndarray:
    if path.is_dir():
        return np.stack([tifffile.imread(p) for p in sorted(path.iterdir())])
    if path.suffix == ".h5":
        with h5py.File(path) as file:
            assert file[file.attrs["default"]].attrs["default"] == "reconstruction"
            return file["entry/reconstruction/results/data"][()]
    return tifffile.imread(path).reshape(-1, *tifffile.imread(path).shape[-2:])


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "uint16", "int8"])
@pytest.mark.parametrize("shape", [(5, 3, 4), (1, 1, 1), (7, 1, 13)])
def test_round_trip_in_any_order(
    tmp_path: Path, name: str, dtype: str, shape: tuple[int, int, int], rng: np.random.Generator
) -> None:
    values = (rng.random(shape) * 100).astype(dtype)
    with create_volume(tmp_path / name, shape, dtype, attrs={"center": 3.5, "filter": "ramlak", "roi": None}) as volume:
        volume.write(slice(1, None), values[1:])
        for y in range(shape[1]):
            volume.write((slice(0, 1), slice(y, y + 1)), np.asfortranarray(values[:1, y : y + 1]))
        assert not (tmp_path / name).exists()
    assert os.listdir(tmp_path) == [name]
    np.testing.assert_array_equal(load(tmp_path / name), values)


def test_attributes_and_empty_volume(tmp_path: Path) -> None:
    with create_volume(tmp_path / "v.h5", (0, 3, 4), attrs={"center": 3.5, "filter": "ramlak", "roi": None}):
        pass
    with h5py.File(tmp_path / "v.h5") as file:
        process = file["entry/reconstruction"]
        assert process.attrs["center"] == 3.5 and process.attrs["filter"] == "ramlak" and "roi" not in process.attrs
        assert process["results/data"].shape == (0, 3, 4)


def test_bigtiff_by_size(tmp_path: Path) -> None:
    from footprint.io import tiff

    for shape, big in (((4, 10, 10), False), ((1 << 14, 512, 256), True)):
        # Sparse: the file is laid out, and no pixel of it is written.
        file = tiff.create(tmp_path / "a.tif", shape, np.dtype("float32"))
        last = np.full((1, 1, shape[2]), 3, np.float32)
        file.write(shape[0] - 1, slice(shape[1] - 1, shape[1]), last)
        file.close()
        with tifffile.TiffFile(tmp_path / "a.tif") as read:
            assert read.is_bigtiff is big and len(read.pages) == shape[0]
            assert (read.pages[shape[0] - 1].asarray()[-1] == 3).all()


@pytest.mark.parametrize("name", NAMES)
def test_existing_output_is_kept(tmp_path: Path, name: str) -> None:
    ones, twos = np.ones((2, 3, 4), np.float32), np.full((2, 3, 4), 2, np.float32)
    with create_volume(tmp_path / name, (2, 3, 4)) as volume:
        volume.write(slice(0, 2), ones)
    with pytest.raises(FormatError, match=r"already exists.*--overwrite"):
        create_volume(tmp_path / name, (2, 3, 4))
    with pytest.raises(RuntimeError, match="stop"), create_volume(tmp_path / name, (2, 3, 4), overwrite=True) as volume:
        volume.write(slice(0, 2), twos)
        raise RuntimeError("stop")
    assert os.listdir(tmp_path) == [name]
    np.testing.assert_array_equal(load(tmp_path / name), ones)
    with create_volume(tmp_path / name, (2, 3, 4), overwrite=True) as volume:
        volume.write(slice(0, 2), twos)
    np.testing.assert_array_equal(load(tmp_path / name), twos)


def test_a_result_that_appears_meanwhile_is_kept(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="the result is kept as") as caught, create_volume(tmp_path / "v.h5", (1, 1, 1)) as volume:
        volume.write(slice(0, 1), np.ones((1, 1, 1), np.float32))
        (tmp_path / "v.h5").write_text("mine")
    assert (tmp_path / "v.h5").read_text() == "mine"
    kept = next(p for p in tmp_path.iterdir() if p.name != "v.h5")
    assert str(kept) in str(caught.value) and load(kept) == 1


def test_a_folder_of_other_things_is_never_replaced(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    with create_volume(tmp_path / "folder", (1, 1, 1)) as volume:
        volume.write(slice(0, 1), np.ones((1, 1, 1), np.float32))
    (tmp_path / "folder" / "thesis.txt").write_text("years")
    with pytest.raises(FormatError, match=r"holds thesis\.txt, which no earlier run wrote"):
        create_volume(tmp_path / "folder", (1, 1, 1), overwrite=True)
    assert (tmp_path / "folder" / "thesis.txt").exists()


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("error", [KeyboardInterrupt, ValueError, SystemExit])
def test_an_interrupted_run_leaves_nothing(tmp_path: Path, name: str, error: type[BaseException]) -> None:
    with pytest.raises(error), create_volume(tmp_path / name, (2, 3, 4)) as volume:
        volume.write(slice(0, 1), np.ones((1, 3, 4), np.float32))
        raise error
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("name", NAMES)
def test_missing_slices_are_no_result(tmp_path: Path, name: str) -> None:
    volume = create_volume(tmp_path / name, (3, 1, 2))
    volume.write(slice(0, 1), np.ones((1, 1, 2), np.float32))
    volume.write(slice(2, 3), np.ones((1, 1, 2), np.float32))
    with pytest.raises(FormatError, match="closed with 1 row missing, the first of them row 0 of slice 1"):
        volume.close()
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("name", NAMES)
def test_rows_written_twice_stand_for_no_others(tmp_path: Path, name: str) -> None:
    volume = create_volume(tmp_path / name, (2, 4, 3))
    top, slab = np.ones((2, 2, 3), np.float32), np.ones((1, 4, 3), np.float32)
    for _ in range(2):
        volume.write((slice(0, 2), slice(0, 2)), top)
    volume.write(slice(1, 2), slab)
    with pytest.raises(FormatError, match="2 rows missing, the first of them row 2 of slice 0"):
        volume.close()
    assert os.listdir(tmp_path) == []


def test_a_row_set_is_the_set_of_what_was_put_in(rng: np.random.Generator) -> None:
    for _ in range(200):
        total = int(rng.integers(1, 40))
        done, plain = RowSet(), np.zeros(total, bool)
        for _ in range(int(rng.integers(0, 12))):
            start, stop = np.sort(rng.integers(0, total + 1, 2)).tolist()
            done.add(start, stop)
            plain[start:stop] = True
        missing = [i for start, stop in done.missing(total) for i in range(start, stop)]
        assert missing == np.flatnonzero(~plain).tolist()
        assert [i for start, stop in done.spans for i in range(start, stop)] == np.flatnonzero(plain).tolist()
        # In order and whole: no two ranges touch.
        assert all(a[1] < b[0] for a, b in zip(done.missing(total), done.missing(total)[1:]))


_CHILD = """
import sys, time, numpy as np
from footprint.io import raw
from footprint.io.output import writing
from footprint.io.raw import RawFrames
from footprint.io.volume import create_volume
with create_volume(sys.argv[1], (400, 64, 64)) as volume:
    print("started", flush=True)
    for i in range(400):
        volume.write(slice(i, i + 1), np.ones((1, 64, 64), np.float32))
        time.sleep(float(sys.argv[2]))
"""


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_signals_remove_the_temporary(tmp_path: Path, name: str, number: signal.Signals) -> None:
    child = subprocess.Popen(
        [sys.executable, "-c", _CHILD, str(tmp_path / name), "0.05"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert child.stdout is not None and child.stdout.readline().strip() == "started"
    time.sleep(0.2)
    assert [p for p in os.listdir(tmp_path) if p.endswith(".partial")]
    child.send_signal(number)
    child.communicate(timeout=20)
    assert child.returncode != 0
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("name", NAMES)
def test_a_limit_on_files_is_no_full_disk(tmp_path: Path, name: str) -> None:
    limit = "import resource as r, signal as s; s.signal(s.SIGXFSZ, s.SIG_IGN); r.setrlimit(r.RLIMIT_FSIZE, (10240, 10240))\n"
    child = subprocess.run([sys.executable, "-c", limit + _CHILD, str(tmp_path / name), "0"], capture_output=True, text=True)
    last = child.stderr.strip().splitlines()[-1]
    assert child.returncode == 1 and "FormatError" in last, child.stderr
    assert "ulimit -f allows this process files of at most 10 KiB" in last and "disk" not in last, last
    assert os.listdir(tmp_path) == []


_REASONS = {
    errno.ENOSPC: "the disk is full",
    errno.EDQUOT: "your quota on this disk is used up",
    errno.EFBIG: "this disk takes no file of that size",
}


@pytest.mark.parametrize("number", _REASONS)
@pytest.mark.parametrize("in_words", [False, True], ids=["number", "words"])
def test_what_failed_is_said(number: int, in_words: bool) -> None:
    error = RuntimeError(f"HDF5 failed (errno = {number}, x)") if in_words else OSError(number, os.strerror(number))
    with pytest.raises(FormatError) as caught, writing("v.h5"):
        raise error
    assert str(caught.value) == f"v.h5: could not be written ({_REASONS[number]}); nothing was left behind."
    with pytest.raises(FormatError, match=r"\(Input/output error\)"), writing("v.h5"):
        raise OSError(errno.EIO, os.strerror(errno.EIO))
    with pytest.raises(FormatError, match=r"\(the disk is full\)"), writing("v.fits"):
        # As astropy says it.
        raise OSError("Not enough space on disk: requested 112326, available 0. 47142 requested and 17056 written")


@pytest.mark.parametrize("name", NAMES)
def test_disk_that_fills_up_midway(tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    put = RawFrames._put

    def full(self: RawFrames, at: int, array: np.ndarray) -> None:
        if array.max() == 2:
            raise OSError(errno.ENOSPC, "No space left on device")
        put(self, at, array)

    monkeypatch.setattr(RawFrames, "_put", full)
    with pytest.raises(FormatError, match="the disk is full"), create_volume(tmp_path / name, (2, 3, 4)) as volume:
        volume.write(slice(0, 1), np.ones((1, 3, 4), np.float32))
        volume.write(slice(1, 2), np.full((1, 3, 4), 2, np.float32))
    assert os.listdir(tmp_path) == []


def test_no_room_is_said_before_the_work(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=r"the disk has .* free"):
        create_volume(tmp_path / "v.h5", (1 << 20, 1 << 13, 1 << 13))
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("compression", ["none", "gzip"])
def test_files_do_not_tell_the_time(tmp_path: Path, compression: str) -> None:
    """A run that was resumed ends with the file of one that was not, to the last byte."""
    begun = int(time.time())
    with create_volume(tmp_path / "v.h5", (1, 3, 4), compression=compression) as volume:
        volume.write(slice(0, 1), np.ones((1, 3, 4), np.float32))
    found = (tmp_path / "v.h5").read_bytes()
    assert not any(second.to_bytes(4, "little") in found for second in range(begun, int(time.time()) + 1))


def test_what_is_compressed_may_fit_after_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody knows how small it becomes: too little room had refused it."""
    monkeypatch.setattr(shutil, "disk_usage", lambda path: SimpleNamespace(total=1 << 20, free=5000))
    shape, zeros = (2, 30, 40), np.zeros((2, 30, 40), np.float32)
    for name, how in {
        "v.h5": {"compression": "gzip"},
        "w.h5": {"compression": "bitshuffle"},
        "v.zarr": {"compression": "zstd"},
    }.items():
        for resume in (False, True):
            with pytest.warns(UserWarning, match=r"would take 9\.38 KiB without compression, the disk has"):
                volume = create_volume(tmp_path / name, shape, overwrite=True, resume=resume, **how)
            with volume:
                volume.write(slice(0, 2), zeros)
    for resume in (False, True):
        with pytest.raises(FormatError, match=r"needs 9\.38 KiB, the disk has"):
            create_volume(tmp_path / "plain.h5", shape, resume=resume)
    assert sorted(os.listdir(tmp_path)) == ["v.h5", "v.zarr", "w.h5"]


def test_bad_targets(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(FormatError, match="does not exist; create the folder first"):
        check_volume(tmp_path / "none" / "v.h5")
    with pytest.raises(FormatError, match="is not a folder"):
        check_volume(tmp_path / "file" / "v.h5")
    with pytest.raises(ArgumentError, match="a name ending in one of"):
        check_volume(tmp_path / "v.raw")
    with pytest.raises(FormatError, match="is a file, not a folder"):
        check_volume(tmp_path / "file")
    (tmp_path / "v.tif").mkdir()
    with pytest.raises(FormatError, match="is a folder, not a file"):
        check_volume(tmp_path / "v.tif")
    with pytest.raises(ArgumentError, match="the name of a file"):
        check_volume("/")
    with pytest.raises(ShapeError):
        create_volume(tmp_path / "a.h5", (2, 3), "float32")  # type: ignore[arg-type]
    with pytest.raises(ShapeError):
        create_volume(tmp_path / "a.h5", (2, 3, 4), "complex64")


@pytest.mark.skipif(os.name != "posix", reason="permissions are POSIX's")
def test_read_only_folder(tmp_path: Path) -> None:
    if os.geteuid() == 0:
        folder = Path("/proc")
    else:
        folder = tmp_path / "fixed"
        folder.mkdir(mode=0o500)
    with pytest.raises(FormatError, match=r"cannot be written"):
        create_volume(folder / "v.h5", (1, 1, 1))


def test_wrong_pieces(tmp_path: Path) -> None:
    with pytest.raises(ShapeError, match="wanted shape"), create_volume(tmp_path / "v.h5", (2, 3, 4)) as volume:
        volume.write(slice(0, 1), np.ones((2, 3, 4), np.float32))
    with pytest.raises(ShapeError, match="casts to"), create_volume(tmp_path / "v.h5", (2, 3, 4), "uint8") as volume:
        volume.write(slice(0, 2), np.ones((2, 3, 4), np.float32))
    assert os.listdir(tmp_path) == []


def test_a_large_volume_goes_to_the_disk_while_it_is_written(tmp_path, monkeypatch):
    """What is written is told to the disk piece by piece, in any order of pieces; all of it is there when the file is closed."""
    told = []
    monkeypatch.setattr(raw, "LARGE", 1)
    monkeypatch.setattr(raw, "_LEAVES", 4 * 20 * 30 * 2)
    monkeypatch.setattr(raw.os, "posix_fadvise", lambda fd, first, count, how: told.append((first, count)))
    values = np.random.default_rng(1).random((10, 20, 30), dtype=np.float32)
    with create_volume(tmp_path / "v.h5", values.shape) as volume:
        for z in (4, 6, 0, 2, 8):
            volume.write(slice(z, z + 2), values[z : z + 2])
    with h5py.File(tmp_path / "v.h5") as file:
        data = file["entry/reconstruction/results/data"]
        assert np.array_equal(data[()], values)
        start, slices = data.id.get_offset(), 4 * 20 * 30
    # All from the first byte written to the last, whatever lies between.
    assert told == [(start + a * slices, (b - a) * slices) for a, b in ((4, 6), (4, 8), (0, 8), (0, 8), (0, 10))]
    told.clear()
    monkeypatch.setattr(raw, "LARGE", values.nbytes + 1)
    with create_volume(tmp_path / "w.h5", values.shape) as volume:
        volume.write(slice(0, 10), values)
    assert not told


@pytest.mark.parametrize(("name", "told"), [("out", "d"), ("out", "dh"), ("out.zarr", "d"), ("out.tif", "d")])
def test_every_file_is_waited_for_once_and_has_all_that_is_told(tmp_path, monkeypatch, name, told):
    """Each wait for a disk takes milliseconds: those of a folder of slices were most of a job."""
    waited, fsync = [], os.fsync

    def counted(fd):
        waited.append(os.readlink(f"/proc/self/fd/{fd}"))
        fsync(fd)

    monkeypatch.setattr(os, "fsync", counted)
    with create_volume(tmp_path / name, (5, 6, 7), "f4", told=told) as volume:
        volume.write(slice(0, 5), np.ones((5, 6, 7), "f4"))
        for one in told:
            volume.tell(one, f"pixels that are {one}")
    assert len(waited) == len(set(waited)) >= (1 if name == "out.tif" else 5)
    if name == "out":
        for file in sorted((tmp_path / name).iterdir()):
            assert all(f"pixels that are {one}".encode() in file.read_bytes() for one in told)
