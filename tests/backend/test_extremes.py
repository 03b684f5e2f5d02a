"""Minima and maxima of boxes by the CPU's one kernel for all of them: against SciPy, and against sorted windows to the bit."""

from __future__ import annotations

import math
from unittest.mock import patch

import numpy as np
import pytest
import scipy.ndimage
from hypothesis import given, settings
from hypothesis import strategies as st

import footprint as fp
from footprint.backend.registry import device_limits
from footprint.kernels.common.borders import BORDERS, CODES, source_index
from footprint.kernels.common.few import in_threads
from footprint.kernels.extremes import cpu
from footprint.kernels.extremes.contract import SMALL, extremes_work, seen, takes
from footprint.ops.rank_filter import RankFilter
from footprint.reference.rank_filter import rank_filter as reference
from footprint.spec import ArraySpec, Limits

from .test_rank_filter import same, values

NATIVE = ["u1", "i1", "u2", "i2", "u4", "i4", "u8", "i8", "f4", "f8"]
DTYPES = [*NATIVE, "?", "f2", ">u2", ">i4", ">f4", ">f8"]
SIZE = st.tuples(st.integers(1, 90), st.integers(1, 90))
# Smaller ones compile comparisons of their own.
LARGE = SIZE.filter(lambda size: math.prod(size) > SMALL)


