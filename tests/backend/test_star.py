"""Laplacians of volumes, which one launch makes of a voxel and its six neighbours, against scipy.ndimage."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.ndimage

import footprint as fp

from .kernels import in_turn

MODES = ["reflect", "mirror", "nearest", "wrap", "constant"]
SHAPES = [(1, 1, 1), (2, 1, 3), (1, 7, 5), (3, 5, 1), (7, 2, 131), (40, 3, 2), (5, 33, 257)]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("mode", MODES)
def test_volumes_of_any_shape_at_every_border(shape, mode, device, rng):
    in_turn(device, SHAPES.index(shape) + MODES.index(mode), 3)
    volume, how = rng.standard_normal(shape), {"mode": mode, "cval": 2.5}
    np.testing.assert_allclose(fp.laplace(volume, device=device, **how), scipy.ndimage.laplace(volume, **how), rtol=0, atol=1e-13)


@pytest.mark.parametrize("dtype", ["f2", "f4", ">f4", "u1", ">u2", "i4"])
def test_volumes_of_any_dtype(dtype, device, rng):
    in_turn(device, ["f2", "f4", ">f4", "u1", ">u2", "i4"].index(dtype), 2)
    volume = (100 * rng.standard_normal((9, 14, 30))).astype(dtype)[::2, :, ::-3]
    got, want = fp.laplace(volume, device=device), scipy.ndimage.laplace(volume.astype(float))
    np.testing.assert_allclose(got, want, rtol=0, atol=1e-6 * 12 * np.abs(volume.astype(float)).max())


def test_a_nan_and_an_infinity_reach_the_six_beside_them_only(device):
    volume = np.zeros((7, 8, 9), "f4")
    near = np.zeros(volume.shape, bool)
    near[2:5, 4, 4] = near[3, 3:6, 4] = near[3, 4, 3:6] = True
    volume[3, 4, 4] = np.nan
    np.testing.assert_array_equal(np.isnan(fp.laplace(volume, device=device)), near)
    volume[3, 4, 4] = np.inf
    want = np.where(near, np.inf, np.float32(0))
    want[3, 4, 4] = -np.inf
    np.testing.assert_array_equal(fp.laplace(volume, device=device), want)


@pytest.mark.parametrize("mode", MODES)
def test_any_budget_and_order_of_axes_gives_the_same_bits(mode, device, rng):
    """In tiles along all axes where the budget is that small, and where the longest axis is brought to the end."""
    in_turn(device, MODES.index(mode), 2)
    volume, how = rng.standard_normal((13, 9, 22)).astype("f4"), {"mode": mode, "cval": -1.0, "device": device}
    whole = fp.laplace(volume, **how)
    with pytest.raises(fp.BudgetError) as caught:
        fp.laplace(volume, memory=1, **how)
    for memory in (caught.value.smallest, 2 * caught.value.smallest):
        np.testing.assert_array_equal(fp.laplace(volume, memory=memory, **how), whole)
    long = np.ascontiguousarray(volume.transpose(2, 0, 1))
    np.testing.assert_allclose(fp.laplace(long, **how), whole.transpose(2, 0, 1), rtol=0, atol=1e-5)
    assert [step.kernel for step in fp.plan_laplace(volume.shape, mode=mode, device=device).steps if step.kernel] == ["star"]


def test_large_volumes_are_shared_by_threads(rng):
    volume = rng.standard_normal((40, 60, 90)).astype("f4")
    got = fp.laplace(volume, device="cpu")
    np.testing.assert_allclose(got, scipy.ndimage.laplace(volume.astype(float)), rtol=0, atol=1e-6 * 12 * np.abs(volume).max())
