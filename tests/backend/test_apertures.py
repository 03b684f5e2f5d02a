"""Sums over apertures: exact areas, whatever has no data, parts and threads; and apertures of sources that were found."""

from __future__ import annotations

import numpy as np
import pytest

import footprint as fp
from footprint.api._errors import noise_of_sums
from footprint.reference.apertures import areas, kron_radius
from tests.backend.test_source_columns import AREA, SKY, gaussian

PLACES = np.array([(20.0, 15.0), (0.3, 10.2), (33.5, 29.4), (-2.0, 5.0), (17.25, 40.0), (500.0, 3.0), (np.nan, 3.0)])


def test_areas_are_exact(device, rng):
    """Against chords, at the image's ends, beyond them, and of discs smaller than a pixel."""
    image = rng.standard_normal((31, 37)) + 2
    radii = [0.3, 1.0, 4.7, 12.0]
    table = fp.apertures(image.astype(">f8")[:, ::-1][:, ::-1], PLACES, radii, background=0.5, noise=3.0, device=device)
    for i, radius in enumerate(radii):
        for row, (x, y) in zip(table, PLACES):
            share = areas(image.shape, y, x, radius, radius) if np.isfinite(x) else np.zeros(image.shape)
            area = share.sum()
            assert np.isclose(row[f"aper{i + 1}_area"], area, atol=2e-4)
            if area < 1e-9:
                assert np.isnan(row[f"aper{i + 1}_flux"]) and np.isnan(row[f"aper{i + 1}_flux_err"])
                continue
            assert np.isclose(row[f"aper{i + 1}_flux"], (share * (image - 0.5)).sum(), atol=1e-3)
            assert np.isclose(row[f"aper{i + 1}_flux_err"], 3 * np.sqrt(area), rtol=1e-3)
    assert np.isclose(table["aper2_area"][0], np.pi, rtol=1e-13) and np.isclose(table["aper3_area"][0], np.pi * 4.7**2, rtol=1e-13)
    assert table["aper_flags"].tolist() == [0, 2, 2, 2 | 4, 2 | 4, 2 | 4, 2 | 4] and table.meta["apertures"] == "0.3, 1, 4.7, 12"


def test_discs_that_just_miss_the_image_have_no_data(device):
    """The area of a pixel near by is a sum of angles that come to 0, or to a rounding of it."""
    table = fp.apertures(np.ones((31, 37)), np.stack([np.linspace(8, 9, 13), np.full(13, -3.7)], 1), 3.0, device=device)
    assert np.all(table["aper_flags"] == 6) and np.all(table["aper1_area"] == 0) and np.all(np.isnan(table["aper1_flux"]))


def test_equals_sep(rng):
    sep = pytest.importorskip("sep")
    image = rng.standard_normal((90, 70)).astype("f4")
    at = rng.uniform(-3, 90, (300, 2))
    noise = rng.uniform(1, 2, image.shape).astype("f4")
    table = fp.apertures(image, at, [1.3, 6.0], noise=noise, device="cpu")
    inside = (table["aper_flags"] & 4) == 0
    for i, radius in enumerate((1.3, 6.0)):
        flux, error, _ = sep.sum_circle(image, at[:, 0], at[:, 1], radius, err=noise, subpix=0)
        assert np.abs(table[f"aper{i + 1}_flux"] - flux)[inside].max() < 1e-11
        assert np.abs(table[f"aper{i + 1}_flux_err"] - error)[inside].max() < 1e-6


