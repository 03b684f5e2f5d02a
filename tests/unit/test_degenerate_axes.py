"""Axes of length 1 beside an image's own, as radio images have them: kept in files, left aside in Python, told where to pick."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from astropy.io import fits
from astropy.nddata import NDData
from astropy.wcs import WCS

import footprint as fp
from tests.unit.cli_files import shell

# FITS counts the other way: (1, 1, 40, 50) is NAXIS1 = 50.
SHAPES = [(1, 1, 40, 50), (1, 40, 50), (40, 1, 50), (1, 40, 50, 1)]
FREQUENCY, CHANNEL = 8.88e8, 1e6


def header_of(shape, beam=(5e-3, 4e-3, 20.0), channel=1.0):
    """Celestial axes where the image's are, and frequency and polarisation elsewhere; pixel ``channel`` of FITS has FREQUENCY."""
    header, others = fits.Header(), iter((("FREQ", FREQUENCY, CHANNEL, channel), ("STOKES", 1.0, 1.0, 1.0)))
    sky = iter((("RA---SIN", 150.0, -1e-3, 20.0), ("DEC--SIN", -30.0, 1e-3, 30.0)))
    for axis in range(1, len(shape) + 1):
        told = next(sky) if shape[-axis] > 9 else next(others)
        for key, value in zip(("CTYPE", "CRVAL", "CDELT", "CRPIX"), told):
            header[f"{key}{axis}"] = value
    header["BMAJ"], header["BMIN"], header["BPA"] = beam
    header["BUNIT"], header["RADESYS"] = "Jy/beam", "FK5"
    return header


