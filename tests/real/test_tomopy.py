"""TomoPy's own expected arrays, where they are: what means the same gives the same.

Not compared: gridrec of 16 angles, a quarter of its norm from both our methods; the stripe filter by db5, a wavelet that we
do not have; the phase filter.
"""

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
