"""TomoPy's own expected arrays, where they are: what means the same gives the same."""

from __future__ import annotations

import numpy as np
import pytest

import footprint as fp
from footprint.ops.flatfield import Flat, Sinograms
from tests.scans import ArrayScan


@pytest.fixture
def golden(data):
    folder = data / "tomography" / "tomopy_golden"
    if not folder.is_dir():
        pytest.skip(f"TomoPy's arrays are not there: {folder} is missing")
    return lambda name: np.load(folder / f"{name}.npy")


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_filters_of_every_plane(golden, axis):
    cube = np.ascontiguousarray(np.moveaxis(golden("cube").astype("f4"), axis, 0))
    for name, method, size, tolerance in (
        ("median_filter", fp.median_filter, 3, 0),
        ("gaussian_filter", fp.gaussian_filter, 3.0, 3e-7),
    ):
        found = np.stack([method(plane, size, device="cpu") for plane in cube])
        np.testing.assert_allclose(np.moveaxis(found, 0, axis), golden(f"{name}_{axis}"), rtol=0, atol=tolerance)


def test_transmission(golden):
    """Below 0 where the dark is brighter, as TomoPy leaves it."""
    flat, dark = golden("flat").mean(axis=0, keepdims=True), golden("dark").mean(axis=0)
    scan = ArrayScan(golden("tomo").astype("f4"), golden("angle").ravel(), flat.astype("f4"), dark.astype("f4"))
    only = lambda steps: [step for step in steps if isinstance(step, Flat | Sinograms)]
    found = fp.reconstruct(scan, center=22.5, steps=only, device="cpu", black_frames="keep")
    np.testing.assert_allclose(found.swapaxes(0, 1), golden("normalize"), rtol=1e-6, atol=1e-7)


def test_sirt(golden):
    """Four iterations with another projector: far nearer than a step more or less, and than what is the other way round."""
    lines, angles = np.ascontiguousarray(golden("proj").swapaxes(0, 1)), golden("angle").ravel()
    want = golden("sirt")[:, ::-1]
    off = [np.linalg.norm(fp.sirt(lines, angles, iterations=n, device="cpu") - want) / np.linalg.norm(want) for n in (3, 4, 5)]
    assert off[1] < 0.04 and min(off[0], off[2]) > 1.5 * off[1], off


def off(found, want):
    """How far apart, in shares of the norm."""
    return np.linalg.norm(found - want) / np.linalg.norm(want)


def test_stripes_by_wavelets(golden):
    """TomoPy's defaults: db5, sigma 2, as many levels as halve the largest side, an eighth more rows of zeros.

    Where a level has an even number of rows its frequencies are half a step off, so the mean is not quite taken away.
    """
    lines, want = np.pad(golden("proj").swapaxes(0, 1), ((0, 0), (1, 1), (0, 0))), golden("remove_stripe_fw").swapaxes(0, 1)
    found = {name: fp.remove_stripes(lines, "fw", wavelet=name, level=6, sigma=2, device="cpu")[:, 1:-1] for name in ("db5", "db4")}
    assert off(found["db5"], want) < 1e-3 < 0.1 < off(found["db4"], want) < off(lines[:, 1:-1], want)


def test_phase(golden):
    """Its regularisation is a ratio of delta and beta, as its frequencies are no angular ones; they lie half a step beside zero."""
    how = {"energy": 20, "distance": 0.5, "pixel_size": 1e-6, "device": "cpu"}
    proj, want, ratio = golden("proj"), golden("retrieve_phase"), 1 / (4 * np.pi**2 * 1e-3)
    apart = [off(fp.paganin(proj, delta_beta=ratio * factor, **how), want) for factor in (0.5, 1, 2)]
    assert apart[1] < 0.01 and min(apart[0], apart[2]) > 0.04 and off(proj, want) > 0.3, apart


@pytest.mark.parametrize(("name", "most"), [("ramlak", 0.18), ("cosine", 0.15), ("parzen", 0.085)])
def test_gridrec(golden, name, most):
    """Sixteen angles, gridded by another window: nearest where our conventions say, mirrored in y about an axis at n / 2."""
    lines, angles = np.ascontiguousarray(golden("proj").swapaxes(0, 1)), golden("angle").ravel()
    want, (y, x) = golden(f"gridrec_{name}")[:, :0:-1], np.mgrid[1:48, :48]
    inside = (y - 24) ** 2 + (x - 24) ** 2 < 20**2

    def apart(center, want):
        found = fp.fbp(lines, angles, center=center, filter=name, device="cpu")[:, 1:, :][:, inside]
        scale = (found * want[:, inside]).sum() / (found**2).sum()
        assert abs(scale - 1) < 0.12
        return off(scale * found, want[:, inside])

    at = [apart(center, want) for center in (23.75, 24, 24.25)]
    assert at[1] < most and at[1] < 0.9 * min(at[0], at[2]), at
