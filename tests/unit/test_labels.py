"""Arrays with named axes beside others: which pixel is masked is said by names, and never by where an axis happens to stand."""

from __future__ import annotations

import numpy as np
import pytest

import footprint as fp
from footprint.errors import ArgumentError, ShapeError


class DataArray:
    """What xarray's has that matters here."""

    def __init__(self, data, dims, coords=None, name=None, attrs=None):
        self.data, self.dims, self.coords, self.name, self.attrs = data, tuple(dims), coords or {}, name, attrs
        self.shape, self.ndim = data.shape, data.ndim

    @property
    def indexes(self):
        return {axis: Index(values) for axis, values in self.coords.items()}

    @property
    def T(self):
        return self.transpose(*self.dims[::-1])

    def transpose(self, *dims):
        return DataArray(self.data.transpose([self.dims.index(axis) for axis in dims]), dims, self.coords)

    def copy(self, data):
        return DataArray(data, self.dims, self.coords, self.name, self.attrs)


class Index(list):
    equals = list.__eq__


# Its class has no attribute of this name, but instances have; xarray's is a property.
DataArray.data = None
DataArray.__module__ = "xarray.core.dataarray"


@pytest.fixture(params=["xarray", "a stand-in"])
def named(request):
    if request.param == "a stand-in":
        return DataArray
    return pytest.importorskip("xarray", reason="xarray is not installed").DataArray


@pytest.fixture
def image(rng):
    return rng.random((31, 31), np.float32)


YX, MASK = ("y", "x"), np.arange(6.0).reshape(2, 3)


def test_what_is_beside_an_image_goes_by_names(named, image):
    sky, bad = named(image, dims=YX), image > 0.8
    for how in {"masked": bad}, {"weight": image + 1}, {"masked": bad, "weight": image + 1}:
        want = fp.convolve(image, MASK, **how)
        for turned in False, True:
            beside = {word: named(one, dims=YX) for word, one in how.items()}
            got = fp.convolve(sky, MASK, **{word: one.T if turned else one for word, one in beside.items()})
            np.testing.assert_array_equal(got.data, want)
    # Without names it goes by position, as it always did.
    np.testing.assert_array_equal(fp.correlate(image=sky, mask=MASK, masked=bad).data, fp.correlate(image, MASK, masked=bad))


def test_source_finding_goes_by_names(named, image):
    labels, count = fp.label(image > 0.7)
    assert (fp.measure(named(image, dims=YX), named(labels, dims=YX).T, count) == fp.measure(image, labels, count)).all()
    sky, bad, at = image.copy(), np.zeros(image.shape, bool), [[12.0, 20.0]]
    bad[18:23, 8:14] = True
    want = fp.apertures(sky, at, 3, mask=bad)
    got = fp.apertures(named(sky, dims=YX), at, 3, mask=named(bad, dims=YX).T)
    assert repr(got) == repr(want) != repr(fp.apertures(sky, at, 3, mask=bad.T))


def test_frames_and_what_is_beside_them_go_by_names(named, image):
    bad, want = image > 0.8, fp.convolve(image, MASK, masked=image > 0.8)
    frames = [named(image, dims=YX, coords={"x": [i + at for i in range(31)]}) for at in (0, 5)]
    beside = named(bad, dims=YX, coords={"x": list(range(31))})
    for got in fp.stream([frames[0], frames[1].T], mask=MASK, masked=beside.T):
        np.testing.assert_array_equal(got, want)
    with pytest.raises(ShapeError, match=r"frame 1: got dimensions \('u', 'x'\), wanted the first frame's"):
        list(fp.stream([frames[0], named(image, dims=("u", "x"))], mask=MASK))


def test_other_names_and_other_coordinates_are_refused(named, image):
    rows, bad = list(range(31)), image > 0.8
    sky = named(image, dims=YX, coords={"y": rows})
    np.testing.assert_array_equal(
        fp.convolve(sky, MASK, masked=named(bad, dims=YX, coords={"y": rows}).T).data, fp.convolve(image, MASK, masked=bad)
    )
    # Coordinates that only one of them has say nothing.
    fp.convolve(sky, MASK, masked=named(bad, dims=YX, coords={"x": rows}))
    shifted = named(bad, dims=YX, coords={"y": [i + 5 for i in rows]})
    with pytest.raises(ArgumentError, match=r"masked: got coordinates along 'y' that are not the image's, .*; xarray\.align"):
        fp.convolve(sky, MASK, masked=shifted)
    with pytest.raises(ShapeError, match=r"weight: got dimensions \('y', 'u'\), wanted the image's \('y', 'x'\); rename them"):
        fp.correlate(sky, MASK, weight=named(image, dims=("y", "u")))


