"""Images of every format: rows read and cast, planes chosen, headers kept, and one sentence for each thing that is wrong."""

from __future__ import annotations

import gzip
import os
import subprocess
import sys
import warnings
from pathlib import Path

import h5py
import numpy as np
import pytest
import tifffile
from astropy.io import fits
from astropy.table import Table
from PIL import Image as Picture

import footprint as fp
from footprint.errors import ArgumentError, FootprintError, FormatError, ShapeError
from footprint.io.formats import format_of
from footprint.io.image import create_image, open_image
from footprint.io.sky_png import write_sky_png
from footprint.io.slice_png import write_slice_png
from footprint.io.thin import thin_rows, thinning


def radio_header() -> fits.Header:
    header = fits.Header()
    for key, value in {
        "CTYPE1": "RA---SIN",
        "CTYPE2": "DEC--SIN",
        "CRPIX1": 3.0,
        "CRPIX2": 4.0,
        "CRVAL1": 266.4,
        "CRVAL2": -29.0,
        "CDELT1": -2 / 3600,
        "CDELT2": 2 / 3600,
        "BMAJ": 10 / 3600,
        "BMIN": 6 / 3600,
        "BPA": 30.0,
        "BUNIT": "JY/BEAM ",
    }.items():
        header[key] = value
    return header


def values(shape: tuple[int, ...], dtype: str) -> np.ndarray:
    return (np.arange(np.prod(shape)).reshape(shape) * 3 % 120).astype(dtype)


@pytest.mark.parametrize("dtype", ["uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float32", "float64"])
@pytest.mark.parametrize("out", ["float32", "float64", "int32", ">f4"])
def test_fits_of_every_type(tmp_path: Path, dtype: str, out: str) -> None:
    image = values((7, 5), dtype)
    if image.dtype.kind == "f":
        image[2, 3] = np.nan
    fits.writeto(tmp_path / "a.fits", image)
    with open_image(tmp_path / "a.fits") as opened:
        assert opened.shape == (7, 5) and opened.dtype == np.dtype(dtype)
        np.testing.assert_array_equal(opened.array(), image)
        if np.dtype(out).kind == "f":
            rows = np.zeros((3, 10), out)[:, ::2]
            opened.read(slice(2, 5), rows)
            np.testing.assert_array_equal(rows, image[2:5].astype(out))


def test_fits_scaled_with_blank(tmp_path: Path) -> None:
    stored = np.arange(-10, 20, dtype=np.int16).reshape(5, 6)
    hdu = fits.PrimaryHDU(stored)
    hdu.header["BSCALE"], hdu.header["BZERO"], hdu.header["BLANK"] = 0.5, 100.0, -3
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        hdu.writeto(tmp_path / "a.fits")
    raw = (tmp_path / "a.fits").read_bytes()
    header = fits.Header.fromstring(raw[:2880].decode())
    header["BSCALE"], header["BZERO"], header["BLANK"] = 0.5, 100.0, -3
    (tmp_path / "a.fits").write_bytes(header.tostring(padding=True).encode() + stored.astype(">i2").tobytes().ljust(2880, b"\0"))
    want = np.where(stored == -3, np.nan, 100 + 0.5 * stored)
    np.testing.assert_array_equal(fits.getdata(tmp_path / "a.fits"), want)
    with open_image(tmp_path / "a.fits") as image:
        assert image.dtype == np.float32
        np.testing.assert_array_equal(image.array(), want)


@pytest.mark.parametrize("zero", [100.0, -32768.0, 32767.0, 32768.0])
def test_fits_integers_with_another_zero(tmp_path: Path, zero: float) -> None:
    """Only 2**15 means unsigned integers of 16 bits; any other zero is added."""
    stored = np.arange(-15, 15, dtype=np.int16).reshape(5, 6)
    header = fits.Header([("SIMPLE", True), ("BITPIX", 16), ("NAXIS", 2), ("NAXIS1", 6), ("NAXIS2", 5), ("BZERO", zero)])
    text = header.tostring(padding=True).encode()
    (tmp_path / "a.fits").write_bytes(text + stored.astype(">i2").tobytes().ljust(2880, b"\0"))
    with open_image(tmp_path / "a.fits") as image:
        assert image.dtype == ("uint16" if zero == 2**15 else "float32")
        np.testing.assert_array_equal(image.array(), stored + zero)


