"""Counting passes of sigma clipping: numbers, sums and histograms of what is within bounds, as NumPy has them."""

from __future__ import annotations

import numpy as np
import pytest

from footprint.kernels.rank_filter.contract import key_of
from footprint.kernels.sigma_clip.cpu_count import NONE, PIECE, count_strips, ends_of, float_of, mask_of

DTYPES = [np.dtype("f4"), np.dtype("f8")]


def pixels(rng, dtype):
    """Of both signs, near each other and far, both zeros, and what is not finite."""
    values = rng.standard_normal(3000) * 10.0 ** rng.integers(-6, 3, 3000)
    values[::97], values[1::97], values[2::211], values[3::211], values[4::211] = 0.0, -0.0, np.nan, np.inf, -np.inf
    values[5::301] = -np.nan
    return np.sort(rng.permutation(values)[:2000].reshape(4, -1), 1)[:, ::-1].astype(dtype).reshape(-1).copy()


@pytest.mark.parametrize("dtype", DTYPES)
def test_bits_order_as_numbers_do(rng, dtype):
    values = np.unique(rng.standard_normal(500) * 10.0 ** rng.integers(-30, 30, 500)).astype(dtype)
    values = np.concatenate((-np.abs(values), [-np.inf, np.inf, -0.0, 0.0], np.abs(values))).astype(dtype)
    keys = [key_of(one, dtype.str) for one in values]
    assert [float_of(key, dtype) for key in keys] == values.tolist()
    np.testing.assert_array_equal(values[np.argsort(keys, kind="stable")], np.sort(values))
    assert (key_of(-0.0, dtype.str), key_of(0.0, dtype.str)) == (-1, 0) and max(map(abs, keys)) <= mask_of(dtype)


@pytest.mark.parametrize("dtype", DTYPES)
def test_either_zero_lies_within_bounds_that_are_zero(dtype):
    for zero in (dtype.type(0.0), dtype.type(-0.0)):
        assert ends_of(zero, dtype.type(1), dtype)[0] == -1 and ends_of(dtype.type(-1), zero, dtype)[1] == 0


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("bounds", [(-np.inf, np.inf), (-0.5, 2.0), (0.0, 3.0), (-3.0, -0.0), (5.0, 4.0)])
def test_counts_are_numpys(rng, dtype, threads, bounds):
    flat, bins, strip = pixels(rng, dtype), 512, 300
    info = np.finfo(dtype)
    lowest, highest = (dtype.type(np.clip(one, info.min, info.max)) for one in bounds)
    inside = (flat >= lowest) & (flat <= highest)
    keys = np.array([key_of(one, dtype.str) for one in flat], object)
    whole = 8 * dtype.itemsize - 9
    for first, shift in ((-mask_of(dtype) - 1, whole), (key_of(0.01, dtype.str) - 100, whole - 9), (key_of(-0.3, dtype.str), 0)):
        last = min(first + (bins << shift) - 1, mask_of(dtype))
        strips = -(-flat.size // strip)
        histogram, sums = np.zeros((threads, bins), np.int32), np.full((strips, 6), np.nan)
        beyond, spare = sums.view(np.int64), np.zeros(threads * PIECE, f"i{dtype.itemsize}")
        ends = ends_of(lowest, highest, dtype)
        where = (0.25, mask_of(dtype), *ends, first, last, shift)
        count_strips(flat, flat.view(spare.dtype), strip, lowest, highest, *where, histogram, sums, beyond, spare)
        between = np.array([first <= key <= last for key in keys]) & inside
        places = [(key - first) >> shift for key in keys[between]]
        np.testing.assert_array_equal(histogram.sum(0), np.bincount(np.array(places, np.int64), minlength=bins))
        assert sums[:, 0].sum() == inside.sum() and sums[:, 1].sum() == (inside & (keys < first)).sum()
        exact = flat[inside].astype(float) - 0.25
        np.testing.assert_allclose(sums[:, 2].sum(), exact.sum(), rtol=1e-12, atol=1e-9)
        np.testing.assert_allclose(sums[:, 3].sum(), (exact**2).sum(), rtol=1e-12)
        behind = [key for key in keys[inside] if key > last]
        assert beyond[:, 4].min() == min(behind, default=NONE)
