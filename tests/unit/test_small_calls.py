"""Small calls like an earlier one: how little of Python they go through, and that what is made ready once is not mistaken."""

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import footprint as fp
from footprint.backend.registry import device_limits
from footprint.ops.convolve import Correlate
from footprint.ops.overlap_save import by_method
from footprint.spec import ArraySpec

SMALL: dict[str, tuple[int, Callable[[np.ndarray], Any]]] = {
    "threshold": (27, lambda image: fp.threshold(image, 1.5, device="cpu")),
    "pad": (33, lambda image: fp.pad(image, 4, "edge", device="cpu")),
    "convolve": (35, lambda image: fp.convolve(image, np.ones((5, 5), "f4"), device="cpu")),
    "sigma_clip": (27, lambda image: fp.sigma_clip(image, device="cpu")),
}


@pytest.mark.parametrize("verb", SMALL)
def test_a_small_call_like_an_earlier_one_takes_few_turns_of_python(verb, rng, monkeypatch):
    """Counted, since no clock is as steady: of some 15 us that such a call takes, each function takes its part."""
    monkeypatch.setenv("FOOTPRINT_CHECK", "")
    fp.clear_cache()
    most, call = SMALL[verb]
    image, turns = rng.standard_normal((32, 32), np.float32), []
    call(image), call(image)
    sys.setprofile(lambda frame, event, argument: turns.append(frame.f_code.co_name) if event == "call" else None)
    try:
        call(image)
    finally:
        sys.setprofile(None)
    assert len(turns) <= most, turns


def test_a_border_of_minus_zero_is_not_one_of_zero():
    image = np.ones((3, 3), np.float32)
    for value in (0.0, -0.0, 0.0):
        edge = fp.pad(image, 1, constant_values=value, device="cpu")[0, 0]
        assert (edge, np.signbit(edge)) == (0, np.signbit(value))


IMAGE = np.random.default_rng(6).standard_normal((12, 14)).astype("f4")
STACK = np.random.default_rng(7).standard_normal((3, 12, 14)).astype("f4")
WEIGHTS = np.arange(9, dtype="f4").reshape(3, 3)
SIDE = IMAGE > 1
# Calls of an image and a number that the call's data are multiplied by, none of which goes the long way the second time.
AGAIN: dict[str, Callable[[np.ndarray, float], Any]] = {
    "list": lambda a, n: fp.convolve(a[0], [[1, 2 * n], [3, 0]], device="cpu"),
    "named": lambda a, n: fp.convolve(a[0], "box:3", device="cpu") * n,
    "axes": lambda a, n: fp.convolve(a, n * WEIGHTS, axes=(1, 2), device="cpu"),
    "axes turned": lambda a, n: fp.correlate(a, n * WEIGHTS, axes=(0, 2), device="cpu"),
    "axes into": lambda a, n: fp.convolve(a, n * WEIGHTS, axes=(2, 0), out=np.empty_like(a), device="cpu"),
    "all": lambda a, n: fp.convolve(a[0], np.stack([n * WEIGHTS, WEIGHTS]), masks="all", device="cpu"),
    "all turned": lambda a, n: fp.convolve(a[..., :5], np.stack([n * WEIGHTS, WEIGHTS]), masks="all", axes=(0, 1), device="cpu"),
    "each": lambda a, n: fp.convolve(a, np.stack([n * WEIGHTS] * 2 + [WEIGHTS]), masks="each", device="cpu"),
    "masked": lambda a, n: fp.convolve(a[0], n * WEIGHTS, masked=SIDE, device="cpu"),
    "weight": lambda a, n: fp.convolve(a[0], WEIGHTS, weight=n * SIDE, masked=SIDE, nan="ignore", device="cpu"),
    "interpolate": lambda a, n: fp.correlate(a[0], n * WEIGHTS, nan="interpolate", cval=np.nan, device="cpu"),
    "weighed planes": lambda a, n: fp.convolve(a, n * WEIGHTS, axes=(0, 2), weight=abs(a), device="cpu"),
    "colours": lambda a, n: fp.gaussian_filter(n * a.T, (1, 1, 0), device="cpu"),
    "rows": lambda a, n: fp.pad(a[0], rows_index=np.arange(5) + int(2 * n), cols_index=np.array([3, 1]), device="cpu"),
    "ranked": lambda a, n: fp.median_filter(n * a.T, 3, axes=(0, 1), output=np.empty((14, 12, 3), "f4"), device="cpu"),
}  # fmt: skip


