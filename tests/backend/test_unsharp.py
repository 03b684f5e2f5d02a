"""Unsharp masks of projections against SciPy's Gaussian, whole, in parts and in a reconstruction, on every device found."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import ndimage

import footprint as fp
from footprint.api._tomo import on_stack, planned_stack
from footprint.api.steps import unsharp_of


def sharpened(stack, amount, sigma=1.0, out=None, memory=None, device="auto"):
    """The step alone."""
    return on_stack("unsharp", "projections", stack, unsharp_of(amount, sigma), out, memory, device)


def reference(projection, amount, sigma):
    """(1 + amount) times the projection, less amount times a Gaussian's blur of it."""
    values = np.asarray(projection, np.float64)
    return (1 + amount) * values - amount * ndimage.gaussian_filter(values, sigma, mode="reflect")


@pytest.mark.parametrize("shape", [(3, 40, 50), (1, 1, 1), (2, 1, 9), (1, 9, 1), (1, 2, 2), (2, 31, 300)])
@pytest.mark.parametrize(("amount", "sigma"), [(1, 1), (3.5, 0.7), (0.5, 4), (2, 0.1)])
def test_it_is_scipys_gaussian(device, rng, shape, amount, sigma):
    stack = rng.random(shape).astype("f4")
    got = sharpened(stack, amount, sigma=sigma, device=device)
    want = np.stack([reference(p, amount, sigma) for p in stack])
    np.testing.assert_allclose(got, want, rtol=0, atol=2e-6 * (1 + amount))
    assert sigma == 0.1 or stack[0].size == 1 or np.abs(got - stack).max() > 0.02


@pytest.mark.parametrize("dtype", ["f8", ">f4", "u2"])
def test_dtypes_one_projection_and_out(device, rng, dtype):
    stack = (100 * rng.random((3, 20, 31))).astype(dtype)
    want = sharpened(stack.astype("f4"), 2, device=device)
    np.testing.assert_array_equal(sharpened(stack, 2, device=device), want)
    one = np.empty(stack.shape[1:], "f4")
    assert sharpened(np.asfortranarray(stack[1]), 2, out=one, device=device) is one
    np.testing.assert_array_equal(one, want[1])


def test_the_same_bits_at_any_budget(device, rng):
    stack = rng.random((5, 60, 23)).astype(">f4")
    want = sharpened(stack, 2, sigma=1.3, device=device)
    with pytest.raises(fp.BudgetError) as caught:
        sharpened(stack, 2, sigma=1.3, memory=1, device=device)
    least, parts = caught.value.smallest, set()
    for memory in (least, 2 * least, 4 * least):
        parts.add(planned_stack("unsharp", stack.shape, ">f4", unsharp_of(2, 1.3), memory, device).n_parts)
        np.testing.assert_array_equal(sharpened(stack, 2, sigma=1.3, memory=memory, device=device), want)
    assert len(parts) > 1


def test_a_stack_takes_no_more_than_a_batch_for_its_blur():
    plan = planned_stack("unsharp", (400, 100, 256), "float32", unsharp_of(2, 1.3), None, "cpu")
    assert 0 < plan.footprint.total <= 17 << 20


def test_in_a_reconstruction(device, rng):
    """After phase, before the logarithm; whole and in blocks of rows."""
    from tests.backend.test_reconstruct import phantom

    scan = phantom(rng, n_angles=24, n_z=12)
    beam = {"delta_beta": 10, "energy": 20, "distance": 0.1, "pixel_size": 5e-6}
    chosen = fp.steps(unsharp=2, phase=beam)
    names = [type(step).__name__ for step in chosen([*fp_steps()])]
    assert names.index("Paganin") < names.index("Unsharp") < names.index("MinusLog")
    options = {"center": 20.3, "method": "direct", "device": device, "steps": chosen}
    plans = []
    whole = fp.reconstruct(scan, **options, on_plan=plans.append)
    part = fp.reconstruct(scan, **options, memory=plans[0].choices[-1].nbytes, on_plan=plans.append)
    np.testing.assert_array_equal(part, whole)
    assert plans[1].n_parts > 2
    soft = fp.reconstruct(scan, **options | {"steps": fp.steps(phase=beam)})
    assert np.abs(np.diff(whole, axis=2)).sum() > 1.1 * np.abs(np.diff(soft, axis=2)).sum()


def fp_steps():
    """The usual steps."""
    from footprint.ops.base import Table
    from footprint.ops.fbp import Fbp
    from footprint.ops.flatfield import Flat
    from footprint.ops.reconstruct import default_steps

    return default_steps(Flat(Table([0]), Table([0]), Table([0.0])), Fbp(Table([0.0]), 64, 31.5))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"amount": 0}, "amount 0 above"),
        ({"amount": "much"}, "amount 'much' number"),
        ({"sigma": 1000}, "sigma 1000 100"),
        ({"stack": np.zeros(4)}, "projections (4,) n_angles"),
        ({"out": np.zeros((4, 5))}, "out (1, 4, 5) (1, 4, 6)"),
    ],
)
def test_bad_input_is_one_clear_sentence(change, words):
    with pytest.raises(fp.FootprintError) as caught:
        sharpened(**{"stack": np.zeros((4, 6)), "amount": 1, "device": "cpu"} | change)
    missing = [word for word in words.split() if word not in str(caught.value)]
    assert not missing, f"no {missing} in: {caught.value}"
