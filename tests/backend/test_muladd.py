"""muladd against NumPy's own slicing, on every device found."""

from __future__ import annotations

import numpy as np
import pytest

import footprint as fp
from footprint.reference.muladd import muladd as reference

S = slice
REGIONS = [
    (None, None),
    ((S(2, 5), S(1, 4)), (S(0, 3), S(-3, None))),
    ((S(None, None, 2), S(None, None, -1)), (S(3), None)),
    ((S(-1, None), None), (0, S(None))),
    (S(5, 1, -1), S(1, -1)),
]


@pytest.mark.parametrize("dtypes", [("f4", "f4"), ("f8", "f8"), ("f4", "u2"), (">f4", "f4"), ("f2", "f4"), ("f8", "i4")])
@pytest.mark.parametrize(("target", "source"), REGIONS)
def test_regions(target, source, dtypes, device, rng):
    dst = (rng.random((6, 7)) * 9).astype(dtypes[0])
    other = (rng.random((6, 7)) * 9).astype(dtypes[1])
    whole = lambda r: ... if r is None else tuple(S(None) if s is None else S(s, s + 1) if isinstance(s, int) else s
                                                  for s in (r if isinstance(r, tuple) else (r,)))  # fmt: skip
    want = reference(dst, other, 2.5, -0.5, whole(target), whole(source))
    assert fp.muladd(dst, other, 2.5, -0.5, dst_region=target, other_region=source, device=device) is dst
    np.testing.assert_allclose(dst, want, rtol=2e-3 if dtypes[0] == "f2" else 1e-6, atol=1e-5)


@pytest.mark.parametrize("shape", [(1,), (50_000,), (3, 1, 1), (4, 5, 33000)])
def test_shapes(shape, device, rng):
    dst, other = rng.standard_normal(shape, "f4"), rng.standard_normal(shape, "f4")
    want = reference(dst, other, -1.5, 3.0)
    fp.muladd(dst, other, -1.5, 3, device=device)
    np.testing.assert_allclose(dst, want, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    ("target", "source"),
    [
        (None, None),
        ((S(3, 243),), (S(0, 240),)),
        ((S(3, 243), S(2, 7)), (S(9, 249), S(1, 6))),
        ((S(3, 243, 2),), (S(20, 140),)),
        ((S(0, 240), S(None, None, -1)), (S(5, 245),)),
        ((S(0, 240), S(1, 7), S(0, 2)), (S(10, 250), S(2, 8), S(1, 3))),
    ],
)
def test_short_rows_that_lie_one_behind_the_other(target, source, rng):
    """They are taken as one where they do so in both arrays, and nowhere else."""
    dst, other = rng.standard_normal((260, 9, 3), "f4"), rng.standard_normal((260, 9, 3), "f4")
    want = reference(dst, other, 2.0, 3.0, target or ..., source or ...)
    fp.muladd(dst, other, 2, 3, dst_region=target, other_region=source, device="cpu")
    np.testing.assert_allclose(dst, want, rtol=1e-5, atol=1e-5)


def test_zero_overwrites_nan_and_other_factors_keep_it(device):
    dst = np.full((3, 4), np.nan, "f4")
    fp.muladd(dst, np.ones((3, 4), "f4"), 0, 2, dst_region=S(1), other_region=S(1), device=device)
    np.testing.assert_array_equal(dst[0], 2)
    fp.muladd(dst, np.ones((3, 4), "f4"), 1, 2, device=device)
    assert np.isnan(dst[1:]).all()
    np.testing.assert_array_equal(dst[0], 4)


def test_strided_arrays_within_a_budget(device, rng):
    base, other = rng.standard_normal((60, 40)), rng.standard_normal((20, 30), "f4")
    dst = base[::2, ::-1]
    want = reference(dst, other, 2, 1, (S(5, 25), S(5, 35)))
    fp.muladd(dst, other, 2, 1, dst_region=(S(5, 25), S(5, 35)), memory=4096, device=device)
    np.testing.assert_allclose(dst, want, rtol=1e-12)
    np.testing.assert_allclose(base[::2, ::-1], want, rtol=1e-12)


