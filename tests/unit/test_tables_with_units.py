"""Small tables that come with a unit: an angle means what it says, and what has no meaning here is refused."""

from __future__ import annotations

import re

import numpy as np
import pytest

import footprint as fp

u = pytest.importorskip("astropy.units")

DEGREES = np.linspace(0, 90, 12)


@pytest.fixture
def sinogram(rng):
    return rng.random((12, 16)).astype(np.float32)


@pytest.mark.parametrize(
    "verb",
    [
        lambda s, angles: fp.fbp(s, angles),
        lambda s, angles: fp.backproject(s, angles),
        lambda s, angles: fp.project(s, angles, n_x=16),
        lambda s, angles: fp.sirt(s, angles, iterations=2),
        lambda s, angles: fp.cgls(s, angles, iterations=2),
        lambda s, angles: fp.tv(s, angles, weight=0.1, iterations=2),
    ],
    ids=["fbp", "backproject", "project", "sirt", "cgls", "tv"],
)
def test_angles_with_a_unit_are_what_they_say(verb, sinogram):
    """Degrees were read as radians."""
    from astropy.coordinates import Angle

    expected = verb(sinogram, np.radians(DEGREES))
    for angles in (DEGREES * u.deg, Angle(DEGREES, "deg"), np.radians(DEGREES) * u.rad, 60 * DEGREES * u.arcmin):
        np.testing.assert_allclose(verb(sinogram, angles), expected, rtol=1e-5, atol=1e-5)
    # In turn with a table of the same bytes: no plan that is kept is taken for the other's.
    np.testing.assert_array_equal(verb(sinogram, np.radians(DEGREES)), expected)
    bare = verb(sinogram, np.radians(DEGREES) * u.dimensionless_unscaled)
    np.testing.assert_array_equal(bare, expected)


REFUSED = {
    "angles-length": (lambda s: fp.fbp(s, DEGREES * u.mm), "angles a Quantity in mm rad"),
    "angles-percent": (lambda s: fp.fbp(s, DEGREES * u.percent), "angles a Quantity in % rad"),
    "angles-listed": (lambda s: fp.fbp(s, list(DEGREES * u.deg)), "angles a list of Quantities astropy.units.Quantity"),
    "axis-shifts": (lambda s: fp.fbp(s, axis_shifts=np.ones(12) * u.mm), "axis_shifts a Quantity in mm without a unit"),
    "axis-shifts-of-sums": (lambda s: fp.sirt(s, axis_shifts=np.ones(12) * u.mm), "axis_shifts a Quantity in mm"),
    "axis-shifts-of-rows": (lambda s: fp.backproject(s, axis_shifts=np.ones(12) * u.mm), "axis_shifts a Quantity in mm"),
    "shifts": (lambda s: fp.plan_reconstruct((12, 4, 16), shifts=np.ones(12) * u.mm), "shifts a Quantity in mm"),
    "center": (lambda s: fp.plan_reconstruct((12, 4, 16), center=np.ones(4) * u.mm), "center a Quantity in mm"),
    "gains": (lambda s: fp.fbp(s, filter=np.ones(17) * u.m), "filter a Quantity in m"),
    "window": (lambda s: fp.median_filter(s, footprint=np.ones((3, 3)) * u.m), "footprint a Quantity in m"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_unit_that_means_nothing_here_is_refused(case, sinogram):
    """Millimetres were pixels."""
    verb, words = REFUSED[case]
    with pytest.raises(fp.ArgumentError) as caught:
        verb(sinogram)
    name, *rest = words.split(" ")
    assert re.match(rf"{name}: .*{'.*'.join(map(re.escape, rest))}", str(caught.value)), caught.value


def test_angles_of_a_scan_are_what_they_say(rng):
    frames = rng.random((12, 4, 16)).astype(np.float32)
    for angles in DEGREES * u.deg, np.radians(DEGREES) * u.rad, np.radians(DEGREES):
        np.testing.assert_allclose(fp.open_scan(frames, angles=angles).angles, np.radians(DEGREES), rtol=1e-12)
    with pytest.raises(fp.ArgumentError, match="angles: got a Quantity in mm"):
        fp.open_scan(frames, angles=DEGREES * u.mm)
    with pytest.raises(fp.ArgumentError, match="angle_unit: got 'deg', wanted no angle_unit: the angles have a unit"):
        fp.open_scan(frames, angles=DEGREES * u.rad, angle_unit="deg")
