"""pad against numpy.pad, on every device found."""

from __future__ import annotations

import numpy as np
import pytest

import footprint as fp
from footprint.ops.pad import MODES
from footprint.reference.pad import gather
from footprint.reference.pad import pad as reference

CASES = [((7,), 3), ((7,), (0, 5)), ((1,), 2), ((4, 5), ((1, 2), (3, 0))), ((5, 3), (2, 1)), ((2, 3, 4), 2),
         ((1, 5, 2), ((0, 0), (7, 12), (9, 1))), ((3, 1), 4), ((40, 300), 17)]  # fmt: skip


def check(array, width, mode, device, **options):
    got = fp.pad(array, width, mode, device=device, **options)
    want = reference(array, width, mode, **options)
    assert got.shape == want.shape
    assert got.dtype == want.dtype
    if mode == "empty":
        inside = tuple(slice(b, b + n) for (b, _), n in zip(np.broadcast_to(width, (array.ndim, 2)), array.shape))
        got, want = got[inside], want[inside]
    tolerance = {"e": 3e-3, "f": 2e-6, "d": 1e-13}.get(got.dtype.char, 0)
    np.testing.assert_allclose(got, want, rtol=tolerance, atol=tolerance * 100)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(("shape", "width"), CASES)
def test_modes(shape, width, mode, device, rng):
    check(rng.standard_normal(shape, "f4"), width, mode, device)


@pytest.mark.parametrize("mode", ["reflect", "symmetric"])
@pytest.mark.parametrize(("shape", "width"), CASES)
def test_odd_reflections(shape, width, mode, device, rng):
    check(rng.standard_normal(shape), width, mode, device, reflect_type="odd")
    check(rng.integers(0, 50, shape), width, mode, device, reflect_type="odd")


@pytest.mark.parametrize("mode", ["reflect", "symmetric"])
@pytest.mark.parametrize("far", [1e8, np.inf, -np.inf, np.nan])
def test_an_odd_reflection_about_one_end_knows_nothing_of_the_other(mode, far, device):
    array = np.array([1.1, 2.2, 3.4, far], "f4")
    for one, width in ((array, (3, 0)), (array[::-1].copy(), (0, 3))):
        got = fp.pad(one, width, mode, reflect_type="odd", device=device)
        np.testing.assert_array_equal(got, np.pad(one, width, mode, reflect_type="odd"))


@pytest.mark.parametrize("mode", ["reflect", "symmetric"])
@pytest.mark.parametrize("dtype", ["f2", "f8"])
@pytest.mark.parametrize(("shape", "width"), [((7,), 3), ((6, 9), (2, 3)), ((6, 9), (7, 20)), ((2,), 9)])
def test_odd_reflections_are_numpys_or_as_near_to_the_exact_ones_as_the_docstring_says(shape, width, dtype, mode, device, rng):
    array = (50 * rng.standard_normal(shape)).astype(dtype)
    got = fp.pad(array, width, mode, reflect_type="odd", device=device)
    exact = np.pad(array.astype("f8" if dtype == "f2" else "g"), width, mode, reflect_type="odd")
    if dtype == "f2":
        # Half a last place, and what float32 has lost before.
        assert (abs(got - exact) <= 0.5 * np.spacing(abs(exact).astype(dtype)) + 1e-6 * abs(exact).max()).all()
    elif max(np.ravel(width)) < min(shape):
        np.testing.assert_array_equal(got, np.pad(array, width, mode, reflect_type="odd"))
    else:
        assert abs(got - exact).max() <= 2 * np.finfo(dtype).eps * abs(exact).max()


# A kernel is compiled for each: every mode with floats and integers, and every dtype with three modes.
DTYPES = {"constant mean maximum": "f2 >f4 i2 i8", "linear_ramp median reflect": "f8 u1 >i4"}


