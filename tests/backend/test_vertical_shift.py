"""vertical_shift against the row-by-row reference, on every device found."""

from __future__ import annotations

import numpy as np
import pytest

import footprint as fp
from footprint.reference.vertical_shift import vertical_shift as reference

SHIFTS = np.array([0.0, 0.25, -0.25, 3.0, -3.0, 2.75, -5.5, 1e9, -1e300, 6.999])


@pytest.mark.parametrize("shape", [(10, 7, 5), (10, 1, 1), (10, 2, 3000), (1, 31, 33), (0, 3, 3), (3, 0, 2), (3, 2, 0)])
@pytest.mark.parametrize("dtype", ["f4", "f8", "u2", ">f4", "f2", "i4", "?"])
def test_stacks(shape, dtype, device, rng):
    radios = (rng.random(shape) * 100).astype(dtype)
    shifts = SHIFTS[: shape[0]]
    got = fp.vertical_shift(radios, shifts, device=device)
    assert got.dtype == ("float64" if dtype in ("f8", "i4") else "float32")
    np.testing.assert_allclose(got, reference(radios, shifts), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("dtype", ["f4", "f8", ">f4", "f2"])
def test_in_place_is_out_of_place(dtype, device, rng):
    radios = rng.standard_normal((10, 40, 1300)).astype(dtype)
    for stack in (radios.copy(), np.asfortranarray(radios), np.repeat(radios, 2, 2)[:, :, ::2]):
        want = fp.vertical_shift(stack.copy(), SHIFTS, device=device).astype(dtype)
        assert fp.vertical_shift(stack, SHIFTS, out=stack, device=device) is stack
        np.testing.assert_array_equal(stack, want)


def test_every_angle_keeps_its_shift_whatever_the_chunk(device, rng):
    radios = rng.integers(0, 60000, (23, 30, 40)).astype("u2")
    shifts = rng.uniform(-6, 6, 23)
    want = fp.vertical_shift(radios, shifts, device=device)
    with pytest.raises(fp.BudgetError) as caught:
        fp.vertical_shift(radios, shifts, memory=1, device=device)
    for memory in (caught.value.smallest, 3 * caught.value.smallest + 100, "100MB"):
        np.testing.assert_array_equal(fp.vertical_shift(radios, shifts, memory=memory, device=device), want)


def test_whole_shifts_move_nan_and_nothing_else(device):
    radios = np.arange(24, dtype="f4").reshape(2, 4, 3)
    radios[0, 2] = np.nan
    got = fp.vertical_shift(radios, [1, 0], device=device)
    np.testing.assert_array_equal(got[0], [radios[0, 1], radios[0, 2], radios[0, 3], [0, 0, 0]])
    np.testing.assert_array_equal(got[1], radios[1])


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"shifts": [1.0]}, "one per angle"),
        ({"shifts": [1.0, np.nan]}, "nan at angle 1"),
        ({"shifts": [np.inf, 0]}, "inf at angle 0"),
        ({"shifts": [[1.0, 2.0]]}, "(n_angles,)"),
        ({"radios": np.zeros((2, 2))}, "3: (n_angles, n_z, n_x)"),
        ({"out": np.zeros((2, 3, 5))}, "(2, 3, 4)"),
        ({"out": np.zeros((2, 3, 4), int)}, "floating"),
    ],
)
def test_bad_input_is_one_clear_sentence(change, word):
    call = {"radios": np.zeros((2, 3, 4)), "shifts": [0.0, 1.0], "device": "cpu"} | change
    with pytest.raises(fp.FootprintError) as caught:
        fp.vertical_shift(**call)
    assert word in str(caught.value)


def test_out_may_not_overlap():
    stack = np.zeros((4, 5, 6), "f4")
    with pytest.raises(fp.ArgumentError, match="memory shared with radios"):
        fp.vertical_shift(stack[:3], [0, 0, 0], out=stack[1:], device="cpu")
