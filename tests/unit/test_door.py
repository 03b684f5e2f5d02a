"""Public verbs on arrays that are more than numbers in memory: Dask's stay lazy, labelled ones keep their labels."""

from __future__ import annotations

import numpy as np
import pytest

import footprint as fp
from footprint.errors import ArgumentError, ShapeError

da = pytest.importorskip("dask.array", reason="dask is not installed")
MASK = np.arange(12.0).reshape(3, 4)


def never(block):
    raise AssertionError("computed at the call")


def lazily(image, chunks):
    """A Dask array, and one like it that must not be computed."""
    lazy = da.from_array(image, chunks=chunks)
    return lazy, lazy.map_blocks(never, meta=np.empty((0,) * image.ndim, image.dtype))


CALLS = {
    "gaussian_filter": lambda a, **o: fp.gaussian_filter(a, 2, mode="wrap", **o),
    "median_filter": lambda a, **o: fp.median_filter(input=a, size=5, mode=["wrap", "reflect"], **o),
    "convolve": lambda a, **o: fp.convolve(a, MASK, boundary="mirror", **o),
    "convolve, moved": lambda a, **o: fp.convolve(image=a, mask=MASK, boundary="wrap", origin=(1, -1), **o),
    "correlate, moved": lambda a, **o: fp.correlate(a, MASK, "same", boundary="reflect", origin=(-1, 1), **o),
    "convolve, along one": lambda a, **o: fp.convolve(a, MASK[1], axes=0, boundary="wrap", origin=1, **o),
    "remove_stripes": lambda a, **o: fp.remove_stripes(a[None], "mean", **o),
    "ramp_filter": lambda a, **o: fp.ramp_filter(sinogram=a[None], **o),
}


@pytest.mark.parametrize("verb", CALLS)
def test_dask_arrays_stay_lazy(verb, rng):
    image = rng.random((31, 47), np.float32)
    lazy, untouched = lazily(image, (9, 11))
    assert isinstance(CALLS[verb](untouched), da.Array)
    found, whole = CALLS[verb](lazy, memory="1MB"), CALLS[verb](image)
    assert (found.shape, found.dtype) == (whole.shape, whole.dtype)
    np.testing.assert_array_equal(found.compute(scheduler="threads"), whole)


def test_a_dataset_is_several_arrays():
    xarray = pytest.importorskip("xarray", reason="xarray is not installed")
    with pytest.raises(ArgumentError, match=r"input: got a Dataset of xarray, wanted one array; give one of its variables"):
        fp.median_filter(xarray.Dataset({"sky": (("y", "x"), np.ones((5, 6)))}), 3)


def test_sums_of_volumes_and_planes_of_stacks(rng):
    volume = rng.random((7, 12, 10), np.float32)
    lazy, _ = lazily(volume, 4)
    for mask, how in (MASK[None] * np.ones((2, 1, 1)), {}), (MASK, {"axes": (1, 2)}), (MASK, {"axes": (-2, 0)}):
        found = fp.correlate(lazy, mask, boundary="nearest", **how)
        np.testing.assert_array_equal(found.compute(scheduler="threads"), fp.correlate(volume, mask, boundary="nearest", **how))


def test_plans_of_dask_arrays_are_of_the_largest_task():
    _, lazy = lazily(np.zeros((300, 200), "f4"), (100, 50))
    for plan, wanted in {
        fp.plan_median_filter(lazy, 5, mode="nearest", device="cpu"): (104, 54),
        fp.plan_convolve(lazy, MASK, boundary="nearest", result="f8", device="cpu"): (102, 53),
        fp.plan_correlate(lazy, (5, 5), origin=(2, 0), device="cpu", memory="1MB"): (104, 54),
    }.items():
        assert plan.inputs[0].spec.shape == wanted
    with pytest.raises(ArgumentError, match="dtype: got 'f8', wanted none beside a Dask array"):
        fp.plan_median_filter(lazy, 5, dtype="f8")
    with pytest.raises(ArgumentError, match=r"shape: got an Array, wanted a tuple .* give its \.shape"):
        fp.plan_sigma_clip(lazy)


def test_what_no_lazy_array_has_is_refused_at_the_call():
    _, lazy = lazily(np.zeros((8, 9), "f4"), 4)
    wrong = {
        "mode: got 'full', wanted 'same' for a Dask array": lambda: fp.convolve(lazy, MASK, "full"),
        "mode: got 'wrap', wanted one of .*boundary='wrap'": lambda: fp.convolve(lazy, MASK, "wrap"),
        "masks: got 'all', wanted 'one'": lambda: fp.correlate(lazy, MASK[None], masks="all"),
        "out: got an ndarray, wanted None, as nothing runs yet": lambda: fp.convolve(lazy, MASK, out=np.zeros((8, 9), "f4")),
        "mask: got an Array of dask, which is still to be computed": lambda: fp.convolve(lazy, da.ones((3, 3))),
        "mask: got 3 dimensions, wanted 2": lambda: fp.convolve(lazy, MASK[None]),
        "origin": lambda: fp.convolve(lazy, MASK, origin=7),
        "axes: got": lambda: fp.convolve(lazy, MASK, axes=(0, 5)),
        "size": lambda: fp.median_filter(lazy, 0),
    }
    for sentence, call in wrong.items():
        with pytest.raises(ArgumentError, match=sentence):
            call()
    stack = da.zeros((4, 8, 9), chunks=(2, 8, 9))
    calls = (
        lambda m: fp.gaussian_filter(lazy, 1, memory=m),
        lambda m: fp.convolve(lazy, MASK, memory=m),
        lambda m: fp.ramp_filter(stack, memory=m),
    )
    for call in calls:
        for memory in "1 potato", -5, [3]:
            with pytest.raises(ArgumentError, match=r"memory: got .*, wanted bytes such as '4GB'"):
                call(memory)
        for memory in "80%", 0.5, "1MB", 10**6:
            call(memory)
    for verb, given in (fp.remove_zingers, stack), (fp.paganin, stack), (fp.gaussian_filter, lazy):
        # Of the function that was called, and none that stands behind it.
        with pytest.raises(TypeError, match=rf"^{verb.__name__}\(\) missing"):
            verb(given)
    with pytest.raises(TypeError, match=r"^remove_zingers\(\) takes .*; name what comes after threshold, as in size="):
        fp.remove_zingers(stack, 1, 2, 3)
    with pytest.raises(TypeError, match="'kernel'; that is mask= here"):
        fp.convolve(lazy, kernel=MASK)
    with pytest.raises(ShapeError, match="chunks of unknown size"):
        fp.gaussian_filter(da.ones((8, 9))[da.ones(8) > 0], 1)