@pytest.mark.parametrize("mode", ["reflect", "edge", "wrap", "constant", "symmetric"])
@pytest.mark.parametrize("width", [3, 40, 70_000])
def test_lines_of_several_pieces_are_numpys(mode, width, rng):
    """As threads take them; few samples beyond an end are looked up, many go by stretches."""
    image = rng.integers(0, 1 << 20, (2, 100_003), dtype=np.int32)
    for some in (image, image[0]):
        around = ((0, 1), (width, width + 2))[-some.ndim :]
        np.testing.assert_array_equal(fp.pad(some, around, mode, device="cpu"), np.pad(some, around, mode))


@pytest.mark.parametrize(("mode", "dtype"), [(m, d) for ms, ds in DTYPES.items() for m in ms.split() for d in ds.split()])
def test_dtypes(dtype, mode, device, rng):
    check((rng.random((6, 7)) * 90).astype(dtype), ((3, 4), (2, 5)), mode, device)


def test_bools(device):
    check(np.eye(3, dtype=bool), 2, "edge", device)
    check(np.eye(3, dtype=bool), 2, "constant", device, constant_values=True)
    check(np.eye(3, dtype=bool), 2, "constant", device, constant_values=((True, False), (False, True)))
    for mode in ("maximum", "minimum", "mean", "median"):
        for array in (np.eye(3, dtype=bool), np.zeros((2, 4), bool), np.array([True, False, False, True, True])):
            check(array, 2, mode, device)
            check(array, 1, mode, device, stat_length=2)


def test_ramps_of_integers_are_numpys_to_the_last_unit(device, rng):
    for _ in range(150):
        array = rng.integers(-100, 100, rng.integers(1, 6)).astype("i2")
        width, ends = tuple(rng.integers(0, 12, 2).tolist()), tuple(rng.integers(-100, 100, 2).tolist())
        got = fp.pad(array, width, "linear_ramp", end_values=ends, device=device)
        np.testing.assert_array_equal(got, np.pad(array, width, "linear_ramp", end_values=ends))


def test_values_and_lengths_a_side(device, rng):
    array = rng.standard_normal((5, 6), "f4")
    check(array, 3, "constant", device, constant_values=((1, 2), (3, 4)))
    check(array, 3, "constant", device, constant_values=np.nan)
    check(array, 3, "linear_ramp", device, end_values=((1, 2), (3, 4)))
    for mode in ("maximum", "mean", "median", "minimum"):
        check(array, ((3, 0), (2, 4)), mode, device, stat_length=((2, 3), (1, 99)))


@pytest.mark.parametrize("mode", ["maximum", "mean", "median", "minimum", "edge", "linear_ramp"])
def test_nan_spreads_as_in_numpy(mode, device):
    array = np.array([[1, np.nan, 3], [4, 5, 6]], "f4")
    check(array, 2, mode, device)


def test_strides_and_read_only_arrays(device, rng):
    array = rng.standard_normal((9, 10, 11), "f4").transpose(2, 0, 1)[::2, :, ::-1]
    array.setflags(write=False)
    check(array, 2, "symmetric", device)
    np.testing.assert_array_equal(
        fp.pad(array, {-1: (1, 3)}, "edge", device=device), np.pad(array, ((0, 0), (0, 0), (1, 3)), "edge")
    )


def test_custom_gather(device, rng):
    array = rng.integers(0, 255, (3, 5, 7)).astype("u1")
    rows, columns = rng.integers(0, 5, 11), rng.integers(0, 7, 4)
    np.testing.assert_array_equal(fp.pad(array, rows_index=rows, cols_index=columns, device=device), gather(array, rows, columns))
    np.testing.assert_array_equal(fp.pad(array[0], rows_index=rows, device=device), array[0][rows])


def test_empty_arrays(device):
    assert fp.pad(np.zeros((0, 3), "f4"), 0, device=device).shape == (0, 3)
    np.testing.assert_array_equal(fp.pad(np.zeros((0, 2)), 1, constant_values=5, device=device), np.full((2, 4), 5))


@pytest.mark.parametrize("mode", ["constant", "edge", "reflect", "symmetric", "wrap"])
@pytest.mark.parametrize("shape", [(20, 31), (6, 9, 8), (1500,)])
def test_blocks_equal_the_whole(shape, mode, device, rng):
    array = rng.standard_normal(shape).astype(">f4")
    want = fp.pad(array, 7, mode, device=device)
    with pytest.raises(fp.BudgetError) as caught:
        fp.pad(array, 7, mode, memory=1, device=device)
    np.testing.assert_array_equal(fp.pad(array, 7, mode, memory=caught.value.smallest, device=device), want)


