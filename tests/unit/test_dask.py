"""Dask arrays in, Dask arrays out: the same as the whole, whatever the chunks."""

import numpy as np
import pytest

import footprint as fp
from footprint.errors import ArgumentError, ShapeError

da = pytest.importorskip("dask.array", reason="dask is not installed")


@pytest.mark.parametrize("boundary", ["constant", "nearest", "reflect", "wrap"])
@pytest.mark.parametrize("mask_shape", [(3, 5), (4, 2), (1, 1)])
def test_convolve_has_no_seams(boundary, mask_shape, rng):
    from footprint.dist.dask import convolve

    image, mask = rng.standard_normal((61, 47), np.float32), rng.standard_normal(mask_shape).astype("f4")
    lazy = convolve(da.from_array(image, chunks=(20, 16)), mask, boundary=boundary, cval=1.5)
    whole = fp.convolve(image, mask, boundary=boundary, cval=1.5)
    assert lazy.dtype == whole.dtype
    np.testing.assert_allclose(lazy.compute(), whole, atol=1e-5)


def test_fbp_slices_are_independent(rng):
    from footprint.dist.dask import fbp

    sinograms, angles = rng.random((5, 20, 32), np.float32), np.linspace(0, np.pi, 20, endpoint=False)
    lazy = fbp(da.from_array(sinograms, chunks=(2, 7, 9)), angles, method="direct", roi=(3, 20, 0, 32))
    whole = fp.fbp(sinograms, angles, method="direct", roi=(3, 20, 0, 32))
    assert lazy.shape == whole.shape
    np.testing.assert_allclose(lazy.compute(), whole, atol=1e-5)


def test_bad_arguments_are_one_sentence(rng):
    from footprint.dist.dask import convolve, fbp

    with pytest.raises(ArgumentError, match="mirror"):
        convolve(da.zeros((8, 8)), np.ones((3, 3)), boundary="mirror")
    with pytest.raises(ShapeError, match="sinograms"):
        fbp(da.zeros((8, 8)), np.zeros(8))