@pytest.mark.parametrize("shape", [(1, 1, 7, 5), (1, 7, 5), (1, 1, 1, 7, 5), (7, 5, 1), (7, 1, 5), (7, 5)])
def test_degenerate_axes(tmp_path: Path, shape: tuple[int, ...]) -> None:
    fits.writeto(tmp_path / "a.fits", values(shape, "float32"))
    np.save(tmp_path / "a.npy", values(shape, "float32"))
    for name in ("a.fits", "a.npy"):
        with open_image(tmp_path / name) as image:
            np.testing.assert_array_equal(image.array(), values((7, 5), "float32"))


@pytest.mark.parametrize("shape", [(1, 1), (1, 9), (9, 1)])
def test_one_pixel_wide(tmp_path: Path, shape: tuple[int, int]) -> None:
    for suffix in (".fits", ".npy", ".tif", ".h5"):
        with create_image(tmp_path / f"a{suffix}", shape) as image:
            image.write(slice(0, shape[0]), values(shape, "float32"))
        with open_image(tmp_path / f"a{suffix}") as opened:
            np.testing.assert_array_equal(opened.array(), values(shape, "float32"))


def test_cubes_need_a_plane(tmp_path: Path) -> None:
    cube = values((2, 1, 3, 7, 5), "float32")
    fits.writeto(tmp_path / "a.fits", cube)
    np.save(tmp_path / "a.npy", cube)
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["g/cube"] = cube
    tifffile.imwrite(tmp_path / "a.tif", cube[0, 0], photometric="minisblack")
    for name in ("a.fits", "a.npy", "a.h5"):
        with pytest.raises(FormatError, match=r"holds a cube of shape \(2, 3, 7, 5\).*counted over 2 x 3 planes"):
            open_image(tmp_path / name)
        with open_image(tmp_path / name, plane=(1, 2)) as image:
            np.testing.assert_array_equal(image.array(), cube[1, 0, 2])
        with open_image(tmp_path / name, plane=4) as image:
            np.testing.assert_array_equal(image.array(), cube[1, 0, 1])
        for bad in ((2, 0), 6, -1, (1,), (0, -1), (0, 0, 0)):
            with pytest.raises(ArgumentError, match="plane: got"):
                open_image(tmp_path / name, plane=bad)
    with open_image(tmp_path / "a.tif", plane=1) as image:
        np.testing.assert_array_equal(image.array(), cube[0, 0, 1])
    with open_image(f"{tmp_path}/a.h5:/g/cube", plane=(0, 1)) as image:
        np.testing.assert_array_equal(image.array(), cube[0, 0, 1])


def test_extensions_and_compressed(tmp_path: Path) -> None:
    image = values((40, 50), "float32")
    table = fits.BinTableHDU.from_columns([fits.Column("a", "E", array=np.ones(3))])
    packed = fits.CompImageHDU(values((40, 50), "int16"), name="PACKED")
    fits.HDUList([fits.PrimaryHDU(), table, fits.ImageHDU(image, name="SCI"), packed]).writeto(tmp_path / "a.fits")
    with open_image(tmp_path / "a.fits") as opened:
        np.testing.assert_array_equal(opened.array(), image)
    with open_image(f"{tmp_path}/a.fits[PACKED]") as opened:
        np.testing.assert_array_equal(opened.array(), values((40, 50), "int16"))
    with open_image(f"{tmp_path}/a.fits[2]") as opened:
        np.testing.assert_array_equal(opened.array(), image)
    with pytest.raises(FormatError, match=r"has no extension NONE; it has 0 PRIMARY, 1, 2 SCI, 3 PACKED"):
        open_image(tmp_path / "a.fits", extension="NONE")
    with pytest.raises(FormatError, match="holds no image in extension 1"):
        open_image(tmp_path / "a.fits", extension=1)
    (tmp_path / "b.fits.gz").write_bytes(gzip.compress((tmp_path / "a.fits").read_bytes()))
    with open_image(tmp_path / "b.fits.gz") as opened:
        rows = np.zeros((3, 50))
        opened.read(slice(4, 7), rows)
        np.testing.assert_array_equal(rows, image[4:7])


