"""Matched beams: what a point and a field become, against the Gaussians themselves and Wild's formula."""

from __future__ import annotations

import math
import time
import warnings

import numpy as np
import pytest
from astropy.io import fits

import footprint as fp
from footprint.api._beam import _moments
from footprint.reference import match_beam as reference

PIXEL = 1e-3
OWN = (5.5e-3, 4e-3, 35.0)
TARGETS = [(9e-3, 9e-3, 0.0), (12e-3, 7e-3, 100.0), (8e-3, 5e-3, 40.0)]


def header_of(beam=OWN, unit="Jy/beam", **more):
    header = fits.Header()
    for axis, (kind, step) in enumerate((("RA---SIN", -PIXEL), ("DEC--SIN", PIXEL)), 1):
        header[f"CTYPE{axis}"], header[f"CDELT{axis}"], header[f"CRPIX{axis}"] = kind, step, 50.0
    header["CRVAL2"], header["BUNIT"], header["OBJECT"] = 45.0, unit, "M 31"
    header["BMAJ"], header["BMIN"], header["BPA"] = beam
    for key, value in more.items():
        header[key] = value
    return header


def gaussian(shape, beam, matrix=((-PIXEL, 0.0), (0.0, PIXEL))):
    """A point in the middle, of peak 1, seen by a beam; ``matrix`` makes (east, north) of (x, y)."""
    y, x = np.mgrid[: shape[0], : shape[1]] - np.array(shape)[:, None, None] // 2
    east, north = (row[0] * x + row[1] * y for row in matrix)
    angle = math.radians(beam[2])
    along, across = (
        east * math.sin(angle) + north * math.cos(angle),
        east * math.cos(angle) - north * math.sin(angle),
    )
    return np.exp(-4 * math.log(2) * ((along / beam[0]) ** 2 + (across / beam[1]) ** 2))


@pytest.mark.parametrize("target", TARGETS)
def test_a_point_becomes_the_beam_and_keeps_its_peak_by_the_beam_and_its_sum_by_the_pixel(target, device):
    image = gaussian((101, 121), OWN)
    got, made = fp.match_beam(image, header_of(), target, device=device)
    np.testing.assert_allclose(got, gaussian(image.shape, target), atol=1e-4)
    assert (made["BMAJ"], made["BMIN"], made["BPA"], made["OBJECT"], made["BUNIT"]) == (*target, "M 31", "Jy/beam")
    got, _ = fp.match_beam(image, header_of(unit="Jy/pixel"), target, device=device)
    assert got.sum() == pytest.approx(image.sum(), rel=1e-5)


@pytest.mark.parametrize(
    "matrix", [((-PIXEL, 0.0), (0.0, 2 * PIXEL)), ((-0.6e-3, 0.8e-3), (0.8e-3, 0.6e-3)), ((PIXEL, 0.0), (0.0, PIXEL))]
)
def test_pixels_need_be_neither_square_nor_upright(matrix):
    more = {f"CD{i + 1}_{j + 1}": matrix[i][j] for i in range(2) for j in range(2)}
    header, target = header_of(**more), (14e-3, 9e-3, 70.0)
    del header["CDELT1"], header["CDELT2"]
    got, _ = fp.match_beam(gaussian((81, 91), OWN, matrix), header, target, device="cpu")
    np.testing.assert_allclose(got, gaussian((81, 91), target, matrix), atol=2e-4)


@pytest.mark.parametrize("unit", ["Jy/beam", "mJy beam-1", "K", "MJy/sr", ""])
def test_a_field_is_what_wilds_formula_makes_of_it(unit, rng):
    image, target = rng.standard_normal((90, 110)), (13e-3, 8e-3, 120.0)
    got, _ = fp.match_beam(image, header_of(unit=unit), target, device="cpu")
    want = reference.match_beam(image, PIXEL, OWN, target, "beam" in unit)
    np.testing.assert_allclose(got, want, atol=2e-5 * np.abs(want).max())


def test_a_narrow_gaussian_has_the_moments_that_are_wanted():
    """Samples of one of .3 pixels would leave the beam by a tenth of what is asked for."""
    target = (OWN[0] + 0.5e-3, OWN[1] + 0.3e-3, OWN[2])
    image = gaussian((101, 101), OWN)
    got, _ = fp.match_beam(image, header_of(), target, device="cpu")
    np.testing.assert_allclose(got, gaussian(image.shape, target), atol=2e-3)
    y, x = np.mgrid[:101, :101] - 50
    found = np.array([(got * a * b).sum() / got.sum() for a, b in ((x, x), (x, y), (y, y))])
    want = gaussian((101, 101), target)
    np.testing.assert_allclose(found, [(want * a * b).sum() / want.sum() for a, b in ((x, x), (x, y), (y, y))], rtol=2e-3)