def test_one_array_with_itself(device):
    x = np.arange(12, dtype="f4").reshape(3, 4)
    fp.muladd(x, x, 1, 1, device=device)
    np.testing.assert_array_equal(x, 2 * np.arange(12).reshape(3, 4))
    fp.muladd(x, x, 1, 1, dst_region=(None, S(0, 2)), other_region=(None, S(2, 4)), device=device)
    with pytest.raises(fp.ArgumentError, match="overlaps"):
        fp.muladd(x, x, dst_region=(None, S(0, 3)), other_region=(None, S(1, 4)), device=device)


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"dst_region": S(0, 2)}, "size"),
        ({"dst_region": S(4, 9)}, "not empty"),
        ({"dst_region": (None, None, None)}, "at most 2"),
        ({"dst_region": "all"}, "slices"),
        ({"dst_region": S(0, 2, 0)}, "step"),
        ({"dst_region": 7}, "index 7"),
        ({"other": np.ones(3)}, "dimensions"),
        ({"dst": np.ones((4, 5), int)}, "floating"),
        ({"dst": [[1.0, 2.0]]}, "in place"),
        ({"a": "x"}, "a number"),
        ({"dst": np.broadcast_to(np.float32(1), (4, 5))}, "read-only"),
    ],
)
def test_bad_input_is_one_clear_sentence(change, word):
    call = {"dst": np.ones((4, 5)), "other": np.ones((4, 5)), "device": "cpu"} | change
    with pytest.raises(fp.FootprintError) as caught:
        fp.muladd(**call)
    assert word in str(caught.value)


@pytest.mark.parametrize("shape", [(0,), (0, 5), (4, 0, 3)])
def test_empty_arrays_stay_empty(shape, device):
    dst = np.ones(shape, "f4")
    for regions in ({}, {"dst_region": S(None)}, {"other_region": S(None, None, -1)}):
        assert fp.muladd(dst, np.ones(shape), 2, 3, device=device, **regions) is dst
    with pytest.raises(fp.ShapeError, match="other: got shape"):
        fp.muladd(dst, np.ones([n + 1 for n in shape]), device=device)


@pytest.mark.parametrize(
    ("regions", "sentence"),
    [
        ({}, "other: got shape (3, 5), wanted (4, 5), the shape of dst; give dst_region= or other_region= for a part of either."),
        ({"dst_region": S(0, 2)}, "other: got shape (3, 5), wanted (2, 5), the size of dst_region."),
        ({"other_region": S(0, 2)}, "other_region: got size (2, 5), wanted (4, 5), the shape of dst."),
        ({"dst_region": S(3), "other_region": S(2)}, "other_region: got size (2, 5), wanted (3, 5), the size of dst_region."),
    ],
)
def test_sizes_that_differ_are_told_of_what_was_given(regions, sentence):
    with pytest.raises(fp.ShapeError) as caught:
        fp.muladd(np.ones((4, 5)), np.ones((3, 5)), device="cpu", **regions)
    assert str(caught.value) == sentence


@pytest.mark.parametrize(("step", "other_step"), [(2, 3), (1, -1), (-2, 1), (3, 3)])
def test_long_rows_with_steps_of_their_own(device, rng, step, other_step):
    """Rows are worked on in pieces, each of which begins its own step further on in either array."""
    dst, other = rng.standard_normal((2, 120_000), "f4"), rng.standard_normal((2, 120_000), "f4")
    n = 39_999
    target = S(None, n * step, step) if step > 0 else S(-1, -1 + n * step, step)
    source = S(None, n * other_step, other_step) if other_step > 0 else S(-1, -1 + n * other_step, other_step)
    want = reference(dst, other, 2.0, 3.0, (S(None), target), (S(None), source))
    fp.muladd(dst, other, 2, 3, dst_region=(S(None), target), other_region=(S(None), source), device=device)
    np.testing.assert_allclose(dst, want, rtol=1e-5, atol=1e-5)
