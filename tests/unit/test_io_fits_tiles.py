"""Compressed FITS images: tiles and gzip are decompressed as they are read, and held only where the budget has room."""

from __future__ import annotations

import itertools
import tracemalloc
import warnings
from pathlib import Path

import numpy as np
import pytest
from astropy.io import fits

import footprint as fp
from footprint.io.image import open_planes


def write(path: Path, data: np.ndarray, **options: object) -> np.ndarray:
    """Write an image in tiles, and return what astropy reads of it."""
    fits.HDUList([fits.PrimaryHDU(), fits.CompImageHDU(data, **options)]).writeto(path, overwrite=True)
    return fits.getdata(path, 1)


@pytest.mark.parametrize("dtype", ["uint8", "int16", "uint16", "int32", "uint32", "float32", "float64"])
@pytest.mark.parametrize("tile", [None, (16, 16), (7, 83), (70, 83)], ids=str)
@pytest.mark.parametrize("way", ["RICE_1", "GZIP_2"])
def test_rows_of_any_tiles_are_astropys(tmp_path, rng, dtype, tile, way):
    data = np.abs(rng.normal(0, 10, (70, 83))).astype(dtype)
    if data.dtype.kind == "f":
        data[3, 4:9] = np.nan
    want = write(tmp_path / "a.fits.fz", data, compression_type=way, tile_shape=tile)
    with fp.open_image(tmp_path / "a.fits.fz") as image:
        assert image.dtype == want.dtype.newbyteorder("=") and image.shape == (70, 83)
        for (top, bottom), held in itertools.product(((60, 70), (15, 18), (0, 70)), (False, True)):
            if held and bottom == 70:
                assert image.host_bytes(1, image.dtype) > data.nbytes
            out = np.empty((bottom - top, 83), np.float64)
            image.read(slice(top, bottom), out)
            assert np.array_equal(out, want[top:bottom], equal_nan=True)
        assert image.lean() and not image.lean()
        assert np.array_equal(image.array(), want, equal_nan=want.dtype.kind == "f")


@pytest.mark.parametrize("tile", [(1, 1, 8, 40), (2, 2, 8, 13), (5, 4, 30, 40)], ids=str)
def test_planes_of_a_cube_in_tiles(tmp_path, rng, tile):
    cube = rng.normal(size=(5, 4, 30, 40)).astype(np.float32)
    write(tmp_path / "a.fits.fz", cube, compression_type="GZIP_1", quantize_level=0, tile_shape=tile)
    for plane in ((0, 0), (2, 3), (4, 3)):
        with fp.open_image(tmp_path / "a.fits.fz", plane) as image:
            assert np.array_equal(image.array(), cube[plane])
    frames = open_planes(tmp_path / "a.fits.fz")[1]
    rows = np.empty((20, 3, 40), np.float32)
    frames.read(0, 20, slice(5, 8), rows)
    frames.close()
    assert np.array_equal(rows, cube.reshape(20, 30, 40)[:, 5:8])


def test_blanks_and_scales_of_tiles_are_astropys(tmp_path, rng):
    data = rng.integers(-100, 100, (50, 60)).astype(np.int16)
    hdu = fits.CompImageHDU(data, compression_type="RICE_1")
    hdu.header["BLANK"] = -7
    fits.HDUList([fits.PrimaryHDU(), hdu]).writeto(tmp_path / "a.fits.fz")
    want = fits.getdata(tmp_path / "a.fits.fz", 1)
    with fp.open_image(tmp_path / "a.fits.fz") as image:
        assert np.isnan(want).any() and np.array_equal(image.array(), want, equal_nan=True)


@pytest.mark.parametrize("name", ["a.fits.fz", "a.fits.gz"])
def test_a_budget_smaller_than_a_compressed_image_does(tmp_path, rng, name):
    """Compressed tiles were decompressed as the file was opened, and what gzip had packed was held, whatever the budget."""
    data = rng.normal(size=(1200, 1100)).astype(np.float32)
    data[100:103, 200:204] += 50
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if name.endswith("fz"):
            write(tmp_path / name, data, compression_type="GZIP_2", quantize_level=0, tile_shape=(8, 1100))
        else:
            fits.writeto(tmp_path / name, data)
    whole = fp.find_sources(data, 8.0, device="cpu")
    for budget in ("3MB", "30MB"):
        plans = []
        with fp.open_image(tmp_path / name) as image:
            table = fp.find_sources(image, 8.0, memory=budget, device="cpu", on_plan=plans.append)
        library = plans[-1].footprint.library
        assert library < 2e6 if budget == "3MB" else library > data.nbytes
        assert all(np.array_equal(whole[n], table[n]) for n in whole.colnames)


