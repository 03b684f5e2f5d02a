"""Thresholds against NumPy."""

import numpy as np
import pytest

import footprint as fp
from footprint.reference.threshold import threshold as reference


@pytest.mark.parametrize("shape", [(), (0,), (1,), (7,), (3, 0), (13, 11), (2, 3, 5)])
@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "i1", "i2", "u1", "u4", "?", ">f4", ">i8", ">u2"])
def test_equals_the_reference(device, rng, shape, dtype):
    image = np.asarray(rng.normal(size=shape) * 5 + 6).astype(dtype)
    got = fp.threshold(image, 4.5, background=1.0, device=device)
    assert got.dtype == bool and np.array_equal(got, reference(image, 4.5, 1.0))


@pytest.mark.parametrize("dtype", ["u1", "i1", "u2", "i2", "u4", "i4", "i8", "u8"])
@pytest.mark.parametrize(
    ("level", "background"),
    [(4.5, 1.0), (100, 0), (-1, 0), (-0.5, 0.25), (127, 0), (126.5, 0.5), (254.0, 0), (255, 0), (65534, 1), (-1e30, 0), (1e30, 0),
     (2**31 - 2, 0), (-(2**31), 0), (2.0**63, 0), (0.1, 1e17), (np.inf, 0), (-np.inf, 0), (1e-300, 0), (0, 5e-324)],
)  # fmt: skip
def test_integers_are_compared_in_float64(device, rng, dtype, level, background):
    """As they are stored, at both ends of what they hold, where there are few of them and where threads share many."""
    kind = np.iinfo(dtype)
    image = rng.integers(kind.min, kind.max, 400_003, dtype, endpoint=True)
    near = [n for k in (0, 1, 2) for n in (kind.min + k, kind.max - k, int(min(max(level + background, -1e18), 1e18)) + k - 1)]
    image[:9] = np.array([min(max(n, kind.min), kind.max) for n in near], object).astype(dtype)
    for some in (image, image[:100]):
        got = fp.threshold(some, level, background=background, device=device)
        assert np.array_equal(got, some.astype(float) - background > level)


def test_what_is_not_finite_is_not_marked_and_equal_is_not_over(device):
    image = np.array([[np.nan, np.inf, -np.inf, 2.0, np.nextafter(np.float32(2), np.float32(3))]], np.float32)
    assert fp.threshold(image, 2.0, device=device).tolist() == [[False, False, False, False, True]]


def test_a_finite_pixel_whose_difference_overflows_is_marked(device):
    image = np.array([1.7e308, np.inf, -np.inf])
    assert fp.threshold(image, 1.0, background=-1e308, device=device).tolist() == [True, False, False]


def test_out_and_strides(rng):
    image = rng.standard_normal((40, 60))[::2, ::-3]
    out = np.ones(image.shape, bool)
    assert fp.threshold(image, 0.1, out=out, device="cpu") is out
    assert np.array_equal(out, image > 0.1)


@pytest.mark.parametrize("memory", [2000, 100_000])
def test_rows_within_a_budget(rng, memory):
    image = rng.standard_normal((333, 101)).astype(">f4")
    assert np.array_equal(fp.threshold(image, 0.5, memory=memory, device="cpu"), image > 0.5)


def test_bad_arguments():
    with pytest.raises(fp.ArgumentError, match="level"):
        fp.threshold(np.ones(3), "high", device="cpu")
    with pytest.raises(fp.ArgumentError, match="level"):
        fp.threshold(np.ones(3), float("nan"), device="cpu")
    with pytest.raises(fp.ShapeError, match="out"):
        fp.threshold(np.ones(3), 1, out=np.ones(3), device="cpu")
