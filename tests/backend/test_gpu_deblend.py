"""The texts that take islands apart: what the processor finds, to every label and row."""

from __future__ import annotations

import numpy as np
import pytest

import footprint as fp
from footprint.backend.registry import device_limits
from tests.backend import test_local_deblend as local
from tests.backend.test_deblend import BEAM, check, field

pytestmark = pytest.mark.short_runs


@pytest.fixture(autouse=True)
def gpu(device):
    if device_limits(device).host:
        pytest.skip("the other devices are compared with it")


@pytest.mark.parametrize(
    ("shape", "levels", "options"),
    [
        ((1, 1), 0, {}), ((90, 1), 3, {"min_area": 2}), ((64, 70), 3, {}), ((97, 131), 2, {"connectivity": 8, "min_area": 9}),
        ((97, 131), 0, {"contrast": 0.4, "min_area": 12}), ((66, 65), 0, {"contrast": 1, "connectivity": 8}),
        ((97, 131), 0, {"connectivity": 8, "header": BEAM}),
    ],
    ids=str,
)  # fmt: skip
def test_equals_the_sorted_list_of_pixels(device, rng, shape, levels, options):
    check(field(rng, shape, levels=levels), device, sigma=1.2, flood=0.3, **options)


@pytest.mark.parametrize("options", [{}, {"connectivity": 8, "min_area": 9}], ids=str)
def test_over_maps_in_doubles(device, rng, options):
    local.check(rng, options, device)


def test_passes_of_doubles_that_differ_in_their_last_digits(device):
    """A knoll between two sources that touch belongs to the one across the higher pass."""
    hills = [[20, 12, 20.5, 0], [10, 0, 10 + 1e-12, 0], [10.4, 10.6, 10.4, 0]]
    image = np.tile(hills, 30)
    maps = {"background": np.zeros_like(image), "noise": np.ones_like(image)}
    table = fp.find_sources(image, 5, flood=2, deblend=True, blank="nan", device=device, **maps)
    assert np.array_equal(table["npix"], np.tile([6, 2], 30))


def test_long_slopes_and_many_teeth(device, rng):
    """More steps than one launch takes, and more basins on an island than are hooked at once."""
    slope = np.concatenate([np.arange(5000), rng.permutation(600) + 5000, np.full(9, 5600)])[None].astype("f4")
    teeth = np.full((40, 700), 1, "f4")
    teeth[1:, ::2] += 50 + np.arange(39)[:, None] % 5 + np.arange(350) % 3
    teeth[2:, 1::2] = 0
    options = {"sigma": 1.0, "flood": 0.5, "background": "global", "connectivity": 8}
    for image in (slope, teeth):
        found = [fp.find_sources(image, deblend=True, noise=np.ones_like(image), device=one, **options) for one in ("cpu", device)]
        assert all(np.array_equal(found[0][n], found[1][n]) for n in ("label", "island", "component", "flags", "npix", "x_peak"))
        assert len(found[0]) > 150


def test_a_crowd_is_planned_again_once(device, rng):
    """Of summits without room those over the threshold are counted, and rows made for them."""
    image, plans = rng.standard_normal((120, 130), np.float32), []
    options = {"sigma": 1.0, "deblend": True}
    wanted = fp.find_sources(image, device="cpu", **options)
    table = fp.find_sources(image, device=device, on_plan=plans.append, **options)
    assert len(plans) == 2 and len(table) == len(wanted) <= plans[-1].outputs[2].spec.shape[0] < image.size // 6
    assert all(np.array_equal(wanted[name], table[name]) for name in ("label", "island", "npix", "peak"))


def test_fits_and_rooms_that_are_too_small(device, rng):
    """Members come before the number of sources where fits are made of them."""
    image = field(rng, (97, 131), 2.0)
    options = {"sigma": 1.5, "flood": 0.3, "deblend": True, "fit": "gaussian", "connectivity": 8}
    wanted, table = (fp.find_sources(image, device=one, **options) for one in ("cpu", device))
    exact = ("label", "island", "component", "flags", "npix", "peak")
    assert len(wanted) > 15 and all(np.array_equal(wanted[name], table[name]) for name in exact)
    assert np.nanmedian(np.abs(wanted["fit_x"] - table["fit_x"]) / wanted["fit_x_err"]) < 1e-3
    for room in (1, len(table) - 1):
        with pytest.raises(fp.CapacityError) as caught:
            fp.find_sources(image, capacity=room, device=device, **options)
        assert len(fp.find_sources(image, capacity=caught.value.needed, device=device, **options)) == len(table)