@pytest.mark.parametrize("name", AGAIN)
def test_a_call_like_an_earlier_one_is_recalled_and_goes_by_its_own_data(name, monkeypatch):
    call = AGAIN[name]
    # The rows of a list decide, so those of a later call are the first's.
    data, want = [(STACK, 0.5), (STACK[::-1].copy(), 2.0 if name != "rows" else 0.5)], []
    for one in data:
        fp.clear_cache()
        want.append(call(*one))
    fp.clear_cache()
    call(STACK, 3.0 if name != "rows" else 0.5)
    monkeypatch.setattr("footprint.api._call._key", lambda *args: pytest.fail("it went the long way"))
    found = [call(*one) for one in data]
    for one, other in zip(found, want):
        assert one.dtype == other.dtype
        np.testing.assert_array_equal(one, other)


def test_a_recalled_call_is_refused_as_the_first_is():
    for mask in (WEIGHTS, WEIGHTS - WEIGHTS.mean()):
        if mask is not WEIGHTS:
            with pytest.raises(fp.ArgumentError, match="mask: got weights whose sum is 0"):
                fp.convolve(IMAGE, mask, masked=SIDE, device="cpu")
        else:
            fp.convolve(IMAGE, mask, masked=SIDE, device="cpu"), fp.convolve(IMAGE, mask, masked=SIDE, device="cpu")
    side = IMAGE.copy()
    fp.convolve(IMAGE, WEIGHTS, weight=side, out=np.empty_like(IMAGE), device="cpu")
    with pytest.raises(fp.ArgumentError, match="out: got memory shared with weight"):
        fp.convolve(IMAGE, WEIGHTS, weight=side, out=side, device="cpu")
    fp.convolve(STACK, WEIGHTS, axes=(0, 2), out=np.empty_like(STACK), device="cpu")
    with pytest.raises(fp.ArgumentError, match="out: got memory shared with image"):
        fp.convolve(STACK, WEIGHTS, axes=(0, 2), out=STACK, device="cpu")


def test_lists_of_rows_are_each_their_own():
    for rows in (np.arange(3), np.arange(3) + 1, np.array([2, 0, 2]), np.arange(3)):
        np.testing.assert_array_equal(fp.pad(IMAGE, rows_index=rows, device="cpu"), IMAGE[rows])
        np.testing.assert_array_equal(fp.pad(IMAGE, cols_index=rows, device="cpu"), IMAGE[:, rows])
    with pytest.raises(fp.ArgumentError, match="rows_index"):
        fp.pad(IMAGE, rows_index=np.array([2, 0, 12]), device="cpu")


def test_what_is_masked_is_not_taken_for_weights():
    how = {"nan": "ignore", "device": "cpu"}
    left = [fp.convolve(IMAGE, WEIGHTS, masked=SIDE, **how) for _ in range(2)][-1]
    kept = [fp.convolve(IMAGE, WEIGHTS, weight=SIDE, **how) for _ in range(2)][-1]
    np.testing.assert_allclose(left + kept, fp.convolve(IMAGE, WEIGHTS, device="cpu"), atol=1e-5)


def test_the_method_found_for_a_shape_keeps_the_border_of_each_operation():
    for value in (0.0, -0.0, 0.0):
        op = Correlate((5, 5), cval=value)
        assert repr(by_method("auto", op, ArraySpec((8, 8), "float32"), device_limits("cpu")).cval) == repr(value)


def test_a_mask_that_is_to_be_taken_apart_is_found_again_by_its_values(rng, monkeypatch):
    column, row = rng.random((2, 2, 9))
    masks = [np.outer(column[0], row[0]), column.T @ row, np.outer(column[1], row[1])]
    calls = [
        lambda mask: fp.convolve(IMAGE, mask, method="separable", boundary="wrap", device="cpu"),
        lambda mask: fp.correlate(STACK[0], mask, method="separable", cval=2.5, device="cpu"),
    ]
    want = []
    for call in calls:
        for mask in masks:
            fp.clear_cache()
            want.append(call(mask))
    for call in calls:
        fp.clear_cache()
        for mask in masks:
            call(mask)
        with monkeypatch.context() as patch:
            patch.setattr("footprint.api._call._key", lambda *args: pytest.fail("it went the long way"))
            for mask in masks:
                np.testing.assert_array_equal(call(mask.copy()), want.pop(0))
            mask[4, 4] += 0.01
            with pytest.raises(pytest.fail.Exception, match="long way"):
                call(mask)
        np.testing.assert_allclose(call(mask), (call(mask / 2)) * 2, rtol=1e-4)
        mask[4, 4] -= 0.01
    fp.clear_cache()
    with pytest.raises(fp.ArgumentError, match="not a sum of 2 products"):
        fp.convolve(IMAGE, np.eye(9), method="separable", device="cpu")
