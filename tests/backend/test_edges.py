"""Derivatives, Laplacians and sharpening against SciPy in float64, on every device found."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.ndimage

import footprint as fp
from footprint.api._lines import Weights, branches
from footprint.ops.branches import Branches
from footprint.reference.gaussian_filter import gaussian_filter as smooth
from footprint.spec import ArraySpec

from .kernels import in_turn

CALLS = {
    "sobel": (lambda module, x, **o: module.sobel(x, 0, **o), 8),
    "laplace": (lambda module, x, **o: module.laplace(x, **o), 8),
    "gaussian_laplace": (lambda module, x, **o: module.gaussian_laplace(x, (1, 2.5), **o), 4),
    "gaussian_laplace, large": (lambda module, x, **o: module.gaussian_laplace(x, 11, **o), 4),
}


@pytest.mark.parametrize("mode", ["reflect", "constant"])
@pytest.mark.parametrize("name", CALLS)
def test_scipys_results(name, mode, device, rng):
    in_turn(device, list(CALLS).index(name) + (mode == "reflect"), 2)
    call, weights = CALLS[name]
    for shape in ((41, 300), (5, 3)):
        image = rng.standard_normal(shape)
        kinds = (("f8", 1e-14), ("f4", 1e-6))
        # OpenCL compiles a program for every border, dtype and set of weights: each in one border and one dtype.
        for dtype, tolerance in kinds[mode == "constant" :][:1] if device.startswith("opencl") else kinds:
            pixels = image.astype(dtype)
            want = call(scipy.ndimage, pixels.astype("f8"), mode=mode, cval=1.5)
            got = call(fp, pixels, mode=mode, cval=1.5, device=device)
            np.testing.assert_allclose(got, want, rtol=0, atol=tolerance * weights * np.abs(image).max())


def test_weights_that_fit_no_chip_go_along_one_axis_after_the_other(device, rng, monkeypatch):
    monkeypatch.setattr("footprint.ops.branches.Branches._fits", lambda *_: False)
    image, stack = rng.standard_normal((41, 67)), rng.standard_normal((3, 20, 31))
    # Weights no other test takes: plans of theirs are kept.
    want = scipy.ndimage.gaussian_laplace(image, 1.7, mode="constant", cval=1.5)
    options = {"mode": "constant", "cval": 1.5, "device": device}
    whole = fp.gaussian_laplace(image, 1.7, **options)
    np.testing.assert_allclose(whole, want, atol=1e-13)
    with pytest.raises(fp.BudgetError) as caught:
        fp.gaussian_laplace(image, 1.7, memory=1, **options)
    np.testing.assert_array_equal(fp.gaussian_laplace(image, 1.7, memory=caught.value.smallest, **options), whole)
    want = scipy.ndimage.gaussian_laplace(stack, 1.7, axes=(1, 2))
    np.testing.assert_allclose(fp.gaussian_laplace(stack, 1.7, axes=(1, 2), device=device), want, atol=1e-13)


def test_signals_and_stacks(device, rng):
    signal, stack = rng.standard_normal(500), rng.standard_normal((3, 20, 31))
    for name in ("laplace", "sobel"):
        got = getattr(fp, name)(signal, device=device)
        np.testing.assert_allclose(got, getattr(scipy.ndimage, name)(signal), atol=1e-13)
    np.testing.assert_allclose(fp.sobel(stack, 1, device=device), scipy.ndimage.sobel(stack, 1), atol=1e-12)
    want = scipy.ndimage.laplace(stack, axes=(1, 2))
    np.testing.assert_allclose(fp.laplace(stack, axes=(1, 2), device=device), want, atol=1e-13)
    np.testing.assert_array_equal(fp.laplace(stack, axes=(), device=device), stack)  # as scipy.ndimage's, of which nothing is asked
    want = scipy.ndimage.gaussian_laplace(stack, 2, axes=(2,))
    np.testing.assert_allclose(fp.gaussian_laplace(stack, 2, axes=2, device=device), want, atol=1e-13)


VOLUMES = {
    "laplace": (lambda module, x, **o: module.laplace(x, **o), 1.5),
    "gaussian_laplace": (lambda module, x, **o: module.gaussian_laplace(x, (1.2, 0.7, 1.6), **o), 0.0),
    "unsharp_mask": (lambda module, x, **o: _sharp(module, x, 1.2, **o), 1.5),
}


def _sharp(module, x, radius, **options):
    if module is fp:
        return fp.unsharp_mask(x, radius, 0.7, **options)
    return x + 0.7 * (x - module.gaussian_filter(x, radius, **options))


@pytest.mark.parametrize(("name", "mode"), [
    ("laplace", "wrap"), ("gaussian_laplace", "reflect"), ("unsharp_mask", "constant"),
])  # fmt: skip
def test_volumes(name, mode, device, rng):
    if device.startswith("opencl"):
        pytest.skip("OpenCL compiles each filter of a volume, and they are compared elsewhere: this is about their sums")
    call, cval = VOLUMES[name]
    volume, options = rng.standard_normal((11, 9, 14)), {"mode": mode, "cval": cval}
    whole = call(fp, volume, device=device, **options)
    np.testing.assert_allclose(whole, call(scipy.ndimage, volume, **options), rtol=0, atol=1e-13)
    with pytest.raises(fp.BudgetError) as caught:
        call(fp, volume, memory=1, device=device, **options)
    np.testing.assert_array_equal(call(fp, volume, memory=caught.value.smallest, device=device, **options), whole)


def test_sharpening(device, rng):
    image = rng.standard_normal((50, 70)) + 4
    want = image + 0.7 * (image - smooth(image, (2, 2)))
    np.testing.assert_allclose(fp.unsharp_mask(image, 2, 0.7, device=device), want, atol=1e-12)
    np.testing.assert_allclose(fp.unsharp_mask(image, 2, 0, device=device), image, atol=1e-12)


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_one_axis_of_a_sum_is_filtered_as_by_weights_along_it(axis, device, rng):
    """Whole sums over rows of a pixel, and of columns of one, took ten times as long."""
    stack = rng.standard_normal((7, 20, 3)).astype(np.float32)
    for mode in ("mirror", "constant"):
        want = scipy.ndimage.laplace(stack.astype(float), mode=mode, cval=2.5, axes=(axis,))
        found = fp.laplace(stack, mode=mode, cval=2.5, axes=(axis,), device=device)
        np.testing.assert_allclose(found, want, atol=2e-6)
    want = scipy.ndimage.gaussian_laplace(stack.astype(float), 1.3, axes=(axis,))
    np.testing.assert_allclose(fp.gaussian_laplace(stack, 1.3, axes=(axis,), device=device), want, atol=2e-6)
    weights = [Weights(axis, np.array([1.0, -2.0, 1.0]), -1, "mirror")]
    op, _ = branches(lambda _: [(weights, 3.0)], ArraySpec(stack.shape), 0.0)
    assert not isinstance(op, Branches) and op.taps[0].weights.array.tolist() == [3, -6, 3]


def test_a_nan_reaches_its_neighbours_only(device):
    image = np.zeros((9, 40), "f4")
    image[4, 20] = np.nan
    want = np.zeros(image.shape, bool)
    want[3:6, 20] = want[4, 19:22] = True
    np.testing.assert_array_equal(np.isnan(fp.laplace(image, device=device)), want)


@pytest.mark.parametrize("mode", ["reflect", "wrap"])
def test_any_budget_gives_the_same_bits(mode, device, rng):
    in_turn(device, mode == "reflect", 2)
    image = rng.standard_normal((150, 200)).astype(">f4")
    options = {"mode": mode, "device": device}
    for verb in (lambda **o: fp.gaussian_laplace(image, 2, **o), lambda **o: fp.unsharp_mask(image, 2, **o),
                 lambda **o: fp.gaussian_laplace(image, (1, 11), **o), lambda **o: fp.sobel(image, **o)):  # fmt: skip
        want = verb(**options)
        with pytest.raises(fp.BudgetError) as caught:
            verb(memory=1, **options)
        np.testing.assert_array_equal(verb(memory=caught.value.smallest + image.nbytes // 4, **options), want)
    with pytest.raises(fp.BudgetError) as caught:
        fp.gaussian_laplace(image, 2, memory=1, **options)
    plan = fp.plan_gaussian_laplace(image.shape, 2, dtype=">f4", mode=mode, memory=caught.value.smallest + 30_000, device=device)
    assert plan.n_parts > 1


IMAGE = np.ones((6, 8))
BAD = {
    "axis": (lambda: fp.sobel(IMAGE, 2), "axis 2 -2 to 1"),
    "dimensions": (lambda: fp.laplace(IMAGE[None, None]), "input 4 dimensions 1 to 3"),
    "sigma": (lambda: fp.gaussian_laplace(IMAGE, (0, 1)), "sigma (0, 1) 0"),
    "radius": (lambda: fp.unsharp_mask(IMAGE, -2), "radius -2 0"),
    "amount": (lambda: fp.unsharp_mask(IMAGE, 1, None), "amount None number"),
}


@pytest.mark.parametrize("case", BAD)
def test_what_is_wrong_is_said_in_one_sentence(case):
    call, words = BAD[case]
    with pytest.raises(fp.ArgumentError) as caught:
        call()
    for word in words.split():
        assert word in str(caught.value), (word, str(caught.value))


@pytest.mark.parametrize(
    ("name", "words", "options"),
    [
        ("sobel", (0,), {}), ("laplace", (), {"mode": "wrap"}), ("unsharp_mask", (2, 1.5), {}),
        ("percentile_filter", (20, 5), {"mode": "mirror"}),
    ],
)  # fmt: skip
def test_plans_are_the_verbs(name, words, options, rng):
    image, how = rng.random((130, 70), "f4").astype(">f4"), {**options, "device": "cpu"}
    verb, plan = getattr(fp, name), getattr(fp, f"plan_{name}")
    least = []
    for call in (lambda: verb(image, *words, memory=1, **how), lambda: plan((130, 70), *words, dtype=">f4", memory=1, **how)):
        with pytest.raises(fp.BudgetError) as caught:
            call()
        least.append(caught.value.smallest)
    assert least[0] == least[1]
    assert plan((130, 70), *words, dtype=">f4", memory=least[0], **how).n_parts > 1
    np.testing.assert_array_equal(verb(image, *words, memory=least[0], **how), verb(image, *words, **how))
    with pytest.raises(TypeError):
        plan((130, 70), *words, ">f4", **how)


def test_a_number_that_no_border_asks_for_is_not_looked_at(rng):
    """NaN was refused, as SciPy does not, and what float32 cannot hold was warned of."""
    image = rng.standard_normal((6, 10)).astype("f4")
    calls = ((fp.gaussian_filter, 1), (fp.laplace,), (fp.gaussian_laplace, 1), (fp.uniform_filter, 3), (fp.sobel,))
    for verb, *args in calls:
        for cval in (1e300, np.nan, np.float32(-np.inf)):
            np.testing.assert_array_equal(verb(image, *args, cval=cval, device="cpu"), verb(image, *args, device="cpu"))
        for cval in ("x", 1j, np.complex64(1)):
            with pytest.raises(fp.ArgumentError, match="cval: got"):
                verb(image, *args, cval=cval)