def test_extensions_of_one_name_are_told_apart_by_their_version(tmp_path):
    """As in Hubble's files, several of which are called SCI; names with other signs than letters could not be given at all."""
    named = ((1, "SCI", 1), (2, "SCI", 2), (3, "WHT-MAP 1", 1))
    made = [fits.ImageHDU(np.full((4, 5), n, np.float32), name=name, ver=version) for n, name, version in named]
    fits.HDUList([fits.PrimaryHDU(), *made]).writeto(tmp_path / "a.fits")
    for word, value in (("SCI", 1), ("SCI,1", 1), ("sci,2", 2), ("SCI, 2", 2), ("WHT-MAP 1", 3), ("2", 2)):
        with fp.open_image(f"{tmp_path}/a.fits[{word}]") as image:
            assert image.array()[0, 0] == value
    with pytest.raises(FormatError, match=r"a\.fits: has no extension SCI,3; it has 0 PRIMARY, 1 SCI, 2 SCI,2, 3 WHT-MAP 1\."):
        fp.open_image(f"{tmp_path}/a.fits[SCI,3]")


def test_a_part_that_a_format_does_not_have_is_no_other_part(tmp_path: Path) -> None:
    image = values((4, 5), "float32")
    fits.HDUList([fits.PrimaryHDU(image), fits.ImageHDU(image + 1, name="ERR")]).writeto(tmp_path / "a.fits")
    np.save(tmp_path / "a.npy", image)
    tifffile.imwrite(tmp_path / "a.tif", image)
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["sky"] = image
    for name, told in {
        "a.fits:/ERR": r'is FITS, which has no dataset /ERR; an extension is named ".*a\.fits\[NAME\]"',
        "a.fits:ERR": r'there is no such file; an extension is named ".*a\.fits\[NAME\]"',
        "a.npy:/x": "is NumPy, which has no dataset /x",
        "a.tif[1]": "is TIFF, which has no extension 1.*--plane",
        "a.h5[1]": r'is HDF5, which has no extension 1; a dataset is named ".*a\.h5:/NAME"',
    }.items():
        with pytest.raises(FormatError, match=told):
            open_image(tmp_path / name)


def test_header_beam_unit_and_wcs(tmp_path: Path) -> None:
    fits.writeto(tmp_path / "a.fits", values((1, 7, 5), "float32"), radio_header())
    with open_image(tmp_path / "a.fits") as image:
        assert image.unit == "JY/BEAM"
        assert image.beam is not None and image.beam.angle == 30 and image.beam.major == pytest.approx(10 / 3600)
        assert image.beam.pixels == pytest.approx(np.pi * 5 * 3 / (4 * np.log(2)), rel=1e-9)
        assert image.wcs.pixel_to_world_values(2, 3) == (pytest.approx(266.4), pytest.approx(-29.0))
    fits.writeto(tmp_path / "b.fits", values((7, 5), "float32"))
    with open_image(tmp_path / "b.fits") as image:
        assert image.wcs is None and image.beam is None and image.unit == ""
    header = radio_header()
    for key in ("BMAJ", "BMIN", "BPA"):
        del header[key]
    header.add_history("AIPS   CLEAN BMAJ=  1.0000E-03 BMIN=  5.0000E-04 BPA=  12.50")
    fits.writeto(tmp_path / "c.fits", values((7, 5), "float32"), header)
    with open_image(tmp_path / "c.fits") as image:
        assert image.beam is not None and (image.beam.major, image.beam.minor, image.beam.angle) == (1e-3, 5e-4, 12.5)


@pytest.mark.parametrize("suffix", [".fits", ".tif", ".npy", ".h5", ".zarr"])
@pytest.mark.parametrize("dtype", ["f4", "f8", "f2", "u1", "i1", "i2", "u2", "i4", "u4", "i8", "bool"])
def test_written_images_are_read_back(tmp_path: Path, suffix: str, dtype: str) -> None:
    image, path = values((7, 5), dtype), tmp_path / f"a{suffix}"
    with create_image(path, (7, 5), dtype, header=radio_header(), attrs={"mode": "same"}) as writer:
        writer.write(slice(3, 7), image[3:])
        writer.write(slice(0, 3), np.asfortranarray(image[:3]))
        assert not path.exists()
    assert os.listdir(tmp_path) == [path.name]
    with open_image(path) as opened:
        np.testing.assert_array_equal(opened.array(), image)
    if suffix == ".fits":
        np.testing.assert_array_equal(fits.getdata(path), image)
        with fits.open(path) as hdus:
            hdus.verify("exception")
            assert hdus[0].header["CRVAL1"] == 266.4 and "mode = same" in str(hdus[0].header["HISTORY"])
    if suffix == ".npy":
        np.testing.assert_array_equal(np.load(path), image)
    if suffix == ".tif":
        np.testing.assert_array_equal(tifffile.imread(path), image)
    with pytest.raises(FormatError, match="already exists"):
        create_image(path, (7, 5), dtype)


