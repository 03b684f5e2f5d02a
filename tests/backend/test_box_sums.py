"""Sums of many equal weights, on every device found: right, local, to the last digit, and the same whatever the parts."""

from __future__ import annotations

import numpy as np
import pytest

import footprint as fp
from footprint.kernels.common.borders import BORDERS
from footprint.reference.gaussian_filter import line

from .kernels import in_turn

# Lines, columns, few columns beside each other, and windows longer than the array, along one axis or all.
CASES = [((400,), 61, 0), ((70, 90), (101, 50), (3, -7)), ((9, 70), (60, 1), 0), ((3, 90, 5), (1, 55, 1), 0),
         ((2, 3, 300), (1, 1, 100), 0), ((40, 7, 2), (49, 1, 1), 0), ((30, 40), (301, 200), 0)]  # fmt: skip


def truth(image, sizes, origins, mode, cval=0.0):
    """Every axis in turn, tap by tap in float64."""
    found = image.astype(float)
    for axis, (size, origin) in enumerate(zip(sizes, origins)):
        if size > 1:
            found = line(found, np.full(size, 1 / size), axis, mode, cval, origin)
    return found


@pytest.mark.parametrize("mode", BORDERS)
def test_wide_means_along_any_axis(mode, device, rng):
    in_turn(device, BORDERS.index(mode), len(BORDERS))
    for number, (shape, size, origin) in enumerate(CASES):
        sizes, origins = (one if isinstance(one, tuple) else (one,) * len(shape) for one in (size, origin))
        for dtype, within in (("f4", 4e-7), ("f8", 1e-14)):
            image = (rng.standard_normal(shape) + 3).astype(dtype)
            if device.startswith("opencl") and number % 2 == (dtype == "f8"):
                continue
            got = fp.uniform_filter(image, size, mode=mode, cval=2.5, origin=origin, device=device)
            want = truth(image, sizes, origins, mode, 2.5)
            np.testing.assert_allclose(got, want, rtol=0, atol=within * 7, err_msg=f"{shape} {dtype}")


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_what_has_left_the_window_leaves_no_trace(dtype, device, rng):
    in_turn(device, dtype == "f8", 2)
    image = rng.standard_normal((130, 150)).astype(dtype)
    for axis, at in ((0, (60, 70)), (1, (64, 75))):
        size = tuple(51 if a == axis else 1 for a in range(2))
        clean = fp.uniform_filter(image, size, device=device)
        for value in (np.nan, np.inf, 1e30):
            spoilt = image.copy()
            spoilt[at] = value
            got = fp.uniform_filter(spoilt, size, device=device)
            inside = np.zeros(image.shape, bool)
            inside[tuple(slice(n - 25, n + 26) if a == axis else n for a, n in enumerate(at))] = True
            np.testing.assert_array_equal(got[~inside], clean[~inside])
            assert not np.isclose(got[inside], clean[inside]).any()


def test_no_number_of_weights_takes_digits():
    for dtype, within in (("f4", 2e-7), ("f8", 5e-16)):
        level = np.full(6000, 6852.7, dtype)
        weight = np.dtype(dtype).type(1 / 5001)
        got = fp.uniform_filter(level, 5001, device="cpu")
        np.testing.assert_allclose(got, np.float64(level[0]) * np.float64(weight) * 5001, rtol=within)


@pytest.mark.parametrize("mode", ["mirror", "wrap"])
def test_parts_have_the_bits_of_the_whole(mode, rng):
    for shape, dtype, size in (((300, 200), ">f4", (60, 120)), ((20_000,), ">f8", 901), ((5, 90, 40), ">f4", (1, 70, 1))):
        image = (rng.random(shape) * 1000).astype(dtype)
        options = {"mode": mode, "device": "cpu"}
        want = fp.uniform_filter(image, size, **options)
        with pytest.raises(fp.BudgetError) as caught:
            fp.uniform_filter(image, size, memory=1, **options)
        memory = caught.value.smallest + image.nbytes // 4
        plan = fp.plan_uniform_filter(shape, size, dtype=dtype, mode=mode, memory=memory, device="cpu")
        assert plan.n_parts > 1 and plan.footprint.total <= memory
        np.testing.assert_array_equal(fp.uniform_filter(image, size, memory=memory, **options), want)
    image, mask = rng.random((600, 200)).astype("f4"), np.full((70, 201), 0.5)
    options = {"boundary": mode, "device": "cpu"}
    plan = fp.plan_convolve(image.shape, mask, memory="450 kB", **options)
    assert plan.n_parts > 1 and "separable.box" in {step.kernel for step in plan.steps}
    parts = fp.convolve(image, mask, memory="450 kB", **options)
    np.testing.assert_array_equal(parts, fp.convolve(image, mask, **options))


