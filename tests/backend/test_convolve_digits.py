"""What float32 sums lose: at most 1e-6 of the sum of |w| |x|, whatever the mask; and what is infinite stays so."""

from __future__ import annotations

import numpy as np
import pytest

import footprint as fp

from .kernels import in_turn

SIZES = [(3, 3), (9, 9), (13, 13), (16, 16), (31, 31), (41, 41), (63, 63), (64, 64), (101, 101), (3, 301), (301, 3), (255, 255),
         (15,), (101,), (200,), (1001,), (3001,), (100_000,)]  # fmt: skip


def lost(got, image, mask):
    """Largest error over the sum of |w| |x|; image and mask as the sums see them."""
    windows = np.lib.stride_tricks.sliding_window_view(image.astype("f8"), mask.shape)
    exact, scale = (np.tensordot(a, w, mask.ndim) for a, w in ((windows, mask), (np.abs(windows), np.abs(mask))))
    return (np.abs(got - exact) / scale).max()


@pytest.mark.parametrize("size", SIZES, ids=lambda size: "x".join(map(str, size)))
def test_float32_keeps_its_digits_under_masks_of_any_size(size, device, rng):
    in_turn(device, SIZES.index(size), 2)
    shape = tuple(k + more for k, more in zip(size, (3, 40)[-len(size) :]))
    images = [np.full(shape, value, "f4") for value in (6852.7, 1986.8945, 3.3, 0.7)]
    images += [rng.random(shape, "f4"), rng.standard_normal(shape, "f4")]
    for mask in (np.full(size, 1 / np.prod(size)), rng.random(size)):
        weights = mask.astype("f4").astype("f8")
        for image in images:
            assert lost(fp.correlate(image, mask, mode="valid", device=device), image, weights) < 1e-6


def test_a_constant_stays_what_it_is_under_a_wide_mean(device):
    got = fp.convolve(np.full((300, 300), 6852.7, "f4"), np.ones((101, 101)) / 101**2, boundary="nearest", device=device)
    np.testing.assert_allclose(got, np.float32(6852.7), rtol=1e-6)


@pytest.mark.parametrize("size", [64, 33, 101])
def test_means_of_means_keep_their_digits(size, device, rng):
    """What the sums down lose and what the sums across lose together: constants, in squares a little larger than the window."""
    in_turn(device, [64, 33, 101].index(size), 3)
    n, h = size + 6, size // 2
    values = (1e4 * rng.random((5, 5))).astype("f4")
    values[0] = 1986.8945, 3999.3672, 3939.3533, 7861.449, 4042.6372  # which lose most in one long chain
    got = fp.uniform_filter(np.kron(values, np.ones((n, n), "f4")), size, device=device)
    inside = got.reshape(5, n, 5, n)[:, h : n - h, :, h : n - h]
    assert (np.abs(inside - values[:, None, :, None].astype("f8")) / values[:, None, :, None]).max() < 1e-6


@pytest.mark.parametrize(
    "size", [(5, 5), (13, 13), (31, 31), (70, 70), (300,), (20_000,)], ids=lambda size: "x".join(map(str, size))
)
def test_infinite_sums_are_infinite_and_no_nan(size, device, rng):
    shape = tuple(2 * k + 9 for k in size)
    image = rng.random(shape, "f4")
    at = tuple(n // 2 for n in shape)
    image[at] = np.inf
    got = fp.correlate(image, np.ones(size), device=device)
    touched = np.zeros(shape, bool)
    touched[tuple(slice(i - k + 1 + k // 2, i + k // 2 + 1) for i, k in zip(at, size))] = True
    np.testing.assert_array_equal(np.isposinf(got), touched)
    assert np.isfinite(got[~touched]).all()


def test_a_weight_of_zero_counts(device):
    """0 times NaN is NaN, as IEEE 754 says, on every device and under every mask; scipy.ndimage leaves such weights out."""
    for size in ((3, 3), (31, 31), (70, 70)):
        image, mask = np.ones((150, 160), "f4"), np.zeros(size)
        image[70, 80] = np.nan
        assert np.isnan(fp.correlate(image, mask, device=device)).sum() == np.prod(size)
