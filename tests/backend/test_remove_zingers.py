"""Zingers against the plain median, whole, in parts and in a reconstruction, on every device found."""

from __future__ import annotations

import numpy as np
import pytest

import footprint as fp
from footprint.reference.remove_zingers import remove_zingers as reference


def hit(rng, shape):
    """Noise, and one value in twenty far above it."""
    stack = 1 + 0.02 * rng.standard_normal(shape)
    return (stack + 3 * (rng.random(shape) < 0.05)).astype("f4")


@pytest.mark.parametrize("shape", [(3, 40, 50), (1, 1, 1), (2, 1, 9), (1, 9, 1), (1, 2, 2), (2, 31, 300)])
@pytest.mark.parametrize(("size", "threshold"), [(3, 0.5), (3, 0.01), (5, 0.2), (15, 0.3)])
def test_it_is_the_median_where_it_is_passed(device, rng, shape, size, threshold):
    stack = hit(rng, shape)
    got = fp.remove_zingers(stack, threshold, size=size, device=device)
    np.testing.assert_array_equal(got, np.stack([reference(p, threshold, size) for p in stack]).astype("f4"))
    if shape == (3, 40, 50):
        assert 50 < (got != stack).sum() and (threshold == 0.01 or got.max() < 1.2)


@pytest.mark.parametrize("dtype", ["f8", ">f4", "u2"])
def test_dtypes_one_projection_and_out(device, rng, dtype):
    stack = (100 * hit(rng, (3, 20, 31))).astype(dtype)
    want = fp.remove_zingers(stack.astype("f4"), 0.5, device=device)
    np.testing.assert_array_equal(fp.remove_zingers(stack, 0.5, device=device), want)
    one = np.empty(stack.shape[1:], "f4")
    assert fp.remove_zingers(np.asfortranarray(stack[1]), 0.5, out=one, device=device) is one
    np.testing.assert_array_equal(one, want[1])


def test_the_same_bits_at_any_budget(device, rng):
    stack = hit(rng, (5, 60, 23)).astype(">f4")
    want = fp.remove_zingers(stack, 0.2, size=5, device=device)
    with pytest.raises(fp.BudgetError) as caught:
        fp.remove_zingers(stack, 0.2, size=5, memory=1, device=device)
    least, parts = caught.value.smallest, set()
    for memory in (least, 2 * least, 5 * least):
        parts.add(fp.plan_remove_zingers(stack.shape, 0.2, dtype=">f4", size=5, memory=memory, device=device).n_parts)
        np.testing.assert_array_equal(fp.remove_zingers(stack, 0.2, size=5, memory=memory, device=device), want)
    assert len(parts) > 1


def test_not_a_number_stays_and_counts_as_above(device):
    image = np.ones((3, 3), "f4")
    image[0], image[1, 1] = np.nan, 9
    got = fp.remove_zingers(image, 0.5, device=device)
    assert np.isnan(got[0]).all() and got[1, 1] == 1
    image[:, 0] = image[0] = np.nan
    np.testing.assert_array_equal(fp.remove_zingers(image, 0.5, device=device), image)


def test_in_a_reconstruction(device, rng):
    """On transmission, before phase and logarithm; whole and in blocks of rows."""
    from tests.backend.test_reconstruct import phantom

    scan = phantom(rng, n_angles=24, n_z=12)
    clean = fp.reconstruct(scan, center=20.3, method="direct", device=device)
    scan.raw = scan.raw.copy()
    scan.raw[rng.random(scan.raw.shape) < 0.002] = 65000
    beam = {"delta_beta": 10, "energy": 20, "distance": 0.1, "pixel_size": 5e-6}
    for settings in ({"zingers": 0.3}, {"zingers": {"threshold": 0.3, "size": 5}, "phase": beam}):
        options = {"center": 20.3, "method": "direct", "device": device, "steps": fp.steps(**settings)}
        plans = []
        whole = fp.reconstruct(scan, **options, on_plan=plans.append)
        part = fp.reconstruct(scan, **options, memory=plans[0].choices[-1].nbytes, on_plan=plans.append)
        np.testing.assert_array_equal(part, whole)
        assert plans[1].n_parts > 2
        if "phase" not in settings:
            spoilt = fp.reconstruct(scan, center=20.3, method="direct", device=device)
            assert np.square(whole - clean).mean() < 0.1 * np.square(spoilt - clean).mean()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"threshold": 0}, "threshold 0 above"),
        ({"threshold": "some"}, "threshold 'some' share"),
        ({"size": 4}, "size 4 odd"),
        ({"size": 17}, "size 17 15"),
        ({"projections": np.zeros(4)}, "projections (4,) n_angles"),
        ({"out": np.zeros((4, 5))}, "out (1, 4, 5) (1, 4, 6)"),
    ],
)
def test_bad_input_is_one_clear_sentence(change, words):
    with pytest.raises(fp.FootprintError) as caught:
        fp.remove_zingers(**{"projections": np.zeros((4, 6)), "threshold": 0.1, "device": "cpu"} | change)
    missing = [word for word in words.split() if word not in str(caught.value)]
    assert not missing, f"no {missing} in: {caught.value}"
