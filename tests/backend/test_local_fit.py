"""Gaussians fitted over maps of background and noise, or a mesh, as over one background; and what the beam leaves of them."""

from __future__ import annotations

import numpy as np
import pytest

import footprint as fp
from tests.backend.test_fit import FWHM, PIXEL, SKY, S, add, inverse

RULES = {"sigma": 8.0, "flood": 3.0, "connectivity": 8, "header": SKY, "device": "cpu"}
FITS = ("fit_x", "fit_y", "fit_peak", "fit_flux", "fit_a", "fit_b", "fit_peak_err", "fit_flux_err", "fit_x_err", "fit_chi2")


def field(rng, shape=(300, 260), step=40):
    image = rng.standard_normal(shape) * 0.5
    for y in range(20, shape[0] - 15, step):
        for x in range(20, shape[1] - 15, step):
            add(image, 40.0, y + 0.3, x - 0.2, (S**-2, 0, S**-2))
            add(image, 20.0, y, x + 1.6 * FWHM, (S**-2, 0, S**-2))
    return image


@pytest.mark.parametrize("deblend", [False, True])
def test_maps_of_one_value_are_one_background(rng, deblend):
    image = field(rng) + 7
    whole = fp.find_sources(image, fit="gaussian", deblend=deblend, **RULES)
    level, spread = (np.full(image.shape, whole.meta[name]) for name in ("background", "noise"))
    over = fp.find_sources(image, fit="gaussian", deblend=deblend, background=level, noise=spread, **RULES)
    assert len(whole) == len(over) > 40 and over.meta["fit"] == "gaussian"
    for name in FITS:
        assert np.allclose(whole[name], over[name], rtol=1e-6, atol=1e-9), name


def test_the_noise_is_that_of_the_place(rng):
    """Errors are in noises of the peak's pixel; where there is no noise there is no data."""
    image = field(rng)
    level = np.linspace(-30, 30, 300)[:, None] + np.zeros(image.shape)
    spread = np.where(np.arange(260) < 130, 0.5, 2.0) + np.zeros(image.shape)
    plain = fp.find_sources(image, fit="point", background=0 * level, noise=spread, **RULES)
    steep = fp.find_sources(image + level, fit="point", background=level, noise=spread, **RULES)
    assert len(plain) == len(steep) > 20
    for name in ("fit_x", "fit_peak", "fit_flux_err", "fit_chi2"):
        assert np.allclose(plain[name], steep[name], rtol=1e-6), name
    shares = np.asarray(plain["fit_peak_err"] / plain["noise"])
    assert set(plain["noise"]) == {0.5, 2.0} and np.ptp(shares) < 0.02 * shares.mean()
    spread[:, 64:67], spread[:, 104:107] = 0, np.nan
    spoilt = image.copy()
    spoilt[:, 64:67] = spoilt[:, 104:107] = 1e6
    table = fp.find_sources(spoilt, fit="point", background=0 * level, noise=spread, **RULES)
    assert len(table) > 20 and np.nanmax(table["fit_peak"]) < 60


@pytest.mark.parametrize(
    ("deblend", "given"),
    [(True, {"background": "mesh", "box": 50}), (False, {}), (True, {"background": "map", "box": 50})],
    ids=str,
)
def test_parts_and_threads_change_no_bit(rng, monkeypatch, deblend, given):
    image = np.tile(field(rng, (300, 180)).astype(np.float32), (3, 1)) + np.linspace(0, 20, 900, dtype=np.float32)[:, None]
    if not given:
        given = {"noise": np.full(image.shape, 0.6, ">f4")}
    elif given["background"] == "map":
        given = given | {"background": np.linspace(0, 20, 900)[:, None] + np.zeros(image.shape)}
    options = RULES | given | {"deblend": deblend, "capacity": 1000, "fit": "gaussian"}
    whole = fp.find_sources(image, **options)
    assert len(whole) > 60 and np.isfinite(whole["fit_peak"]).all()
    foreign = image.astype(">f4")
    monkeypatch.setenv("FOOTPRINT_THREADS", "3")
    with pytest.raises(fp.BudgetError) as short:
        fp.find_sources(foreign, memory=1, **options)
    plans, memory = [], short.value.smallest
    part = fp.find_sources(foreign, memory=memory, on_plan=plans.append, **options)
    assert plans[0].footprint.total <= memory and plans[0].n_parts > 1
    assert all(np.array_equal(whole[n], part[n], equal_nan=whole[n].dtype.kind == "f") for n in whole.colnames)


def test_the_beam_is_taken_off_the_shapes(rng):
    """Covariances add up, so what is left is what was convolved; narrower than the beam along an axis is not resolved."""
    beam = SKY | {"BMAJ": 6 * PIXEL, "BMIN": 4 * PIXEL, "BPA": 30.0}
    own = np.linalg.inv(_matrix(inverse(6 / 2.354820045, 4 / 2.354820045, 120)))
    image = rng.standard_normal((130, 130)) * 0.01
    for y, a, b, degrees in ((30, 4.0, 2.0, 20.0), (90, 3.0, 3.0, 0.0)):
        yy, yx, xx = np.linalg.inv(own + np.linalg.inv(_matrix(inverse(a, b, degrees))))[[0, 0, 1], [0, 1, 1]]
        add(image, 100.0, y, 40, (yy, yx, xx), 30)
    add(image, 100.0, 30, 95, inverse(4.0, 1.2, 120))
    rules = RULES | {"sigma": 100.0, "flood": 50.0, "header": beam, "deblend": True}
    table = fp.find_sources(image, fit="gaussian", **rules)
    table.sort("fit_x")
    assert sorted(table["flags"][:2]) == [0, 0] and table["flags"][2] == 16 and table["deconv_theta"].unit == "deg"
    resolved = table[np.argsort(table["fit_y"][:2])]
    assert np.allclose(resolved["deconv_a"], (4, 3), rtol=2e-3) and np.allclose(resolved["deconv_b"], (2, 3), rtol=5e-3)
    assert abs(resolved["deconv_theta"][0] - 20) < 0.2 and np.all(resolved["deconv_a_err"] > resolved["fit_a_err"])
    assert np.isnan(table["deconv_b"][2]) and np.isclose(table["deconv_a"][2], np.sqrt(16 - (6 / 2.3548) ** 2), rtol=2e-3)
    assert np.allclose(table["fit_ra_err"], table["fit_x_err"] * PIXEL, rtol=1e-3) and table["fit_dec_err"].unit == "deg"


def _matrix(three):
    return np.array([[three[0], three[1]], [three[1], three[2]]])
