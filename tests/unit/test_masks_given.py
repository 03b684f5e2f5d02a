"""Masks that come with arrays, and lists of such: `numpy.ma`'s word for none, what is advised where a mask cannot be honoured."""

from __future__ import annotations

import numpy as np
import pytest

import footprint as fp

NONE, KERNEL = np.ma.nomask, np.ones((3, 3))

# What takes a mask beside an image, given one.
TAKES = {
    "convolve": lambda x, m: fp.convolve(x, KERNEL, masked=m),
    "convolve, weighed": lambda x, m: fp.convolve(x, KERNEL, masked=m, weight=x),
    "correlate": lambda x, m: fp.correlate(np.ma.array(x), KERNEL, masked=m),
    "stream": lambda x, m: next(iter(fp.stream([x], mask=KERNEL, masked=m))),
    "plan_convolve": lambda x, m: fp.plan_convolve(x.shape, (3, 3), masked=m, device="cpu").nbytes,
    "plan_convolve_rows": lambda x, m: fp.plan_convolve_rows(x.shape, (3, 3), masked=m, device="cpu").nbytes,
    "find_sources": lambda x, m: np.array(fp.find_sources(x, mask=m)["flux"]),
    "find_sources, a mesh": lambda x, m: np.array(fp.find_sources(x, background="mesh", box=16, mask=m)["flux"]),
    "apertures": lambda x, m: np.array(fp.apertures(x, [(9.0, 8.0)], [3], mask=m)["aper1_flux"]),
    "measure_at": lambda x, m: np.array(fp.measure_at(x, [(9.0, 8.0)], shapes=[(2.0, 2.0, 0.0)], mask=m)["fit_flux"]),
}


@pytest.mark.parametrize("verb", TAKES)
def test_where_nothing_is_masked_no_mask_lies_beside(verb, rng):
    """``masked=image.mask`` of an array that has nothing masked was refused for its shape."""
    image = rng.random((40, 50))
    np.testing.assert_array_equal(TAKES[verb](image, NONE), TAKES[verb](image, None))


def test_lazily_too(rng):
    da = pytest.importorskip("dask.array")
    image = rng.random((40, 50))
    found = fp.convolve(da.from_array(image, chunks=20), KERNEL, masked=NONE)
    np.testing.assert_array_equal(found.compute(scheduler="synchronous"), fp.convolve(image, KERNEL))


def test_one_flag_is_no_mask(rng):
    with pytest.raises(fp.ShapeError, match=r"masked: got shape \(\), wanted the image's"):
        fp.convolve(rng.random((40, 50)), KERNEL, masked=False)


def masked(dtype, shape=(6, 8)):
    return np.ma.array(np.ones(shape, dtype), mask=np.eye(*shape, dtype=bool))


ADVICE = {
    "floats": (lambda: fp.gaussian_filter(masked("f4"), 1), "input", "array.filled(numpy.nan)"),
    "integers": (lambda: fp.gaussian_filter(masked("i4"), 1), "input", "array.astype(float).filled(numpy.nan)"),
    "flags": (lambda: fp.label(masked("?")), "mask", "array.filled(False)"),
    "islands": (lambda: fp.label(masked("f4")), "mask", "array.filled(0)"),
    "labels": (lambda: fp.measure(np.ones((6, 8)), masked("i4")), "labels", "array.filled(0)"),
    "kernel": (lambda: fp.convolve(np.ones((6, 8)), masked("f4", (3, 3))), "mask", "array.filled(0)"),
    "shifts": (lambda: fp.vertical_shift(np.ones((6, 3, 8)), masked("f4", (6, 1))[:, 0]), "shifts", "array.filled(value)"),
    "output": (lambda: fp.gaussian_filter(np.ones((6, 8)), 1, output=masked("f8")), "output", "array.data"),
    "beside": (lambda: fp.convolve(np.ones((6, 8)), KERNEL, masked=masked("?")), "masked", "array.filled(True)"),
    "weights": (lambda: fp.convolve(np.ones((6, 8)), KERNEL, weight=masked("f4")), "weight", "array.filled(0)"),
    "sinograms": (lambda: fp.fbp(masked("f4")), "sinogram", "array.filled(value)"),
}


@pytest.mark.parametrize("case", ADVICE)
def test_what_is_advised_for_what_is_masked_can_be_done(case):
    """NaN in an array of flags or whole numbers is none, or True, which joins islands."""
    call, name, advice = ADVICE[case]
    with pytest.raises(fp.ArgumentError, match=f"^{name}: got a masked array, whose mask would be ignored") as caught:
        call()
    assert f"give {advice}" in str(caught.value)


def test_a_list_holds_nothing_that_is_refused_by_itself(rng):
    """NumPy drops the masks of masked arrays in a list, and computes Dask's."""
    rows = [np.ma.masked_less(row, 0.5) for row in rng.random((6, 8))]
    for given in rows, [rows, rows]:
        with pytest.raises(fp.ArgumentError, match=r"^input: got a masked array, whose mask would be ignored"):
            fp.gaussian_filter(given, 1)
    with pytest.raises(fp.ArgumentError, match=r"^angles: got a masked array"):
        fp.fbp(np.ones((2, 8)), [np.ma.masked, 1.0])
    plain = [np.ma.array(row.data) for row in rows]
    np.testing.assert_array_equal(fp.gaussian_filter(plain, 1), fp.gaussian_filter(np.array(plain), 1))


def test_what_is_to_be_computed_is_not_computed_unasked():
    da = pytest.importorskip("dask.array")
    image, lazy = np.ones((8, 8)), da.ones((8, 8))
    with pytest.raises(fp.ArgumentError, match=r"^input: got a list of Arrays that are still to be computed, .*dask.array.stack"):
        fp.gaussian_filter([lazy[0], lazy[1]], 1)
    for verb, name in (fp.gaussian_filter, "sigma"), (fp.uniform_filter, "size"), (fp.median_filter, "size"):
        for given in image, lazy:
            with pytest.raises(fp.ArgumentError, match=rf"^{name}: got an Array that is still to be computed, .*compute"):
                verb(given, lazy.max())
    # One number in an array is a number.
    np.testing.assert_array_equal(fp.gaussian_filter(image, np.array(2.0)), fp.gaussian_filter(image, 2.0))
    assert fp.apertures(image, [(4.0, 4.0)], np.array(2.0)).keys() == fp.apertures(image, [(4.0, 4.0)], 2.0).keys()