def sky_of(header, x, y):
    """Right ascension, declination and frequency of a pixel, by all axes of its header."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        wcs = WCS(header)
    places = iter((x, y))
    at = [next(places) if header[f"NAXIS{axis}"] > 9 else 0 for axis in range(1, header["NAXIS"] + 1)]
    assert wcs.naxis == header["NAXIS"]
    values = dict(zip((kind[:4] for kind in wcs.wcs.ctype), wcs.all_pix2world([at], 0)[0]))
    return [values[name] for name in ("RA--", "DEC-", "FREQ") if name in values]


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def points(shape):
    image = np.random.default_rng(2).normal(0, 0.01, shape).astype("f4")
    image[tuple(0 if n == 1 else n // 2 for n in shape)] = 9
    return image


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize(
    "words",
    [
        ("convolve", "in.fits", "box:5x3"),
        ("convolve", "in.fits", "box:5x3", "--mode", "full"),
        ("convolve", "in.fits", "box:5x3", "--mode", "valid"),
        ("convolve", "in.fits", "beam:30"),
        ("filter", "gaussian", "in.fits", "--sigma", "1"),
    ],
    ids=" ".join,
)
def test_a_file_has_the_axes_it_came_with_where_its_header_says_they_are(shape, words):
    image, header = points(shape), header_of(shape)
    fits.writeto("in.fits", image, header)
    shell([*words, "-o", "out.fits", "-q", "--device", "cpu"])
    values, made = fits.getdata("out.fits"), fits.getheader("out.fits")
    assert [n > 1 for n in values.shape] == [n > 1 for n in shape]
    y, x = np.unravel_index(np.argmax(values), [n for n in values.shape if n > 1])
    if words[2] == "box:5x3":
        # All pixels of the box are as bright.
        y, x = (round(np.mean(found)) for found in np.nonzero(values.squeeze() > 0.3))
    before = [n // 2 for n in shape if n > 1]
    np.testing.assert_allclose(sky_of(made, x, y), sky_of(fits.getheader("in.fits"), before[1], before[0]), rtol=1e-12)
    with fp.open_image("out.fits") as opened:
        np.testing.assert_array_equal(opened.array(), values.squeeze())


def test_maps_and_labels_of_sources_have_them_too():
    shape = (1, 1, 120, 130)
    fits.writeto("in.fits", points(shape), header_of(shape))
    maps = ["--background", "mesh", "--box", "32", "--save-noise", "noise.fits", "--segmentation", "labels.fits"]
    shell(["sources", "in.fits", "-o", "out.fits", "-q", "--device", "cpu", *maps])
    for name in ("noise.fits", "labels.fits"):
        made = fits.getheader(name)
        assert fits.getdata(name).shape == shape
        assert sky_of(made, 7, 8) == sky_of(fits.getheader("in.fits"), 7, 8)


def test_a_plane_of_a_cube_knows_which_it_was():
    cube = np.concatenate([points((1, 1, 40, 50)) + n for n in range(3)], axis=1)
    fits.writeto("in.fits", cube, header_of(cube.shape, channel=2.0))
    shell(["convolve", "in.fits", "box:3", "--plane", "2", "-o", "out.fits", "-q", "--device", "cpu"])
    made = fits.getheader("out.fits")
    assert fits.getdata("out.fits").shape == (1, 1, 40, 50)
    np.testing.assert_allclose(sky_of(made, 3, 4)[2], FREQUENCY + CHANNEL, rtol=1e-12)
    with fp.open_image("in.fits", plane=2) as opened:
        assert (opened.header["NAXIS3"], opened.header["CRPIX3"]) == (1, 0.0)
        assert (opened.file_header["NAXIS3"], opened.file_header["CRPIX3"]) == (3, 2.0)
    # All of them, as labels of a search, are the cube's.
    shell(["sources", "in.fits", "--plane", "all", "-o", "all.fits", "--segmentation", "labels.fits", "-q", "--device", "cpu"])
    assert fits.getdata("labels.fits").shape == cube.shape
    np.testing.assert_allclose(sky_of(fits.getheader("labels.fits"), 3, 4)[2], FREQUENCY - CHANNEL, rtol=1e-12)
    # An axis that the header says nothing of has no meaning for one plane.
    bare = header_of((40, 50))
    fits.writeto("in.fits", cube[0], bare, overwrite=True)
    shell(["convolve", "in.fits", "box:3", "--plane", "2", "-o", "out.fits", "-q", "--device", "cpu", "--overwrite"])
    assert fits.getdata("out.fits").shape == (40, 50)


def test_a_part_that_is_written_in_python_has_them(tmp_path):
    shape = (1, 1, 40, 50)
    fits.writeto(tmp_path / "in.fits", points(shape), header_of(shape))
    with fp.open_image(tmp_path / "in.fits") as image, fp.create_image(tmp_path / "a.fits", (4, 7), header=image.header) as part:
        rows = np.empty((4, 50), "f4")
        image.read(slice(0, 4), rows)
        part.write(slice(0, 4), np.ascontiguousarray(rows[:, :7]))
    assert fits.getdata(tmp_path / "a.fits").shape == (1, 1, 4, 7)
    np.testing.assert_array_equal(fits.getdata(tmp_path / "a.fits")[0, 0], fits.getdata(tmp_path / "in.fits")[0, 0, :4, :7])


def same(a, b):
    return a.colnames == b.colnames and all(np.array_equal(a[n], b[n], equal_nan=a[n].dtype.kind == "f") for n in a.colnames)


@pytest.mark.parametrize("shape", [(1, 1, 120, 130), (120, 1, 130)], ids=str)
def test_hdus_and_nddata_are_images_with_header_and_wcs(shape, tmp_path):
    image, header = points(shape), header_of(shape)
    fits.writeto(tmp_path / "a.fits", image, header)
    with fits.open(tmp_path / "a.fits") as hdus, fp.open_image(tmp_path / "a.fits") as file:
        hdu, how = hdus[0], {"sigma": 8, "device": "cpu"}
        want = fp.find_sources(file, **how)
        assert len(want) == 1 and {"ra", "dec"} <= set(want.colnames) and want["flux"].unit == "Jy"
        assert same(fp.find_sources(hdu, **how), want)
        assert same(fp.find_sources(NDData(image, wcs=WCS(header), meta=dict(header)), **how)["x", "y", "ra"], want["x", "y", "ra"])
        bad = np.zeros(shape, bool)
        bad[tuple(0 if n == 1 else n // 2 for n in shape)] = True
        assert len(fp.find_sources(NDData(image, mask=bad), **how)) == 0
        for ours, theirs in zip(fp.background(hdu, device="cpu"), fp.background(file, device="cpu")):
            np.testing.assert_array_equal(ours, theirs)
        assert same(fp.measure_at(hdu, [(60, 65)], device="cpu"), fp.measure_at(file, [(60, 65)], device="cpu"))
        assert same(fp.apertures(hdu, [(60, 65)], 3, device="cpu"), fp.apertures(file, [(60, 65)], 3, device="cpu"))
        noise = fits.ImageHDU(np.full(shape, 0.01, "f4"), header)
        number = fp.find_sources(hdu, background=0, noise=0.01, **how)
        assert same(fp.find_sources(hdu, background=0, noise=noise, **how)["x", "y"], number["x", "y"])


def test_where_a_plane_is_to_be_picked_it_is_said_how():
    cube = np.zeros((3, 20, 20), "f4")
    for given, words in (
        (np.zeros((1, 1, 20, 20)), r"wanted \(n_y, n_x\); pick a plane, as image\[0, 0\]"),
        (cube, r"pick a plane, as image\[0\]"),
        (fits.PrimaryHDU(cube), r"open_image\(path, plane=...\) .*header=hdu.header"),
    ):
        with pytest.raises(fp.ShapeError, match=words):
            fp.find_sources(given)
    with pytest.raises(fp.ShapeError, match=r"got shape \(5,\), wanted \(n_y, n_x\)\.$"):
        fp.find_sources(np.zeros(5))
