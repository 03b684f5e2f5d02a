"""The threshold at which a share of detections is real, by those of the inverted image."""

from __future__ import annotations

import numpy as np
import pytest

import footprint as fp
from footprint.api._reliability import choose
from tests.skies import found, sky

CROWD = {"flood": 3.0, "connectivity": 8, "deblend": True, "device": "cpu"}


@pytest.mark.parametrize("share", [0.0, 0.5, 0.9, 1.0])
def test_is_the_lowest_threshold_with_few_negatives(rng, share):
    real = np.concatenate([rng.exponential(3, 60) + 3, rng.integers(3, 7, 20)])
    false = np.concatenate([rng.exponential(0.7, 25) + 3, rng.integers(3, 6, 5), [np.inf, np.nan]])
    chosen = choose(share, real, false, 3.5, 5.0)
    levels = np.sort(np.concatenate([[3.5], real, false[np.isfinite(false)]]))
    good = [t for t in levels if t >= 3.5 and 1 + np.sum(false[:-2] > t) <= (1 - share) * np.sum(real > t)]
    assert chosen.sigma == (min(good) if good else max(5.0, false[:-2].max()))
    assert (chosen.detections, chosen.negatives) == (np.sum(real > chosen.sigma), np.sum(false[:-2] > chosen.sigma))
    assert bool(good) == (share < 1)


def test_in_noise_next_to_nothing_is_found():
    for seed in range(4):
        image, _ = sky(256, 1, seed=seed)
        image = np.random.default_rng(seed).standard_normal(image.shape) if seed % 2 else image - 0
        options = {} if seed % 2 else {"background": "mesh"}
        table = fp.find_sources(image, reliability=0.9, device="cpu", **options)
        assert len(table) <= 2 and table.meta["sigma"] >= 4 and table.meta["negatives"] == 0


@pytest.mark.parametrize("background", ["global", "mesh"])
def test_so_many_are_real_at_any_budget(background):
    """Of a simulated sky, as often as it was asked for; the negatives are the detections of the image turned over."""
    image, truth = sky(512, 250)
    plans = []
    table = fp.find_sources(image, reliability=0.9, background=background, on_plan=plans.append, **CROWD)
    _, left = found(np.stack([table["x_peak"], table["y_peak"]], 1).astype(float), truth, 3.5)
    told = table.meta
    assert told["reliability"] == 0.9 and 3 <= told["sigma"] < 4.5 and len(table) == told["detections"] > 150
    assert left <= 0.16 * len(table) and 0 < told["negatives"] < 0.1 * len(table)
    with pytest.raises(fp.BudgetError) as short:
        fp.plan_find_sources(image.shape, dtype=">f4", reliability=0.9, capacity=1000, background=background, memory=1, **CROWD)
    memory, parts = short.value.smallest, []
    options = CROWD | {"reliability": 0.9, "capacity": 1000, "background": background}
    again = fp.find_sources(image.astype(">f4"), memory=memory, on_plan=parts.append, **options)
    assert max(plan.footprint.total for plan in parts) <= memory < max(plan.footprint.total for plan in plans)
    assert again.meta == told and all(np.array_equal(again[n], table[n]) for n in table.colnames if n != "name")
    sources, below = fp.find_sources(image, told["sigma"], background=background, negatives=True, memory=memory, **CROWD)
    assert list(sources.colnames) == list(below.colnames) and "inverted" not in sources.meta and below.meta["inverted"]
    assert all(np.array_equal(sources[n], table[n]) for n in table.colnames if n != "name")
    # The threshold is that of a negative, to the last bits.
    assert 0 <= len(below) - told["negatives"] <= 1
    if background == "global":
        turned = fp.find_sources(-image.astype("f8"), told["sigma"] * 1.000001, **CROWD)
        assert told["negatives"] == len(turned)
        below = below[below["peak"] < below["peak"].max() if len(below) > len(turned) else slice(None)]
        assert all(np.allclose(below[name], turned[name], 1e-5, 1e-4) for name in ("x", "y", "npix", "flux_err", "island"))
        assert all(np.allclose(below[name], -turned[name], 1e-5) for name in ("peak", "flux", "snr", "peak_interp"))
        assert np.isclose(below.meta["threshold"], -turned.meta["threshold"]) and below["flux"].max() < 0


def test_is_the_same_on_every_device(device, rng):
    image = rng.standard_normal((150, 170)).astype("f4") + np.float32(2)
    image[::10, ::10] += rng.exponential(6, (15, 17)).astype("f4")
    level = np.full(image.shape, 2, "f4")
    for maps in ({}, {"background": level, "noise": level / 2}):
        here, there = (fp.find_sources(image, reliability=0.8, device=one, **maps) for one in ("cpu", device))
        assert here.meta["negatives"] > 0 and here.meta["detections"] == there.meta["detections"] == len(there)
        assert np.isclose(here.meta["sigma"], there.meta["sigma"], rtol=1e-6)


def test_bad_shares_are_named(rng):
    for bad in (-0.1, 1.5, "much", True):
        with pytest.raises(fp.ArgumentError, match=r"reliability: got .* wanted a number from 0 to 1"):
            fp.find_sources(rng.standard_normal((20, 20)), reliability=bad, device="cpu")