def test_the_beam_it_has_leaves_an_image_as_it_is(rng):
    image = rng.standard_normal((30, 40))
    got, made = fp.match_beam(image, header_of(), OWN, device="cpu")
    np.testing.assert_array_equal(got, image)
    with_history = header_of()
    del with_history["BMAJ"], with_history["BMIN"], with_history["BPA"]
    with_history.add_history("AIPS   CLEAN BMAJ=  5.5E-03 BMIN=  4.0E-03 BPA=  35.00")
    again, made = fp.match_beam(image, with_history, (8e-3, 8e-3), device="cpu")
    assert made["BMAJ"] == 8e-3 and "BMAJ=" not in str(made["HISTORY"])
    np.testing.assert_array_equal(again, fp.match_beam(image, header_of(), 8e-3, device="cpu")[0])


def test_the_plan_is_what_is_run_at_every_budget(rng):
    image, header, how = rng.standard_normal((300, 200)).astype(">f4"), header_of(), {"method": "direct", "device": "cpu"}
    want, _ = fp.match_beam(image, header, 20e-3, **how)
    whole = fp.plan_match_beam(image.shape, header, 20e-3, dtype=">f4", **how)
    less = int(0.6 * whole.footprint.total)
    assert fp.plan_match_beam(image.shape, header, 20e-3, dtype=">f4", memory=less, **how).n_parts > whole.n_parts
    got, _ = fp.match_beam(image, header, 20e-3, memory=less, **how)
    np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize(
    ("change", "target", "words"),
    [
        ({}, 5e-3, "the image's, 19.8 x 14.4 arcsec at 35 degrees, lies within"),
        ({}, (9e-3, 4e-3, 90.0), "the smallest round beam that will do is about 19.8 x 19.8 arcsec"),
        ({}, (5e-3, 9e-3, 0), "major the larger"),
        ({}, "12 hours", "in degrees"),
        ({}, 12, "a beam of 43200 x 43200 arcsec"),
        ({}, -1, "in degrees"),
        ({"BMAJ": 0.0}, 9e-3, "got no beam"),
        (
            {"BMAJ": -5.5e-3, "BMIN": "wide"},
            9e-3,
            "header: got a BMAJ of -0.0055 and a BMIN of 'wide', wanted BMAJ, BMIN and BPA in",
        ),
        ({"BMIN": "nan"}, 9e-3, "header: got a BMIN of 'nan', wanted BMAJ, BMIN and BPA in degrees"),
        ({"CDELT1": 0.0}, 9e-3, "header: got no celestial coordinates, CDELT1 is 0, wanted"),
        ({"CTYPE1": "LINEAR", "CTYPE2": "LINEAR"}, 9e-3, "no celestial coordinates"),
        ({"CTYPE1": "LINEAR"}, 9e-3, "no celestial coordinates, Unmatched celestial axes, wanted"),
        ({"CASAMBM": True}, 9e-3, "CASAMBM"),
        ({"BUNIT": "mystery per beam"}, 9e-3, "BUNIT"),
    ],
)
def test_refused_in_one_sentence(change, target, words):
    with pytest.raises(fp.ArgumentError) as caught:
        fp.match_beam(np.zeros((20, 20)), header_of(**change), target, device="cpu")
    assert words in str(caught.value) and "\n" not in str(caught.value)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("angle", [0.0, 30.0, 45.0])
def test_the_round_beam_that_a_refusal_names_will_do(angle):
    header, image = header_of((4e-3, 3e-3, angle)), np.ones((40, 40))
    for target in (3.5e-3, 4e-3):
        try:
            fp.match_beam(image, header, target, device="cpu")
        except fp.ArgumentError as error:
            named = float(str(error).split("will do is about ")[1].split(" x ")[0])
            assert 14.4 <= named < 14.6
            fp.match_beam(image, header, named / 3600, device="cpu")


