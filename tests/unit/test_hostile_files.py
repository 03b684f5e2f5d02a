"""Small files that would take gigabytes, minutes or the process: refused by what they declare, before anything is allocated."""

from __future__ import annotations

import os
import struct
import subprocess
import sys
from pathlib import Path

import h5py
import numpy as np
import pytest
import tifffile
from click.testing import CliRunner

import footprint as fp
from footprint.cli.main import main
from footprint.io.image import Image
from footprint.io.picture import is_picture
from footprint.io.tiff_pages import open_tiff

ROOT = Path(__file__).resolve().parents[2]


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