EAGER = {
    "image": (fp.sigma_clip, fp.find_sources, fp.background, lambda a: fp.threshold(a, 1), lambda a: fp.measure(a, a)),
    "mask": (fp.label, lambda a: fp.convolve(np.zeros((8, 9)), a)),
    "dst": (lambda a: fp.muladd(a, a),),
    "array": (lambda a: fp.pad(a, 1),),
    "weight": (lambda a: fp.convolve(np.zeros((8, 9)), MASK, weight=a),),
    "out": (lambda a: fp.convolve(np.zeros((8, 9), "f4"), MASK, out=a),),
}


def test_verbs_without_a_lazy_form_never_load_what_memory_may_not_hold():
    _, lazy = lazily(np.zeros((8, 9), "f4"), 4)
    for name, verbs in EAGER.items():
        for verb in verbs:
            with pytest.raises(ArgumentError, match=rf"^{name}: got an Array of dask, .* give its \.compute\(\)"):
                verb(lazy)


class DataArray:
    """What xarray's has that matters here."""

    def __init__(self, data, dims=("y", "x"), name=None, attrs=None, coords=None):
        self.data, self.dims, self.name, self.attrs, self.coords = data, dims, name, attrs, coords
        self.shape, self.ndim = data.shape, data.ndim

    def copy(self, data):
        return DataArray(data, self.dims, self.name, self.attrs, self.coords)


# Its class has no attribute of this name, but instances have; xarray's is a property.
DataArray.data = None
DataArray.__module__ = "xarray.core.dataarray"


def test_labels_are_kept(rng):
    image = rng.random((31, 47), np.float32)
    labelled = DataArray(image, name="sky", coords={"y": range(31)})
    found = fp.gaussian_filter(labelled, 2, mode="wrap")
    assert isinstance(found, DataArray) and (found.dims, found.name, found.coords) == (("y", "x"), "sky", labelled.coords)
    np.testing.assert_array_equal(found.data, fp.gaussian_filter(image, 2, mode="wrap"))
    lazy = fp.convolve(DataArray(lazily(image, 16)[1]), MASK)
    assert isinstance(lazy, DataArray) and isinstance(lazy.data, da.Array)
    larger = fp.convolve(labelled, MASK, "full")
    assert (larger.shape, larger.dims, larger.name, larger.coords) == ((33, 50), ("y", "x"), "sky", None)
    out = np.empty_like(image)
    assert fp.convolve(labelled, MASK, out=out) is out
    # Without a place for labels, as an array; what its Dask array has is not loaded.
    assert type(fp.pad(labelled, 1)) is np.ndarray
    with pytest.raises(ArgumentError, match="array: got an Array of dask"):
        fp.pad(DataArray(lazily(image, 16)[1]), 1)


class Opaque:
    """What h5py's datasets, Zarr's arrays and pandas' tables are to a verb: two axes, an array on request, no indexing by None."""

    shape, ndim, dtype = (12, 16), 2, np.dtype("f4")

    def __array__(self, dtype=None, copy=None):
        return np.ones(self.shape, "f4")


class Sparse(Opaque):
    """A sparse array: ``data`` are those that are not 0."""

    data = np.ones(3)

    def __array__(self, dtype=None, copy=None):
        raise RuntimeError("cannot convert automatically")

    def todense(self):
        return np.ones(self.shape)


def test_what_is_no_array_is_read_or_refused_in_a_sentence():
    plain = np.ones((12, 16), "f4")
    for verb in lambda a: fp.fbp(a, method="direct", device="cpu"), lambda a: fp.backproject(a, device="cpu"):
        for given in Opaque(), np.ma.array(plain):
            np.testing.assert_array_equal(verb(given), verb(plain))
    dst = np.ma.array(plain.copy())
    assert fp.muladd(dst, plain, 2, 3, device="cpu") is dst and (dst == 5).all()
    for verb in fp.sigma_clip, fp.label, lambda a: fp.convolve(plain, a):
        with pytest.raises(ArgumentError, match=r"got a Sparse, wanted an array; give its \.todense\(\)"):
            verb(Sparse())
    with pytest.raises(ArgumentError, match=r"angles: got .*, wanted numbers"):
        fp.fbp(plain, Sparse())
    for shape in Opaque(), b"abc", {3: 1, 4: 1}:
        with pytest.raises(ArgumentError, match=r"shape: got .*, wanted a tuple of whole numbers"):
            fp.plan_gaussian_filter(shape, 1)
