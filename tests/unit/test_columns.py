"""Every column of a catalogue says what it is: in words, by a UCD that exists, and in pixels where it counts them."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from astropy.io.votable import parse_single_table
from astropy.io.votable.ucd import check_ucd

import footprint as fp
from footprint.api._columns import meaning

HEADER = {"CTYPE1": "RA---SIN", "CTYPE2": "DEC--SIN", "CDELT1": -1e-3, "CDELT2": 1e-3, "CRPIX1": 40, "CRPIX2": 40}
HEADER |= {"CRVAL1": 10.0, "CRVAL2": -30.0, "BUNIT": "Jy/beam", "BMAJ": 4e-3, "BMIN": 4e-3}


def test_a_votable_tells_ucd_unit_and_meaning_of_every_column(tmp_path, rng):
    """Half of them had no UCD, none but fluxes a description, and what counts pixels no unit."""
    yy, xx = np.mgrid[:80, :90]
    image = rng.normal(size=(80, 90)) + 60 * np.exp(-((xx - 30) ** 2 + (yy - 40) ** 2) / 8)
    options = {"deblend": True, "flood": 3, "fit": "gaussian", "kron": True, "apertures": [3, 5], "windowed": True}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        table = fp.find_sources(image, header=HEADER, measure_on={"other_band": image}, background="mesh", box=16, **options)
        fp.write_catalog(table, tmp_path / "a.vot")
        fields = {field.name: field for field in parse_single_table(tmp_path / "a.vot").fields}
    assert len(fields) == len(table.colnames) > 70
    for name, field in fields.items():
        assert field.ucd and check_ucd(field.ucd, check_controlled_vocabulary=True), (name, field.ucd)
        assert field.description and table[name].description == " ".join(field.description.split()), name
    back = fp.read_catalog(tmp_path / "a.vot")
    assert all(back[name].description == table[name].description for name in table.colnames)
    assert fields["x"].unit == fields["fit_a_err"].unit == "pix" and table["x"].unit is None
    assert fields["fit_x_err"].description == "error: centre of the fitted Gaussian"
    assert fields["aper2_flux_other_band"].description == "sum over aperture 2, in the image other_band"
    assert sum("meta.main" in field.ucd for field in fields.values()) == 3


@pytest.mark.parametrize("name", ["sigma_of_mine", "", "_err", "aper3_"])
def test_other_columns_mean_nothing(name):
    assert meaning(name) is None
