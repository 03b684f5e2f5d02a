"""convolve and correlate against the float64 reference and SciPy, on every device found."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.ndimage
import scipy.signal

import footprint as fp
from footprint.api.convolve_rows import convolve_rows
from footprint.kernels.common.borders import BORDERS, border
from footprint.reference import convolve as reference

from .kernels import in_turn

SHAPES = [((1, 1), (1, 1)), ((1, 1), (3, 4)), ((5, 3), (2, 2)), ((37, 53), (3, 3)), ((13, 301), (7, 4)), ((70, 257), (6, 9)),
          ((9, 7), (11, 12)), ((31, 2), (1, 5)), ((67, 300), (5, 1)), ((40, 513), (15, 31)),
          ((50, 90), (5, 70)), ((45, 60), (40, 45)), ((6, 700), (1, 300))]  # fmt: skip
LINES = [(1, 1), (1, 3), (17, 4), (4097, 15), (1000, 31), (5000, 101), (8, 20)]
BLOCKS = ["f4", "u2", ">f4", "f8"]
TOLERANCE = {"float32": 2e-6, "float64": 1e-13}


def close(got, want, scale, dtype="float32"):
    assert got.dtype == dtype
    np.testing.assert_allclose(got, want, rtol=0, atol=TOLERANCE[dtype] * max(scale, 1e-300))


def check(image, mask, device, **options):
    scale = np.abs(mask).sum() * max(np.abs(image).max(initial=0), abs(options.get("cval", 0)))
    dtype = "float64" if image.dtype == np.float64 else "float32"
    close(fp.correlate(image, mask, device=device, **options), reference.correlate(image, mask, **options), scale, dtype)
    close(fp.convolve(image, mask, device=device, **options), reference.convolve(image, mask, **options), scale, dtype)


@pytest.mark.parametrize("boundary", BORDERS)
@pytest.mark.parametrize(("shape", "mask_shape"), SHAPES)
def test_images_of_awkward_shapes(shape, mask_shape, boundary, device, rng):
    in_turn(device, SHAPES.index((shape, mask_shape)) + BORDERS.index(boundary), len(BORDERS))
    check(rng.standard_normal(shape, "f4"), rng.standard_normal(mask_shape), device, boundary=boundary, cval=2.5)


@pytest.mark.parametrize("boundary", BORDERS)
@pytest.mark.parametrize(("n", "taps"), LINES)
def test_signals(n, taps, boundary, device, rng):
    in_turn(device, LINES.index((n, taps)) + BORDERS.index(boundary), len(BORDERS))
    check(rng.standard_normal(n, "f4"), rng.standard_normal(taps), device, boundary=boundary, cval=-1)


@pytest.mark.parametrize(("dtype", "taps"), [("f4", 15), ("u1", 4)])
def test_rows_written_to_any_address(dtype, taps, device, rng):
    """Pieces of rows begin where vectors do in memory, and no result depends on where that is."""
    image, mask = (rng.random((3, 8_190)) * 100).astype(dtype), rng.random((1, taps))
    whole = fp.convolve(image, mask, boundary="mirror", device=device)
    np.testing.assert_allclose(whole, reference.convolve(image, mask, boundary="mirror"), rtol=0, atol=1e-4 * taps)
    room = np.zeros(whole.size + 32, "f4")
    for shift in (1, 3, 12, 15):
        out = room[shift : shift + whole.size].reshape(whole.shape)
        np.testing.assert_array_equal(fp.convolve(image, mask, boundary="mirror", out=out, device=device), whole)
        assert room[shift - 1] == room[shift + whole.size] == 0
        room[:] = 0


@pytest.mark.parametrize("boundary", ["constant", "mirror"])
@pytest.mark.parametrize("mode", ["same", "full", "valid"])
@pytest.mark.parametrize(("shape", "mask_shape"), [((20, 33), (4, 5)), ((33, 20), (3, 2)), ((50,), (6,)), ((9, 9), (9, 9))])
def test_modes(shape, mask_shape, mode, boundary, device, rng):
    in_turn(device, ("same", "full", "valid").index(mode) + (boundary == "mirror") + mask_shape[0], 2)
    image, mask = rng.standard_normal(shape), rng.standard_normal(mask_shape)
    check(image, mask, device, mode=mode, boundary=boundary)
    if boundary == "constant":
        close(
            fp.convolve(image, mask, mode=mode, device=device), scipy.signal.convolve(image, mask, mode, "direct"), 100, "float64"
        )
        close(
            fp.correlate(image, mask, mode=mode, device=device), scipy.signal.correlate(image, mask, mode, "direct"), 100, "float64"
        )


@pytest.mark.parametrize("boundary", BORDERS)
def test_borders_mean_what_ndimage_means(boundary, device, rng):
    image, mask = rng.standard_normal((11, 8)), rng.standard_normal((7, 5))
    want = scipy.ndimage.correlate(image, mask, mode=boundary, cval=3)
    close(fp.correlate(image, mask, boundary=boundary, cval=3, device=device), want, 40, "float64")


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", ">f4", ">f8", "u1", "i1", "u2", ">i2", "i4", "u4", "i8", "u8", "?"])
def test_dtypes(dtype, device, rng):
    image = (rng.random((23, 30)) * 100).astype(dtype)
    mask = rng.integers(-3, 4, (3, 4))
    got = fp.convolve(image, mask, device=device, boundary="wrap")
    assert got.dtype == ("float32" if np.dtype(dtype).str[1:] in ("f2", "f4", "u1", "i1", "u2", "i2", "b1") else "float64")
    np.testing.assert_allclose(got, reference.convolve(image, mask, boundary="wrap"), rtol=1e-5, atol=1e-3)


def test_strides_and_read_only_arrays(device, rng):
    base = rng.standard_normal((60, 80), "f4")
    for image in (base[::2, ::-3], base.T, base[5:, 7:]):
        image.setflags(write=False)
        check(image, rng.standard_normal((6, 5))[::2, ::-1], device)


def test_one_nan_reaches_what_touches_it_and_no_more(device, rng):
    image = rng.standard_normal((30, 40), "f4")
    image[10, 20] = np.nan
    got = fp.correlate(image, np.ones((3, 4)), device=device)
    want = np.zeros(image.shape, bool)
    want[9:12, 19:23] = True
    np.testing.assert_array_equal(np.isnan(got), want)
    zero = np.ones((3, 4))
    zero[1, 2] = 0
    assert np.isnan(fp.correlate(image, zero, device=device)[10, 20])


def test_tiny_weights_count(device):
    image = np.arange(12.0).reshape(3, 4)
    mask = np.array([[1e-20, 2e-20], [3e-20, -4e-20]])
    want = scipy.signal.convolve(image, mask, "same", "direct")
    np.testing.assert_allclose(fp.convolve(image, mask, device=device), want, rtol=1e-14)


@pytest.mark.parametrize("dtype", BLOCKS)
@pytest.mark.parametrize("boundary", BORDERS)
def test_blocks_of_rows_equal_the_whole_to_the_last_bit(dtype, boundary, device, rng):
    in_turn(device, BLOCKS.index(dtype) + BORDERS.index(boundary), len(BORDERS))
    image = (100 * rng.standard_normal((101, 67))).astype(dtype)
    mask = rng.standard_normal((8, 5))
    for mode in ("same", "full", "valid"):
        options = {"mode": mode, "boundary": boundary, "cval": 1.5, "device": device}
        want = fp.convolve(image, mask, **options)
        got = np.full_like(want, np.nan)

        def read(start, stop, out):
            out[...] = image[start:stop]

        def write(start, stop, block):
            got[start:stop] = block  # noqa: B023

        budget = _smallest(convolve_rows, read, image.shape, dtype, mask, write, **options)
        for memory in (budget, budget + 20_000):
            got[:] = np.nan
            plan = convolve_rows(read, image.shape, dtype, mask, write, memory=memory, **options)
            assert plan.footprint.total <= memory
            assert len(plan.chunks) > 1
            np.testing.assert_array_equal(got, want)


def test_a_budget_too_small_for_the_whole_gives_the_same(device, rng):
    image = rng.integers(0, 1000, (300, 200)).astype("u2")
    mask = rng.standard_normal((5, 6))
    want = fp.convolve(image, mask, device=device)
    budget = _smallest(fp.convolve, image, mask, device=device)
    np.testing.assert_array_equal(fp.convolve(image, mask, memory=budget, device=device), want)
    np.testing.assert_array_equal(fp.convolve(image[:, 0], mask[0], memory=200_000, device=device),
                                  fp.convolve(image[:, 0], mask[0], device=device))  # fmt: skip


def _smallest(call, *args, **options):
    with pytest.raises(fp.BudgetError) as caught:
        call(*args, memory=1, **options)
    return caught.value.smallest


def test_out_takes_other_floats_and_strides(device, rng):
    image, mask = rng.standard_normal((20, 30), "f4"), rng.standard_normal((3, 3))
    want = fp.convolve(image, mask, device=device)
    for out in (np.zeros((20, 30), "f4"), np.zeros((20, 30), ">f8"), np.zeros((20, 60), "f4")[:, ::2], np.zeros((20, 30), "f2")):
        assert fp.convolve(image, mask, out=out, device=device) is out
        np.testing.assert_array_equal(out, want.astype(out.dtype))
    # Such as PyTorch's `expand` makes: all rows would be the last one.
    with pytest.raises(fp.ShapeError, match="stride of 0"):
        fp.convolve(image, mask, out=np.lib.stride_tricks.as_strided(np.zeros(30, "f4"), (20, 30), (0, 4)), device=device)


@pytest.mark.parametrize("shape", [(0, 5), (5, 0)])
def test_out_without_elements(device, shape):
    """NumPy gives such an array strides of 0, and it was refused as one that repeats its elements."""
    out = np.empty(shape, "f4")
    assert fp.convolve(np.empty(shape, "f4"), np.ones((3, 3)), out=out, device=device) is out
    assert fp.gaussian_filter(out, 1, output=out.copy(), device=device).shape == shape


def test_a_mask_is_never_where_the_result_goes(device, rng):
    image, mask, want = rng.standard_normal((6, 6)), rng.standard_normal((6, 6)), np.empty((6, 6))
    for _ in range(2):  # the second call is known
        fp.correlate(image, mask, method="direct", out=want, device=device)
        with pytest.raises(fp.ArgumentError, match="memory shared with mask"):
            fp.correlate(image, mask, method="direct", out=mask, device=device)


def test_two_maps_of_a_file_share_memory(tmp_path, rng):
    image, mask = rng.standard_normal((20, 30), "f4"), np.ones((3, 3))
    np.save(tmp_path / "a.npy", image)
    read, written = (np.load(tmp_path / "a.npy", mmap_mode=mode) for mode in ("r", "r+"))
    for shift in (0, 9):
        with pytest.raises(fp.ArgumentError, match="memory shared with image"):
            fp.convolve(read[:10], mask, out=np.asarray(written)[shift : shift + 10], device="cpu")
    fp.convolve(read[:10], mask, out=written[10:], device="cpu")
    np.testing.assert_array_equal(read[10:], fp.convolve(image[:10], mask, device="cpu"))


@pytest.mark.parametrize("shape", [(0, 5), (5, 0), (0, 0)])
def test_empty_images_give_empty_results(shape, device):
    for mode in ("same", "full"):
        assert fp.convolve(np.zeros(shape, "f4"), np.ones((3, 3)), mode=mode, device=device).size == 0
    assert fp.convolve(np.zeros(0), np.ones(3), device=device).shape == (0,)


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        ({"image": np.zeros((2, 2, 2))}, "axes=(1, 2)"),
        ({"image": np.zeros((2,) * 4), "mask": np.ones((1,) * 4)}, "1, 2 or 3"),
        ({"origin": 2}, "got (2, 2), wanted a middle within the mask of shape (3, 3)"),
        ({"origin": (0, 0, 1)}, "2 axes"),
        ({"origin": 1, "mode": "full"}, 'mode "same" only'),
        ({"origin": 0.5}, "whole number"),
        ({"axes": (0, 2)}, "array of 2"),
        ({"axes": (0,)}, "as many as the mask"),
        ({"axes": (1, 1)}, "different axes"),
        ({"axes": "yx"}, "whole number"),
        ({"mask": np.ones(3)}, "as many as the image"),
        ({"mask": np.ones((0, 3))}, "at least one"),
        ({"mode": "max"}, "same, full, valid"),
        ({"boundary": "reflected"}, "mirror"),
        ({"mask": np.ones((9, 9)), "mode": "valid"}, "valid"),
        ({"image": "image.fits"}, "an array"),
        ({"cval": "x"}, "a number"),
        ({"out": np.zeros((4, 5))}, "(5, 5)"),
        ({"out": np.zeros((5, 5), int)}, "floating"),
        ({"memory": "lots"}, "memory"),
        ({"device": "abacus"}, "device"),
    ],
)
def test_bad_input_is_one_clear_sentence(arguments, word):
    call = {"image": np.zeros((5, 5)), "mask": np.ones((3, 3)), "device": "cpu"} | arguments
    with pytest.raises(fp.FootprintError) as caught:
        fp.convolve(**call)
    assert word in str(caught.value)
    assert "\n" not in str(caught.value)


def test_out_may_not_be_the_image():
    image = np.zeros((5, 5), "f4")
    with pytest.raises(fp.ArgumentError, match="out"):
        fp.convolve(image, np.ones((3, 3)), out=image, device="cpu")


def test_names_of_borders():
    for name, ours in {
        "edge": "nearest",
        "symmetric": "reflect",
        "reflect_101": "mirror",
        "circular": "wrap",
        "fill": "constant",
    }.items():
        assert border(name) == ours
    for unclear in ("reflected", "", None, 3):
        with pytest.raises(fp.ArgumentError):
            border(unclear)


def test_the_plan_needs_no_device_and_is_what_is_allocated(backend):
    plan = fp.plan_convolve((300, 200), (5, 5), device="null")
    assert plan.footprint.total > 0
    assert fp.plan_correlate((300, 200), (5, 5), device="null") == plan
    mine = fp.plan_convolve((64, 48), (3, 3), boundary="wrap", device=backend.limits.device)
    image, mask, out = np.ones((64, 48), "f4"), np.ones((3, 3), "f4"), np.zeros((64, 48), "f4")
    with mine.bind(backend) as bound:
        bound(image, mask, out=[out])
    np.testing.assert_array_equal(out, 9)


@pytest.mark.parametrize(("shape", "mask_shape"), [((3,), (5,)), ((3,), (6,)), ((4, 9), (7, 3)), ((2, 3), (8, 9))])
def test_a_mask_larger_than_the_image_gives_scipys_sizes(shape, mask_shape, device, rng):
    image, mask = rng.standard_normal(shape), rng.standard_normal(mask_shape)
    for mode in ("same", "full"):
        got = fp.convolve(image, mask, mode=mode, device=device)
        np.testing.assert_allclose(got, scipy.signal.convolve(image, mask, mode, "direct"), atol=1e-12)
        got = fp.correlate(image, mask, mode=mode, device=device)
        np.testing.assert_allclose(got, scipy.signal.correlate(image, mask, mode, "direct"), atol=1e-12)
    with pytest.raises(fp.ShapeError, match="valid"):
        fp.convolve(image, mask, mode="valid", device=device)


def test_an_image_of_one_column_is_summed_as_a_signal(device, rng):
    image, mask = rng.standard_normal((3000, 1)).astype("f4"), rng.standard_normal((7, 1)).astype("f4")
    for how in ({}, {"boundary": "wrap"}, {"mode": "full"}, {"mode": "valid"}, {"boundary": "mirror", "origin": (2, 0)}):
        got = fp.convolve(image, mask, device=device, method="direct", **how)
        moved = how | {"origin": 2} if "origin" in how else how
        np.testing.assert_array_equal(got[:, 0], fp.convolve(image[:, 0], mask[:, 0], device=device, method="direct", **moved))
    # Vectors go along few columns, where transforms of tiles would be mostly of nothing.
    notes = [fp.plan_convolve((20_000, columns), (31, 31), device="cpu").notes for columns in (1, 4, 40)]
    assert notes[:2] == [(), ()] and "fft" in notes[2][0]
