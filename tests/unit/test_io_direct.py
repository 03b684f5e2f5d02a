"""Large volumes go to the disk without a copy in the system's memory where they can, and are the same where they cannot."""

from __future__ import annotations

import errno
import mmap
import os
from pathlib import Path

import h5py
import numpy as np
import pytest

from footprint.errors import FormatError
from footprint.io import direct, raw
from footprint.io.image import open_image
from footprint.io.image_writer import create_image, writing_bytes
from footprint.io.volume import create_volume

# Two pages and a half a slice.
SHAPE = (6, 20, 128)
PAGE = direct.PAGE


@pytest.fixture
def writes(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int]]:
    """Places and sizes of what is written so, on any file system, from one page on."""
    found: list[tuple[int, int]] = []
    plain = os.pwrite

    def pwrite(fd: int, view: memoryview, at: int) -> int:
        found.append((at, len(view)))
        return plain(fd, view, at)

    monkeypatch.setattr(direct, "LARGE", 1)
    monkeypatch.setattr(direct, "LEAST", PAGE)
    monkeypatch.setattr(direct, "_system", lambda path: "ext4")
    monkeypatch.setattr(direct.os, "O_DIRECT", 0, raising=False)
    monkeypatch.setattr(direct.os, "pwrite", pwrite)
    return found


def values(lead: int = 0) -> np.ndarray:
    """Noise that begins so many bytes after a page of memory."""
    n = 4 * int(np.prod(SHAPE))
    found = np.frombuffer(mmap.mmap(-1, n + PAGE), np.float32, n // 4, lead).reshape(SHAPE)
    found[:] = np.random.default_rng(1).random(SHAPE, np.float32)
    return found


def wrote(path: Path, given: np.ndarray, slabs: tuple[tuple[int, int], ...] = ((3, 6), (0, 2), (2, 3))) -> int:
    """Write it slab by slab, compare the file, and say where its numbers begin."""
    with create_volume(path, SHAPE) as volume:
        for first, last in slabs:
            volume.write(slice(first, last), given[first:last])
    with h5py.File(path) as file:
        data = file["entry/reconstruction/results/data"]
        np.testing.assert_array_equal(data[()], given)
        return int(data.id.get_offset())


def test_whole_pages_of_a_slab_are_written_from_where_they_lie(tmp_path, writes, monkeypatch):
    monkeypatch.setattr("footprint.io.hdf5.LEAST", 1)
    start = wrote(tmp_path / "v.h5", values())
    assert start % PAGE == 0
    # Slices 3 to 6 begin and end within a page, and 2 begins with one.
    assert writes == [(start + 8 * PAGE, 7 * PAGE), (start, 5 * PAGE), (start + 5 * PAGE, 2 * PAGE)]


@pytest.mark.parametrize("lead", [4, 256, 512, 2048])
def test_memory_that_disks_do_not_take_is_copied(tmp_path, writes, monkeypatch, lead):
    monkeypatch.setattr("footprint.io.hdf5.LEAST", 1)
    wrote(tmp_path / "v.h5", values(lead))
    assert bool(writes) == (lead % 512 == 0)


def test_rows_of_slices_and_small_writes_go_the_ordinary_way(tmp_path, writes, monkeypatch):
    monkeypatch.setattr("footprint.io.hdf5.LEAST", 1)
    given = values()
    with create_volume(tmp_path / "v.h5", SHAPE) as volume:
        for z in range(SHAPE[0]):
            for y in (slice(0, 3), slice(3, 20)):
                volume.write((slice(z, z + 1), y), given[z : z + 1, y])
    with h5py.File(tmp_path / "v.h5") as file:
        np.testing.assert_array_equal(file["entry/reconstruction/results/data"][()], given)
    assert all(size % PAGE == 0 for _, size in writes)


@pytest.mark.parametrize("fault", ["refused", "refused midway", "short", "slow", "elsewhere"])
def test_what_is_refused_is_written_the_ordinary_way(tmp_path, writes, monkeypatch, fault):
    monkeypatch.setattr("footprint.io.hdf5.LEAST", 1)
    plain = direct.os.pwrite

    def pwrite(fd: int, view: memoryview, at: int) -> int:
        if fault == "refused" or (fault == "refused midway" and writes):
            raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))
        return plain(fd, view[: 3 * PAGE - 100] if fault == "short" else view, at)

    monkeypatch.setattr(direct.os, "pwrite", pwrite)
    if fault == "slow":
        monkeypatch.setattr(direct, "_FORGIVEN", -1.0)
    if fault == "elsewhere":
        monkeypatch.setattr(direct, "_system", lambda path: "nfs4")
    wrote(tmp_path / "v.h5", values())
    assert len(writes) == {"refused": 0, "refused midway": 1, "short": 3, "slow": 1, "elsewhere": 0}[fault]


