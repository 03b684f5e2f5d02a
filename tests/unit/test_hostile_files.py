"""Small files that would take gigabytes, minutes or the process: refused by what they declare, before anything is allocated."""

from __future__ import annotations

import gzip
import os
import re
import struct
import subprocess
import sys
import zlib
from collections.abc import Callable
from pathlib import Path

import h5py
import hdf5plugin
import numpy as np
import pytest
import tifffile
from click.testing import CliRunner

import footprint as fp
from footprint.cli.main import main
from footprint.io.image import Image
from footprint.io.picture import is_picture
from footprint.io.tiff_pages import open_tiff
from tests.unit.io_files import frames, nxtomo

ROOT = Path(__file__).resolve().parents[2]
# Both are far below what each of these files took: from 800 MiB to all there is, from 6 s to hours.
_GROWTH, _SECONDS = 64 << 20, 30

_JOB = """
import sys, warnings
from pathlib import Path
import numpy as np
from footprint.backend.memory import PeakMeter
from footprint.errors import FootprintError
from footprint.io.image import open_image
from footprint.io.scan import open_scan
from footprint.io.shifts import read_shifts

warnings.simplefilter("ignore")

def scan(path):
    with open_scan(path) as opened:
        opened.read(slice(0, opened.n_z), np.empty(opened.shape, np.float32))

def image(path):
    with open_image(path) as opened:
        opened.array()

use = {"scan": scan, "image": image, "shifts": lambda path: read_shifts(path, 3)}[Path(sys.argv[1]).name.partition("-")[0]]
for good in sys.argv[2:]:
    use(good)
with PeakMeter() as meter:
    try:
        use(sys.argv[1])
        said = "fine"
    except FootprintError as error:
        said = str(error)
print(meter.growth if meter.known else 0)
print(said)
"""


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
def test_declared_sizes_are_looked_at_before_anything_is_allocated(tmp_path: Path, name: str) -> None:
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
    words = [sys.executable, "-c", _JOB, str(tmp_path / name), str(good)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=_SECONDS, cwd=ROOT)
    assert done.returncode == 0, (done.returncode, done.stderr[-500:])
    growth, sentence = done.stdout.splitlines()
    assert sentence == said or (str(tmp_path / name) in sentence and sentence.endswith(".")), sentence
    assert re.search(said, sentence), sentence
    assert int(growth) < _GROWTH
    assert len(sentence) < 600


def test_a_header_of_999_long_axes_is_truncated(tmp_path):
    """The number of its bytes has more digits than Python writes, and the error spoke of that."""
    cards = ["SIMPLE  =                    T", "BITPIX  =                  -32", "NAXIS   =                  999"]
    cards += [f"NAXIS{i:<3}=                99999" for i in range(1, 1000)]
    text = "".join(card.ljust(80) for card in [*cards, "END"])
    (tmp_path / "long.fits").write_text(text.ljust(-(-len(text) // 2880) * 2880))
    with pytest.raises(fp.FormatError, match=r"is truncated: its header declares over 2\^\d+ bytes"):
        fp.open_image(tmp_path / "long.fits")


@pytest.mark.skipif(os.name != "posix", reason="needs pipes that have a name")
def test_a_pipe_is_named_as_one_and_nobody_waits_for_it(tmp_path):
    """`footprint convolve` waited for somebody to write, without a word; others called the pipe an empty file."""
    os.mkfifo(tmp_path / "pipe.fits")
    end = os.open(tmp_path / "pipe.fits", os.O_RDWR | os.O_NONBLOCK)
    try:
        os.write(end, b"\x89PNG\r\n\x1a\n")
        assert not is_picture(tmp_path / "pipe.fits")
        for open_one in (fp.open_image, fp.open_scan):
            with pytest.raises(fp.FormatError, match="is a pipe or a device, not"):
                open_one(tmp_path / "pipe.fits")
        assert os.read(end, 99) == b"\x89PNG\r\n\x1a\n"
    finally:
        os.close(end)


def test_names_that_lead_nowhere(tmp_path):
    (tmp_path / "ring.fits").symlink_to(tmp_path / "ring.fits")
    with pytest.raises(fp.FormatError, match=r"ring\.fits: is a link that leads to no file"):
        fp.open_image(tmp_path / "ring.fits")
    with pytest.raises(fp.FormatError, match="'': is not a name; give that of an image"):
        fp.open_image("")


@pytest.mark.parametrize("big", [False, True], ids=["classic", "BigTIFF"])
@pytest.mark.parametrize("first", [0, 2])
@pytest.mark.parametrize("order", "<>")
def test_pages_that_lead_back_to_one_before(tmp_path, order, first, big):
    """The library followed them until memory was full: a file of 4 KB hung `footprint convolve`."""
    path = tmp_path / "ring.tif"
    with tifffile.TiffWriter(path, byteorder=order, bigtiff=big) as writer:
        for _ in range(5):
            writer.write(np.ones((6, 7), "u2"), photometric="minisblack", metadata=None)
    with open_tiff(path) as file:
        offsets, last = [page.offset for page in file.pages], file.pages[-1]
        at = last.offset + (8 + 20 * len(last.tags) if big else 2 + 12 * len(last.tags))
    assert fp.open_image(path, plane=4).shape == (6, 7)
    with open(path, "r+b") as file:
        file.seek(at)
        file.write(struct.pack(order + ("Q" if big else "I"), offsets[first]))
    with pytest.raises(fp.FormatError, match="list of pages that leads back into itself"):
        fp.open_scan(path)
    assert not is_picture(path)


def test_what_a_library_says_of_damage_is_not_said_beside_our_sentence(tmp_path):
    """tifffile's log went to standard error when a picture was looked for before any TIFF file was opened as data."""
    path = tmp_path / "far.tif"
    path.write_bytes(b"II" + struct.pack("<HI", 42, 2**32 - 1) + bytes(64))
    words = [sys.executable, "-m", "footprint", "convolve", str(path), "box:3", "-o", str(tmp_path / "out.tif")]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 2 and done.stderr == f"footprint: {path}: holds no image.\n"


@pytest.mark.parametrize(
    "words", ["sources big.h5 -o x.csv", "convolve big.h5 gaussian:sigma=2 -o x.npy", "filter median big.h5 --size 3 -o x.npy"]
)
def test_a_chunk_larger_than_the_budget_is_refused_before_it_is_inflated(words, tmp_path, monkeypatch):
    """Rows were looked at for blanks, or to load what decodes them: each took all of its chunk, whatever the budget."""
    monkeypatch.chdir(tmp_path)
    with h5py.File("big.h5", "w") as file:
        file.create_dataset("image", (2500, 2500), "f4", chunks=(2500, 2500), compression="gzip")
    monkeypatch.setattr(Image, "read", lambda *given: pytest.fail("it was read"))
    result = CliRunner().invoke(main, [*words.split(), "--memory", "5MB", "--device", "cpu"])
    assert isinstance(result.exception, fp.BudgetError), result.output
