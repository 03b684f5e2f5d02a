"""Values near the end of what a dtype holds: what is beyond is infinite, or told of in a sentence; NumPy warns of nothing."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import footprint as fp

BASE = np.random.default_rng(7).standard_normal((70, 80))
IMAGES = {
    "float32 of 3e38": np.clip(BASE * 2e38, -3.3e38, 3.3e38).astype(np.float32),
    "float16 of 6e4": np.clip(BASE * 6e4, -65000, 65000).astype(np.float16),
    "float64 of 1e40": BASE * 1e40,
    "float64 of 1e200": BASE * 1e200,
    "float64 of 1e308": np.clip(BASE, -1.7, 1.7) * 1e308,
}
ALL = {"fit": "gaussian", "apertures": [3], "annulus": (5, 8), "kron": True, "windowed": True, "deblend": True, "min_area": 1}
CALLS = {
    "convolve": lambda a, **how: fp.convolve(a, np.ones((5, 5)), **how),
    "convolve to float32": lambda a, **how: fp.convolve(a, np.ones((5, 5)), dtype="float32", **how),
    "convolve to float16": lambda a, **how: fp.convolve(a, np.ones((5, 5)), dtype="float16", **how),
    "convolve with a huge mask": lambda a, **how: fp.convolve(a, np.full((3, 3), 1e300), **how),
    "gaussian_filter": lambda a, **how: fp.gaussian_filter(a, 2, **how),
    "gaussian_filter to float16": lambda a, **how: fp.gaussian_filter(a, 2, output="float16", **how),
    "threshold": lambda a, **how: fp.threshold(a, 1e38, **how),
    "sigma_clip": lambda a, **how: fp.sigma_clip(a, **how),
    "find_sources": lambda a, **how: fp.find_sources(a, 3, **how),
    "find_sources above 1e37": lambda a, **how: fp.find_sources(a, 1, background=0, noise=1e37, **ALL, **how),
    "fbp": lambda a, **how: fp.fbp(a, **how),
    "ramp_filter": lambda a, **how: fp.ramp_filter(a, **how),
    "project": lambda a, **how: fp.project(a[:70, :70], np.linspace(0, 3, 10), **how),
    "remove_zingers": lambda a, **how: fp.remove_zingers(a, 0.5, **how),
}


@pytest.mark.parametrize("image", IMAGES)
@pytest.mark.parametrize("call", CALLS)
def test_numpy_warns_of_nothing(device, call, image):
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        warnings.simplefilter("ignore", UserWarning)
        CALLS[call](IMAGES[image], device=device)


def test_what_is_beyond_the_results_dtype_is_infinite(device):
    image = np.full((20, 20), 30000.0, np.float32)
    image[:, 10:] = 1
    found = fp.convolve(image, np.ones((3, 3)), dtype="float16", boundary="nearest", device=device)
    assert found.dtype == np.float16 and np.isposinf(found[:, :9]).all() and (found[:, 12:] == 9).all()
    found = fp.convolve(image.astype(float) * 1e36, np.ones((3, 3)), dtype="float32", boundary="nearest", device=device)
    assert np.isposinf(found[:, :9]).all() and np.isfinite(found[:, 12:]).all()


def test_light_whose_moments_overflow_has_fits_from_a_pixel(device):
    """One was divided by 0, where the light's own second moments were infinite."""
    table = fp.find_sources(IMAGES["float64 of 1e308"], 1, background=0, noise=1e37, fit="gaussian", min_area=1, device=device)
    assert len(table) > 100 and np.isfinite(table["peak"]).all()


@pytest.mark.parametrize("image", ["float64 of 1e200", "float64 of 1e308"])
def test_squares_that_overflow_leave_no_noise(device, image):
    """A GPU found a noise of 0, or of infinity, where the processor found none."""
    clip = fp.sigma_clip(IMAGES[image], device=device)
    assert np.isnan([clip.std, clip.low, clip.high]).all() and clip.median == np.median(IMAGES[image])