def test_a_quantity_has_its_own_unit():
    from astropy import units

    image = np.ones((60, 60))
    for unit, areas in ("Jy/beam", 81 / 22), ("mJy/beam", 81 / 22), ("K", 1.0):
        got, _ = fp.match_beam(image * units.Unit(unit), header_of(unit=""), 9e-3, device="cpu")
        np.testing.assert_allclose(got[30, 30].to_value(unit), areas, rtol=1e-6)
    with pytest.raises(fp.ArgumentError, match="image: got a Quantity in K, wanted one in the header's BUNIT, Jy/beam"):
        fp.match_beam(image * units.K, header_of(), 9e-3, device="cpu")


def test_a_cube_is_no_image():
    with pytest.raises(fp.ShapeError, match=r"image: got shape \(2, 20, 20\), wanted \(n_y, n_x\); .* image\[k\]"):
        fp.match_beam(np.zeros((2, 20, 20)), header_of(), 9e-3)


WRONG = {"CTYPE1": "RA---SIN", "CTYPE2": "DEC--SIN", "CDELT1": -1 / 3600, "CDELT2": 1 / 3600, "BUNIT": "Jy/beam"}
WRONG |= {"BMAJ": 8 / 3600, "BMIN": 5 / 3600, "BPA": 30.0}


@pytest.mark.parametrize(
    ("change", "target", "words"),
    [
        ({"BMAJ": 8.0, "BMIN": 5.0}, "12arcsec", "4096 pixels: BMAJ and BMIN are taken for degrees"),
        ({"BMAJ": 8.0, "BMIN": 5.0}, (12.0, 12.0, 0.0), "4096 pixels: BMAJ and BMIN are taken for degrees"),
        ({"BMAJ": 800.0, "BMIN": 5.0}, "12arcsec", "a BMAJ of 800 degrees"),
        ({"CDELT1": -300 / 3600}, "8.1arcsec", "covers 0.151 of the image's 4096 pixels"),
        ({"CDELT1": -20 / 3600, "BMAJ": 8.5 / 3600}, "8.6arcsec", "the smallest round beam that will do is about"),
        ({"CDELT1": None}, "12arcsec", "no CDELT1, wanted the size of pixels"),
        ({"CDELT2": None}, "12arcsec", "no CDELT2, wanted the size of pixels"),
        ({"CDELT1": None, "CDELT2": None}, "12arcsec", "no CDELT1 or CDELT2, wanted"),
    ],
)
def test_a_header_that_cannot_be_meant_is_refused_at_once(change, target, words):
    """Looking for the smallest beam that would do took minutes, in turns and pixels without number."""
    header = {key: value for key, value in (WRONG | change).items() if value is not None}
    began = time.process_time()
    with pytest.raises(fp.ArgumentError) as caught:
        fp.match_beam(np.ones((64, 64), "f4"), header, target, device="cpu")
    assert words in str(caught.value) and time.process_time() - began < 3
    if "smallest" in words:
        named = float(str(caught.value).split("will do is about ")[1].split(" x ")[0])
        assert 8.6 < named < 30
        fp.match_beam(np.ones((64, 64), "f4"), header, f"{named}arcsec", device="cpu")


def test_a_matrix_of_pixels_needs_no_sizes_beside_it():
    header = {key: value for key, value in WRONG.items() if not key.startswith("CDELT")}
    header |= {"CD1_1": -1 / 3600, "CD2_2": 1 / 3600}
    got, _ = fp.match_beam(np.ones((64, 64)), header, "12arcsec", device="cpu")
    np.testing.assert_array_equal(got, fp.match_beam(np.ones((64, 64)), WRONG, "12arcsec", device="cpu")[0])


def test_what_a_header_says_of_its_beam_by_mistake_or_not_at_all_is_warned_of():
    image = np.ones((64, 64), "f4")
    larger = {"BMAJ": 80 / 3600, "BMIN": 70 / 3600}
    for change, words in (({"BPA": None}, "no BPA: the major axis"), (larger, "taken for degrees")):
        header = {key: value for key, value in (WRONG | change).items() if value is not None}
        with pytest.warns(UserWarning, match=words):
            fp.match_beam(image, header, "100arcsec", device="cpu")
        with pytest.warns(UserWarning, match=words):
            fp.plan_match_beam(image.shape, header, "100arcsec", device="cpu")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        round_one = {key: value for key, value in WRONG.items() if key != "BPA"} | {"BMAJ": 5 / 3600}
        for header in (WRONG, round_one):
            fp.match_beam(image, header, "12arcsec", device="cpu")
    header = {key: value for key, value in WRONG.items() if key != "BPA"}
    with pytest.warns(UserWarning, match="no BPA: the major axis"):
        fp.find_sources(np.random.default_rng(1).normal(size=(64, 64)), header=header)


