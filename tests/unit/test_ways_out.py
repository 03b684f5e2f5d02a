"""What a sentence of refusal says is to be done, where there is a way."""

from __future__ import annotations

import warnings
from array import array

import numpy as np
import pytest

import footprint as fp

IMAGE = np.arange(48.0).reshape(6, 8)


def test_a_window_goes_to_footprint():
    with pytest.raises(fp.ArgumentError, match=r"^size: got an array of shape \(3, 3\), .*; give footprint=\.$"):
        fp.median_filter(IMAGE, np.ones((3, 3)))


@pytest.mark.parametrize("word", ["zingers", "tilt", "phase", "unsharp", "normalization", "rings"])
def test_a_step_goes_to_steps(word):
    with pytest.raises(TypeError, match=rf"{word}.*steps=footprint\.steps\({word}=\.\.\.\)"):
        fp.plan_reconstruct((6, 4, 8), **{word: 1})


def test_one_sinogram_of_dask_is_a_stack_of_one():
    da = pytest.importorskip("dask.array")
    with pytest.raises(fp.ShapeError, match=r"^sinogram: got 2 dimensions, .*; give sinogram\[None\] for one\.$"):
        fp.fbp(da.ones((6, 8)), np.zeros(6))


def test_a_kernel_with_names_of_some_axes_is_told_their_numbers():
    xr = pytest.importorskip("xarray")
    cube, kernel = xr.DataArray(np.ones((3, 6, 8)), dims=("band", "y", "x")), xr.DataArray(np.ones((3, 3)), dims=("y", "x"))
    with pytest.raises(fp.ShapeError, match=r"give axes=\(1, 2\)"):
        fp.convolve(cube, kernel)
    assert fp.convolve(cube, kernel, axes=(1, 2)).dims == cube.dims


def test_an_array_of_pythons_is_one():
    """It was told that an array is wanted."""
    line = array("d", range(8))
    np.testing.assert_array_equal(fp.gaussian_filter(line, 1), fp.gaussian_filter(np.arange(8.0), 1))


def test_millimetres_in_place_of_metres_are_warned_of():
    how = {"delta_beta": 100, "energy": 20, "pixel_size": 5e-6, "device": "cpu"}
    with pytest.warns(UserWarning, match="a distance of 300 metres is rare, .*: it may be in millimetres"):
        fp.plan_paganin((8, 64, 64), distance=300, **how)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fp.plan_paganin((8, 64, 64), distance=38.0, **how)
