"""What pixels are on the sky, towards north and east, in images of any projection."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from astropy.io import fits
from astropy.wcs import WCS

from footprint.api._header import pixel_area
from footprint.api._onsky import Told, on_sky
from tests.unit.test_sky import SKY


@pytest.mark.parametrize(
    ("cards", "by_formula"),
    [
        ({}, True),
        ({"CTYPE1": "RA---TAN", "CTYPE2": "DEC--TAN", "LONPOLE": 100.0, "CDELT1": 0.3, "CDELT2": 0.2}, True),
        ({"CTYPE1": "DEC--TAN", "CTYPE2": "RA---TAN", "CRVAL1": 89.5, "CRVAL2": 10.0, "CROTA2": 30.0}, True),
        ({"CRVAL1": 0.05, "CD1_1": 0.1, "CD1_2": 0.2, "CD2_1": 0.25, "CD2_2": -0.1}, True),
        ({"RADESYS": "FK5", "EQUINOX": 2000.0}, True),
        ({"RADESYS": "FK5", "EQUINOX": 1975.0, "CRVAL2": 80.0, "CROTA2": 30.0}, True),
        ({"CTYPE1": "GLON-TAN", "CTYPE2": "GLAT-TAN", "CRVAL1": 120.0, "CRVAL2": -30.0, "LONPOLE": 100.0}, True),
        ({"CRVAL2": 90.0}, False),
        ({"PV2_1": 0.1, "PV2_2": 0.05}, False),
        ({"CTYPE1": "RA---ZEA", "CTYPE2": "DEC--ZEA"}, False),
        ({"EQUINOX": 1950.0}, False),
        ({"CDELT1": 1.0, "CDELT2": 1.0}, False),
    ],
    ids=[
        "plain",
        "gnomonic",
        "turned",
        "sheared",
        "FK5",
        "FK5 of 1975",
        "galactic",
        "pole",
        "slant",
        "equal area",
        "B1950",
        "beyond the sky",
    ],
)
def test_pixels_are_on_the_sky_what_neighbours_say(rng, cards, by_formula):
    """The formula's derivatives, where there is one, beside astropy's offsets to places a thousandth of a pixel away."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        wcs = WCS(fits.Header(SKY | ({} if "EQUINOX" in cards else {"RADESYS": "ICRS"}) | cards))
    x, y = np.hstack([wcs.wcs.crpix[:, None] - 1, rng.uniform(-100, 200, (2, 60))])
    seen = Seen()
    told = on_sky(lambda: Told.of(wcs, pixel_area(wcs)), x, y, np.ones(61), np.ones(61), seen)
    there = np.isfinite(told.ra)
    here = wcs.pixel_to_world(x[there], y[there]).icrs
    for axis, step in enumerate(((1e-3, 0), (0, 1e-3))):
        beside = wcs.pixel_to_world(x[there] + step[0], y[there] + step[1]).icrs
        east, north = (offset.deg * 1e3 for offset in here.spherical_offsets_to(beside))
        # To second order in the step, and a pole has no east.
        want = np.stack([north, east])[:, 1:]
        assert np.allclose(seen.onto[:, axis, there][:, 1:], want, rtol=2e-4, atol=2e-4 * np.nanmax(np.abs(want)))
    formula = Told.of(wcs, None).zenithal
    with np.errstate(invalid="ignore"):
        found = None if formula is None else formula.onto(x, y, told.ra, told.dec)
    assert (found is not None) == by_formula
    assert found is None or np.array_equal(found, seen.onto)


class Seen:
    """Takes what `on_sky` tells."""

    def place(self, rows, onto):
        self.onto = np.full((2, 2, 61), np.nan)
        self.onto[:, :, rows] = onto
