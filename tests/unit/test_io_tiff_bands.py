"""Compressed TIFF: rows decode the tiles or strips that they are in, once, and no page is held whole."""

from __future__ import annotations

import itertools
from contextlib import closing

import numpy as np
import pytest
import tifffile

import footprint as fp
from footprint.io.tiff import TiffFile
from footprint.io.tiff_bands import Bands

LAID_OUT = {"tiles": {"tile": (16, 32)}, "wide tiles": {"tile": (64, 96)}, "strips": {"rowsperstrip": 7}, "one strip": {}}
PACKED = {"zlib": {"compression": "zlib"}, "differences": {"compression": "zlib", "predictor": True}, "strips": {}}


@pytest.mark.parametrize("planes", [False, True], ids=["pages", "planes of one page"])
@pytest.mark.parametrize("packed", PACKED)
@pytest.mark.parametrize("laid", LAID_OUT)
def test_rows_are_those_of_the_page(tmp_path, rng, laid, packed, planes):
    about = PACKED[packed] | LAID_OUT[laid] | ({"planarconfig": "separate"} if planes else {})
    for dtype, order in itertools.product(("u1", "i2", "f4"), "<>"):
        pages = (200 * rng.random((3, 101, 77))).astype(dtype)
        tifffile.imwrite(tmp_path / "a.tif", pages, byteorder=order, photometric="minisblack", **about)
        file = TiffFile(tmp_path / "a.tif", planes)
        assert file.shape == pages.shape
        for rows in (slice(0, 101), slice(13, 64), slice(100, 101), slice(20, 20)):
            out = np.zeros((2, rows.stop - rows.start, 77), dtype)
            file.read(1, 3, rows, out)
            np.testing.assert_array_equal(out, pages[1:, rows], err_msg=f"{dtype} {order} {rows}")
        file.close()


def test_blocks_of_rows_decode_every_tile_once_and_hold_no_page(tmp_path, rng, monkeypatch):
    """Every block decoded the whole page, and the plan counted four of it."""
    image = rng.random((2000, 1500), np.float32)
    tifffile.imwrite(tmp_path / "a.tif", image, compression="zlib", tile=(32, 64), photometric="minisblack")
    decoded, one = [], Bands._decoded
    monkeypatch.setattr(Bands, "_decoded", lambda self, page, plane, at: (decoded.append(at), one(self, page, plane, at))[1])
    with closing(TiffFile(tmp_path / "a.tif")) as file:
        for start in range(0, 2000, 10):
            rows = slice(max(start - 2, 0), min(start + 12, 2000))
            out = np.empty((1, rows.stop - rows.start, 1500), np.float32)
            file.read(0, 1, rows, out)
            np.testing.assert_array_equal(out[0], image[rows])
        # Two rows of a block are those of the block before, and some of them lie in the band before.
        assert decoded[0] == 0 and len(decoded) <= 63 + 2 * 63
        assert file.host_bytes(10) < image.nbytes // 4
    clipped = fp.sigma_clip(fp.open_image(tmp_path / "a.tif"), memory=4_000_000, device="cpu")
    assert clipped == fp.sigma_clip(image, device="cpu")


def test_a_missing_tile_is_an_error_of_the_file(tmp_path, rng):
    tifffile.imwrite(tmp_path / "a.tif", rng.integers(0, 99, (64, 64), "u2"), compression="zlib", tile=(32, 32))
    data = bytearray((tmp_path / "a.tif").read_bytes())
    with tifffile.TiffFile(tmp_path / "a.tif") as file:
        at = file.pages[0].dataoffsets[1]
    data[at : at + 20] = bytes(20)
    (tmp_path / "a.tif").write_bytes(data)
    with pytest.raises(fp.FormatError, match=r"a\.tif"):
        fp.find_sources(fp.open_image(tmp_path / "a.tif"), device="cpu")
