"""The texts that draw fits and join what is found without them: the processor's catalogue and images, on every device."""

from __future__ import annotations

import numpy as np
import pytest

import footprint as fp
from footprint.backend.registry import device_limits
from tests.backend.test_gpu_fit import agree
from tests.backend.test_pairs import sky
from tests.backend.test_residual import RULES, field


@pytest.fixture(autouse=True)
def gpu(device):
    if device_limits(device).host:
        pytest.skip("the other devices are compared with it")


def scene(rng):
    image = np.tile(field(rng).astype("f4"), (2, 1))
    image[60:64, 100:110] = np.nan
    return image


@pytest.mark.parametrize("given", [{}, {"background": "mesh", "box": 32}], ids=str)
def test_what_fits_leave_is_the_processors(device, rng, given):
    image, options = scene(rng), RULES | given | {"sigma": 6.0, "residual": True}
    images = [{name: np.empty_like(image) for name in ("save_model", "save_residual")} for _ in range(2)]
    wanted, table = (fp.find_sources(image, **options | one | {"device": on}) for one, on in zip(images, ("cpu", device)))
    agree(table, wanted, 30)
    assert np.sum(wanted["flags"] & 8 > 0) > 10
    for name in ("island", "component", "flags", "npix", "x_peak", "y_peak", "peak"):
        assert np.array_equal(table[name], wanted[name]), name
    for name, one in images[0].items():
        assert np.allclose(one, images[1][name], rtol=1e-6, atol=1e-5, equal_nan=True), name


def test_images_of_fits_in_parts(device, backend, rng):
    image, plans = scene(rng), []
    options = RULES | {"sigma": 6.0, "deblend": False, "capacity": 800, "device": device, "on_plan": plans.append}
    whole, part = ({name: np.empty_like(image) for name in ("save_model", "save_residual")} for _ in range(2))
    one = fp.find_sources(image, **whole, **options)
    try:
        fp.find_sources(image, memory=plans[0].footprint.total - image.nbytes, **part, **options)
    except fp.BudgetError:
        pytest.skip(f"the workspace of {backend.limits.cores} compute units alone is larger than this image")
    assert plans[0].n_parts == 1 < plans[-1].n_parts and len(one) > 15
    assert all(np.array_equal(whole[name], part[name], equal_nan=True) for name in whole)


def test_no_room_is_told(device, rng):
    image, needed = scene(rng)[:150, :160], []
    for on in ("cpu", device):
        options = RULES | {"sigma": 6.0, "residual": True, "device": on}
        with pytest.raises(fp.CapacityError) as caught:
            fp.find_sources(image, capacity=len(fp.find_sources(image, **options)) - 1, **options)
        needed.append(caught.value.needed)
    assert needed[0] == needed[1]


def test_pairs_are_the_processors(device, rng):
    image, options = sky(rng, (260, 160))[0], RULES | {"residual": True, "pairs": True, "background": "mesh", "box": 32}
    wanted, table = (fp.find_sources(image, **options | {"device": on}) for on in ("cpu", device))
    assert table.meta["pairs"] == wanted.meta["pairs"] >= 3 and np.array_equal(table["flags"], wanted["flags"])
    for name in ("fit_peak", "fit_x", "fit_y", "fit_a", "fit_b", "fit_peak_err", "fit_x_err", "fit_chi2"):
        assert np.allclose(table[name], wanted[name], rtol=1e-5, atol=1e-9), name
