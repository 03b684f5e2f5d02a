"""Volumes, chosen axes, batches and origins, against the float64 reference and SciPy, on every device found."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
import scipy.ndimage
import scipy.signal

import footprint as fp
from footprint.kernels.common.borders import BORDERS
from footprint.reference import convolve as reference
from tests import far

VOLUMES = [
    ((1, 1, 1), (2, 3, 4)),
    ((7, 9, 70), (3, 3, 3)),
    ((5, 13, 200), (4, 6, 5)),
    ((9, 8, 7), (5, 1, 3)),
    ((3, 30, 50), (7, 2, 33)),
]


def close(got, want, mask, image, dtype="f4"):
    assert got.dtype == dtype and got.shape == want.shape
    scale = np.abs(mask).sum() * max(np.abs(image).max(initial=0), 2.5)
    np.testing.assert_allclose(got, want, rtol=0, atol={"f4": 2e-6, "f8": 1e-13}[dtype] * scale)


@pytest.mark.parametrize(("shape", "mask_shape"), VOLUMES)
def test_volumes_of_awkward_shapes(shape, mask_shape, device, rng):
    image, mask = rng.standard_normal(shape, "f4"), rng.standard_normal(mask_shape)
    cases = [(boundary, "same") for boundary in BORDERS] + [("constant", "full"), ("mirror", "full"), ("nearest", "valid")]
    for boundary, mode in cases if device == "cpu" else cases[-1:] if shape[0] == 5 else cases[1:2]:
        if mode == "valid" and any(k > n for k, n in zip(mask_shape, shape)):
            continue
        how = {"boundary": boundary, "mode": mode, "cval": 2.5}
        close(fp.correlate(image, mask, device=device, **how), reference.correlate(image, mask, **how), mask, image)
        close(fp.convolve(image, mask, device=device, **how), reference.convolve(image, mask, **how), mask, image)


def test_volumes_of_float64_and_integers(device, rng):
    image, mask = rng.integers(0, 900, (9, 21, 45)), rng.standard_normal((3, 4, 3))
    want = scipy.signal.convolve(image, mask, "same", "direct")
    close(fp.convolve(image, mask, device=device), want, mask, image, "f8")
    close(fp.convolve(image.astype("u2"), mask, device=device), want, mask, image)


@pytest.mark.parametrize(("mask_shape", "size"), [((17, 16, 20), 24), ((2, 70, 3), 75)])
def test_masks_that_fit_no_chip(mask_shape, size, device, rng):
    image, mask = rng.random((mask_shape[0] + 2, size, 27), "f4"), rng.random(mask_shape)
    want = scipy.signal.correlate(image.astype("f8"), mask, "valid", "fft")
    close(fp.correlate(image, mask, mode="valid", device=device), want, mask, image)


def test_volumes_keep_their_digits(device):
    image, mask = np.full((12, 15, 40), 6852.7, "f4"), np.full((11, 13, 12), 1 / (11 * 13 * 12))
    got = fp.convolve(image, mask, boundary="nearest", device=device)
    np.testing.assert_allclose(got, np.float32(6852.7), rtol=1e-6)


@pytest.mark.parametrize("boundary", ["constant", "mirror", "wrap"])
def test_slabs_have_the_bits_of_the_whole(boundary, device, rng):
    image, mask = rng.standard_normal((23, 18, 40)).astype(">f4"), rng.standard_normal((4, 3, 5))
    if device != "cpu" and boundary != "mirror":
        pytest.skip("one border shows how slabs lie on a device; kernels take seconds to compile there")
    for mode in ("same", "full") if device == "cpu" else ("full",):
        how = {"boundary": boundary, "mode": mode, "cval": 1.5, "device": device}
        want = fp.convolve(image, mask, **how)
        with pytest.raises(fp.BudgetError) as caught:
            fp.convolve(image, mask, memory=1, **how)
        smallest = caught.value.smallest
        plan = fp.plan_convolve(image.shape, mask.shape, dtype=">f4", memory=smallest, **how)
        assert plan.n_parts > 3 and plan.cuts[0].unit == "planes" and plan.footprint.total <= smallest
        np.testing.assert_array_equal(fp.convolve(image, mask, memory=smallest, **how), want)


def one_by_one(image, mask, axes, **how):
    """The reference along some axes, image after image."""
    moved = np.moveaxis(image, axes, range(-len(axes), 0))
    many = moved.shape[: -len(axes)]
    found = [reference.convolve(moved[at], mask, **how) for at in np.ndindex(*many)]
    return np.moveaxis(np.reshape(found, (*many, *found[0].shape)), range(-len(axes), 0), axes)


@pytest.mark.parametrize(
    ("shape", "axes", "mask_shape"),
    [((6, 20, 31), (1, 2), (3, 4)), ((20, 31, 3), (0, 1), (3, 4)), ((6, 20, 31), (-1,), (5,)), ((6, 20, 31), (0,), (4,)),
     ((6, 20, 31), (2, 0), (3, 2)), ((2, 3, 9, 12), (2, 3), (3, 3)), ((2, 9, 3, 12), (1, 3), (3, 4)), ((2, 3, 4, 12), (3,), (5,)),
     ((2, 5, 9, 12), (1, 2, 3), (2, 3, 3)), ((2, 2, 5, 9, 8), (2, 3, 4), (2, 3, 3))],
)  # fmt: skip
def test_chosen_axes(shape, axes, mask_shape, device, rng):
    image, mask = rng.standard_normal(shape, "f4"), rng.standard_normal(mask_shape)
    for mode in ("same", "full") if device == "cpu" else ("full",):
        want = one_by_one(image, mask, axes, mode=mode, boundary="nearest")
        got = fp.convolve(image, mask, axes=axes, mode=mode, boundary="nearest", device=device)
        close(got, want, mask, image)
        assert got.flags.c_contiguous
        out = np.zeros(want.shape, "f8")
        assert fp.convolve(image, mask, axes=axes, mode=mode, boundary="nearest", out=out, device=device) is out
        np.testing.assert_array_equal(out, got)
    plan = fp.plan_convolve(shape, mask_shape, axes=axes, mode=mode, boundary="nearest", device=device)
    assert plan.outputs[0].spec.size == want.size


COLUMNS = [((30, 9), 0), ((9, 30), 0), ((5, 30, 4), 1), ((30, 4, 5), 0), ((3, 4, 20, 5), 2), ((2, 3, 4, 5, 6), 1), ((40, 1), 0)]


@pytest.mark.parametrize(("shape", "axis"), COLUMNS)
def test_columns_are_summed_where_they_lie(shape, axis, device, rng):
    modes = [(mode, border) for mode in ("same", "full", "valid") for border in BORDERS]
    for case, (mode, boundary) in enumerate(modes if device == "cpu" else modes[COLUMNS.index((shape, axis)) :: 7]):
        how = {"mode": mode, "boundary": boundary, "cval": 2.5}
        for dtype, taps in (("f4", 3), (">f4", 1), ("f8", 2), ("u1", 50 if mode != "valid" else 2))[case % 2 :: 2]:
            image, mask = (rng.random(shape) * 90).astype(dtype), rng.standard_normal(taps)
            want = np.apply_along_axis(partial(reference.convolve, mask=mask, **how), axis, image.astype(float))
            got = fp.convolve(image, mask, axes=axis, device=device, **how)
            close(got, want, mask, image, "f8" if dtype == "f8" else "f4")
            np.testing.assert_array_equal(fp.convolve(np.asfortranarray(image), mask, axes=axis, device=device, **how), got)
            with pytest.raises(fp.BudgetError) as caught:
                fp.convolve(image, mask, axes=axis, memory=1, device=device, **how)
            small = caught.value.smallest
            np.testing.assert_array_equal(fp.convolve(image, mask, axes=axis, memory=small, device=device, **how), got)


def test_columns_are_turned_for_no_sums():
    whole = fp.plan_convolve((300, 200), (15, 1), device="cpu")
    plan = fp.plan_convolve((300, 200), (15,), axes=0, device="cpu")
    assert [step.kernel for step in plan.steps if step.kernel] == ["separable.line"] and plan.nbytes <= whole.nbytes + 4096
    # Rows of the caller's own array are read where they lie, and planes of a volume are parts as its rows are.
    volume = fp.plan_convolve((40, 3000, 50), (5,), axes=0, memory="4MB", device="null:h100")
    assert {cut.axis for cut in volume.cuts} <= {"x", "b"} and volume.n_parts > 1
    assert "separable.line" not in {step.kernel for step in fp.plan_convolve((9, 30, 40), (3, 3), axes=(0, 1), device="cpu").steps}


def test_a_volume_is_cut_along_its_planes_too(rng):
    """A few planes of a cube may be more than there is room for."""
    image, mask = rng.standard_normal((40, 300, 300)).astype(">f4"), rng.standard_normal(9)
    for memory, axes in (("2MB", "b"), ("60kB", "bx")):
        plan = fp.plan_convolve(image.shape, mask, axes=0, dtype=">f4", memory=memory, device="cpu")
        assert "".join(cut.axis for cut in plan.cuts) == axes and plan.nbytes <= 2_000_000
        got = fp.convolve(image, mask, axes=0, memory=memory, device="cpu")
        np.testing.assert_array_equal(got, fp.convolve(image, mask, axes=0, device="cpu"))


@pytest.mark.parametrize("axes", [(1, 2), (2,), (0, 2)])
def test_batches_in_parts_have_the_bits_of_the_whole(axes, device, rng):
    image, mask = rng.standard_normal((9, 22, 30)).astype(">f4"), rng.standard_normal((3, 4, 2)[: len(axes)])
    image[3, 5, 6] = np.nan
    for nan in ("propagate", "ignore"):
        how = {"axes": axes, "boundary": "mirror", "nan": nan, "device": device}
        want = fp.convolve(image, mask, **how)
        with pytest.raises(fp.BudgetError) as caught:
            fp.convolve(image, mask, memory=1, **how)
        np.testing.assert_array_equal(fp.convolve(image, mask, memory=caught.value.smallest, **how), want)


@pytest.mark.parametrize("mode", ["same", "full", "valid"])
def test_every_image_of_a_batch_has_its_own_bits(mode, rng):
    # Small ones, which are summed side by side, those that are not, integers as they are stored, and masks of a row.
    for shape, taps in (
        ((40, 8, 9), (3, 4)),
        ((7, 5, 62), (5, 2)),
        ((3, 70, 90), (4, 7)),
        ((2, 3, 6, 9), (2, 5)),
        ((5, 9, 8), (1, 4)),
    ):
        for dtype in ("f4", "u2"):
            images, mask = (rng.random(shape) * 900).astype(dtype), rng.standard_normal(taps)
            for boundary in ("constant", "wrap"):
                how = {"mode": mode, "boundary": boundary, "cval": 3.0, "method": "direct", "device": "cpu"}
                got = fp.convolve(images, mask, axes=(-2, -1), **how)
                flat = [fp.convolve(image, mask, **how) for image in images.reshape(-1, *shape[-2:])]
                np.testing.assert_array_equal(got, np.reshape(flat, got.shape))
    steps = fp.plan_convolve((1000, 8, 8), (2, 3), axes=(1, 2), device="cpu").steps
    assert [step.kernel for step in steps if step.kernel] == ["planes"], "one launch for all"


def test_nan_in_volumes(device, rng):
    image, mask = rng.standard_normal((7, 12, 30), "f4"), 0.5 + rng.random((2, 3, 4))
    image[rng.random(image.shape) < 0.4] = np.nan
    for nan in ("interpolate", "ignore") if device == "cpu" else ("interpolate",):
        want = reference.convolve(image, mask, boundary="wrap", nan=nan)
        np.testing.assert_allclose(fp.convolve(image, mask, boundary="wrap", nan=nan, device=device), want, atol=3e-5)


@pytest.mark.parametrize("boundary", ["constant", "wrap", "mirror"])
def test_origins_are_ndimages(boundary, device, rng):
    if device != "cpu" and boundary != "mirror":
        pytest.skip("an origin only moves where rows begin")
    for shape, mask_shape, origin in (((19, 30), (5, 3), (1, -1)), ((40,), (7,), -3), ((6, 9, 11), (3, 2, 3), (1, -1, 0))):
        image, mask = rng.standard_normal(shape), rng.standard_normal(mask_shape)
        want = scipy.ndimage.correlate(image, mask, mode=boundary, cval=2, origin=origin)
        got = fp.correlate(image, mask, boundary=boundary, cval=2, origin=origin, device=device)
        close(got, want, mask, image, "f8")
        # An even mask's middle lies one further in scipy.ndimage.
        ours = tuple(o + 1 - k % 2 for o, k in zip(np.broadcast_to(origin, len(shape)), mask_shape))
        want = scipy.ndimage.convolve(image, mask, mode=boundary, cval=2, origin=origin)
        close(fp.convolve(image, mask, boundary=boundary, cval=2, origin=ours, device=device), want, mask, image, "f8")


@pytest.mark.parametrize("axes", [(0, 1), (1, 2), (2, 0)])
def test_axes_of_an_array_on_a_device(rng, axes):
    with far.far_device():
        image, mask = rng.standard_normal((4, 5, 6), "f4"), rng.random((3, 3))
        want, out = fp.convolve(image, mask, axes=axes, device="cpu"), far.ndarray(np.zeros_like(image))
        got = fp.convolve(far.ndarray(image.copy()), mask, axes=axes)
        assert type(got) is far.ndarray and fp.convolve(far.ndarray(image.copy()), mask, axes=axes, out=out) is out
        np.testing.assert_array_equal(got.get(), want)
        np.testing.assert_array_equal(out.get(), want)


@pytest.mark.parametrize("axes", [(0,), (1,), (2,), (1, 2), (0, 1)])
def test_another_call_along_axes_goes_the_short_way_on_a_device_too(rng, axes, monkeypatch):
    with far.far_device():
        image, mask = rng.standard_normal((4, 5, 6), "f4"), rng.random((3, 3)[: len(axes)], "f4")
        fp.convolve(far.ndarray(image.copy()), far.ndarray(mask.copy()), axes=axes)
        monkeypatch.setattr("footprint.api._filtered._run", lambda *rest: pytest.fail("the long way"))
        other = rng.standard_normal((4, 5, 6), "f4")
        got = fp.convolve(far.ndarray(other.copy()), far.ndarray(mask + 1), axes=axes)
        monkeypatch.undo()
        np.testing.assert_array_equal(got.get(), fp.convolve(other, mask + 1, axes=axes, device="cpu"))
