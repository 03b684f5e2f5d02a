"""Files that declare or hold far more than a job may take: refused in one sentence, before memory for it is asked for."""

from __future__ import annotations

import gzip
import re
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import hdf5plugin
import numpy as np
import pytest

from tests.unit.io_files import frames, nxtomo

# Far below what each of these files took: from 800 MiB to all there is.
_GROWTH = 64 << 20


def _again(data: bytes, times: int, head: bytes = b"") -> bytes:
    """A deflated stream of so many copies, of which one is deflated: a full flush leaves nothing for the next to refer to."""
    engine = zlib.compressobj(9, zlib.DEFLATED, -15)
    first, piece = (engine.compress(some) + engine.flush(zlib.Z_FULL_FLUSH) for some in (head, data))
    return first + piece * times + engine.flush()


def _zeros(nbytes: int) -> bytes:
    """So many, with the header of zlib and the checksum that they have."""
    return b"\x78\xda" + _again(bytes(1 << 24), nbytes >> 24) + ((nbytes % 65521) << 16 | 1).to_bytes(4, "big")


def _scan(path: Path) -> h5py.Group:
    """A scan of four frames whose stack is still to be written."""
    file = h5py.File(path, "w")
    group = file.create_group("entry/instrument/detector")
    group["image_key"] = [2, 1, 0, 0]
    file["entry/sample/rotation_angle"] = np.arange(4.0)
    return group


def _frame_bomb(path: Path) -> None:
    data = _scan(path).create_dataset("data", (4, 1024, 1024), "u2", chunks=(1, 1024, 1024), compression="gzip")
    for k in range(4):
        data.id.write_direct_chunk((k, 0, 0), _zeros(1 << 30) if k == 3 else zlib.compress(bytes(1 << 21)))
    data.file.close()


def _key_bomb(path: Path) -> None:
    group = _scan(path)
    group["data"] = frames(4)
    del group["image_key"]
    key = group.create_dataset("image_key", (4,), "i4", maxshape=(None,), chunks=(1 << 17,), compression="gzip")
    key.id.write_direct_chunk((0,), _zeros(1 << 30))
    group.file.close()


def _many_keys(path: Path) -> None:
    group = _scan(path)
    group.create_dataset("data", (1 << 25, 1, 1), "u1", chunks=(1 << 16, 1, 1), compression="gzip")
    del group["image_key"]
    group.create_dataset("image_key", (1 << 25,), "i4", chunks=(1 << 20,), compression="gzip")
    group.file.close()


def _many_frames(path: Path) -> None:
    with h5py.File(path, "w") as file:
        file.create_dataset("exchange/data", (1 << 30, 3, 5), "u2", chunks=(1 << 14, 3, 5))


def _lz4_bomb(path: Path) -> None:
    data = _scan(path).create_dataset("data", (4, 512, 512), "u2", chunks=(1, 512, 512), compression=hdf5plugin.LZ4())
    data.id.write_direct_chunk((3, 0, 0), (1 << 31).to_bytes(8, "big") + (1 << 30).to_bytes(4, "big") + bytes(64))
    data.file.close()


def _virtual(path: Path, sources: dict[str, str]) -> None:
    group = _scan(path)
    for name, source in sources.items():
        layout = h5py.VirtualLayout((4, 3, 5), "u2")
        layout[:] = h5py.VirtualSource(".", f"/entry/instrument/detector/{source}", (4, 3, 5))
        group.create_virtual_dataset(name, layout)
    group.file.close()


def _virtual_pattern(path: Path) -> None:
    group = _scan(path)
    most = (h5py.h5s.UNLIMITED, 3, 5)
    space, one = (h5py.h5s.create_simple((4, 3, 5), most) for _ in range(2))
    one.select_hyperslab((0, 0, 0), (h5py.h5s.UNLIMITED, 1, 1), (4, 3, 5), (4, 3, 5))
    settings = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    settings.set_virtual(one, b".", b"/entry/instrument/detector/d%b", h5py.h5s.create_simple((4, 3, 5)))
    h5py.h5d.create(group.id, b"d0", h5py.h5t.NATIVE_UINT16, space, settings)
    group["data"] = h5py.SoftLink("/entry/instrument/detector/d0")
    group.file.close()


def _deep(path: Path) -> None:
    with h5py.File(path, "w") as file:
        group: h5py.Group = file
        for _ in range(3000):
            group = group.create_group("g")
        group["image"] = np.ones((4, 5), np.float32)


def _many_groups(path: Path) -> None:
    with h5py.File(path, "w") as file:
        for i in range(20_000):
            file.create_group(f"g{i}")


def _fits(*cards: str) -> bytes:
    return "".join(card.ljust(80) for card in ("SIMPLE  =                    T", "BITPIX  =                   16", *cards)).encode()


def _endless(path: Path) -> None:
    with open(path, "wb") as file:
        file.write(_fits("NAXIS   =                    2", "NAXIS1  = 10", "NAXIS2  = 10") + b"COMMENT ".ljust(80) * 36 * 100)
        file.truncate(3 << 30)