def test_what_has_no_data_is_left_out_and_the_sky_taken_off(rng):
    image, noise = np.full((60, 50), 7.0), np.full((60, 50), 2.0)
    image[20, 20] += 100
    image[22, 21], noise[18, 20] = np.inf, 0
    mask = np.zeros(image.shape, bool)
    mask[20, 22] = True
    table = fp.apertures(image, [(20, 20), (30, 42)], ["3", 5.0], annulus=(8, 10), noise=noise, mask=mask, device="cpu")
    assert np.allclose(table["aper1_area"], [np.pi * 9 - 3, np.pi * 9]) and table["aper_flags"].tolist() == [1, 0]
    assert np.allclose(table["aper1_flux"], [100, 0], atol=1e-9) and np.allclose(table["aper2_flux"], [100, 0], atol=1e-9)
    ring, disc = np.pi * 36, np.pi * 9
    assert np.isclose(table["aper1_flux_err"][1], 2 * np.sqrt(disc + disc**2 / ring))
    assert "aper1_flux_err" not in fp.apertures(image, [(20, 20)], 3, device="cpu").colnames
    assert len(fp.apertures(image, [], 3, device="cpu")) == 0


def test_words_units_and_the_beam(rng):
    from astropy import units as u
    from astropy.coordinates import SkyCoord

    image = np.full((120, 130), 2.0) * u.Jy / u.beam
    table = fp.apertures(image, SkyCoord([0.01] * 2, [-0.02] * 2, unit="deg"), ["1.5 beam", "18 arcsec"], noise=0.1, header=SKY)
    assert np.allclose(table["x"], 64) and np.allclose(table["y"], 59) and str(table["aper1_flux"].unit) == "Jy"
    assert np.allclose(table["aper1_area"], np.pi * 7.5**2, rtol=1e-4) and np.allclose(table["aper2_area"], np.pi * 25, rtol=1e-4)
    area = table["aper1_area"].data
    assert np.allclose(table["aper1_flux"], 2 * area / AREA) and table["aper1_area"].unit == "pix"
    assert np.allclose(table["aper1_flux_err"], 0.1 * noise_of_sums(area, AREA, edge=False) / AREA)


def test_parts_and_threads_change_no_bit(rng, monkeypatch):
    image = rng.standard_normal((400, 90)).astype(">f4")
    noise, at = rng.uniform(1, 2, image.shape).astype(">f4"), rng.uniform(0, 400, (200, 2)) * (0.2, 1)
    whole = fp.apertures(image.astype("f4"), at, [2, 9], noise=noise.astype("f4"), device="cpu")
    monkeypatch.setenv("FOOTPRINT_THREADS", "3")
    with pytest.raises(fp.BudgetError) as short:
        fp.apertures(image, at, [2, 9], noise=noise, memory=1, device="cpu")
    plans, memory = [], short.value.smallest
    part = fp.apertures(image, at, [2, 9], noise=noise, memory=memory, on_plan=plans.append, device="cpu")
    planned = fp.plan_apertures(image.shape, 200, dtype=">f4", radii=[2, 9], noise="map", memory=memory, device="cpu")
    assert plans[0].n_parts == planned.n_parts > 1 and plans[0].footprint.total == planned.footprint.total <= memory
    assert all(np.array_equal(whole[n], part[n], equal_nan=n.endswith(("flux", "err"))) for n in whole.colnames)