def test_low_tiles_are_decompressed_together(tmp_path, rng, monkeypatch):
    """Every row of tiles made astropy check its header and copy its table: ten times as long as decompressing it took."""
    monkeypatch.setattr("footprint.io.fits_tiles._TOGETHER", 16 * 50 * 4)
    data = rng.normal(size=(2, 70, 50)).astype(np.float32)
    write(tmp_path / "a.fits.fz", data, compression_type="GZIP_2", quantize_level=0, tile_shape=(1, 3, 20))
    with fp.open_image(tmp_path / "a.fits.fz", 1) as image:
        tiles, asked = image._frames._frames, []
        section = tiles._section

        class Asked:
            def __getitem__(self, part):
                asked.append(part[-2])
                return section[part]

        monkeypatch.setattr(tiles, "_section", Asked())
        for rows in (slice(0, 70), slice(5, 6), slice(7, 20), slice(19, 22), slice(20, 21), slice(69, 70)):
            out = np.empty((rows.stop - rows.start, 50), np.float32)
            tiles.read(1, 2, rows, out[None])
            assert np.array_equal(out, data[1, rows])
    # 15 rows at most, and no more tiles than hold what is asked for, or none.
    wanted = [(0, 15), (15, 30), (30, 45), (45, 60), (60, 70), (3, 6), (6, 21), (21, 24), (18, 21), (69, 70)]
    assert [(part.start, part.stop) for part in asked] == wanted


def test_opening_tiles_decompresses_none(tmp_path, rng, monkeypatch):
    write(tmp_path / "a.fits.fz", rng.normal(size=(64, 64)).astype(np.float32))

    def refuse(*_):
        raise AssertionError("a tile was decompressed")

    monkeypatch.setattr("footprint.io.fits_tiles.TiledFrames._bands_at", refuse)
    with fp.open_image(tmp_path / "a.fits.fz") as image, pytest.raises(fp.BudgetError):
        fp.find_sources(image, memory=1, blank="nan")


def test_damaged_tiles_are_one_sentence(tmp_path, rng):
    write(tmp_path / "a.fits.fz", rng.normal(size=(64, 64)).astype(np.float32), compression_type="GZIP_1", quantize_level=0)
    content = bytearray((tmp_path / "a.fits.fz").read_bytes())
    content[2880 * 4 :] = bytes(len(content) - 2880 * 4)
    (tmp_path / "cut.fits.fz").write_bytes(content)
    with pytest.raises(fp.FormatError) as caught, fp.open_image(tmp_path / "cut.fits.fz") as image:
        image.array()
    assert "cut.fits.fz" in str(caught.value) and "\n" not in str(caught.value)


@pytest.mark.parametrize("way", ["GZIP_1", "GZIP_2"])
@pytest.mark.parametrize("honest", [True, False])
def test_a_gzipped_tile_of_more_than_its_pixels_is_refused_before_it_is_inflated(tmp_path, way, honest):
    """21 MB came of a tile of 64 pixels, whether its trailer told so or not, and any number might have."""
    # Few bytes, which cannot come to much, are believed.
    whole = np.zeros((512, 512) if honest else (2304, 2304), np.float32)
    write(tmp_path / "a.fits.fz", whole, compression_type=way, tile_shape=whole.shape, quantize_level=0)
    content = bytearray((tmp_path / "a.fits.fz").read_bytes())
    for keyword in (b"ZNAXIS1", b"ZNAXIS2", b"ZTILE1", b"ZTILE2"):
        at = content.index(keyword.ljust(8) + b"=")
        content[at + 10 : at + 30] = b"8".rjust(20)
    with fits.open(tmp_path / "a.fits.fz", disable_image_compression=True) as file:
        table = file[1]
        end = table._data_offset + table.header["NAXIS1"] * table.header["NAXIS2"] + table.header["PCOUNT"]
    if not honest:
        content[end - 4 : end] = (256).to_bytes(4, "little")
    (tmp_path / "b.fits.fz").write_bytes(content)
    with fp.open_image(tmp_path / "b.fits.fz") as image:
        tracemalloc.start()
        with pytest.raises(fp.FormatError, match=r"b\.fits\.fz.*tile, number 0, that inflates to more: its 64 pixels need 256 B"):
            image.array()
        assert tracemalloc.get_traced_memory()[1] < 2e6
        tracemalloc.stop()