def _endless_gz(path: Path) -> None:
    piece = b"COMMENT hello".ljust(80) * 36 * 364
    head = _fits("NAXIS   =                    2", "NAXIS1  = 10", "NAXIS2  = 10").ljust(2880)
    # Nobody comes as far as the checksum.
    path.write_bytes(gzip.compress(b"")[:10] + _again(piece, 500, head) + bytes(8))


def _gz_name(path: Path) -> None:
    """A gzip header with a file name that has no end."""
    with open(path, "wb") as file:
        file.write(b"\x1f\x8b\x08\x08\0\0\0\0\0\3" + b"A" * (512 << 20))


def _axes(path: Path) -> None:
    path.write_bytes(_fits("NAXIS   =           2000000000", "END").ljust(2880))


def _npy_header(path: Path) -> None:
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\x02\x00" + (3 << 30).to_bytes(4, "little"))
        file.truncate(3 << 30)


def _large(path: Path) -> None:
    with open(path, "wb") as file:
        if path.suffix == ".npy":
            np.lib.format.write_array_header_1_0(file, {"descr": "<f8", "fortran_order": False, "shape": (1 << 28,)})
        file.truncate(file.tell() + (1 << 31))


def _written(path: Path, data: bytes) -> None:
    path.write_bytes(data)


CASES: dict[str, tuple[Callable[[Path], None], str]] = {
    "scan-frame-bomb.nx": (
        _frame_bomb,
        r"the chunk at \[3, 0, 0\] of .*/data inflates to more than 2097152 bytes",
    ),
    "scan-key-bomb.nx": (_key_bomb, r"the chunk at \[0\] of /entry/instrument/detector/image_key .* its shape needs 524288"),
    "scan-many-keys.nx": (_many_keys, r"declares 33554432 frames, more than a scan can have \(1048576\)"),
    "scan-many-frames.h5": (_many_frames, "declares 1073741824 projections"),
    "scan-lz4-bomb.nx": (_lz4_bomb, r"the chunk at \[3, 0, 0\] .* declares 2147483648 bytes, its shape needs 524288"),
    "scan-virtual-self.nx": (lambda p: _virtual(p, {"data": "data"}), "detector/data is assembled from itself"),
    "scan-virtual-loop.nx": (lambda p: _virtual(p, {"data": "a", "a": "b", "b": "data"}), "is assembled from itself"),
    "scan-virtual-pattern.nx": (_virtual_pattern, "is assembled from itself"),
    "scan-virtual-deep.nx": (
        lambda p: _virtual(p, {"data": "s0"} | {f"s{i}": f"s{i + 1}" for i in range(2000)}),
        "from virtual datasets more than 16 deep",
    ),
    "scan-many-groups.h5": (_many_groups, "it has g0, g1, g10, g100, g1000, g10000 and 19994 more"),
    "image-many-groups.h5": (_many_groups, "holds more than 8192 objects, too many to look for an array in"),
    "image-deep.h5": (_deep, "fine"),
    "image-endless.fits": (_endless, "has a header without an END card in its first 16 MiB"),
    "image-endless.fits.gz": (_endless_gz, "has a header without an END card in its first 16 MiB"),
    "image-name.fits.gz": (_gz_name, "is not a FITS"),
    "image-axes.fits": (_axes, "has NAXIS = 2000000000 in header 0, wanted 0 to 999"),
    "image-header.npy": (_npy_header, "declares a header of 3221225472 bytes, wanted at most 10000"),
    "shifts-large.npy": (_large, "takes 2 GiB"),
    "shifts-large.txt": (_large, "takes 2 GiB"),
    "shifts-many.txt": (
        lambda p: _written(p, b"0.5, " * 3_000_000),
        "lists more than 1048576 numbers, wanted one number per angle",
    ),
    "shifts-word.txt": (lambda p: _written(p, b"1" * (60 << 20)), "holds a word of more than 1024 letters"),
}


@pytest.mark.parametrize("name", CASES)
def test_declared_sizes_are_looked_at_before_anything_is_allocated(tmp_path: Path, fresh: Any, name: str) -> None:
    write, said = CASES[name]
    write(tmp_path / name)
    good: Path = tmp_path / "good.npy"
    np.save(good, np.arange(3.0))
    if name.startswith("scan"):
        good = tmp_path / "good.nx"
        nxtomo(good, [1, 2, 0, 0], chunks=(1, 3, 5), compression="gzip")
    elif name.endswith(".h5"):
        good = tmp_path / "image-good.h5"
        with h5py.File(good, "w") as file:
            file["image"] = np.ones((4, 4))
    elif name.startswith("image"):
        np.save(good, np.ones((4, 4)))
    growth, sentence = fresh("hostile", str(tmp_path / name), str(good))
    assert sentence == said or (str(tmp_path / name) in sentence and sentence.endswith(".")), sentence
    assert re.search(said, sentence), sentence
    assert growth < _GROWTH
    assert len(sentence) < 600
