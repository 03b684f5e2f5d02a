"""Minima and maxima of boxes larger than any kernel of a GPU takes: extremes of extremes, against scipy.ndimage."""

from __future__ import annotations

from unittest.mock import patch

import numpy as np
import pytest
import scipy.ndimage
from hypothesis import given, settings
from hypothesis import strategies as st

import footprint as fp
from footprint.api import _rank
from footprint.api._rank import Window, rank_op
from footprint.backend.device import Device
from footprint.backend.registry import device_limits
from footprint.kernels.common.borders import BORDERS
from footprint.kernels.extremes import contract
from footprint.ops.pipeline import Pipeline
from footprint.spec import ArraySpec

MODES = [mode for mode in ("reflect", "mirror", "nearest", "wrap", "constant") if mode in BORDERS]


@settings(max_examples=100)
@given(
    st.tuples(st.integers(1, 40), st.integers(1, 70)), st.tuples(st.integers(1, 60), st.integers(12, 60)), st.data(),
    st.sampled_from(MODES), st.sampled_from(["f2", "f4", ">f8", "u1", ">i2", "?"]), st.integers(0, 2**32), st.booleans(),
)  # fmt: skip
def test_any_box_at_any_border(shape, size, data, mode, dtype, seed, by_windows):
    """At once, and by the windows that GPUs take one after another, however small without comparisons of their own to compile."""
    image = (50 * np.random.default_rng(seed).standard_normal(shape)).astype(dtype)
    origin = tuple(data.draw(st.integers(-(n // 2), (n - 1) // 2)) for n in size)
    how = {"mode": mode, "cval": 1, "origin": origin}
    seen = image.astype(image.dtype.newbyteorder("=") if dtype not in ("f2", "?") else "f4")
    for name in ("minimum_filter", "maximum_filter"):
        want = getattr(scipy.ndimage, name)(seen, size, **how)
        limits = patch.object(_rank, "device_limits", lambda name: device_limits("null:h100" if by_windows else name))
        with limits, patch.object(contract, "SMALL", 0):
            np.testing.assert_array_equal(getattr(fp, name)(image, size, device="cpu", **how), want.astype(dtype))


@settings(max_examples=150)
@given(
    st.tuples(st.integers(1, 40), st.integers(1, 70)), st.tuples(st.integers(1, 60), st.integers(12, 90)), st.data(),
    st.sampled_from(MODES), st.integers(0, 2**32),
)  # fmt: skip
def test_any_box_is_its_windows_one_after_another(shape, size, data, mode, seed):
    """Of any size, at any place, by SciPy, which compiles nothing."""
    image = np.random.default_rng(seed).standard_normal(shape)
    origin = [data.draw(st.integers(-(n // 2), (n - 1) // 2)) for n in size]
    how, found = {"mode": mode, "cval": 0.2}, image
    seen = _rank._within(size, tuple(-(n // 2) - move for n, move in zip(size, origin)), shape)
    for sizes, first in _rank._windows(*seen, (mode, mode)):
        # About its pixel, which SciPy's windows hold and the last of ours need not.
        reach = [max(-start, start + n - 1, 0) for start, n in zip(first, sizes)]
        window, at = np.zeros([2 * n + 1 for n in reach], bool), [n + start for n, start in zip(reach, first)]
        window[at[0] : at[0] + sizes[0], at[1] : at[1] + sizes[1]] = True
        found = scipy.ndimage.maximum_filter(found, footprint=window, **how)
    np.testing.assert_array_equal(found, scipy.ndimage.maximum_filter(image, size, origin=origin, **how))


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


@pytest.mark.parametrize("mode", ["reflect", "nearest", "wrap"])
def test_boxes_of_a_large_image_whose_extremes_lie_far_apart(mode, rng):
    """In parts, too."""
    image = (1000 * rng.standard_normal((700, 1501))).astype("f4")
    image[rng.integers(0, 700, 60), rng.integers(0, 1501, 60)] = 9999
    for size in ((201, 77), (1, 333)):
        want = scipy.ndimage.maximum_filter(image, size, mode=mode)
        np.testing.assert_array_equal(fp.maximum_filter(image, size, mode=mode, device="cpu"), want)
        if mode != "wrap":
            # What goes round is needed whole.
            plan = fp.plan_maximum_filter(image.shape, size, dtype="f4", mode=mode, device="cpu")
            some = fp.maximum_filter(image, size, memory=plan.nbytes * 2 // 3, mode=mode, device="cpu")
            np.testing.assert_array_equal(some, want)


@pytest.mark.parametrize("border", ["reflect", "nearest", "wrap", "constant"])
def test_windows_one_after_another_reach_all_of_a_box_and_no_more(border):
    for size in (*range(12, 105), 250, 333):
        for start in (-(size // 2), -(size // 2) + 5, -(size // 3), 1 - size, 0):
            reached = {0}
            for sizes, first in _rank._windows((size, 1), (start, 0), (border, "none")):
                reached = {here + first[0] + there for here in reached for there in range(sizes[0])}
            assert reached == set(range(start, start + size)), (size, start)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("shape", [(6, 10), (1, 7), (5,)])
def test_a_box_far_larger_than_the_image_has_seen_all_of_it(mode, shape, rng):
    """Every ten pixels of it were one more pass: a size of 10,000 took seconds, and one of 2^70 had no end."""
    image = rng.standard_normal(shape).astype("f4")
    for size in (41, 300, 1001):
        for origin in (0, size // 2 - 1, -(size // 2)):
            how = {"mode": mode, "cval": 0.3, "origin": origin}
            want = scipy.ndimage.maximum_filter(image, size, **how)
            np.testing.assert_array_equal(fp.maximum_filter(image, size, device="cpu", **how), want)
    largest = fp.maximum_filter(image, 2**70, mode=mode, cval=0.3, device="cpu")
    np.testing.assert_array_equal(largest, np.full(shape, max(image.max(), 0.3 if mode == "constant" else -9)))


def test_a_gpu_takes_windows_one_after_another_and_a_processor_the_box():
    def passes(size, device, shape=(1_000_000, 2000), dtype="float32", **how):
        op = rank_op(ArraySpec(shape, dtype), -1, Window(size, **how), Device(device))[0]
        return len(op.stages) if isinstance(op, Pipeline) else op.size

    assert passes(201, "null:h100") == passes((201, 61), "null:h100") == passes(201, "null:h100", mode="constant") == 20
    for how in ({}, {"mode": "constant"}, {"dtype": "uint8"}, {"shape": (100, 100)}):
        assert passes(200, "cpu", **how) == (200, 200)


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
