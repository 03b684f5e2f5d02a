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
from footprint.io.volume import create_volume

# Two pages and a half a slice.
SHAPE = (6, 40, 64)
PAGE = direct.PAGE


@pytest.fixture
def writes(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int]]:
    """Places and sizes of what is written so, on any file system, from one page on."""
    found: list[tuple[int, int]] = []
    plain = os.pwrite

    def pwrite(fd: int, view: memoryview, at: int) -> int:
        found.append((at, len(view)))
        return plain(fd, view, at)

    monkeypatch.setattr(raw, "LARGE", 1)
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
            for y in (slice(0, 3), slice(3, 40)):
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
    monkeypatch.setattr(raw, "LARGE", 1)
    monkeypatch.setattr(direct, "LEAST", PAGE)
    monkeypatch.setattr("footprint.io.hdf5.LEAST", 1)
    assert direct._system("/proc/self/stat") in ("proc", "")
    monkeypatch.setattr(direct, "_system", lambda path: "ext4")
    wrote(tmp_path / "v.h5", values())