@pytest.mark.parametrize("suffix", [".fits", ".tif", ".npy", ".h5", ".zarr"])
def test_an_interrupted_image_leaves_nothing(tmp_path: Path, suffix: str) -> None:
    with pytest.raises(KeyboardInterrupt), create_image(tmp_path / f"a{suffix}", (7, 5)) as writer:
        writer.write(slice(0, 3), values((3, 5), "float32"))
        raise KeyboardInterrupt
    with (
        pytest.raises(FormatError, match="closed with 1 row missing, the first of them row 6"),
        create_image(tmp_path / f"a{suffix}", (7, 5)) as writer,
    ):
        writer.write(slice(0, 6), values((6, 5), "float32"))
    with pytest.raises(ShapeError), create_image(tmp_path / f"a{suffix}", (7, 5)) as writer:
        writer.write(slice(0, 6), np.zeros(5))
    assert os.listdir(tmp_path) == []


def test_bad_images(tmp_path: Path) -> None:
    fits.writeto(tmp_path / "good.fits", values((30, 50), "float32"))
    fits.PrimaryHDU().writeto(tmp_path / "header.fits")
    fits.writeto(tmp_path / "line.fits", values((30,), "float32"))
    fits.writeto(tmp_path / "thin.fits", values((30, 1, 1), "float32"))
    (tmp_path / "cut.fits").write_bytes((tmp_path / "good.fits").read_bytes()[:5000])
    (tmp_path / "head.fits").write_bytes((tmp_path / "good.fits").read_bytes()[:700])
    (tmp_path / "text.fits").write_text("hello")
    (tmp_path / "picture.webp").write_bytes(b"RIFF    WEBP")
    np.save(tmp_path / "line.npy", np.zeros(4))
    np.save(tmp_path / "objects.npy", np.array([{}], dtype=object))
    np.save(tmp_path / "columns.npy", np.asfortranarray(np.zeros((4, 5))))
    np.save(tmp_path / "empty.npy", np.zeros((0, 5)))
    (tmp_path / "cut.npy").write_bytes(b"\x93NUMPY\x01")
    tifffile.imwrite(tmp_path / "rgb.tif", np.zeros((4, 5, 3), np.uint8), photometric="rgb")
    with h5py.File(tmp_path / "none.h5", "w") as file:
        file["x"] = 1
    cases = {
        "missing.fits": "there is no such file",
        "header.fits": "holds no image, only headers",
        "line.fits": "wanted an image",
        "cut.fits": "is truncated: its header declares 8880 bytes, it has 5000",
        "head.fits": "is truncated: it ends inside its header",
        "text.fits": "is not a FITS, TIFF, HDF5",
        "picture.webp": "save the picture as PNG",
        "line.npy": "wanted an image",
        "objects.npy": "wanted real numbers",
        "columns.npy": "Fortran order",
        "empty.npy": "an empty image",
        "cut.npy": "its header cannot be read",
        "rgb.tif": "3 samples, wanted one grey value",
        "none.h5": "holds no array",
    }
    for name, match in cases.items():
        with pytest.raises(FootprintError, match=match) as caught, open_image(tmp_path / name) as image:
            image.array()
        assert "\n" not in str(caught.value) and str(caught.value).startswith(str(tmp_path)), (name, caught.value)
    with open_image(tmp_path / "thin.fits") as image:
        assert image.shape == (30, 1)
    with pytest.raises(FormatError, match="is a folder, not an image"):
        open_image(tmp_path)
    with pytest.raises(ArgumentError, match="a name ending in one of"):
        create_image(tmp_path / "a.png", (3, 4))
    with open_image(tmp_path / "good.fits") as image, pytest.raises(ShapeError, match="out"):
        image.read(slice(0, 2), np.zeros((3, 50)))


def test_pages_of_one_row_are_planes_and_not_lines_of_one_image(tmp_path):
    pages = np.arange(35, dtype=np.uint16).reshape(5, 1, 7)
    tifffile.imwrite(tmp_path / "rows.tif", pages, photometric="minisblack")
    with pytest.raises(FormatError, match=r"cube of shape \(5, 1, 7\)"):
        open_image(tmp_path / "rows.tif")
    with open_image(tmp_path / "rows.tif", 3) as image:
        np.testing.assert_array_equal(image.array(), pages[3])


