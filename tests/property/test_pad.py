"""Padding, shifting and multiply-add against NumPy, for shapes and numbers nobody thought of."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

import footprint as fp
from footprint.reference.vertical_shift import vertical_shift as shift_reference

SLOW = settings(max_examples=80)
FINITE = st.floats(-100, 100, width=32)


def arrays(dims, most=8, dtype=np.float64):
    return npst.arrays(dtype, npst.array_shapes(min_dims=dims[0], max_dims=dims[1], max_side=most), elements=FINITE)


@SLOW
@given(arrays((1, 3)), st.data(), st.sampled_from(["constant", "edge", "reflect", "symmetric", "wrap"]))
def test_copies_are_exactly_numpys(array, data, mode):
    width = data.draw(st.tuples(*[st.tuples(st.integers(0, 20), st.integers(0, 20))] * array.ndim))
    np.testing.assert_array_equal(fp.pad(array, width, mode, device="cpu"), np.pad(array, width, mode))


@SLOW
@given(arrays((1, 3)), st.data(), st.sampled_from(["linear_ramp", "maximum", "minimum", "mean", "median"]))
def test_computed_borders_are_numpys(array, data, mode):
    width = data.draw(st.tuples(*[st.tuples(st.integers(0, 5), st.integers(0, 5))] * array.ndim))
    np.testing.assert_allclose(fp.pad(array, width, mode, device="cpu"), np.pad(array, width, mode), rtol=1e-12, atol=1e-11)


@SLOW
@given(arrays((1, 3)), st.integers(0, 6))
def test_padding_and_cropping_is_nothing(array, width):
    inside = (slice(width, -width or None),) * array.ndim
    for mode in ("empty", "mean", "reflect"):
        np.testing.assert_array_equal(fp.pad(array, width, mode, device="cpu")[inside], array)


@SLOW
@given(arrays((3, 3)), st.data())
def test_vertical_shifts_are_the_references_in_place_or_not(stack, data):
    shifts = data.draw(npst.arrays(np.float64, stack.shape[0], elements=st.floats(-12, 12)))
    want = shift_reference(stack, shifts)
    np.testing.assert_allclose(fp.vertical_shift(stack, shifts, device="cpu"), want, rtol=0, atol=1e-11)
    fp.vertical_shift(stack, shifts, out=stack, device="cpu")
    np.testing.assert_allclose(stack, want, rtol=0, atol=1e-11)


@SLOW
@given(arrays((3, 3)), st.randoms(use_true_random=False))
def test_the_order_of_angles_does_not_matter(stack, random):
    shifts = np.linspace(-2.5, 2.5, stack.shape[0])
    order = list(range(stack.shape[0]))
    random.shuffle(order)
    want = fp.vertical_shift(stack, shifts, device="cpu")[order]
    np.testing.assert_array_equal(fp.vertical_shift(stack[order], shifts[order], device="cpu"), want)


@SLOW
@given(arrays((2, 2)), st.floats(-4, 4), st.floats(-4, 4), st.data())
def test_muladd_of_any_slices_is_numpys(dst, a, b, data):
    other = np.flip(dst).copy()
    region = tuple(data.draw(st.slices(n).filter(lambda s, n=n: len(range(*s.indices(n))) > 0)) for n in dst.shape)
    want = dst.copy()
    want[region] = (0 if a == 0 else a * want[region]) + b * other[region]
    fp.muladd(dst, other, a, b, dst_region=region, other_region=region, device="cpu")
    np.testing.assert_allclose(dst, want, rtol=0, atol=1e-12 * 1000)
