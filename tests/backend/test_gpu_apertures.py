"""The text that sums over apertures: what the processor sums, on every device and in any parts."""

from __future__ import annotations

import numpy as np
import pytest

import footprint as fp
from footprint.backend.registry import device_limits
from tests.backend.test_gpu_fit import RULES, scene

pytestmark = pytest.mark.short_runs

LIGHT = RULES | {"apertures": [3.0, 5.5], "annulus": (7, 10), "kron": True}


@pytest.fixture(autouse=True)
def gpu(device):
    if device_limits(device).host:
        pytest.skip("the other devices are compared with it")


def agree(table, wanted, discs, kron):
    """To a share of the error, since fluxes may come to 0; Kron's ellipses are of moments that devices sum up differently.

    Areas are told to so many digits of a pixel: an aperture that has but a sliver of one has less of them.
    """
    names = [name for name in wanted.colnames if name.startswith(("aper", "kron"))]
    assert len(table) == len(wanted) and {"aper1_flux", "aper_flags"} <= set(names)
    for name in names:
        values, share = np.asarray(wanted[name]), kron if name.startswith("kron") else discs
        if name.endswith("_flags"):
            assert np.array_equal(table[name], values), name
            continue
        assert np.array_equal(np.isnan(table[name]), np.isnan(values)), name
        size = np.maximum(wanted[f"{name}_err"], 0.5) if name.endswith("_flux") else np.maximum(np.abs(values), 1)
        assert np.all(~(np.abs(table[name] - values) > share * size)), name


def test_parts_change_no_bit_and_equal_the_processors(device, backend, rng):
    image, plans = np.tile(scene(rng), (3, 1)), []
    # Peaks of a pixel alone have discs for Kron's ellipses.
    image[290:299:4, 100:130:10] = 40
    options = LIGHT | {"on_plan": plans.append}
    whole = fp.find_sources(image, device=device, **options)
    wanted = fp.find_sources(image, device="cpu", **LIGHT)
    agree(whole, wanted, 1e-11, 1e-7)
    assert len(whole) > 600 and {0, 1, 2, 8} <= set(whole["kron_flags"]) and {0, 2} <= set(whole["aper_flags"])
    try:
        part = fp.find_sources(image, device=device, memory=plans[0].footprint.total - image.nbytes, **options)
    except fp.BudgetError:
        pytest.skip(f"the workspace of {backend.limits.cores} compute units alone is larger than this image")
    assert plans[0].n_parts == 1 < plans[-1].n_parts and plans[-1].footprint.total <= plans[0].footprint.total - image.nbytes
    assert all(np.array_equal(whole[n], part[n], equal_nan=whole[n].dtype.kind == "f") for n in whole.colnames)


def test_over_maps_and_at_places(device, rng):
    """With one text for both: maps of level and noise, and discs where nothing is found, over the ends, and wider than a group."""
    image = scene(rng)
    drawn = {"background": rng.uniform(-0.1, 0.1, image.shape), "noise": rng.uniform(0.4, 0.6, image.shape)}
    drawn["noise"][60:62, 70] = 0, np.nan
    maps = {name: drawn[name].astype("f4") for name in drawn}
    found, wanted = (fp.find_sources(image, device=one, **LIGHT, **maps) for one in (device, "cpu"))
    agree(found, wanted, 1e-11, 1e-7)
    at = np.concatenate([rng.uniform(-9, 309, (60, 2)), [(np.nan, 3), (1e9, 5), (70, 60)]])
    options = {"radii": [0.4, 3, 40], "annulus": (41, 45), **maps}
    whole = fp.apertures(image, at, device=device, **options)
    agree(whole, fp.apertures(image, at, device="cpu", **options), 1e-11, 0)
    assert {0, 1, 2, 3, 5, 6} == set(whole["aper_flags"])
    plans = []
    with pytest.raises(fp.BudgetError) as short:
        fp.apertures(image, at, device=device, memory=1, **options)
    part = fp.apertures(image, at, device=device, memory=short.value.smallest, on_plan=plans.append, **options)
    assert plans[0].n_parts > 1
    assert all(np.array_equal(whole[n], part[n], equal_nan=whole[n].dtype.kind == "f") for n in whole.colnames)


def test_nothing_and_too_many(device, rng):
    image = scene(rng)
    none = fp.find_sources(image, 1e4, apertures=[3.0], kron=True, device=device)
    assert len(none) == 0 and {"aper1_flux", "kron_flux"} <= set(none.colnames)
    with pytest.raises(fp.CapacityError):
        fp.find_sources(image, device=device, **LIGHT | {"capacity": 20})
    assert len(fp.apertures(image, [], 3, device=device)) == 0