def test_a_picture_of_a_large_image_shows_what_is_smaller_than_its_pixels(tmp_path):
    pixels = np.zeros((9, 4001), np.float32)
    pixels[4, 1000] = 9
    pixels[0:3, 0:3] = np.nan
    pixels[3, 0] = np.nan
    pixels[3, 1] = 16
    np.save(tmp_path / "a.npy", pixels)
    with open_image(tmp_path / "a.npy") as image:
        assert thinning(image.shape) == 3
        thin = np.stack([row.copy() for row in thin_rows(image)])
        write_slice_png(image, tmp_path / "a.png")
        write_sky_png(image, Table(meta={"background": 0.0, "noise": 1.0}), tmp_path / "b.png")
    assert thin.shape == (3, 1334) and thin.dtype == np.float32
    expected = np.zeros((3, 1334))
    expected[0, 0], expected[1, 0], expected[1, 333] = np.nan, 2, 1
    np.testing.assert_array_equal(thin, expected)
    for name in ("a.png", "b.png"):
        with Picture.open(tmp_path / name) as picture:
            assert picture.size == (1334, 3)


def test_formats_are_known_by_their_content(tmp_path):
    """And what is told by first bytes asks no library, which would have to be imported."""
    image = np.zeros((4, 5), np.float32)
    fits.PrimaryHDU(image).writeto(tmp_path / "FITS")
    (tmp_path / "FITS, gzipped").write_bytes(gzip.compress((tmp_path / "FITS").read_bytes()))
    tifffile.imwrite(tmp_path / "TIFF", image)
    with open(tmp_path / "NumPy", "wb") as file:
        np.save(file, image)
    with h5py.File(tmp_path / "HDF5", "w", userblock_size=512) as file:
        file["image"] = image
    (tmp_path / "Zarr").mkdir()
    (tmp_path / "Zarr" / "zarr.json").write_text("{}")
    (tmp_path / "None").write_bytes(b"P5 4 5 255 ")
    (tmp_path / "None, gzipped").write_bytes(gzip.compress(b"P5 4 5 255 "))
    for path in tmp_path.iterdir():
        found = format_of(path)
        assert (found.name if found else "None") == path.name.partition(",")[0]
    code = "import sys; from footprint.io.formats import format_of; print(format_of(sys.argv[1]).name, *sys.modules)"
    for name in ("FITS", "TIFF", "NumPy"):
        said = subprocess.run(
            [sys.executable, "-c", code, tmp_path / name], capture_output=True, text=True, check=True
        ).stdout.split()
        assert said[0] == name and not {"astropy", "h5py", "tifffile", "zarr"} & set(said)


def test_a_file_like_another_is_searched_by_its_plan(tmp_path, rng):
    """For files whose reading takes as much; the results are their own. Its memory is kept, too, unless there is a budget."""
    fp.clear_cache()
    images, plans = rng.standard_normal((2, 300, 200)).astype("f4"), []
    for k, image in enumerate(images):
        fits.writeto(tmp_path / f"{k}.fits", image)
    fits.writeto(tmp_path / "long.fits", images[0, :250])
    fits.writeto(tmp_path / "wide.fits", images[0].astype("f8"))
    for name in ("0", "1", "long", "wide"):
        with open_image(tmp_path / f"{name}.fits") as image:
            found = fp.find_sources(image, 3, deblend=True, background="mesh", device="cpu", on_plan=plans.append)
        array = images[int(name)] if name in "01" else fits.getdata(tmp_path / f"{name}.fits")
        wanted = fp.find_sources(array, 3, deblend=True, background="mesh", device="cpu")
        assert len(found) > 5 and all(np.array_equal(found[name], wanted[name]) for name in found.colnames), name
    assert plans[0] is plans[1] and len({id(plan) for plan in plans}) == 3
    fp.clear_cache()
    for budget, kept in (("50MB", 0), (None, 1)):
        with open_image(tmp_path / "0.fits") as image:
            fp.find_sources(image, 3, memory=budget, device="cpu")
        assert len(fp.cache_info()["plans"]) == kept, "a run on files within a budget leaves no memory behind"
    with open_image(tmp_path / "1.fits") as image:
        again = fp.find_sources(image, 3, device="cpu")
    wanted = fp.find_sources(images[1], 3, device="cpu")
    assert fp.cache_info()["hits"] and all(np.array_equal(again[name], wanted[name]) for name in wanted.colnames)
