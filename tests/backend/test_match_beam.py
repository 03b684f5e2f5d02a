"""Matched beams: what a point and a field become, against the Gaussians themselves and Wild's formula."""

from __future__ import annotations

import math

import numpy as np
import pytest
from astropy.io import fits

import footprint as fp
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
        ({"BMAJ": 0.0}, 9e-3, "no beam"),
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
    with pytest.raises(fp.ShapeError, match=r"image: got shape \(2, 20, 20\), wanted \(n_y, n_x\)"):
        fp.match_beam(np.zeros((2, 20, 20)), header_of(), 9e-3)
