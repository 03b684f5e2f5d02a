"""The fitting text: what the processor fits, on every device and in any parts."""

from __future__ import annotations

import numpy as np
import pytest

import footprint as fp
from footprint.backend.registry import device_limits, open_backend
from tests.backend.kernels import run
from tests.backend.test_fit import SKY, S, add, correlated, inverse

RULES = {"sigma": 8.0, "flood": 5.0, "connectivity": 8, "capacity": 1200}


@pytest.fixture(autouse=True)
def gpu(device):
    if device_limits(device).host:
        pytest.skip("the other devices are compared with it")


def scene(rng, dtype="f4"):
    """Neighbours that take light from each other, sources over the edges, wide ones, and pixels without data."""
    image = correlated(rng, (300, 260)) * 0.5
    for y in range(1, 300, 23):
        for x in range(2, 260, 13):
            add(image, rng.uniform(10, 60), y + 0.3, x - 0.2, (S**-2, 0, S**-2), 12)
    add(image, 90.0, 150.0, 120.0, inverse(9.0, 4.0, 30.0))
    image[100:103, 40:60], image[200, 30:90:9] = np.nan, np.inf
    return image.astype(dtype)


def agree(table, wanted, least=200):
    """To rounding: the same are fitted in every pass, by the same steps. One step more would be some 1e-3 of the errors."""
    assert len(table) == len(wanted) > least and np.array_equal(table["label"], wanted["label"])
    names = [name for name in wanted.colnames if name.startswith("fit_") and f"{name}_err" in wanted.colnames]
    assert {"fit_x", "fit_peak", "fit_flux"} <= set(names)
    for name in names:
        values, error = np.asarray(wanted[name]), np.asarray(wanted[f"{name}_err"])
        assert np.array_equal(np.isnan(values), np.isnan(table[name])), name
        known = np.isfinite(values) & np.isfinite(error)
        assert known.mean() > 0.9 and np.all(np.abs(table[name] - values)[known] < 1e-6 * error[known]), name
        assert np.allclose(table[f"{name}_err"], error, rtol=1e-6, atol=0, equal_nan=True), name
    assert np.allclose(table["fit_chi2"], wanted["fit_chi2"], rtol=1e-6, equal_nan=True)


@pytest.mark.parametrize(("fit", "given"), [("gaussian", {"header": SKY}), ("gaussian", {}), ("point", {"header": SKY})], ids=str)
def test_equals_the_processors(device, rng, fit, given):
    image = scene(rng)
    wanted = fp.find_sources(image, fit=fit, device="cpu", **given, **RULES)
    table = fp.find_sources(image, fit=fit, device=device, **given, **RULES)
    agree(table, wanted)
    assert table.meta["fit"] == fit and np.isfinite(table["fit_peak"]).mean() > 0.9


@pytest.mark.parametrize("maps", [False, True])
def test_parts_change_no_bit(device, backend, rng, maps):
    image, plans = np.tile(scene(rng), (2, 1)), []
    given = {"background": np.full(image.shape, 0.01, "f4"), "noise": np.full(image.shape, 0.6, "f4")} if maps else {}
    options = RULES | given | {"fit": "gaussian", "header": SKY, "device": device, "on_plan": plans.append}
    whole = fp.find_sources(image, **options)
    agree(whole, fp.find_sources(image, **options | {"device": "cpu"}))
    try:
        part = fp.find_sources(image, memory=plans[0].footprint.total - image.nbytes, **options)
    except fp.BudgetError:
        pytest.skip(f"the workspace of {backend.limits.cores} compute units alone is larger than this image")
    assert plans[0].n_parts == 1 < plans[-1].n_parts and plans[-1].footprint.total <= plans[0].footprint.total - image.nbytes
    assert all(np.array_equal(whole[n], part[n], equal_nan=whole[n].dtype.kind == "f") for n in whole.colnames)


def test_nothing_and_too_many(device, rng):
    image = scene(rng)
    none = fp.find_sources(image, 1e4, fit="gaussian", device=device)
    assert len(none) == 0 and "fit_x" in none.colnames
    with pytest.raises(fp.CapacityError):
        fp.find_sources(image, **RULES | {"capacity": 20}, fit="gaussian", device=device)


@pytest.mark.parametrize("count", [0, 1, 700, 4097, 9001, 17000, 17001])
def test_numbers_are_ordered_by_all_their_keys(device, rng, count):
    # A group sorts 4096 on its chip; of more than twice as many one half has to fall.
    n = 17000
    keys, order, met = rng.integers(0, 4, (n, 3)).astype(np.uint64), np.full(32768, -1, np.int32), np.array([count])
    keys[:, 0] += np.uint64(2**63) * rng.integers(0, 2, n).astype(np.uint64)
    run(open_backend(device), "tests.growth_kernels:ordered", keys, order, met)
    count = count if count <= n else 0
    wanted = np.lexsort((np.arange(count), *keys[:count].T[::-1]))
    assert np.array_equal(order[:count], wanted)
