"""The texts that hold Gaussians: the processor's heights at known places and on other images, on every device and in any parts."""

from __future__ import annotations

import numpy as np
import pytest
from astropy.io import fits as files

import footprint as fp
from footprint.backend.registry import device_limits
from tests.backend.test_fit import PIXEL, SKY
from tests.backend.test_held import RULES, equal, points


@pytest.fixture(autouse=True)
def gpu(device):
    if device_limits(device).host:
        pytest.skip("the other devices are compared with it")


def agree(table, wanted, least):
    """To rounding, in errors where a column has some; counts are the same."""
    assert table.colnames == wanted.colnames and len(table) == len(wanted) >= least
    for name in wanted.colnames:
        found, true = (np.asarray(one[name]) for one in (table, wanted))
        if true.dtype.kind != "f":
            assert np.array_equal(found, true), name
            continue
        errors = {f"{name}_err", name.replace("peak_", "peak_err_"), name.replace("flux_", "flux_err_")} - {name}
        sizes = [np.asarray(wanted[error]) for error in errors & set(wanted.colnames) if "fit_" in name]
        size = sizes[0] if sizes else np.abs(true)
        assert np.array_equal(np.isnan(found), np.isnan(true)), name
        known = np.isfinite(true) & np.isfinite(size)
        assert np.all(np.abs(found - true)[known] <= 1e-6 * size[known] + 1e-12), name


def crowd(rng):
    """Places in crowds and pairs, over ends, without data, at one place and nowhere; shapes that the table has."""
    image = rng.standard_normal((330, 240)).astype("f4")
    image[100:110, 50:90] = np.nan
    at = rng.uniform(-3, 240, (400, 2)) * (1, 1.37)
    close = at[:40] + rng.normal(0, 0.3, (40, 2))
    return image, np.vstack([at, close, at[50:52], [[-900, 3], [np.nan, 3], [1e300, 3]]])


@pytest.mark.parametrize("maps", [False, True])
def test_known_places_equal_the_processors(device, backend, rng, maps):
    image, at = crowd(rng)
    about = {"header": SKY, "shapes": np.column_stack([*rng.uniform(1.2, 3, (2, len(at))), rng.uniform(-90, 90, len(at))])}
    about["shapes"][-5:-3] = about["shapes"][50:52]
    about |= {"background": "mesh", "box": 55} if maps else {"apertures": [3]}
    plans, options = [], about | {"device": device}
    whole = fp.measure_at(image, at, on_plan=plans.append, **options)
    agree(whole, fp.measure_at(image, at, **about, device="cpu"), 400)
    assert np.isnan(whole["fit_peak"][-5:]).all() and np.isfinite(whole["fit_peak"]).sum() > 350
    with pytest.raises(fp.BudgetError) as refused:
        fp.measure_at(image, at, memory=1, **options)
    part = fp.measure_at(image, at, memory=refused.value.smallest, on_plan=plans.append, **options)
    # With maps a GPU's own workspace may be so large that the whole, in a small ring, takes least.
    small = plans[-1].footprint.total < plans[0].footprint.total
    assert plans[-1].n_parts > 1 or (maps and small)
    equal(whole, part)


def test_no_places_and_no_beam(device, rng):
    image, at = crowd(rng)
    about = {"shapes": (1.5, 1.5, 0.0), "background": 0 * image, "noise": np.ones_like(image)}
    agree(fp.measure_at(image, at[:60], **about, device=device), fp.measure_at(image, at[:60], **about, device="cpu"), 60)
    assert len(fp.measure_at(image, np.empty((0, 2)), header=SKY, device=device)) == 0


@pytest.mark.parametrize(
    "options", [{"deblend": True, "fit": "gaussian", "apertures": [4]}, {"background": "mesh", "box": 55}], ids=str
)
def test_other_images_equal_the_processors(device, rng, options):
    """One that is inverted has peaks below 0; one has a beam of its own."""
    (first, second), _ = points(rng, [40.0, 15.0])
    header = files.Header(SKY | {"BMAJ": 7 * PIXEL, "BMIN": 6 * PIXEL})
    others = {"b": second + np.float32(3), "below": -first, "wide": files.ImageHDU(second, header)}
    options = RULES | options | {"measure_on": others}
    wanted, table = (fp.find_sources(first, **options | {"device": one}) for one in ("cpu", device))
    agree(table, wanted, 60)
    assert np.all(table["peak_below"] < 0) and np.all(table["flux_b"] > 0)
