"""What convolve reads images as, and what its sums are formed in and returned as."""

from __future__ import annotations

import numpy as np
import pytest

import footprint as fp
from footprint.reference import convolve as reference

# Read where it lies, from a tile, as one row, and in pieces of the mask.
MASKS = [((70, 256), (3, 3)), ((67, 301), (6, 9)), ((3, 4200), (1, 5)), ((9, 130), (70, 3))]


@pytest.mark.parametrize(("shape", "mask_shape"), MASKS)
def test_small_integers_are_read_as_they_are_to_the_bits_of_floats(shape, mask_shape, device, rng):
    mask = rng.standard_normal(mask_shape)
    for dtype in ("i1", "u2", "?") if device == "cpu" else (">u2",) if mask_shape[0] > 3 else ("i1",):
        image = rng.integers(0 if dtype == "u2" else -100, 120, shape).astype(dtype)
        # Kernels take seconds to compile on some devices.
        cases = (("constant", "same"), ("mirror", "full"), ("wrap", "same"))
        for boundary, mode in cases if device == "cpu" else cases[1:2]:
            options = {"boundary": boundary, "mode": mode, "cval": 3, "device": device}
            want = fp.convolve(image.astype("f4"), mask, **options)
            np.testing.assert_array_equal(fp.convolve(image, mask, **options), want)


@pytest.mark.parametrize("dtype", ["u1", "i2"])
def test_many_rows_of_integers_are_shared_among_threads(dtype, rng):
    image, mask = rng.integers(0, 120, (900, 2300)).astype(dtype), rng.standard_normal((5, 4))
    want = fp.correlate(image.astype("f4"), mask, boundary="reflect", device="cpu")
    np.testing.assert_array_equal(fp.correlate(image, mask, boundary="reflect", device="cpu"), want)


def test_integers_have_no_copy_in_the_plan():
    assert fp.plan_convolve((4096, 4096), (13, 13), dtype="uint16", device="cpu").footprint.total < 4 << 20
    on_gpu = {kind: fp.plan_convolve((4096, 4096), (13, 13), dtype=kind, device="null:h100") for kind in ("uint16", "float32")}
    assert on_gpu["float32"].nbytes - on_gpu["uint16"].nbytes >= 2 * 4096**2


@pytest.mark.parametrize(
    ("image", "asked", "got"),
    [("u2", None, "f4"), ("u2", "float64", "f8"), ("i4", "float32", "f4"), ("f4", "float16", "f2"), ("f4", ">f8", "f8")],
)
def test_sums_have_the_dtype_that_is_asked_for(image, asked, got, device, rng):
    x, mask = (1000 * rng.random((33, 40))).astype(image), rng.random((5, 4))
    want = reference.convolve(x, mask, boundary="nearest")
    for _ in range(2):  # the second call is known
        result = fp.convolve(x, mask, boundary="nearest", dtype=asked, device=device)
        assert result.dtype == np.dtype(got)
        np.testing.assert_allclose(result, want, rtol={"f2": 1e-3, "f4": 2e-6, "f8": 1e-13}[got])
    plan = fp.plan_convolve(x.shape, mask.shape, dtype=image, result=asked, device=device)
    assert plan.outputs[0].spec.dtype == np.dtype(got).str and len(plan.inputs) == 2


def test_an_out_of_any_float_takes_sums_of_the_dtype_asked_for(device, rng):
    x, mask, out = rng.random((33, 40), "f4"), rng.random((5, 4)), np.zeros((33, 40), "f8")
    fp.convolve(x, mask, dtype="float64", out=out, device=device)
    np.testing.assert_allclose(out, reference.convolve(x, mask), rtol=1e-13)


@pytest.mark.parametrize("dtype", ["int16", "float128", "junk", 3.5, object])
def test_other_dtypes_are_one_clear_sentence(dtype):
    for call in (
        lambda: fp.convolve(np.ones((5, 5)), np.ones((3, 3)), dtype=dtype, device="cpu"),
        lambda: fp.plan_convolve((5, 5), (3, 3), result=dtype, device="cpu"),
        lambda: fp.stream([np.ones((5, 5))], mask=np.ones((3, 3)), dtype=dtype, device="cpu"),
    ):
        with pytest.raises(fp.ArgumentError, match="float16, float32 or float64"):
            call()
