"""Apertures that are cut off by the image are flagged; what fits in nowhere is warned of, too."""

from __future__ import annotations

import shlex
import sys
import warnings

import numpy as np
import pytest
from astropy.table import Table

import footprint as fp
from footprint.cli.main import entry

PLACES = [(10.0, 10.0), (0.0, 0.0)]


@pytest.fixture
def image(rng):
    found = rng.standard_normal((20, 30)).astype(np.float32)
    found[9:12, 9:12] += 50
    return found


def told(call):
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        table = call()
    return table, [str(one.message) for one in said if "wider than the image" in str(one.message)]


def test_a_disc_that_fits_in_nowhere_is_flagged_and_warned_of(image):
    words = "apertures with radii of 25 and 1e+06 pixels are wider than the image of 20 x 30; all are cut off, and have a flag of 2"
    table, said = told(lambda: fp.apertures(image, PLACES, [3, 25, 1e6], device="cpu"))
    assert said == [words] and table["aper_flags"].tolist() == [2, 2]
    assert table["aper3_area"].tolist() == [image.size] * 2
    np.testing.assert_allclose(table["aper3_flux"], image.sum(dtype=float), rtol=1e-6)
    table, said = told(lambda: fp.measure_at(image, PLACES, apertures=[3, 25, 1e6], device="cpu"))
    assert said == [words] and table["aper_flags"].tolist() == [2, 2]
    table, said = told(lambda: fp.find_sources(image, apertures=[3, 25, 1e6], device="cpu"))
    assert said == [words] and table["aper_flags"].tolist() == [2] and words in table.meta["warnings"]


def test_discs_that_fit_in_are_no_news(image):
    table, said = told(lambda: fp.apertures(image, PLACES, [3, 10], device="cpu"))
    assert not said and table["aper_flags"].tolist() == [2, 2]
    table, said = told(lambda: fp.apertures(image, PLACES, 3, device="cpu"))
    assert not said and table["aper_flags"].tolist() == [0, 2]


@pytest.mark.parametrize("annulus", [(100, 200), (40, 1e6)])
def test_an_annulus_without_pixels_is_flagged(image, annulus):
    table = fp.apertures(image, PLACES, 3, annulus=annulus, device="cpu")
    assert np.isnan(table["aper1_flux"]).all() and table["aper_flags"].tolist() == [4, 6]
    table = fp.apertures(image, PLACES, 3, annulus=(4, 1e6), device="cpu")
    assert np.isfinite(table["aper1_flux"]).all() and table["aper_flags"].tolist() == [0, 2]


@pytest.mark.parametrize("job", ["sources image.npy", "sources image.npy --at places.csv"])
def test_the_shell_says_so_too(image, tmp_path, monkeypatch, capsys, job):
    monkeypatch.chdir(tmp_path)
    np.save("image.npy", image)
    Table(rows=PLACES, names=("x", "y")).write("places.csv")
    monkeypatch.setattr(sys, "argv", ["footprint", *shlex.split(job), *shlex.split("-o s.ecsv --apertures 3,25 --device cpu")])
    shown = []
    monkeypatch.setattr("footprint.cli.main._show_warning", lambda message, *_, **__: shown.append(str(message)))
    monkeypatch.setattr(warnings, "showwarning", warnings.showwarning)
    with warnings.catch_warnings(), pytest.raises(SystemExit) as left:
        warnings.simplefilter("always")
        entry()
    assert left.value.code == 0 and sum("a radius of 25 pixels are wider" in one for one in shown) == 1, shown