def test_a_full_disk_is_said_and_nothing_is_left(tmp_path, writes, monkeypatch):
    def pwrite(fd: int, view: memoryview, at: int) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("footprint.io.hdf5.LEAST", 1)
    monkeypatch.setattr(direct.os, "pwrite", pwrite)
    with pytest.raises(FormatError, match="the disk is full"):
        wrote(tmp_path / "v.h5", values())
    assert os.listdir(tmp_path) == []


def test_a_real_disk_takes_it_or_refuses_it(tmp_path, monkeypatch):
    """Whatever this machine's file system is."""
    monkeypatch.setattr(direct, "LARGE", 1)
    monkeypatch.setattr(direct, "LEAST", PAGE)
    monkeypatch.setattr("footprint.io.hdf5.LEAST", 1)
    assert direct._system("/proc/self/stat") in ("proc", "")
    monkeypatch.setattr(direct, "_system", lambda path: "ext4")
    wrote(tmp_path / "v.h5", values())


@pytest.mark.parametrize("kind", ["npy", "tif", "h5", "fits"])
@pytest.mark.parametrize(("shape", "dtype"), [((120, 128), "f4"), ((90, 341), "f4"), ((97, 1201), "u2")], ids=str)
def test_images_of_every_kind_go_to_the_disk_whatever_their_rows(tmp_path, writes, monkeypatch, kind, shape, dtype):
    """All but parts of pages where blocks meet; rows that lie askew, and FITS's bytes, go through a buffer that is planned."""
    monkeypatch.setattr(raw, "DIRECT", 16 * PAGE)
    monkeypatch.setattr("footprint.io.hdf5.LEAST", 1)
    given = (100 * np.random.default_rng(1).random(shape)).astype(dtype)
    path, lies = tmp_path / f"a.{kind}", shape[1] * given.itemsize % direct.SECTOR == 0 and kind != "fits"
    with create_image(path, shape, dtype) as image:
        assert image.host_bytes(dtype) == writing_bytes(path, shape, dtype) == (0 if lies else 16 * PAGE)
        for start in (40, 0, 80):
            block = np.frombuffer(mmap.mmap(-1, 1 << 20), dtype, 40 * shape[1]).reshape(40, -1)[: shape[0] - start]
            block[:] = given[start : start + 40]
            image.write(slice(start, start + len(block)), block)
            assert (block == given[start : start + 40]).all()
    assert sum(size for _, size in writes) > given.nbytes - 6 * PAGE
    assert all(at % PAGE == size % PAGE == 0 for at, size in writes)
    with open_image(path) as image:
        np.testing.assert_array_equal(image.array(), given)
    if kind == "npy":
        np.testing.assert_array_equal(np.load(path, mmap_mode="r"), given)


def test_headers_of_small_arrays_are_as_short_as_ever(tmp_path):
    for kind in ("npy", "tif"):
        with create_image(tmp_path / f"a.{kind}", (8, 8)) as image:
            image.write(slice(0, 8), np.ones((8, 8), "f4"))
        assert (tmp_path / f"a.{kind}").stat().st_size < 1024
