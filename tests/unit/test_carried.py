"""What arrays of astropy carry beside their numbers is carried on or refused, and never dropped."""

from __future__ import annotations

import numpy as np
import pytest
from astropy import units as u
from astropy.nddata import CCDData, NDData, StdDevUncertainty

import footprint as fp

IMAGE, MASK = np.arange(20.0).reshape(4, 5), np.ones((3, 3)) / 9


@pytest.mark.parametrize("verb", [fp.convolve, fp.correlate], ids=lambda verb: verb.__name__)
def test_units_are_carried(verb):
    want = verb(IMAGE, MASK, boundary="constant", cval=2, device="cpu")
    got = verb(IMAGE * u.Jy, MASK, cval=2000 * u.mJy, device="cpu")
    assert got.unit == u.Jy
    np.testing.assert_allclose(got.value, want)
    got = verb(IMAGE * u.Jy, MASK * u.pix, cval=2, device="cpu")
    assert got.unit == u.Jy * u.pix
    assert verb(IMAGE, MASK * u.pix, device="cpu").unit == u.pix
    out = np.zeros((4, 5)) * u.Jy
    assert verb(IMAGE * u.Jy, MASK, cval=2, out=out, device="cpu") is out
    np.testing.assert_allclose(out.value, want)


FILTERS = {
    "median": lambda x, cval=0.0, output=None: fp.median_filter(x, 3, output=output, mode="constant", cval=cval, device="cpu"),
    "gaussian": lambda x, cval=0.0, output=None: fp.gaussian_filter(x, 1, output=output, mode="constant", cval=cval, device="cpu"),
    "unsharp": lambda x, cval=0.0, output=None: fp.unsharp_mask(x, output=output, mode="constant", cval=cval, device="cpu"),
    "pad": lambda x, cval=0.0, output=None: fp.pad(x, 1, constant_values=cval, out=output, device="cpu"),
    "ramp": lambda x, cval=0.0, output=None: fp.pad(x, 1, "linear_ramp", end_values=cval, out=output, device="cpu"),
}


@pytest.mark.parametrize("name", FILTERS)
def test_filters_keep_the_unit(name):
    verb = FILTERS[name]
    want = verb(IMAGE, 2.0)
    for cval in (2.0, 2000 * u.mJy):
        got = verb(IMAGE * u.Jy, cval)
        assert got.unit == u.Jy
        np.testing.assert_allclose(got.value, want)
    out = np.zeros(want.shape) * u.Jy
    assert verb(IMAGE * u.Jy, 2.0, out) is out
    np.testing.assert_array_equal(out.value, want)
    refused(lambda: verb(IMAGE * u.Jy, 2 * u.m), "in m", "in Jy")
    refused(lambda: verb(IMAGE * u.Jy, output=np.zeros(want.shape) * u.mJy), "mJy", "in Jy")
    refused(lambda: verb(IMAGE * u.Jy, output=np.zeros(want.shape)), "ndarray", "in Jy")


def test_results_of_filters_may_have_another_dtype_and_keep_the_unit():
    got = fp.gaussian_filter(IMAGE.astype("f4") * u.Jy, 1, output="float64", device="cpu")
    assert got.dtype == np.float64 and got.unit == u.Jy
    refused(lambda: fp.pad(IMAGE * u.Jy, 1, "edge", end_values=3.0), "end_values", "none in mode 'edge'")


def refused(call, *words):
    with pytest.raises(fp.ArgumentError) as caught:
        call()
    assert "\n" not in str(caught.value)
    assert all(word in str(caught.value) for word in words), caught.value


def test_units_that_do_not_fit_are_refused():
    refused(lambda: fp.convolve(IMAGE * u.Jy, MASK, cval=2 * u.m), "cval", "m", "Jy")
    refused(lambda: fp.convolve(IMAGE, MASK, cval=2 * u.m), "cval", "a number")
    refused(lambda: fp.convolve(IMAGE * u.Jy, MASK, out=np.zeros((4, 5))), "out", "Jy")
    refused(lambda: fp.convolve(IMAGE * u.Jy, MASK, out=np.zeros((4, 5)) * u.mJy), "out", "Jy")


@pytest.mark.parametrize("verb", [lambda x: fp.threshold(x, 3.0), fp.sigma_clip])
def test_verbs_that_know_no_units_say_so(verb):
    refused(lambda: verb(IMAGE * u.Jy), "Jy", ".value")
    verb(IMAGE * u.dimensionless_unscaled)


def test_masks_and_uncertainties_are_refused():
    bad = IMAGE > 12
    for image, word in (
        (CCDData(IMAGE, unit="adu"), "unit"),
        (CCDData(IMAGE, unit="adu", mask=bad), "unit and mask"),
        (NDData(IMAGE, mask=bad), "mask"),
        (NDData(IMAGE, uncertainty=StdDevUncertainty(IMAGE)), "uncertainty"),
    ):
        refused(lambda image=image: fp.convolve(image, MASK), "image", word, ".data")
        refused(lambda image=image: fp.convolve(IMAGE, image), "mask", word, ".data")
    np.testing.assert_array_equal(fp.convolve(CCDData(IMAGE, unit=""), MASK, device="cpu"), fp.convolve(IMAGE, MASK, device="cpu"))
