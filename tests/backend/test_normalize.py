"""Sinograms brought to one level: the kernel against a fit, and the step in a reconstruction, on every device found."""

from __future__ import annotations

import numpy as np
import pytest

import footprint as fp
from footprint.reference.normalize import chebyshev
from tests.backend.kernels import run
from tests.backend.test_reconstruct import CENTER, phantom


@pytest.mark.parametrize("n_x", [1, 2, 3, 7, 256, 1031])
def test_rows_lose_the_parabola_that_fits_them_best(backend, rng, n_x):
    x = np.linspace(-1, 1, n_x)
    rows = (20 + rng.uniform(-3, 3, (4, 3, 1)) * x + 9 * x**2 + rng.standard_normal((4, 3, n_x))).astype("f4")
    got = np.full(rows.shape, np.nan, np.float32)
    run(backend, "normalize", rows.copy(), got)
    np.testing.assert_allclose(got, chebyshev(rows), rtol=0, atol=3e-6)
    again = got.copy()
    run(backend, "normalize", again, again)
    np.testing.assert_allclose(again, got, rtol=0, atol=1e-6)


def settings(rng, n_a, n_x):
    row, rows = rng.uniform(0.5, 2, n_x), rng.uniform(0.5, 2, (n_a, n_x))
    return {
        "chebyshev": ("chebyshev", chebyshev),
        "a row off": ({"method": "subtraction", "array": row}, lambda lines: lines - row),
        "rows off": ({"method": "subtraction", "array": rows}, lambda lines: lines - rows),
        "over a row": ({"method": "division", "array": row[None]}, lambda lines: lines / row),
        "over rows": ({"method": "division", "array": rows}, lambda lines: lines / rows),
    }


@pytest.mark.parametrize("name", ["chebyshev", "a row off", "rows off", "over a row", "over rows"])
def test_in_a_reconstruction(device, rng, name):
    """Between vertical shifts and rings; whole, by slices and by groups of angles, whose rows have their own part of the array."""
    scan = phantom(rng, n_angles=40, n_z=6)
    given, want = settings(rng, 40, 41)[name]
    how, plans = {"center": CENTER, "method": "direct", "device": device, "shifts": np.linspace(-1, 1, 40)}, []
    chosen, plain = fp.steps(normalization=given), lambda steps: steps[:-1]
    lines, found = (fp.reconstruct(scan, **how, steps=s) for s in (plain, lambda steps: chosen(steps)[:-1]))
    np.testing.assert_allclose(found, want(lines.astype(float)), rtol=0, atol=2e-6 * np.abs(want(lines)).max())
    assert np.abs(found - lines).max() > 0.05
    whole = fp.reconstruct(scan, **how, steps=chosen, on_plan=plans.append)
    slices = fp.fbp(found, scan.angles, center=CENTER, method="direct", device=device)
    np.testing.assert_allclose(whole, slices, rtol=0, atol=1e-5 * np.abs(whole).max())
    with pytest.raises(fp.BudgetError) as caught:
        fp.reconstruct(scan, **how, steps=chosen, memory=1)
    for memory in (caught.value.smallest, plans[0].choices[-1].nbytes):
        part = fp.reconstruct(scan, **how, steps=chosen, memory=memory, on_plan=plans.append)
        np.testing.assert_allclose(part, whole, rtol=0, atol=5e-6 * np.abs(whole).max())
        assert plans[-1].n_parts > 1
    assert plans[1].n_summed > 1, "no groups of angles"


def test_it_comes_before_rings():
    chosen = fp.steps(rings="mean", normalization="chebyshev", unsharp=2)
    plan = fp.plan_reconstruct((9, 4, 16), steps=chosen, device="cpu")
    names = [step.kernel for step in plan.steps if step.kernel]
    assert names.index("minus_log") < names.index("normalize") < names.index("remove_stripes.means")
    assert str(chosen).startswith("Unsharp(") and "Normalize(method='chebyshev'" in str(chosen)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("vsnr", "normalization vsnr chebyshev"),
        ("division", "normalization division without array"),
        ({"method": "chebyshev", "array": [1.0]}, "normalization array no parabola"),
        ({"method": "subtraction", "array": np.ones((2, 2, 2))}, "normalization (2, 2, 2) (n_x,)"),
        ({"method": "subtraction", "array": ["a"]}, "normalization real numbers"),
        ({"method": "subtraction", "array": [1, np.nan]}, "normalization nan finite"),
        ({"method": "division", "array": [1, 0]}, "normalization 0 above"),
        ({"method": "division", "array": np.ones(15)}, "normalization (1, 15) (16,) (9, 16)"),
        ({"method": "division", "array": np.ones((8, 16))}, "normalization (8, 16) (9, 16) projection"),
    ],
)
def test_bad_input_is_one_clear_sentence(given, words):
    with pytest.raises(fp.FootprintError) as caught:
        fp.plan_reconstruct((9, 4, 16), steps=fp.steps(normalization=given), device="cpu")
    missing = [word for word in words.split() if word not in str(caught.value)]
    assert not missing, f"no {missing} in: {caught.value}"