@pytest.mark.parametrize("given", [{}, {"background": "mesh", "deblend": True}], ids=["clip", "mesh"])
def test_apertures_of_sources(rng, given):
    """Those of `apertures` at the centres; Kron's radius is the reference's, and its ellipse has what a Gaussian has within it."""
    image = rng.standard_normal((260, 200)) * 0.1
    shapes = [(3.0, 2.0, 30.0), (2.5, 2.0, -50.0), (4.0, 2.0, 80.0), (2.2, 2.1, 0.0), (3.5, 3.0, 10.0)]
    for i, (a, b, turn) in enumerate(shapes * 3):
        image += gaussian(image.shape, 45 + 50 * (i % 3), 30.3 + 48 * (i // 3), 300.0, a, b, turn)
    rules = {"sigma": 50, "flood": 3, "apertures": [4, "6"], "annulus": (14, 18), "kron": True, "capacity": 3000, "device": "cpu"}
    table = fp.find_sources(image, **rules, **given)
    assert len(table) == 15 and table.meta["kron"] == 2.5 and table.meta["annulus"] == "14, 18"
    level, noise = fp.background(image, device="cpu") if given else (table.meta["background"], table.meta["noise"])
    at = np.stack([table["x"], table["y"]], 1)
    alone = fp.apertures(image, at, [4, 6], annulus=(14, 18), background=level, noise=noise, device="cpu")
    for name in alone.colnames[2:]:
        assert np.allclose(table[name], alone[name], rtol=1e-12, equal_nan=True), name
    over = image - level
    for row in table[1:4:2]:
        shape = row["y"], row["x"], row["a"], row["b"], row["theta"]
        radius = kron_radius(over, *shape)
        assert np.isclose(row["kron_radius"], radius, rtol=1e-9)
        share = areas(image.shape, *shape[:2], 2.5 * radius * row["a"], 2.5 * radius * row["b"], row["theta"], 1000)
        assert np.isclose(row["kron_flux"], (share * over).sum(), rtol=1e-5)
        assert np.isclose(row["kron_flux_err"], np.sqrt((share * np.square(noise)).sum()), rtol=1e-4)
    made = np.array([2 * np.pi * 300 * a * b for a, b, _ in shapes * 3])
    assert np.allclose(table["kron_flux"][np.argsort(table["y"] // 24 * 9 + table["x"] // 25)], made, rtol=0.02)
    foreign = image.astype(">f8")
    with pytest.raises(fp.BudgetError) as short:
        fp.find_sources(foreign, memory=1, **rules, **given)
    plans = []
    part = fp.find_sources(foreign, memory=short.value.smallest, on_plan=plans.append, **rules, **given)
    assert plans[0].n_parts > 1
    assert all(np.array_equal(table[n], part[n], equal_nan=table[n].dtype.kind == "f") for n in table.colnames)


def test_light_of_a_pixel_has_a_disc(rng):
    image = rng.standard_normal((40, 40)) * 0.1
    image[10, 12] = 500
    (row,) = fp.find_sources(image, 20, kron=3.0, device="cpu")
    level = fp.sigma_clip(image, device="cpu").median
    disc = fp.apertures(image, [(12, 10)], 1.75, background=level, device="cpu")
    assert row["a"] == 0 and row["kron_flags"] == 8 and row["kron_flux"] == disc["aper1_flux"][0]


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda x: fp.apertures(x, [(1, 2, 3)], 2), "positions: got shape (1, 3), wanted (n, 2)"),
        (lambda x: fp.apertures(x, [(1, 2)], "1 beam"), "radii: got '1 beam', wanted pixels; the image has no known beam"),
        (lambda x: fp.apertures(x, [(1, 2)], [3, -1]), "radii: got -1, wanted a number above 0"),
        (lambda x: fp.apertures(x, [(1, 2)], "3 parsnips"), "radii: got '3 parsnips'"),
        (lambda x: fp.apertures(x, [(1, 2)], 3, annulus=(5, 4)), "annulus: got (5, 4), wanted an inner and a larger"),
        (lambda x: fp.apertures(x, [(1, 2)], 3, noise=0), "noise: got 0, wanted a number above 0"),
        (lambda x: fp.apertures(x, [(1, 2)], 3, background=x[1:]), "background: got shape (7, 8)"),
        (lambda x: fp.find_sources(x, annulus=(5, 6)), "annulus: got no apertures"),
        (lambda x: fp.find_sources(x, kron=-2), "kron: got -2, wanted a number above 0"),
        (lambda x: fp.plan_apertures((5, 5), -1), "count: got -1"),
    ],
)
def test_bad_apertures_are_named(call, words):
    with pytest.raises(fp.FootprintError) as told:
        call(np.ones((8, 8)))
    assert words in str(told.value)


def test_an_aperture_of_no_size_is_told_what_is_wanted():
    """A word that is a number was told to be pixels or an angle."""
    with pytest.raises(fp.ArgumentError, match=r"apertures: got 0\.0, wanted a number above 0"):
        fp.find_sources(np.ones((9, 9)), apertures="3, 0")
