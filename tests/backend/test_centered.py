"""Slices moved so that the axis lies in their middle, and larger ones."""

import numpy as np
import pytest

import footprint as fp
from tests.scans import ArrayScan

ANGLES = np.arange(24) * np.pi / 24


def lines(rng, angles=ANGLES, n_x=32):
    return ArrayScan(rng.random((len(angles), 1, n_x)).astype("f4"), angles)


@pytest.mark.parametrize("how", [{"method": "direct"}, {"method": "fourier"}, {"method": "sirt", "iterations": 3}])
def test_the_axis_lies_in_the_middle(backend, rng, how):
    """By whole pixels it is a region of another place, to the last bit."""
    scan = lines(rng)
    made = lambda **more: fp.reconstruct(scan, center=19.5, log=False, device=backend.limits.device, **how, **more)
    centered = made(centered=True)
    np.testing.assert_allclose(centered, made(roi=(4, 36, 4, 36)), rtol=0, atol=2e-5 * np.abs(centered).max())
    if "iterations" not in how:
        # What is iterated of a part is not part of what is iterated.
        np.testing.assert_allclose(made(centered=True, roi=(3, 9, 5, 20)), centered[:, 5:20, 3:9], rtol=0, atol=1e-5)
    larger = made(margin=3)
    assert larger.shape == (1, 38, 38)
    np.testing.assert_array_equal(larger, made(roi=(-3, 35, -3, 35)))
    if "iterations" not in how:
        alike = {"center": 19.5, "centered": True, "margin": 2, **how}
        slices = fp.fbp(scan.raw[:, 0], ANGLES, device=backend.limits.device, **alike)
        np.testing.assert_array_equal(slices, made(centered=True, margin=2)[0])
        assert [slot.spec.shape for slot in fp.plan_fbp((24, 32), device="cpu", **alike).outputs] == [(1, 36, 36)]


def test_parts_of_a_pixel_and_the_circle(rng):
    """Between pixels, against sums in float64: a slice about (c, c) read where the axis is moved to."""
    scan, c = lines(rng), 17.3
    found = fp.reconstruct(scan, center=c, log=False, centered=True, device="cpu", filter="none")[0]
    x = np.arange(32) - 15.5
    want = np.zeros((32, 32))
    for row, t in zip(scan.raw[:, 0].astype(float), ANGLES):
        want += np.interp(c + np.cos(t) * x - np.sin(t) * x[:, None], np.arange(32), row, 0, 0) * np.pi / len(ANGLES)
    inside = x**2 + x[:, None] ** 2 < 13.0**2
    np.testing.assert_allclose(found[inside], want[inside], rtol=1e-5)
    masked = fp.reconstruct(scan, center=c, log=False, centered=True, circle=True, device="cpu", filter="none")[0]
    seen = x**2 + x[:, None] ** 2 <= (31 - c + 0.5) ** 2
    np.testing.assert_array_equal(masked, np.where(seen, found, 0))


def test_half_acquisitions(rng):
    angles = np.arange(48) * 2 * np.pi / 48
    how = {"center": 28.0, "log": False, "half_acquisition": True, "device": "cpu"}
    scan = lines(rng, angles)
    n = fp.reconstruct(scan, **how).shape[1]
    assert (n - 1) / 2 == 28.0
    moved = fp.reconstruct(scan, centered=True, margin=2, **how)
    np.testing.assert_array_equal(moved, fp.reconstruct(scan, roi=(-2, n + 2, -2, n + 2), **how))


def test_mistakes(rng):
    for wrong in (-1, 1.5, True):
        with pytest.raises(fp.ArgumentError, match="margin"):
            fp.reconstruct(lines(rng), center=16, log=False, margin=wrong)