@pytest.mark.parametrize("ratio", [0.02, 0.3, 0.9])
@pytest.mark.parametrize("angle", [0.0, 0.5, 1.2, np.pi / 2])
def test_moments_are_those_of_all_samples(angle, ratio):
    for size in (0.4, 3.0, 15.0):
        along = np.array([np.cos(angle), np.sin(angle)])
        across = np.array([-along[1], along[0]])
        covariance = size**2 * (np.outer(along, along) + ratio**2 * np.outer(across, across))
        half = [math.ceil(5 * math.sqrt(n)) for n in np.diag(covariance)]
        y, x = np.mgrid[-half[1] : half[1] + 1, -half[0] : half[0] + 1].astype(float)
        inverse = np.linalg.inv(covariance)
        weights = np.exp(-(inverse[0, 0] * x * x + 2 * inverse[0, 1] * x * y + inverse[1, 1] * y * y) / 2)
        want = np.array([[(weights * a * b).sum() for a in (x, y)] for b in (x, y)]) / weights.sum()
        parts = float(covariance[0, 0]), float(covariance[0, 1]), float(covariance[1, 1])
        np.testing.assert_allclose(_moments(parts, (half[0], half[1])), want, rtol=1e-9, atol=1e-12 * size**2)


def test_masked_pixels_are_left_out_as_in_a_convolution(rng):
    image, bad = rng.standard_normal((300, 70)).astype("f4"), rng.random((300, 70)) < 0.2
    image[bad] = 1e6
    header, target = header_of(), 9e-3
    ones = np.where(bad, 0.0, 1.0)
    got, made = fp.match_beam(image, header, target, masked=bad, device="cpu")
    # The Gaussian's mean of what counts, times the ratio of the beams' areas.
    mean = [reference.match_beam(some, PIXEL, OWN, (9e-3, 9e-3, 0.0), False) for some in (np.where(bad, 0.0, image), ones)]
    outside = reference.match_beam(np.ones(image.shape), PIXEL, OWN, (9e-3, 9e-3, 0.0), False)
    want = 81 / 22 * mean[0] / (mean[1] + 1 - outside)
    np.testing.assert_allclose(got, want, atol=2e-3 * np.abs(want).max())
    assert made["BMAJ"] == target
    np.testing.assert_array_equal(fp.match_beam(np.ma.array(image, mask=bad), header, target, device="cpu")[0], got)
    # In a plan's parts, too.
    how = {"method": "direct", "device": "cpu"}
    whole = fp.plan_match_beam(image.shape, header, target, masked="bool", **how)
    assert "masked" in str(whole) and whole.footprint.total > fp.plan_match_beam(image.shape, header, target, **how).footprint.total
    less = int(0.6 * whole.footprint.total)
    assert fp.plan_match_beam(image.shape, header, target, masked="bool", memory=less, **how).n_parts > whole.n_parts
    again, _ = fp.match_beam(image, header, target, masked=bad, memory=less, **how)
    np.testing.assert_array_equal(again, got)


def test_axes_of_length_1_stay(rng):
    image, bad, header = rng.standard_normal((40, 50)).astype("f4"), rng.random((40, 50)) < 0.1, header_of()
    want, _ = fp.match_beam(image, header, 9e-3, masked=bad, device="cpu")
    for masked in (bad, bad[None, None]):
        got, _ = fp.match_beam(image[None, None], header, 9e-3, masked=masked, device="cpu")
        assert got.shape == (1, 1, 40, 50)
        np.testing.assert_array_equal(got[0, 0], want)
    out = np.empty((1, 1, 40, 50), "f4")
    got, _ = fp.match_beam(np.ma.array(image, mask=bad)[None, None], header, 9e-3, out=out, device="cpu")
    assert got is out
    np.testing.assert_array_equal(out[0, 0], want)
    with pytest.raises(fp.ShapeError, match=r"out: got shape \(40, 50\)"):
        fp.match_beam(image[None], header, 9e-3, out=out[0, 0], device="cpu")
    assert fp.plan_match_beam((1, 1, 40, 50), header, 9e-3).key == fp.plan_match_beam((40, 50), header, 9e-3).key