def test_only_a_processor_and_only_many_equal_weights_go_in_blocks():
    kernels = lambda size, device: {s.kernel for s in fp.plan_uniform_filter((500, 500), size, device=device).steps if s.kernel}
    assert kernels(257, "cpu") == kernels((1, 65), "cpu") == {"separable.box"}
    assert kernels(15, "cpu") == {"separable"}
    assert "separable.box" not in kernels(301, "null:h100")
    gaussian = fp.plan_gaussian_filter((500, 500), 20, device="cpu")
    assert "separable.box" not in {step.kernel for step in gaussian.steps}


@pytest.mark.parametrize(("dtype", "kernel"), [("u1", "counts"), (">i2", "counts"), ("f4", "means")])
@pytest.mark.parametrize("mode", ["same", "full", "valid"])
def test_a_mask_of_one_number_goes_in_one_pass(mode, dtype, kernel, rng):
    """Over what is stored, where `uniform_filter` does: to the digits of direct sums, and in parts to the same bits."""
    image, taps = (rng.random((260, 270)) * 200).astype(dtype), (70, 61)
    image[100:, :50] = 0
    how = {"mode": mode, "boundary": "reflect", "device": "cpu"}
    mask = np.full(taps, -0.3)
    plan = fp.plan_convolve(image.shape, mask, dtype=image.dtype.str, **how)
    assert {step.kernel for step in plan.steps if step.kernel} == {f"separable.{kernel}"}
    wide = [(0, 0) if mode == "valid" else (n // 2, (n - 1) // 2) if mode == "same" else (n - 1, n - 1) for n in taps]
    sums = np.pad(image.astype(float), wide, mode="symmetric")
    for axis, n in enumerate(taps):
        sums = np.lib.stride_tricks.sliding_window_view(sums, n, axis).sum(-1)
    got = fp.convolve(image, mask, **how)
    assert got.dtype == "float32" and (np.abs(got + 0.3 * sums) <= 1e-6 * 0.3 * sums).all()
    for method in ("auto", "separable"):
        with pytest.raises(fp.BudgetError) as caught:
            fp.convolve(image, mask, method=method, memory=1, **how)
        least = caught.value.smallest
        np.testing.assert_array_equal(fp.convolve(image, mask, method=method, memory=least, **how), got)
    outside = fp.plan_convolve(image.shape, mask, dtype=image.dtype.str, cval=1.0, device="cpu")
    assert not any(step.kernel == f"separable.{kernel}" for step in outside.steps)


@pytest.mark.parametrize("mode", ["same", "full", "valid"])
def test_a_mask_of_one_number_goes_in_blocks(mode, rng):
    # Of any size, by its values, in calls alike, and not where they only nearly are one number.
    image, taps = (rng.random((300, 310)) * 100).astype("f4"), (70, 275)
    mask = np.full(taps, -0.25)
    how = {"mode": mode, "cval": 2.0, "device": "cpu"}
    plan = fp.plan_convolve(image.shape, mask, **how)
    assert plan.notes[0].startswith("method: separable")
    assert [step.kernel for step in plan.steps if step.kernel] == ["separable.box", "separable.box"]
    wide = [(0, 0) if mode == "valid" else (n // 2, (n - 1) // 2) if mode == "same" else (n - 1, n - 1) for n in taps]
    sums = np.pad(image.astype(float), wide, constant_values=2.0)
    for axis, n in enumerate(taps):
        sums = np.lib.stride_tricks.sliding_window_view(sums, n, axis).sum(-1)
    mixed = mask.copy()
    mixed[0, -1] += 0.5
    for _ in range(2):
        got = fp.convolve(image, mask, **how)
        assert np.abs(got + sums / 4).max() < 4e-7 * sums.max() / 4
        other = fp.convolve(image, mixed, **how)
        assert np.abs(other - got).max() > 10
