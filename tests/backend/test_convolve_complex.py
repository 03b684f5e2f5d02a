"""Complex images and masks against SciPy's, on every device found."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.signal

import footprint as fp

KINDS = [("c8", "c8"), ("c8", "f4"), ("f4", "c16"), ("c16", "c8"), (">c8", "c8"), ("u2", "c8"), ("i4", "c8"), ("G", "G")]


def numbers(rng, shape, dtype):
    kind = np.dtype(dtype).kind
    return (100 * rng.standard_normal(shape) + (100j * rng.standard_normal(shape) if kind == "c" else 150)).astype(dtype)


def close(got, want, image, mask):
    wide = np.dtype(image.dtype).itemsize > 8 or np.dtype(image.dtype) == "i4"
    assert got.dtype == ("c16" if wide else "c8")
    scale = np.abs(mask).sum() * np.abs(image).max()
    np.testing.assert_allclose(got, want, rtol=0, atol=(1e-13 if wide else 3e-6) * scale)


@pytest.mark.parametrize(("of_image", "of_mask"), KINDS)
def test_complex_numbers_are_scipys(of_image, of_mask, device, rng):
    shapes = [((37, 80), (4, 5)), ((50,), (6,)), ((5, 9, 14), (2, 3, 3))]
    for shape, mask_shape in shapes if device == "cpu" else shapes[:1]:
        image, mask = numbers(rng, shape, of_image), numbers(rng, mask_shape, of_mask)
        wide = [a.astype("c16") for a in (image, mask)]
        for mode in ("same", "full", "valid") if device == "cpu" else ("full",):
            for verb in ("convolve", "correlate"):
                want = getattr(scipy.signal, verb)(*wide, mode, "direct")
                for _ in range(2):  # the second call is known
                    close(getattr(fp, verb)(image, mask, mode=mode, device=device), want, image, mask)


def test_a_correlation_is_the_convolution_with_the_conjugate_turned_round(device, rng):
    image, mask = numbers(rng, (20, 33), "c16"), numbers(rng, (3, 4), "c16")
    for how in ({"boundary": "wrap"}, {"cval": 2.5, "mode": "full"}):
        got = fp.correlate(image, mask, device=device, **how)
        want = fp.convolve(image, mask[::-1, ::-1].conj(), device=device, **how)
        np.testing.assert_allclose(got, want, rtol=1e-12, atol=1e-9)


def test_what_lies_outside_is_real(device, rng):
    image, mask = numbers(rng, (9, 12), "c8"), numbers(rng, (3, 4), "c8")
    want = scipy.signal.convolve2d(image.astype("c16"), mask.astype("c16"), "full", "fill", 2.5)
    close(fp.convolve(image, mask, mode="full", cval=2.5, device=device), want, image, mask)


@pytest.mark.parametrize("boundary", ["constant", "wrap"])
def test_parts_have_the_bits_of_the_whole(boundary, device, rng):
    image, mask = numbers(rng, (101, 47), "c8"), numbers(rng, (4, 5), "c8")
    how = {"boundary": boundary, "cval": 1.5, "device": device}
    want = fp.convolve(image, mask, **how)
    with pytest.raises(fp.BudgetError) as caught:
        fp.convolve(image, mask, memory=1, **how)
    smallest = caught.value.smallest
    np.testing.assert_array_equal(fp.convolve(image, mask, memory=smallest, **how), want)
    plan = fp.plan_convolve(image.shape, mask.shape, dtype="c8", mask_dtype="c8", memory=smallest, **how)
    assert plan.n_parts > 1 and plan.outputs[0].spec.dtype == "<c8"
    # Along the last axis of every row, into an array of another precision.
    out = np.zeros(image.shape, "c16")
    fp.convolve(image, mask[0], axes=1, boundary=boundary, out=out, device=device)
    want = [fp.convolve(row, mask[0], boundary=boundary, device=device) for row in image]
    np.testing.assert_array_equal(out, np.array(want))


def test_large_masks_go_by_transforms_of_tiles(device, rng):
    cases = [((150, 170), (41, 40), "c8", "c16"), ((3000,), (900,), "c16", "f8")]
    for shape, taps, of_image, of_mask in cases if device == "cpu" else cases[:1]:
        image, mask = numbers(rng, shape, of_image), numbers(rng, taps, of_mask)
        how = {"boundary": "constant", "mode": "full", "device": device, "method": "auto" if device == "cpu" else "fft"}
        plan = fp.plan_convolve(shape, taps, dtype=of_image, mask_dtype=of_mask, **how)
        assert plan.notes[0].startswith("method: fft")
        wide = [a.astype("c16") for a in (image, mask)]
        got = fp.convolve(image, mask, **how)
        close(got, scipy.signal.convolve(*wide, "full", "fft"), image, mask)
        close(fp.correlate(image, mask, **how), scipy.signal.correlate(*wide, "full", "fft"), image, mask)
        with pytest.raises(fp.BudgetError) as caught:
            fp.convolve(image, mask, memory=1, **how)
        np.testing.assert_array_equal(fp.convolve(image, mask, memory=caught.value.smallest, **how), got)


def test_precision_is_asked_for(device, rng):
    image, mask = numbers(rng, (20, 33), "c8"), numbers(rng, (3, 4), "c8")
    got = fp.convolve(image, mask, dtype="complex128", device=device)
    assert got.dtype == "c16"
    want = scipy.signal.convolve(image.astype("c16"), mask.astype("c16"), "same", "direct")
    np.testing.assert_allclose(got, want, rtol=1e-13, atol=1e-9)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"method": "separable"}, "or 'fft' for complex numbers"),
        ({"dtype": "float32"}, "complex64 or complex128 for a complex image"),
        ({"nan": "ignore"}, "'propagate' for complex numbers"),
        ({"out": np.zeros((5, 5))}, "a complex dtype"),
        ({"image": np.ones((5, 5)), "mask": np.ones((3, 3)), "dtype": "complex64"}, "a floating dtype for a real image and mask"),
        ({"image": np.ones((5, 5)), "mask": np.ones((3, 3)), "out": np.zeros((5, 5), complex)}, "a floating dtype"),
        ({"image": np.ones((5, 5), object)}, "numbers: float"),
    ],
)
def test_what_has_no_meaning_is_one_clear_sentence(arguments, words):
    call = {"image": np.ones((5, 5), complex), "mask": np.ones((3, 3), complex), "device": "cpu"} | arguments
    with pytest.raises(fp.FootprintError) as caught:
        fp.convolve(**call)
    assert words in str(caught.value) and "\n" not in str(caught.value)
