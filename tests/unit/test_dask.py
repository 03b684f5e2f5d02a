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


def test_nothing_runs_before_compute(monkeypatch):
    from footprint.dist import dask as module

    ran = []
    for name in ("_convolve", "_fbp"):
        monkeypatch.setattr(module, name, lambda *given, **options: ran.append(given))
    module.convolve(da.zeros((8, 9), chunks=4), np.ones((3, 3)))
    module.fbp(da.zeros((4, 8, 9), chunks=4), np.linspace(0, 3, 8), roi=np.array([0, 5, 1, 3]))
    assert ran == []


def test_an_empty_image_stays_empty():
    from footprint.dist.dask import convolve

    image = np.zeros((0, 5), "u1")
    assert convolve(da.from_array(image), np.ones((3, 3))).compute().shape == fp.convolve(image, np.ones((3, 3))).shape == (0, 5)


def test_bad_arguments_are_one_sentence():
    from footprint.dist.dask import convolve, fbp

    image, mask = da.zeros((8, 8)), np.ones((3, 3))
    with pytest.raises(ArgumentError, match="mirror"):
        convolve(image, mask, boundary="mirror")
    with pytest.raises(ArgumentError, match=r"image: got a ndarray, wanted a dask.array.Array"):
        convolve(np.zeros((8, 8)), mask)
    with pytest.raises(ShapeError, match="image: got dtype complex64"):
        convolve(image.astype("c8"), mask)
    with pytest.raises(ShapeError, match=r"image: got chunks of unknown size .*compute_chunk_sizes"):
        convolve(image[image[:, 0] == 0], mask)
    with pytest.raises(ArgumentError, match="cval"):
        convolve(image, mask, cval="much")
    stack, angles = da.zeros((4, 8, 9)), np.linspace(0, 3, 8)
    with pytest.raises(ShapeError, match="sinograms"):
        fbp(image, np.zeros(8))
    with pytest.raises(ArgumentError, match="sinograms: got a ndarray"):
        fbp(np.zeros((4, 8, 9)), angles)
    with pytest.raises(ShapeError, match="angles"):
        fbp(stack, angles[:3])
    for name, value in {"filter": "sharp", "roi": (0, 8), "out": np.zeros((4, 9, 9), "f4"), "progress": print}.items():
        with pytest.raises(ArgumentError, match=name):
            fbp(stack, angles, **{name: value})
