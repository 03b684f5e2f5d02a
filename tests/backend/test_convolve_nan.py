"""What convolve does about NaN, against the float64 reference and astropy.convolution."""

from __future__ import annotations

import astropy.convolution
import numpy as np
import pytest

import footprint as fp
from footprint.reference import convolve as reference

SHAPES = [((1, 1), (3, 4)), ((70, 257), (6, 9)), ((5, 61), (1, 5)), ((9,), (12,))]


def holes(rng, shape, dtype="f4"):
    """An image of which a third is missing, in places more than a mask covers."""
    image = rng.standard_normal(shape).astype(dtype)
    image[rng.random(shape) < 0.3] = np.nan
    image[tuple(slice(n // 3, n // 3 + 12) for n in shape)] = np.nan
    return image


def check(got, want, dtype):
    assert got.dtype == dtype
    np.testing.assert_array_equal(np.isnan(got), np.isnan(want))
    np.testing.assert_allclose(
        got, want, rtol=0, atol={"f4": 3e-6, "f8": 1e-13}[dtype] * max(np.nanmax(np.abs(want), initial=0), 1)
    )


@pytest.mark.parametrize("nan", ["interpolate", "ignore"])
@pytest.mark.parametrize(("shape", "mask_shape"), SHAPES)
def test_what_is_known_makes_the_sums(shape, mask_shape, nan, device, rng):
    if device != "cpu" and shape != (70, 257):
        pytest.skip("awkward shapes are the kernels' of sums, which are tested by themselves; they compile for seconds each")
    mask = 0.5 + rng.random(mask_shape)
    cases = (("f4", "constant", "full"), ("f8", "mirror", "same"), ("f4", "wrap", "same"))
    for dtype, boundary, mode in cases if device == "cpu" else cases[:1]:
        image, how = holes(rng, shape, dtype), {"mode": mode, "boundary": boundary, "cval": 2.5, "nan": nan}
        check(fp.convolve(image, mask, device=device, **how), reference.convolve(image, mask, **how), dtype)
        check(fp.correlate(image, mask, device=device, **how), reference.correlate(image, mask, **how), dtype)


def test_a_nan_outside_is_none_of_what_is_known(device, rng):
    image, mask = holes(rng, (30, 40)), rng.random((5, 3))
    for nan in ("interpolate", "ignore"):
        for x in (image, rng.integers(0, 99, (30, 40), "u2")):
            how = {"cval": np.nan, "nan": nan}
            check(fp.convolve(x, mask, device=device, **how), reference.convolve(x, mask, **how), "f4")


@pytest.mark.parametrize(("theirs", "ours"), [("fill", "constant"), ("extend", "nearest"), ("wrap", "wrap")])
def test_meanings_are_astropys(theirs, ours, rng):
    image = rng.standard_normal((33, 47))
    image[rng.random(image.shape) < 0.3] = np.nan
    mask = 0.5 + rng.random((5, 7))
    for nan, treatment in (("interpolate", "interpolate"), ("ignore", "fill")):
        want = astropy.convolution.convolve(image, mask, boundary=theirs, nan_treatment=treatment, normalize_kernel=False)
        check(fp.convolve(image, mask, boundary=ours, nan=nan, device="cpu"), want, "f8")
    want = astropy.convolution.convolve(image, mask, boundary=theirs, normalize_kernel=True)
    check(fp.convolve(image, mask / mask.sum(), boundary=ours, nan="interpolate", device="cpu"), want, "f8")


def test_numbers_alone_are_what_they_always_were(device, rng):
    image, mask = rng.standard_normal((64, 65), "f4"), rng.random((4, 5))
    image[3, 4] = np.inf
    want = fp.convolve(image, mask, device=device)
    np.testing.assert_array_equal(fp.convolve(image, mask, nan="ignore", device=device), want)
    got = fp.convolve(image, mask, nan="interpolate", device=device)
    np.testing.assert_array_equal(np.isinf(got), np.isinf(want))
    np.testing.assert_allclose(got, want, rtol=0, atol=3e-5)
    counts = rng.integers(0, 900, (64, 65), "u2")
    np.testing.assert_array_equal(
        fp.convolve(counts, mask, nan="interpolate", device=device), fp.convolve(counts, mask, device=device)
    )


@pytest.mark.parametrize("boundary", ["constant", "mirror", "wrap"])
def test_parts_have_the_bits_of_the_whole(boundary, device, rng):
    if device != "cpu" and boundary != "mirror":
        pytest.skip("one border shows how parts lie on a device; kernels take seconds to compile there")
    mask = 0.5 + rng.random((5, 6))
    for image in (holes(rng, (101, 67)), holes(rng, (101, 67)).astype(">f4")):
        for nan in ("interpolate", "ignore"):
            how = {"boundary": boundary, "cval": 1.5, "nan": nan, "device": device}
            want = fp.convolve(image, mask, **how)
            with pytest.raises(fp.BudgetError) as caught:
                fp.convolve(image, mask, memory=1, **how)
            np.testing.assert_array_equal(fp.convolve(image, mask, memory=caught.value.smallest, **how), want)
            plan = fp.plan_convolve(image.shape, mask.shape, dtype=image.dtype.str, memory=caught.value.smallest, **how)
            assert plan.n_parts > 1


def test_a_mask_without_a_sum_cannot_be_scaled_by(device, rng):
    image, mask = holes(rng, (30, 40)), np.array([[-1.0, 0, 1]])
    with pytest.raises(fp.ArgumentError, match=r'mask: got weights whose sum is 0.*nan="ignore"'):
        fp.convolve(image, mask, nan="interpolate", device=device)
    check(fp.convolve(image, mask, nan="ignore", device=device), reference.convolve(image, mask, nan="ignore"), "f4")
    with pytest.raises(fp.ArgumentError, match="propagate, interpolate, ignore"):
        fp.convolve(image, mask, nan="fill", device=device)


def test_frames_and_rows_have_it_too(device, rng):
    frames, mask, how = holes(rng, (3, 40, 30)), rng.random((3, 4)), {"nan": "interpolate", "device": device}
    want = [fp.convolve(frame, mask, **how) for frame in frames]
    np.testing.assert_array_equal(np.array([f.copy() for f in fp.stream(frames, mask=mask, **how)]), want)
