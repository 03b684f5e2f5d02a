"""Chunks decoded straight to where they are wanted, by several threads: HDF5's numbers, and no trust in what a chunk says."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import threading
import weakref
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import hdf5plugin
import numpy as np
import pytest

import footprint as fp
from footprint.io import chunks, coded
from footprint.io.stacks import Hdf5Frames
from footprint.kernels.bitshuffle.contract import Box
from footprint.kernels.shuffle.cpu import unshuffle
from footprint.plan.crew import shared

BITSHUFFLE = {"compression": hdf5plugin.Bitshuffle(nelems=16, cname="lz4")}
GZIP = {"compression": "gzip", "compression_opts": 1}
STORED: dict[str, dict[str, Any]] = {
    "bitshuffle": BITSHUFFLE,
    "deflate": GZIP,
    "shuffled deflate": GZIP | {"shuffle": True},
    "chunks": {},
    "contiguous": {"chunks": None},
}


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Chunks of tests count as large, so that threads share them, and take several reads each."""
    monkeypatch.setenv("FOOTPRINT_THREADS", "3")
    monkeypatch.setattr(chunks, "_SMALL", 0)
    monkeypatch.setattr(coded, "_WINDOW", 1)
    monkeypatch.setattr(coded, "_READ", 64)
    monkeypatch.setattr(coded, "_MADE", 61)


def _frames(path: Path) -> Hdf5Frames:
    return Hdf5Frames(str(path), h5py.File(path)["data"])


@pytest.mark.parametrize("name", STORED)
@pytest.mark.parametrize("chunk", [(1, 40, 33), (3, 17, 33), (2, 9, 10)])
def test_rows_of_all_dtypes_equal_those_of_hdf5(tmp_path: Path, name: str, chunk: tuple[int, int, int]) -> None:
    noise = np.random.default_rng(1).poisson(np.linspace(3, 90, 33), (7, 40, 33))
    # The first shape has all of them, the others share them.
    which = {(1, 40, 33): slice(None), (3, 17, 33): slice(0, None, 2), (2, 9, 10): slice(1, None, 2)}[chunk]
    for dtype in ("u1", "?", "<u2", ">u2", "f2", "<i4", ">f4", "<f8", ">i8")[which]:
        path = tmp_path / f"{dtype[-2:]}{dtype[0] == '>'}.h5"
        with h5py.File(path, "w") as file:
            data = file.create_dataset("data", noise.shape, dtype, **{"chunks": chunk, "fillvalue": 1} | STORED[name])
            # Frames that were never written have no chunk.
            data[:6] = noise[:6].astype(dtype)
            want = data[()].astype(data.dtype.newbyteorder("="))
        frames = _frames(path)
        for start, stop, rows in ((0, 7, slice(0, 40)), (1, 7, slice(16, 31)), (2, 3, slice(39, 40)), (0, 6, slice(17, 34))):
            wanted = want[start:stop, rows]
            wide = np.full((stop - start, rows.stop - rows.start + 3, 33), 9, want.dtype)
            other = np.empty(wanted.shape, "f4" if dtype != ">f4" else "f8")
            for out in (np.empty_like(wanted), wide[:, :-3], other):
                frames.read(start, stop, rows, out)
                assert out.tobytes() == wanted.astype(out.dtype).tobytes()
            assert (wide[:, -3:] == np.array(9, want.dtype)).all()
        frames.close()


def test_filters_that_were_skipped_and_blocks_of_other_sizes(tmp_path: Path) -> None:
    want = np.random.default_rng(2).poisson(50, (5, 16, 64)).astype(">u2")
    with h5py.File(tmp_path / "a.h5", "w") as file:
        for name, storage in STORED.items():
            if storage.get("chunks", True):
                file.create_dataset(name, data=want, **{"chunks": (1, 16, 64)} | storage)
        other = file.create_dataset("other", data=want, chunks=(1, 16, 64), compression=hdf5plugin.Bitshuffle(nelems=8))
        for name in ("bitshuffle", "deflate"):
            file[name].id.write_direct_chunk((1, 0, 0), want[1].tobytes(), 1)
        file["shuffled deflate"].id.write_direct_chunk((1, 0, 0), zlib.compress(want[1].tobytes()), 1)
        file["shuffled deflate"].id.write_direct_chunk((3, 0, 0), want[3].tobytes(), 3)
        # Each chunk says itself how large its blocks are.
        file["bitshuffle"].id.write_direct_chunk((3, 0, 0), other.id.read_direct_chunk((3, 0, 0))[1])
    with h5py.File(tmp_path / "a.h5") as file:
        for name in ("bitshuffle", "deflate", "shuffled deflate", "chunks"):
            frames = Hdf5Frames("a.h5", file[name])
            for rows in (slice(0, 16), slice(5, 9)):
                out = np.empty((5, rows.stop - rows.start, 64), "u2")
                frames.read(0, 5, rows, out)
                np.testing.assert_array_equal(out, want[:, rows])