def test_lists_in_blocks_equal_the_whole(device, rng):
    array = rng.integers(0, 60000, (3, 60, 70)).astype(">u2")
    rows, columns = rng.permutation(60)[:41], np.sort(rng.integers(0, 70, 160)).astype("u1")
    want, out = array[:, rows][:, :, columns], np.zeros((3, 41, 160), ">u2")
    with pytest.raises(fp.BudgetError) as caught:
        fp.pad(array, rows_index=rows, cols_index=columns, out=out, memory=1, device=device)
    for memory in (caught.value.smallest, 2 * caught.value.smallest, "100MB"):
        out[...] = 0
        fp.pad(array, rows_index=rows, cols_index=columns, out=out, memory=memory, device=device)
        np.testing.assert_array_equal(out, want)


def test_a_constant_of_minus_zero_is_not_that_of_an_earlier_call(device):
    for value in (0.0, -0.0, np.nan, 0.0):
        got = fp.pad(np.ones(3), 1, constant_values=value, device=device)
        np.testing.assert_array_equal(np.signbit(got[[0, -1]]), np.signbit(value))
        assert np.isnan(value) == np.isnan(got[0])


def test_out(device, rng):
    array = rng.standard_normal((4, 5), "f4")
    out = np.zeros((6, 14), "f8")[:, ::2]
    assert fp.pad(array, 1, "edge", out=out, device=device) is out
    np.testing.assert_array_equal(out, np.pad(array, 1, "edge"))


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"mode": "mirrored"}, "reflect"),
        ({"reflect_type": "even-ish"}, "odd"),
        ({"pad_width": -1}, "0 or more"),
        ({"pad_width": 1.5}, "whole numbers"),
        ({"pad_width": (1, 2, 3)}, "pair"),
        ({"pad_width": {5: 1}}, "axes"),
        ({"pad_width": None}, "pad_width"),
        ({"array": np.zeros((2, 2, 2, 2))}, "1 to 3"),
        ({"array": np.zeros((0, 2)), "mode": "edge"}, "length 0"),
        ({"mode": "mean", "stat_length": 0}, "1 or more"),
        ({"mode": "linear_ramp", "array": np.zeros((2, 2), bool)}, "bool"),
        ({"array": np.zeros((2, 2), "u1"), "constant_values": 300}, "uint8"),
        ({"constant_values": "x"}, "real numbers"),
        ({"rows_index": [0]}, "pad_width"),
        ({"pad_width": None, "rows_index": [0, 9]}, "0 to 3"),
        ({"pad_width": None, "cols_index": [0.5]}, "whole numbers"),
    ],
)
def test_bad_input_is_one_clear_sentence(change, word):
    call = {"array": np.ones((4, 5)), "pad_width": 1, "device": "cpu"} | change
    with pytest.raises(fp.FootprintError) as caught:
        fp.pad(**call)
    assert word in str(caught.value)


@pytest.mark.parametrize("mode", ["maximum", "minimum", "mean"])
@pytest.mark.parametrize("dtype", ["f4", "i2", "?"])
def test_statistics_of_long_lines(mode, dtype, rng):
    # Elements of a line are taken 64 apart, then those, then what is left: what counts may stand in any of these.
    for at in (0, 63, 64, 130, 199):
        image = (rng.standard_normal((4, 200)) * 30).astype(dtype)
        image[1, at], image[2, at] = (np.nan, np.inf) if dtype == "f4" else (1, 0) if dtype == "?" else (999, -999)
        for given in (image, image.T.copy(), image[1]):
            for length in (None, 70, 5):
                want = np.pad(given, 3, mode=mode, stat_length=length)
                got = fp.pad(given, 3, mode=mode, stat_length=length, device="cpu")
                np.testing.assert_allclose(got.astype(float), want.astype(float), rtol=1e-5, atol=1e-5)