def drawn(data, size, count=2):
    """Origins and borders of a box."""
    origin = tuple(data.draw(st.integers(-(n // 2), (n - 1) // 2)) for n in size)
    return {"origin": origin, "mode": tuple(data.draw(st.sampled_from(BORDERS)) for _ in range(count))}


@settings(max_examples=200)
@given(st.tuples(st.integers(1, 60), st.integers(1, 330)), LARGE, st.data(), st.sampled_from(DTYPES), st.integers(0, 2**32))
def test_any_box_is_scipys(shape, size, data, dtype, seed):
    image, how = values(np.random.default_rng(seed), shape, dtype), drawn(data, size)
    if image.dtype.kind in "ui" and image.dtype.itemsize == 8:
        # SciPy compares them as float64.
        image = image >> 12
    cval = data.draw(st.sampled_from([0, 1]))
    native = image.astype("f4" if dtype == "f2" else "u1" if dtype == "?" else image.dtype.newbyteorder("="))
    step = data.draw(st.sampled_from([1, -1, 2]))
    for name in ("minimum_filter", "maximum_filter"):
        want = getattr(scipy.ndimage, name)(native[:, ::step], size, cval=cval, **how).astype(image.dtype.newbyteorder("="))
        np.testing.assert_array_equal(getattr(fp, name)(image[:, ::step], size, cval=cval, device="cpu", **how), want)


@settings(max_examples=100)
@given(st.tuples(st.integers(1, 12), st.integers(1, 70)), LARGE, st.data(), st.sampled_from(DTYPES), st.integers(0, 2**32))
def test_values_are_in_the_order_of_a_sort(shape, size, data, dtype, seed):
    """NaN of either sign behind all others, -0.0 before 0.0; in several threads or one, whole or in parts."""
    rng, (mode, other) = np.random.default_rng(seed), drawn(data, size)["mode"]
    image = values(rng, shape, dtype)
    if image.dtype.kind == "f":
        image[rng.random(shape) < data.draw(st.sampled_from([0.0, 0.1, 0.9]))] = np.copysign(np.nan, rng.choice([-1, 1]))
    # The reference knows one border; of a constant it is any value.
    mode = mode if other != "constant" else "constant"
    special = [0, 1] if image.dtype.kind != "f" else [np.nan, -np.nan, -0.0, np.inf, -np.inf, 7.0]
    cval, count = data.draw(st.sampled_from(special)), math.prod(size)
    for rank in (0, count - 1):
        want = reference(image, rank, size, mode, cval)
        got = fp.rank_filter(image, rank, size, mode=mode, cval=cval, device="cpu")
        same(got, want)
        with pytest.raises(fp.BudgetError) as caught:
            fp.rank_filter(image, rank, size, mode=mode, cval=cval, memory=1, device="cpu")
        memory = caught.value.smallest
        in_parts = fp.percentile_filter(image, 100.0 if rank else 0.0, size, mode=mode, cval=cval, memory=memory, device="cpu")
        assert in_parts.tobytes() == got.tobytes()


def launched(image, size, first, largest, borders, threads):
    """Of a kernel that finds its workspace full of something else, and nothing beyond it changed."""
    out, spec = np.full_like(image, 77), ArraySpec(image.shape, image.dtype.str)
    how = {"tall": size[0], "wide": size[1], "largest": largest, "y0": first[0], "x0": first[1], "cval": 3}
    how |= {"border_y": borders[0], "border_x": borders[1]}
    (work,) = extremes_work(Limits(device="cpu", threads=threads), spec, spec, **how)
    held = np.full(work.size + 128, 77, work.dtype)
    cpu.extremes(image, out, held[64:-64].reshape(work.shape), **how)
    assert (held[:64] == 77).all() and (held[-64:] == 77).all()
    return out


@settings(max_examples=200)
@given(
    st.tuples(st.integers(1, 3), st.integers(1, 70), st.integers(1, 3000)), st.tuples(st.integers(1, 150), st.integers(1, 200)),
    st.data(), st.sampled_from(NATIVE), st.integers(1, 9), st.booleans(), st.integers(0, 2**32),
)  # fmt: skip
def test_threads_stay_in_their_memory_and_find_the_same(shape, size, data, dtype, threads, largest, seed):
    image, how = np.random.default_rng(seed).integers(0, 100, shape).astype(dtype), drawn(data, size)
    first = tuple(-(n // 2) - move for n, move in zip(size, how["origin"]))
    found = scipy.ndimage.maximum_filter if largest else scipy.ndimage.minimum_filter
    want = np.stack([found(plane, size, cval=3, **how) for plane in image])
    np.testing.assert_array_equal(launched(image, size, first, largest, how["mode"], threads), want)
    with in_threads():
        np.testing.assert_array_equal(launched(image, size, first, largest, how["mode"], threads), want)


@settings(max_examples=300)
@given(
    st.tuples(*[st.integers(1, 40)] * 2, st.integers(1, 9000)), st.data(), SIZE, st.integers(1, 64), st.sampled_from([1, 2, 4, 8])
)
def test_a_smaller_part_needs_no_more_memory(shape, data, size, threads, itemsize):
    """The last part of a job, which takes what the largest has."""
    part = tuple(data.draw(st.integers(1, n)) for n in shape)
    specs = [ArraySpec(one, f"i{itemsize}") for one in (shape, part)]
    large, small = (extremes_work(Limits(threads=threads), one, one, tall=size[0], wide=size[1])[0] for one in specs)
    assert small.nbytes <= large.nbytes


@pytest.mark.parametrize("dtype", ["f8", "u8", "f4", "i2", "u1"])
@pytest.mark.parametrize("size", [(5, 6), (2, 90), (13, 1), (1, 26), (1, 130)])
def test_every_column_is_written_at_any_width(dtype, size, rng):
    for width in (*range(1, 140), 193, 1194, 8191, 8193):
        image = (rng.random((3, width)) * 200).astype(dtype)
        want = scipy.ndimage.minimum_filter(image, size)
        np.testing.assert_array_equal(fp.minimum_filter(image, size, device="cpu"), want)


@pytest.mark.parametrize("border", BORDERS)
def test_a_border_that_is_taken_for_another_shows_the_same(border):
    def columns(lo, hi, n, name):
        return {source_index(i, n, CODES[name]) for i in range(lo, hi + 1)}

    for size in range(1, 24):
        for first in range(1 - size, 1):
            taken = seen(first, size, border)
            for n in (1, 2, 3, 5, 9, 30) if taken != border else ():
                for x in range(n):
                    at = x + first, x + first + size - 1
                    assert columns(*at, n, taken) == columns(*at, n, border)
    assert (seen(-15, 31, border) == "nearest") == (border in ("nearest", "reflect", "mirror"))
    assert (seen(-15, 30, border) == "nearest") == (border in ("nearest", "reflect"))


def test_boxes_of_other_sizes_compile_nothing(rng):
    """Every size had comparisons of its own, which took a second each."""
    made = lambda: [list(one.nopython_signatures) for one in (cpu._units, cpu._all)]
    known: list = []
    for round in range(2):
        for dtype in NATIVE:
            image = values(rng, (90, 300), dtype)
            for size in ((6, 6), (1, 31), (31, 1), (40, 50), (301, 301)) if round else ((7, 9),):
                for mode in BORDERS if round else ("reflect",):
                    fp.minimum_filter(image, size, mode=mode, device="cpu")
                    with in_threads():
                        fp.maximum_filter(image, size, mode=mode, cval=1, device="cpu")
        assert round == 0 or made() == known
        known = made()
    # One for each number of bytes, in threads and without.
    assert [len(one) for one in known] == [4, 4]


def test_small_boxes_and_other_ranks_are_networks_of_comparisons():
    limits = device_limits("cpu")
    assert takes(limits, 6, 5, 0) and takes(limits, 6, 5, 29) and takes(limits, 1, 26, 0) and takes(limits, 1, 12, 0)
    assert not takes(limits, 6, 5, 15) and not takes(limits, 5, 5, 0) and SMALL == 25
    assert not takes(device_limits("null:h100"), 6, 5, 0)


def test_predictions_count_what_is_done():
    """Boxes nine times as wide take little longer, and comparisons of millions of pixels are not written out to be counted."""
    spec, limits = ArraySpec((2048, 2048), "float32"), device_limits("cpu")
    made = lambda n: RankFilter((n, n), 0, (-(n // 2),) * 2, ("reflect",) * 2).cost(limits, spec)
    with patch("footprint.ops.rank_filter.operations", side_effect=AssertionError):
        costs = [made(n) for n in (11, 99, 4001)]
    assert costs[0].flops < costs[1].flops < 2 * costs[0].flops and costs[2].flops < 3 * costs[0].flops
    assert {cost.nbytes for cost in costs} == {2 * spec.nbytes}
