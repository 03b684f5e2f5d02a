"""Windowed centres of sources, and their errors."""

from __future__ import annotations

import numpy as np
import pytest

import footprint as fp
from footprint.reference.windowed import windowed
from tests.backend.test_source_columns import AREA, SKY, correlated, gaussian

S = 5 / np.sqrt(8 * np.log(2))
NAMES = ("x_win", "y_win", "x_win_err", "y_win_err")


def field(rng, shape=(160, 171)):
    """Points and wide ones, beside each other, at ends and beside holes."""
    image = rng.standard_normal(shape)
    for x, y, a in zip(rng.uniform(-1, 171, 60), rng.uniform(-1, 160, 60), rng.choice([S, 2 * S, 1.0], 60)):
        image += gaussian(shape, x, y, rng.uniform(8, 80), a, S, rng.uniform(0, 180))
    image[70:75, 40:60] = np.nan
    return image.astype("f4")


@pytest.mark.parametrize("options", [{"windowed": 5}, {"windowed": True, "background": "mesh", "box": 32}], ids=str)
def test_equals_the_reference(device, rng, options):
    image, maps = field(rng), np.zeros((2, 160, 171))
    if "box" in options:
        options = options | {"save_background": maps[0], "save_noise": maps[1]}
    table = fp.find_sources(image, 6.0, device=device, **options)
    maps = maps if "box" in options else np.array([table.meta["background"], table.meta["noise"]]).reshape(2, 1, 1) + 0 * maps
    assert len(table) > 25
    for row in table:
        size = S if options["windowed"] == 5 else max(np.sqrt(row["a"] * row["b"]), 0.5)
        wanted = windowed(image - maps[0], maps[1], row["x"], row["y"], size)
        assert np.allclose([row[name] for name in NAMES], wanted, atol=1e-5, equal_nan=True)
    assert np.isfinite(table["x_win"]).sum() > 20


def test_parts_change_no_bit(rng):
    image = np.tile(field(rng), (3, 1)).astype(">f4")
    options, plans = {"windowed": 5, "capacity": 300, "device": "cpu"}, []
    whole = fp.find_sources(image, 6.0, **options)
    with pytest.raises(fp.BudgetError) as short:
        fp.find_sources(image, 6.0, memory=1, **options)
    parts = fp.find_sources(image, 6.0, memory=short.value.smallest, on_plan=plans.append, **options)
    assert plans[-1].n_parts > 3 and len(whole) > 75
    assert all(np.array_equal(whole[name], parts[name], equal_nan=True) for name in whole.colnames)


def test_sep_has_the_same_places(rng):
    sep = pytest.importorskip("sep")
    image = field(rng).astype("f8")
    image[70:75, 40:60] = 0
    table = fp.find_sources(image, 6.0, windowed=5, device="cpu")
    data = image - table.meta["background"]
    x, y, flag = sep.winpos(data, table["x"].data, table["y"].data, S)
    inside = (flag == 0) & np.isfinite(table["x_win"]) & (np.hypot(x - table["x"], y - table["y"]) < 3)
    # It has shares of the pixels on the window's rim.
    apart = np.hypot(x - table["x_win"], y - table["y_win"])[inside]
    assert inside.sum() > 15 and np.median(apart) < 1e-3 and apart.max() < 0.02


def test_errors_are_how_far_places_scatter(rng):
    """In noise correlated by the beam."""
    image = correlated(rng, (640, 640)) + np.tile(gaussian((32, 32), 16.3, 15.8, 25, S, S, 0), (20, 20))
    table = fp.find_sources(image, 8.0, windowed=True, header=SKY, device="cpu")
    assert len(table) == 400 and np.isclose(AREA, 2 * np.pi * S**2)
    for name, true in (("x", 16.3), ("y", 15.8)):
        pull = (table[f"{name}_win"] % 32 - true) / table[f"{name}_win_err"]
        assert 0.88 < np.std(pull) < 1.15 and abs(np.mean(pull)) < 0.2


@pytest.mark.parametrize("given", [0.0, -1, "wide", np.inf], ids=str)
def test_bad_windows_are_named(given):
    with pytest.raises(fp.ArgumentError, match="windowed: got"):
        fp.plan_find_sources((40, 40), windowed=given, device="cpu")
