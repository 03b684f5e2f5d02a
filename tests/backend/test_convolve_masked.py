"""Pixels that are left out and pixels that count by weights, against astropy and NumPy, on every device found."""

from __future__ import annotations

import astropy.convolution
import numpy as np
import pytest
from astropy.utils.masked import Masked

import footprint as fp
from footprint.reference import convolve as reference


def given(rng, shape, dtype="f4"):
    """An image with NaN, what of it is masked, and weights, some of which are none."""
    image, masked = rng.standard_normal(shape).astype(dtype), rng.random(shape) < 0.3
    image[rng.random(shape) < 0.1] = np.nan
    weight = rng.uniform(0.5, 3, shape).astype(dtype)
    weight[rng.random(shape) < 0.1] = 0
    weight.flat[0], weight.flat[-1] = np.nan, -1
    # What is left out is left out whatever it is.
    image[masked & (rng.random(shape) < 0.3)] = np.inf
    image.flat[-1], masked.flat[-1] = np.inf, True
    return image, masked, weight


def wanted(image, mask, masked=None, weight=None, nan="propagate", **how):
    """The ratio of the sums of weighted values and of weights, in float64."""
    share = np.ones(image.shape) if weight is None else np.where(weight > 0, weight, 0).astype(float)
    if masked is not None:
        share[masked != 0] = 0
    if nan != "propagate":
        share[np.isnan(image)] = 0
    # What lies outside as a constant counts as much as a pixel does, unless pixels count by weights.
    how, outside = (how, 1.0) if weight is None else (how | {"cval": 0.0}, 0.0)
    sums = reference.convolve(np.where(share > 0, image, 0) * share, mask, **how)
    if nan == "ignore":
        return sums
    below = reference.convolve(share, mask, **how | {"cval": outside})
    return np.divide(sums * mask.sum(), below, out=np.full(sums.shape, np.nan), where=below > 1e-9)


def check(got, want):
    np.testing.assert_array_equal(np.isnan(got), np.isnan(want))
    tolerance = {"f4": 3e-6, "f8": 1e-13}[got.dtype.str[1:]]
    most = np.abs(want[np.isfinite(want)]).max(initial=1)
    np.testing.assert_allclose(got, want, rtol=0, atol=tolerance * most)


@pytest.mark.parametrize("treatment", ["interpolate", "fill"])
def test_masks_are_astropys(treatment, rng):
    image, masked, _ = given(rng, (33, 47))
    image[~masked & np.isinf(image)] = 1
    mask, nan = 0.5 + rng.random((5, 7)), {"interpolate": "interpolate", "fill": "ignore"}[treatment]
    how = {"boundary": "extend", "nan_treatment": treatment, "normalize_kernel": False}
    want = astropy.convolution.convolve(image, mask, mask=masked, **how)
    check(fp.convolve(image, mask, boundary="nearest", nan=nan, masked=masked, device="cpu"), want)
    for one in (np.ma.array(image, mask=masked), Masked(image, mask=masked)):
        check(fp.convolve(one, mask, boundary="nearest", nan=nan, device="cpu"), want)
        with pytest.raises(fp.ArgumentError, match="input: got a masked array, whose mask would be ignored"):
            fp.gaussian_filter(one, 1, device="cpu")


@pytest.mark.parametrize("nan", ["propagate", "interpolate", "ignore"])
def test_what_is_known_counts_by_its_weight(nan, device, rng):
    cases = ((61, 37), (4, 5), "same"), ((1, 1), (3, 4), "full"), ((67,), (12,), "valid")
    for shape, mask_shape, mode in cases if device == "cpu" else cases[:1]:
        (image, masked, weight), mask = given(rng, shape), 0.5 + rng.random(mask_shape)
        how = {"mode": mode, "boundary": "mirror" if mode == "same" else "constant", "cval": 1.5, "nan": nan}
        for more in ({"weight": weight}, {"masked": masked, "weight": weight}, {"masked": masked}):
            check(fp.convolve(image, mask, device=device, **how, **more), wanted(image, mask, **how, **more))


def test_what_lies_otherwise_is_read_the_same(device, rng):
    (image, masked, weight), mask, how = given(rng, (40, 31)), 0.5 + rng.random((4, 5)), {"boundary": "mirror", "device": device}
    want = fp.convolve(image, mask, masked=masked, weight=weight, **how)
    others = {"masked": masked.astype("i4") * 256, "weight": np.asfortranarray(weight.astype(">f8"))}
    np.testing.assert_array_equal(fp.convolve(image, mask, **others, **how), want)
    counts = rng.integers(0, 900, (40, 31), "u2")
    check(fp.convolve(counts, mask, masked=masked, **how), wanted(counts, mask, masked, boundary="mirror"))


def test_axes_are_the_images(rng):
    (image, masked, weight), mask = given(rng, (23, 17, 3)), 0.5 + rng.random((3, 4))
    got = fp.convolve(image, mask, axes=(0, 1), masked=masked, weight=weight, device="cpu")
    for colour in range(3):
        check(got[..., colour], wanted(*(a[..., colour] for a in (image,)), mask, masked[..., colour], weight[..., colour]))
    plan = fp.plan_convolve(image.shape, mask.shape, axes=(0, 1), masked=bool, weight=weight.dtype, device="cpu")
    assert [one.name for one in plan.inputs] == ["image", "mask", "masked", "weight"]
    assert {one.spec.shape for one in plan.inputs if one.name != "mask"} == {(23, 17, 3)}


