"""An equinox in words, distortions without a name, and places that are none: read as they are meant, or told of."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from astropy.coordinates import SkyCoord
from astropy.io import fits
from astropy.nddata import NDData
from astropy.wcs import WCS

import footprint as fp
from footprint.api._wcs import wcs_of
from footprint.units import none_of
from tests.unit.test_wcs_cards import MATRIX, SIP, SKY, found, written

WRONG = "positions and sizes on the sky may be wrong: the header has "


@pytest.fixture
def image(rng):
    data = rng.standard_normal((64, 60)).astype(np.float32)
    data[30:34, 40:43] += 60
    return data


@pytest.mark.parametrize(
    ("text", "number", "frame"),
    [
        ("J2000.0", 2000.0, "FK5"),
        ("j2000", 2000.0, "FK5"),
        (" 2000.0", 2000.0, None),
        ("B1950", 1950.0, "FK4"),
        ("1950.0", 1950.0, None),
        ("J1975.0", 1975.0, "FK5"),
    ],
)
@pytest.mark.parametrize("key", ["EQUINOX", "EPOCH"])
def test_an_equinox_in_words_is_the_number_it_means(image, key, text, number, frame):
    header = fits.Header(SKY | {key: text})
    before = header.tostring()
    table, told = found(image, header)
    same, _ = found(image, fits.Header(SKY | {"EQUINOX": number} | ({"RADESYS": frame} if frame else {})))
    assert told == [] and header.tostring() == before
    assert np.array_equal(table["ra"], same["ra"]) and np.array_equal(table["dec"], same["dec"])


def test_positions_of_b1950_are_those_of_1950(image):
    """They were taken for those of 2000, half a degree off."""
    table, _ = found(image, fits.Header(SKY | {"EQUINOX": "B1950"}))
    x, y = table["x"][0], table["y"][0]
    own = WCS(fits.Header(SKY)).pixel_to_world_values(x, y)
    place = SkyCoord(*own, unit="deg", frame="fk4", equinox="B1950").icrs
    assert place.separation(SkyCoord(table["ra"][0], table["dec"][0], unit="deg")).arcsec < 0.01
    kept = fits.Header(SKY | {"EQUINOX": "B1950", "RADESYS": "FK5"})
    assert wcs_of(kept).wcs.radesys == "FK5" and wcs_of(kept).wcs.equinox == 1950


@pytest.mark.parametrize("text", ["now", "J20", "2000/1", "NaN"])
def test_an_equinox_that_is_none_is_told(image, text):
    table, told = found(image, fits.Header(SKY | {"EQUINOX": text}))
    assert told == [f"{WRONG}{text!r} for EQUINOX, which is no year (left out)"]
    assert np.array_equal(table["ra"], found(image, fits.Header(SKY))[0]["ra"])


def test_an_equinox_that_nobody_reads_may_be_anything(image):
    galactic = SKY | {"CTYPE1": "GLON-TAN", "CTYPE2": "GLAT-TAN", "EQUINOX": "now"}
    assert found(image, fits.Header(galactic))[1] == []
    assert found(image, fits.Header(SKY | {"EQUINOX": 2000.0, "EPOCH": "now"}))[1] == []
    assert found(image, fits.Header(SKY | {"EQUINOX": ""}))[1] == []


def test_distortions_without_their_name_are_told_once(image):
    table, told = found(image, fits.Header(SKY | SIP))
    words = f"{WRONG}SIP coefficients (A_ORDER), which are applied, but no -SIP at the end of CTYPE1 or CTYPE2"
    assert told == [words] and table.meta["warnings"] == words
    named = SKY | SIP | {"CTYPE1": "RA---TAN-SIP", "CTYPE2": "DEC--TAN-SIP"}
    same, told = found(image, fits.Header(named))
    assert told == [] and np.array_equal(table["ra"], same["ra"])
    assert not np.array_equal(table["ra"], found(image, fits.Header(SKY))[0]["ra"])
    half = SKY | SIP | {"CTYPE1": "RA---TAN-SIP"}
    assert found(image, fits.Header(half))[1][0].endswith("no -SIP at the end of CTYPE2")
    assert found(image, fits.Header(SKY | {"A_ORDER": 0, "B_ORDER": 0}))[1] == []


@pytest.mark.parametrize("value", [1e20, -1e308, 1e7])
def test_a_longitude_that_is_none_has_no_places(image, value):
    table, told = found(image, fits.Header(SKY | {"CRVAL1": value}))
    why = f"CRVAL1 is {value:g} degrees, which is no place on the sky"
    assert "ra" not in table.colnames and told[-1].endswith(f"header's coordinates cannot be used ({why})")
    assert "ra" in found(image, fits.Header(SKY | {"CRVAL1": 3610.0}))[0].colnames


@pytest.mark.parametrize(
    ("name", "values", "why"),
    [
        ("crval", [np.inf, 2], "CRVAL1 is inf, which is no number"),
        ("crval", [np.nan, 2], "CRVAL1 is nan, which is no number"),
        ("crpix", [3, -np.inf], "CRPIX2 is -inf, which is no number"),
        ("cdelt", [np.inf, 1e-3], "CDELT1 is inf, which is no number"),
        ("crval", [1e20, 2], "CRVAL1 is 1e+20 degrees, which is no place on the sky"),
    ],
)
def test_a_wcs_with_such_numbers_has_no_places(image, name, values, why):
    """Its rows were NaN, or all at 0 or 240 degrees, without a word."""
    wcs = WCS(fits.Header(SKY))
    setattr(wcs.wcs, name, values)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        table = fp.find_sources(NDData(image, wcs=wcs), 8.0, device="cpu")
    assert "ra" not in table.colnames and len(table) == 1
    assert [str(one.message) for one in said] == [
        f"the catalogue has no ra and dec, since the header's coordinates cannot be used ({why})"
    ]


def test_what_is_missing_is_listed_as_it_is_said(image):
    assert [none_of(names) for names in (["A"], ["A", "B"], ["A", "B", "C"])] == ["no A", "no A or B", "no A, B or C"]
    without = {key: value for key, value in SKY.items() if not key.startswith(("CRVAL", "CRPIX"))}
    words = f"{WRONG}no CRVAL1, CRVAL2, CRPIX1 or CRPIX2 (taken as 0)"
    assert found(image, fits.Header(without))[1] == [words]
    assert "no CDELT1 or CDELT2 (taken as 1)" in found(image, written(MATRIX))[1][-1]