def test_masks_go_by_names_where_they_have_the_images(named, image):
    sky, want = named(image, dims=YX), fp.convolve(image, MASK)
    for mask in (
        named(MASK, dims=YX, coords={"x": [-1, 0, 1]}),
        named(MASK, dims=YX).T,
        named(MASK, dims=("down", "across")),
    ):
        np.testing.assert_array_equal(fp.convolve(sky, mask).data, want)
    with pytest.raises(
        ShapeError, match=r"mask: got dimensions \('z', 'x'\), wanted those the image is filtered along, \('y', 'x'\)"
    ):
        fp.convolve(sky, named(MASK, dims=("z", "x")))
    window = MASK > 1
    got = fp.median_filter(sky, footprint=named(window, dims=YX).T)
    np.testing.assert_array_equal(got.data, fp.median_filter(image, footprint=window))
    cube = named(np.stack([image, image + 1]), dims=("band", *YX))
    got = fp.correlate(cube, named(MASK, dims=YX).T, axes=(1, 2))
    np.testing.assert_array_equal(got.data, fp.correlate(cube.data, MASK, axes=(1, 2)))
    both = np.stack([MASK, 2 * MASK])
    want = fp.correlate(cube.data, both, masks="each")
    for masks in named(both, dims=("band", *YX)).transpose("band", "x", "y"), named(both, dims=("band", "down", "across")):
        np.testing.assert_array_equal(fp.correlate(cube, masks, masks="each").data, want)


def test_lazy_arrays_go_by_names_and_are_planned(named, image):
    da = pytest.importorskip("dask.array", reason="dask is not installed")
    lazy, bad = named(da.from_array(image, chunks=16), dims=YX), named(da.from_array(image > 0.8, chunks=9), dims=YX)
    found = fp.convolve(lazy, MASK, masked=bad.T)
    assert isinstance(found.data, da.Array)
    np.testing.assert_array_equal(
        found.data.compute(scheduler="sync"), fp.convolve(image, MASK, masked=image > 0.8, method="direct")
    )
    for plan, of in (
        (fp.plan_gaussian_filter(lazy, 1, device="cpu"), fp.plan_gaussian_filter(lazy.data, 1, device="cpu")),
        (
            fp.plan_convolve(lazy, MASK, masked=bad.T, device="cpu"),
            fp.plan_convolve(lazy.data, MASK, masked=bad.data, device="cpu"),
        ),
    ):
        assert plan.nbytes == of.nbytes and plan.inputs == of.inputs
    with pytest.raises(ArgumentError, match=r"give its \.shape"):
        fp.plan_gaussian_filter(named(image, dims=YX), 1)


def test_axes_go_by_names_or_by_numbers(named, rng):
    stack = rng.random((3, 9, 31), np.float32)
    labelled = named(stack, dims=("t", "y", "x"))
    for axes in ("y", "x"), ("y", 2), [1, "x"]:
        got = fp.median_filter(labelled, 3, axes=axes)
        np.testing.assert_array_equal(got.data, fp.median_filter(stack, 3, axes=(1, 2)))
        assert got.dims == labelled.dims
    np.testing.assert_array_equal(fp.gaussian_filter(labelled, 2, axes="x").data, fp.gaussian_filter(stack, 2, axes=2))
    np.testing.assert_array_equal(fp.sobel(labelled, "y").data, fp.sobel(stack, 1))
    np.testing.assert_array_equal(fp.convolve(labelled, MASK, axes=("x", "y")).data, fp.convolve(stack, MASK, axes=(2, 1)))
    with pytest.raises(ArgumentError, match=r"axes: got \('z', 'x'\), wanted dimensions of the array, \('t', 'y', 'x'\), or whole"):
        fp.median_filter(labelled, 3, axes=("z", "x"))
    with pytest.raises(ArgumentError, match=r"axes: got \('y', 'x'\), wanted whole numbers"):
        fp.median_filter(stack, 3, axes=YX)
