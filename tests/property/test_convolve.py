"""Laws of convolution that hold for every image, mask and border."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

import footprint as fp
from footprint.kernels.common.borders import BORDERS, CODES, border, source_index
from footprint.reference import convolve as reference

FINITE = st.floats(-100, 100, width=32)
SLOW = settings(max_examples=60)


def images(most=24):
    return npst.arrays(np.float64, npst.array_shapes(min_dims=2, max_dims=2, max_side=most), elements=FINITE)


MASKS = images(7)
BORDER, MODE = st.sampled_from(BORDERS), st.sampled_from(["same", "full"])


def scale(image, mask):
    return 1e-12 * (1 + np.abs(image).max() * np.abs(mask).sum())


@SLOW
@given(images(), MASKS, BORDER, MODE)
def test_equals_the_reference(image, mask, boundary, mode):
    got = fp.convolve(image, mask, mode=mode, boundary=boundary, cval=3, device="cpu")
    want = reference.convolve(image, mask, mode, boundary, 3)
    np.testing.assert_allclose(got, want, rtol=0, atol=scale(image, mask) + 1e-12 * np.abs(mask).sum() * 3)


@SLOW
@given(images(), MASKS, BORDER, MODE)
def test_correlation_is_convolution_with_the_flipped_mask(image, mask, boundary, mode):
    options = {"mode": mode, "boundary": boundary, "device": "cpu"}
    left = fp.correlate(image, mask[::-1, ::-1], **options)
    np.testing.assert_array_equal(left, fp.convolve(image, mask, **options))


@SLOW
@given(images(), MASKS, st.floats(-3, 3), BORDER)
def test_linear_in_the_image(image, mask, factor, boundary):
    other = np.roll(image, 1, 0)
    f = lambda x: fp.convolve(x, mask, boundary=boundary, device="cpu")
    atol = 10 * scale(image, mask)
    np.testing.assert_allclose(f(factor * image + other), factor * f(image) + f(other), rtol=0, atol=atol)


@SLOW
@given(images(), MASKS, st.integers(-60, 60), BORDER)
def test_scaling_the_mask_by_a_power_of_two_scales_the_result_exactly(image, mask, power, boundary):
    mask = np.where(np.abs(mask) < 1e-30, 0, mask)  # keeps products out of the denormals
    image = np.where(np.abs(image) < 1e-30, 0, image)
    one = fp.convolve(image, mask, boundary=boundary, device="cpu")
    np.testing.assert_array_equal(fp.convolve(image, np.ldexp(mask, power), boundary=boundary, device="cpu"), np.ldexp(one, power))


@SLOW
@given(images(), MASKS, st.integers(0, 20), st.integers(0, 20))
def test_wrapped_convolution_commutes_with_shifts(image, mask, dy, dx):
    f = lambda x: fp.convolve(x, mask, boundary="wrap", device="cpu")
    np.testing.assert_array_equal(f(np.roll(image, (dy, dx), (0, 1))), np.roll(f(image), (dy, dx), (0, 1)))


@SLOW
@given(MASKS, MASKS)
def test_full_convolution_commutes(a, b):
    left, right = fp.convolve(a, b, mode="full", device="cpu"), fp.convolve(b, a, mode="full", device="cpu")
    np.testing.assert_allclose(left, right, rtol=0, atol=scale(a, b) + scale(b, a))


@SLOW
@given(images(40), MASKS, BORDER, st.sampled_from(["f4", "f8", "i2", ">f4"]), st.integers(0, 30_000))
def test_blocks_equal_the_whole_to_the_last_bit(image, mask, boundary, dtype, more):
    image = image.astype(dtype)
    want = fp.convolve(image, mask, boundary=boundary, cval=0.3, device="cpu")
    got = np.full_like(want, np.nan)
    read = lambda start, stop, out: np.copyto(out, image[start:stop], casting="unsafe")
    write = lambda start, stop, block: got.__setitem__(slice(start, stop), block)
    call = lambda memory: fp.convolve_rows(
        read, image.shape, dtype, mask, write, boundary=boundary, cval=0.3, memory=memory, device="cpu"
    )
    with pytest.raises(fp.BudgetError) as caught:
        call(1)
    plan = call(caught.value.smallest + more)
    assert plan.footprint.total <= caught.value.smallest + more
    np.testing.assert_array_equal(got, want)


@SLOW
@given(st.integers(-(10**6), 10**6), st.integers(1, 50), BORDER)
def test_source_index_is_numpys(i, n, name):
    got = source_index(i, n, CODES[border(name)])
    period = {"reflect": 2 * n, "mirror": max(2 * n - 2, 1), "wrap": n}.get(name)
    if 0 <= i < n:
        assert got == i
    elif name == "constant":
        assert got == -1
    elif name == "nearest":
        assert got == min(max(i, 0), n - 1)
    else:
        row = {"reflect": [*range(n), *reversed(range(n))], "mirror": [*range(n), *range(n - 2, 0, -1)], "wrap": list(range(n))}[
            name
        ]
        assert got == row[i % period]
