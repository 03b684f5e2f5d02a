"""A real radio field, NaN and all, through a beam: whole, by rows from the file, and within a quarter of the memory."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.ndimage

import footprint as fp
from footprint.io.image import open_image


def beam(sigma: float = 2.0, radius: int = 6) -> np.ndarray:
    y, x = np.mgrid[-radius : radius + 1, -radius : radius + 1]
    return np.exp(-(x * x + y * y) / (2 * sigma * sigma)) / (2 * np.pi * sigma * sigma)


@pytest.mark.parametrize("name", ["scorpio/ScorpioS17Field.fits", "aegean_1904/1904-66_AIT.fits"])
def test_a_field_streams_to_the_same_bits_as_the_whole(name, data):
    path = data / "astronomy" / name
    mask = beam()
    with open_image(path) as source:
        whole = source.array().astype("f4")
        want = fp.convolve(whole, mask, boundary="reflect", device="cpu")
        got = np.empty_like(want)
        options = {"dtype": source.dtype.str, "memory": 1 << 60, "device": "cpu"}
        everything = fp.plan_convolve_rows(source.shape, mask.shape, **options).footprint.total
        budget = max(everything // 4, 250_000)  # the smaller field is hardly more than the kernel's tiles
        plan = fp.convolve_rows(
            lambda start, stop, out: source.read(slice(start, stop), out),
            source.shape,
            source.dtype.str,
            mask,
            lambda start, stop, block: got.__setitem__(slice(start, stop), block),
            boundary="reflect",
            memory=budget,
            device="cpu",
        )
    assert len(plan.chunks) > 1
    assert plan.footprint.total <= budget
    np.testing.assert_array_equal(got, want)
    finite = np.isfinite(whole)
    reference = scipy.ndimage.convolve(np.where(finite, whole, 0).astype("f8"), mask, mode="reflect")
    touched = scipy.ndimage.binary_dilation(~finite, np.ones((13, 13)), border_value=0)
    assert np.isnan(got[touched]).all()
    clear = ~touched
    assert clear.any()
    np.testing.assert_allclose(got[clear], reference[clear], rtol=0, atol=2e-6 * np.nanmax(np.abs(whole)))
