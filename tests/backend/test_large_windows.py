"""Minima and maxima of boxes larger than any kernel takes: extremes of extremes, against scipy.ndimage."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.ndimage
from hypothesis import given, settings
from hypothesis import strategies as st

import footprint as fp
from footprint.kernels.common.borders import BORDERS

MODES = [mode for mode in ("reflect", "mirror", "nearest", "wrap", "constant") if mode in BORDERS]


# Each last window is compiled anew.
@settings(max_examples=30)
@given(
    st.tuples(st.integers(1, 40), st.integers(1, 70)), st.tuples(st.integers(1, 60), st.integers(12, 60)), st.data(),
    st.sampled_from(MODES), st.sampled_from(["f2", "f4", ">f8", "u1", ">i2", "?"]), st.integers(0, 2**32),
)  # fmt: skip
def test_any_box_at_any_border(shape, size, data, mode, dtype, seed):
    image = (50 * np.random.default_rng(seed).standard_normal(shape)).astype(dtype)
    origin = tuple(data.draw(st.integers(-(n // 2), (n - 1) // 2)) for n in size)
    how = {"mode": mode, "cval": 1, "origin": origin}
    seen = image.astype(image.dtype.newbyteorder("=") if dtype not in ("f2", "?") else "f4")
    for name in ("minimum_filter", "maximum_filter"):
        want = getattr(scipy.ndimage, name)(seen, size, **how)
        np.testing.assert_array_equal(getattr(fp, name)(image, size, device="cpu", **how), want.astype(dtype))


@pytest.mark.parametrize("mode", MODES)
def test_every_device_budget_and_cut_gives_the_same(mode, device, rng):
    image, how = rng.standard_normal((3, 50, 41)).astype("f4"), {"mode": mode, "cval": 0.5, "device": device}
    image[1, 7, 9], image[0, 0, 0], image[2, 30, 0] = np.nan, np.inf, -np.inf
    size = (14, 31)
    # A NaN is the largest of all.
    seen = np.where(np.isnan(image), np.inf, image)
    want = np.stack([scipy.ndimage.minimum_filter(plane, size, mode=mode, cval=0.5) for plane in seen])
    whole = fp.minimum_filter(image, size, axes=(1, 2), **how)
    np.testing.assert_array_equal(whole, want)
    with pytest.raises(fp.BudgetError) as caught:
        fp.minimum_filter(image, size, axes=(1, 2), memory=1, **how)
    for memory in (caught.value.smallest, 2 * caught.value.smallest):
        np.testing.assert_array_equal(fp.minimum_filter(image, size, axes=(1, 2), memory=memory, **how), whole)
    largest = fp.rank_filter(image[1], -1, 13, **how)
    known = scipy.ndimage.maximum_filter(seen[1], 13, mode=mode, cval=0.5)
    np.testing.assert_array_equal(np.isnan(largest), np.isinf(known))
    np.testing.assert_array_equal(largest[~np.isnan(largest)], known[~np.isinf(known)])
    np.testing.assert_array_equal(fp.percentile_filter(image[1], 0.0, 13, **how), fp.minimum_filter(image[1], 13, **how))


@pytest.mark.parametrize("mode", MODES)
def test_windows_that_lie_to_one_side_on_every_device_at_every_budget(mode, device, rng):
    image = rng.standard_normal((61, 47)).astype("f4")
    for size, origin in (((30, 9), (-15, -4)), ((1, 60), (0, 29)), ((41, 25), (20, -12))):
        how = {"mode": mode, "cval": 0.5, "origin": origin}
        want = scipy.ndimage.maximum_filter(image, size, **how)
        np.testing.assert_array_equal(fp.maximum_filter(image, size, device=device, **how), want)
        with pytest.raises(fp.BudgetError) as caught:
            fp.maximum_filter(image, size, memory=1, device=device, **how)
        for memory in (caught.value.smallest, 2 * caught.value.smallest):
            np.testing.assert_array_equal(fp.maximum_filter(image, size, memory=memory, device=device, **how), want)


def test_what_no_extremes_make_is_refused():
    image = np.zeros((30, 30), "f4")
    for call in (lambda: fp.median_filter(image, 13), lambda: fp.rank_filter(image, 1, 13)):
        with pytest.raises(fp.ArgumentError, match="at most 11 along an axis; minimum_filter and maximum_filter take larger boxes"):
            call()
    cross = np.zeros((13, 13), bool)
    cross[6] = cross[:, 6] = True
    with pytest.raises(fp.ArgumentError, match="at most 11"):
        fp.minimum_filter(image, footprint=cross)
    with pytest.raises(fp.ArgumentError, match="origin: got 16, wanted -15 to 15 for a window of 31"):
        fp.minimum_filter(image, 31, origin=16)