@pytest.mark.parametrize("boundary", ["mirror", "wrap"])
def test_parts_have_the_bits_of_the_whole(boundary, device, rng):
    if device != "cpu" and boundary == "wrap":
        pytest.skip("rows of the other end are carried by the same steps; a border is compiled anew")
    (image, masked, weight), mask = given(rng, (101, 67)), 0.5 + rng.random((4, 5))
    how = {"boundary": boundary, "cval": np.nan, "nan": "interpolate", "device": device}
    want = fp.convolve(image, mask, masked=masked, weight=weight, **how)
    with pytest.raises(fp.BudgetError) as caught:
        fp.convolve(image, mask, masked=masked, weight=weight, memory=1, **how)
    least = caught.value.smallest
    np.testing.assert_array_equal(fp.convolve(image, mask, masked=masked, weight=weight, memory=least, **how), want)
    plan = fp.plan_convolve(image.shape, mask.shape, masked="bool", weight="float32", memory=least, **how)
    assert plan.n_parts > 1 and plan.footprint.total <= least


class Opened:
    """What an open image is to those who read it."""

    def __init__(self, array, path="a file"):
        self.path, self.shape, self.dtype, self._array = path, array.shape, array.dtype, array

    def read(self, rows, out):
        out[...] = self._array[rows]

    def host_bytes(self, n_rows, dtype=None):
        return 1000


def test_rows_and_frames_have_theirs_beside_them(device, rng):
    (image, masked, weight), mask = given(rng, (40, 31)), 0.5 + rng.random((4, 5))
    how = {"boundary": "mirror", "device": device}
    want, got = fp.convolve(image, mask, masked=masked, weight=weight, **how), np.zeros_like(image)
    opened = {"masked": Opened(masked), "weight": Opened(weight)}

    def read(start, stop, block):
        block[...] = image[start:stop]

    def write(start, stop, block):
        got[start:stop] = block

    with pytest.raises(fp.BudgetError) as caught:
        fp.plan_convolve_rows(image.shape, mask.shape, **opened, memory=1, **how)
    least = caught.value.smallest
    plan = fp.convolve_rows(read, image.shape, "f4", mask, write, **opened, memory=least, **how)
    np.testing.assert_array_equal(got, want)
    foreseen = fp.plan_convolve_rows(image.shape, mask.shape, **opened, memory=least, **how)
    assert foreseen.n_parts == plan.n_parts > 1 and [one.spec for one in foreseen.inputs[2:]] == [
        one.spec for one in plan.inputs[2:]
    ]
    assert plan.footprint.total <= least
    # In files, or in memory: one for all frames.
    frames = np.stack([image, image + 1])
    wanted = [want, fp.convolve(frames[1], mask, masked=masked, weight=weight, **how)]
    results = np.zeros_like(frames)
    for given_as in (opened, {"masked": masked.astype("i2"), "weight": weight.astype(">f8")}):
        copied = [lambda n, block: np.copyto(block, frames[n]), lambda n, block: np.copyto(results[n], block)]
        fp.convolve_frames(copied[0], frames.shape, "f4", mask, copied[1], **given_as, **how)
        np.testing.assert_array_equal(results, wanted)
        results[...] = 0
    np.testing.assert_array_equal(list(fp.stream(frames, mask=mask, masked=masked, weight=weight, **how)), wanted)
    plans = [fp.plan_convolve_frames(frames.shape, mask.shape, **how, **one) for one in (opened, {"masked": bool, "weight": "f4"})]
    # What comes from files is held beside the frames.
    assert plans[0].footprint.total - plans[1].footprint.total == masked.nbytes + weight.nbytes + 2000


def test_what_cannot_be_is_said(rng):
    (image, masked, weight), mask = given(rng, (9, 8)), np.ones((3, 3))
    call = lambda *more, **how: fp.convolve(image, *(more or (mask,)), **{"device": "cpu", "masked": masked} | how)
    with pytest.raises(fp.ShapeError, match=r"masked: got shape \(8,\).*the image's \(9, 8\); numpy.broadcast_to"):
        call(masked=masked[0])
    with pytest.raises(fp.ShapeError, match="weight: got dtype complex64"):
        call(weight=weight.astype("c8"))
    with pytest.raises(fp.ArgumentError, match=r'mask: got weights whose sum is 0.*nan="ignore"'):
        call(np.array([[-1.0, 0, 1]]))
    with pytest.raises(fp.ArgumentError, match=r"masked: got an array.*complex numbers"):
        fp.convolve(image.astype("c8"), mask, masked=masked, device="cpu")
    with pytest.raises(fp.ArgumentError, match="masked: got an array, although the image is a masked array"):
        fp.convolve(np.ma.array(image, mask=masked), mask, masked=masked, device="cpu")
    with pytest.raises(fp.ArgumentError, match="out: got memory shared with weight"):
        call(weight=weight, out=weight)
    with pytest.raises(fp.ArgumentError, match="'direct' there"):
        call(method="fft")
    # What nearly cancels would scale results by noise.
    with pytest.raises(fp.ArgumentError, match="whose sum is 0 or close to it"):
        call(astropy.convolution.RickerWavelet2DKernel(2))
    with pytest.raises(fp.ShapeError, match=r"weight: got shape \(8, 9\), wanted the frame's \(9, 8\)"):
        fp.stream([image], mask=mask, weight=weight.T, device="cpu")
    with pytest.raises(fp.FormatError, match=r"a file: has the shape \(8, 9\); masked is of the image's, \(9, 8\)"):
        fp.plan_convolve_rows((9, 8), (3, 3), masked=Opened(masked.T), device="cpu")
