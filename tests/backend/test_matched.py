"""Sources found through a filter by the beam, and measured on the image as it is."""

from __future__ import annotations

import numpy as np
import pytest

import footprint as fp
from footprint.api._matched import filter_of
from footprint.api._sky import sky_of
from footprint.reference.matched import matched
from tests.backend.test_source_columns import SKY, correlated, gaussian

S = 5 / np.sqrt(8 * np.log(2))
DEBLEND = {"flood": 3.0, "connectivity": 8, "deblend": True}


def field(rng, shape=(151, 173)):
    """White noise, faint points, holes at the end and inside."""
    image = rng.standard_normal(shape)
    image[:150, :160] += np.tile(gaussian((30, 40), 20.3, 14.8, 3, S, S, 0), (5, 4))
    image[60:71, 30:44], image[:4, 90:] = np.nan, np.nan
    return image


@pytest.mark.parametrize("options", [{}, DEBLEND], ids=str)
def test_finds_what_the_filtered_image_has_and_measures_the_image(device, rng, options):
    image = field(rng)
    labels, wanted = np.zeros((2, *image.shape), np.int32)
    table = fp.find_sources(image, 4.0, matched_filter=5, labels=labels, device=device, **options)
    filtered = matched(image, np.eye(2) * S**2)
    seen = fp.find_sources(filtered, 4.0, labels=wanted, device="cpu", **options)
    assert len(table) > 10 and np.array_equal(labels, wanted)
    assert np.allclose(table["filtered_snr"], seen["snr"]) and np.isclose(table.meta["threshold"], seen.meta["threshold"])
    clip = fp.sigma_clip(image, device="cpu")
    own = fp.measure(image - clip.median, wanted, device="cpu")
    assert all(np.allclose(table[name], own[name]) for name in ("x", "y", "peak", "flux", "npix", "a", "peak_interp", "y_peak"))
    assert np.isclose(table.meta["noise"], clip.std) and np.allclose(table["snr"], own["peak"] / clip.std)
    assert np.isclose(table.meta["filtered_noise"], seen.meta["noise"]) and table.meta["matched_filter"] == "5 x 5 pixels"


@pytest.mark.parametrize(
    "options",
    [{"fit": "point", "flood": 2.5, "apertures": [3], "windowed": 5}, {"background": "mesh", "box": 32} | DEBLEND],
    ids=str,
)
def test_parts_change_no_bit(rng, options):
    image = field(rng, (400, 173)).astype(">f4")
    options = {"matched_filter": True, "negatives": True, "header": SKY, "device": "cpu", "capacity": 300} | options
    labels, plans = np.zeros((2, *image.shape), np.int32), []
    whole = fp.find_sources(image, 4.0, labels=labels[0], **options)
    with pytest.raises(fp.BudgetError) as short:
        fp.find_sources(image, 4.0, labels=labels[1], memory=1, **options)
    parts = fp.find_sources(image, 4.0, labels=labels[1], memory=short.value.smallest, on_plan=plans.append, **options)
    assert min(plan.n_parts for plan in plans) > 3 and np.array_equal(*labels) and len(whole[0]) > 10
    for one, other in zip(whole, parts):
        assert all(np.array_equal(one[name], other[name], equal_nan=one[name].dtype.kind == "f") for name in one.colnames)
    assert np.all(whole[1]["filtered_snr"] < -4)


@pytest.mark.parametrize(("by_beam", "gain"), [(False, np.sqrt(np.pi) * S), (True, np.sqrt(0.5))], ids=["white", "by the beam"])
def test_what_is_gained_depends_on_how_noise_is_correlated(rng, by_beam, gain):
    """Peaks of points fall to a half; noise of single pixels far more, noise that the beam made by less."""
    noise = correlated(rng, (400, 400)) if by_beam else rng.standard_normal((400, 400))
    assert len(fp.find_sources(noise, 5.0, matched_filter=5, device="cpu")) == 0
    image = noise + np.tile(gaussian((40, 40), 20, 20, 30, S, S, 0), (10, 10))
    table = fp.find_sources(image, 8.0, matched_filter=5, device="cpu")
    assert len(table) == 100
    noises = matched(noise, np.eye(2) * S**2)[20:-20, 20:-20].std()
    assert abs(np.mean(table["filtered_snr"]) * noises / 15 - 1) < 0.15 and abs(0.5 / noises / gain - 1) < 0.06


def test_the_filter_has_the_beams_shape():
    slanted = SKY | {"BMAJ": 0.012, "BMIN": 0.005, "BPA": 30.0}
    smooth, told = filter_of("beam", sky_of(None, slanted))
    assert told == {"matched_filter": "12 x 5 pixels"} and 1 < len(smooth.tall) < 8
    weights = smooth.tall.array.T @ smooth.wide.array
    y, x = np.indices(weights.shape) - np.array(weights.shape).reshape(2, 1, 1) // 2
    along, across = np.radians(30.0), np.radians(120.0)
    # North is up and east to the left.
    u, v = (-x * np.sin(t) + y * np.cos(t) for t in (along, across))
    wanted = np.exp(-4 * np.log(2) * (u**2 / 144 + v**2 / 25))
    assert np.abs(weights - wanted / wanted.sum()).sum() < 3e-3 and np.isclose(weights.sum(), 1)


@pytest.mark.parametrize(
    ("given", "match"), [(0, "matched_filter"), ("wide", "matched_filter"), ("beam", "has the beam"), (1e6, "up to 300")], ids=str
)
def test_bad_filters_are_named(given, match):
    with pytest.raises(fp.ArgumentError, match=match):
        fp.plan_find_sources((40, 40), matched_filter=given, device="cpu")
    with pytest.raises(fp.ArgumentError, match="residual: got it together with matched_filter"):
        fp.plan_find_sources((40, 40), matched_filter=5, residual=True, deblend=True, fit="gaussian", device="cpu")