def test_only_blocks_that_hold_the_rows_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    want = np.random.default_rng(3).integers(0, 1 << 16, (4, 256, 64)).astype("u2")
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file.create_dataset("data", data=want, chunks=(1, 256, 64), compression=hdf5plugin.Bitshuffle(nelems=64, cname="lz4"))
    count, fill = [0], coded.filled

    def counted(fd: int, offset: int, array: np.ndarray) -> bool:
        count[0] += array.nbytes
        return fill(fd, offset, array)

    monkeypatch.setattr(coded, "filled", counted)
    monkeypatch.setattr(coded, "_WINDOW", 1 << 18)
    frames, out = _frames(tmp_path / "a.h5"), np.empty((4, 16, 64), "u2")
    # There and back: then all places that are remembered are known.
    for start in (*range(0, 256, 16), *range(240, -1, -16)):
        frames.read(0, 4, slice(start, start + 16), out)
        np.testing.assert_array_equal(out, want[:, start : start + 16])
    # Noise is stored as it is. Twice all of it, and little beyond and before the rows.
    assert 2 * want.nbytes < count[0] < 2.5 * want.nbytes
    assert frames.decodings(1) == 1 and frames.decoding(4, 1) < frames.decoding(4, 256)
    frames.close()


def test_damaged_blocks_are_refused_and_nothing_beside_them_is_touched() -> None:
    """Thousands of seeded corruptions, in a process of their own: what strays ends it."""
    worker = [sys.executable, "-m", "tests.unit.bitshuffle_worker", "6000"]
    done = subprocess.run(worker, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, f"{done.returncode}: {done.stderr[-2000:]}"
    refused, decoded = map(int, done.stdout.split())
    assert refused > 2000 and decoded > 1000


@pytest.mark.parametrize(
    ("at", "count", "box", "fits"),
    [
        (0, 24, Box(4, 2, 1, 0, 5, 0, 0, 4, 0), True),
        (12, 12, Box(4, 2, 1, 0, 5, 0, 0, 4, 0), True),
        (1, 24, Box(4, 2, 1, 0, 5, 0, 0, 4, 0), False),
        (-1, 4, Box(4, 2, 1, 0, 5, 0, 0, 4, 0), False),
        (0, 24, Box(4, 2, 1, 0, 5, 0, 0, 5, 0), False),
        (0, 24, Box(4, 1, 3, 0, 0, 4, 0, 0, 4), False),
        (0, 24, Box(4, 2, 1, 5, -5, 0, 0, 4, 0), False),
        (0, 24, Box(4, 1, 1, 0, 0, 0, -1, 0, 0), False),
        (0, 24, Box(0, 1, 1, 0, 0, 0, 0, 0, 0), False),
    ],
)
def test_bytes_that_were_shuffled_go_nowhere_else(at: int, count: int, box: Box, fits: bool) -> None:
    """Twelve elements of two bytes, into memory for eight, beside which nothing may change."""
    whole = np.full(48, 165, np.uint8)
    stored = np.frombuffer(bytes(range(1, 25)), np.uint8)[:count]
    assert unshuffle(stored, at, 12, 2, False, box, whole[16:32]) == fits
    assert (whole[:16] == 165).all() and (whole[32:] == 165).all()
    assert fits or (whole == 165).all()


def _put(place: int, values: bytes) -> Callable[[Any, int, int], None]:
    def edit(file: Any, offset: int, size: int) -> None:
        file.seek(offset + place)
        file.write(values)

    return edit


DAMAGE = {
    "it declares 2 GiB": ("bitshuffle", _put(0, (1 << 31).to_bytes(8, "big")), "declares 2147483648 bytes in blocks of 32"),
    "no blocks": ("bitshuffle", _put(8, bytes(4)), "declares 2640 bytes in blocks of 0"),
    "odd blocks": ("bitshuffle", _put(8, (30).to_bytes(4, "big")), "declares 2640 bytes in blocks of 30"),
    "huge blocks": ("bitshuffle", _put(8, (1 << 30).to_bytes(4, "big")), "has blocks of 1073741824 bytes, others have 32"),
    "a block of 2 GiB": ("bitshuffle", _put(12, b"\x7f\xff\xff\xff"), "cannot be decoded: its block 0 runs past the chunk"),
    "zeros": ("bitshuffle", _put(12, bytes(600)), r"cannot be decoded: its block \d "),
    "noise": ("deflate", _put(30, bytes(range(256))), "cannot be inflated|inflates to"),
    "a bomb": ("shuffled deflate", _put(0, zlib.compress(bytes(1 << 18), 9)), "inflates to more than 2640 bytes"),
}


@pytest.mark.parametrize("what", DAMAGE)
def test_damage_is_said_of_its_chunk(tmp_path: Path, what: str) -> None:
    name, edit, words = DAMAGE[what]
    path, want = tmp_path / "a.h5", np.random.default_rng(4).poisson(90, (5, 40, 33)).astype("u2")
    with h5py.File(path, "w") as file:
        data = file.create_dataset("data", data=want, chunks=(1, 40, 33), **STORED[name])
        place = data.id.get_chunk_info(2)
    with open(path, "r+b") as raw:
        edit(raw, place.byte_offset, place.size)
    frames = _frames(path)
    for dtype in ("u2", "f4"):
        out = np.empty((5, 12, 33), dtype)
        with pytest.raises(fp.FormatError, match=rf"a\.h5: the chunk at \[2, 0, 0\] of /data ({words})") as caught:
            frames.read(0, 5, slice(3, 15), out)
        assert "\n" not in str(caught.value)
        # Others are as they were.
        frames.read(3, 5, slice(3, 15), out[:2])
        np.testing.assert_array_equal(out[:2], want[3:, 3:15])
    frames.close()


@pytest.mark.parametrize("name", STORED)
def test_a_file_that_is_cut_while_it_is_read(tmp_path: Path, name: str) -> None:
    path, want = tmp_path / "a.h5", np.random.default_rng(5).poisson(90, (5, 40, 33)).astype("u2")
    with h5py.File(path, "w") as file:
        file.create_dataset("data", data=want, **{"chunks": (1, 40, 33)} | STORED[name])
    frames, out = _frames(path), np.empty_like(want)
    frames.read(0, 5, slice(0, 40), out)
    os.truncate(path, os.stat(path).st_size - 3000)
    with pytest.raises(fp.FormatError, match=r"a\.h5"):
        frames.read(0, 5, slice(0, 40), out)
    frames.close()


def test_what_lies_elsewhere_is_read_by_hdf5(tmp_path: Path) -> None:
    want = np.arange(4 * 5 * 6, dtype="u2").reshape(4, 5, 6)
    with h5py.File(tmp_path / "block.h5", "w", userblock_size=512) as file:
        file["data"] = want
    with h5py.File(tmp_path / "outside.h5", "w") as file:
        file.create_dataset("data", want.shape, "u2", external=[(str(tmp_path / "raw"), 0, want.nbytes)])[...] = want
    with h5py.File(tmp_path / "compact.h5", "w") as file:
        plist = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        plist.set_layout(h5py.h5d.COMPACT)
        space = h5py.h5s.create_simple(want.shape)
        h5py.Dataset(h5py.h5d.create(file.id, b"data", h5py.h5t.NATIVE_UINT16, space, plist))[...] = want
    with h5py.File(tmp_path / "bits.h5", "w") as file:
        # 12 bits, from the fourth on.
        kind = h5py.h5t.NATIVE_UINT16.copy()
        kind.set_precision(12)
        kind.set_offset(4)
        h5py.Dataset(h5py.h5d.create(file.id, b"data", kind, h5py.h5s.create_simple(want.shape)))[...] = want
    layout = h5py.VirtualLayout(want.shape, "u2")
    layout[:] = h5py.VirtualSource(tmp_path / "block.h5", "data", want.shape)
    with h5py.File(tmp_path / "virtual.h5", "w") as file:
        file.create_virtual_dataset("data", layout)
    with h5py.File(tmp_path / "empty.h5", "w") as file:
        file.create_dataset("data", want.shape, "u2", fillvalue=3)
    for name in ("block", "outside", "compact", "bits", "virtual", "empty"):
        frames, out = _frames(tmp_path / f"{name}.h5"), np.empty((3, 2, 6), "u2")
        frames.read(1, 4, slice(2, 4), out)
        np.testing.assert_array_equal(out, want[1:, 2:4] if name != "empty" else 3)
        assert frames.raw is None
        frames.close()


def test_the_first_error_ends_all_and_nobody_is_waited_for_who_has_not_come() -> None:
    seen: list[int] = []

    class Third(Exception):
        pass

    def work(slot: int, piece: int) -> None:
        if piece == 3:
            raise Third
        seen.append(piece)

    left: list[weakref.ref[Third]] = []
    gc.disable()
    try:
        try:
            shared(iter(range(1000)), work, 3)
        except Third as error:
            left.append(weakref.ref(error))
        # Caught, it keeps nothing that its frames hold until Python looks for cycles.
        assert left[0]() is None
    finally:
        gc.enable()
    assert len(seen) < 1000

    # A crew inside of a crew: its threads may be those that wait for it.
    done: list[tuple[int, int]] = []
    lock = threading.Lock()

    def inner(outer: int) -> Callable[[int, int], None]:
        def add(slot: int, piece: int) -> None:
            with lock:
                done.append((outer, piece))

        return add

    shared(iter(range(20)), lambda slot, k: shared(iter(range(5)), inner(k), 8), 8)
    assert sorted(done) == [(i, j) for i in range(20) for j in range(5)]
