"""Volumes of 8 and 16 bits: rounded shares of a range, whatever the device, the method and the budget."""

import numpy as np
import pytest

import footprint as fp
from footprint.backend.registry import open_backend
from footprint.io.phantom import projections
from footprint.reference.quantize import quantize
from tests.backend.kernels import run
from tests.scans import ArrayScan, raw_scan

RANGE = (-0.001, 0.011)


@pytest.fixture
def scan(rng):
    angles = np.linspace(0, np.pi, 60, endpoint=False)
    return raw_scan(projections(64, np.linspace(-0.2, 0.2, 5), angles, 33.0) * 0.01, angles, rng)


@pytest.mark.parametrize("dtype", ["uint8", "uint16"])
@pytest.mark.parametrize("shape", [(0, 3), (1, 1), (3, 7, 111)])
def test_the_kernel(device, rng, dtype, shape):
    values = (rng.standard_normal(shape) * 2).astype("f4")
    values.reshape(-1)[:4] = np.array([np.nan, np.inf, -np.inf, 1.5])[: values.size]
    found = np.full(shape, 7, dtype)
    run(open_backend(device), "quantize", values, found, low=-1.25, high=1.5)
    np.testing.assert_array_equal(found, quantize(values, -1.25, 1.5, dtype))


@pytest.mark.parametrize(("dtype", "method"), [("uint8", "direct"), ("uint16", "direct"), ("uint16", "fourier")])
def test_the_volume(scan, dtype, method, device):
    if method == "fourier" and device != "cpu":
        pytest.skip("the Fourier method runs on the CPU")
    how = {"center": 33.0, "method": method, "device": device, "circle": True}
    want = quantize(fp.reconstruct(scan, **how), *RANGE, dtype)
    found = fp.reconstruct(scan, out_dtype=dtype, out_range=RANGE, **how)
    assert found.dtype == dtype and 0 < np.mean(found == 0) < 0.5
    np.testing.assert_array_equal(found, want)


def test_groups_of_angles_and_tiles_are_as_small_as_without(scan):
    """A step after the sum forbade groups of angles: the smallest budget was a sinogram's."""
    how = {"center": 33.0, "rows": (1, 2), "device": "cpu", "written": True}
    least = []
    for numbers in ({}, {"out_dtype": "uint8", "out_range": RANGE}):
        with pytest.raises(fp.BudgetError) as caught:
            fp.plan_reconstruct(scan, memory=1, **how, **numbers)
        least.append(caught.value.smallest)
    assert least[1] <= 1.2 * least[0]
    del how["written"]
    plans = []
    found = fp.reconstruct(scan, memory=least[1], on_plan=plans.append, out_dtype="uint8", out_range=RANGE, **how)
    assert plans[0].n_summed > 1 or len(plans[0].cuts) > 1
    want = quantize(fp.reconstruct(scan, **how), *RANGE, "uint8").astype(int)
    assert np.abs(found - want).max() <= 1 and np.mean(found != want) < 0.01


def test_the_range_of_some_slices_is_nearly_that_of_all(scan):
    low, high = fp.value_range(scan, center=33.0, percentiles=(1, 99), device="cpu")
    np.testing.assert_allclose((low, high), np.percentile(fp.reconstruct(scan, center=33.0, device="cpu"), (1, 99)), rtol=1e-4)
    few = fp.value_range(scan, center=33.0, percentiles=(1, 99), device="cpu", rows=(2, 3), memory="8MB")
    np.testing.assert_allclose(few, np.percentile(fp.reconstruct(scan, center=33.0, rows=(2, 3), device="cpu"), (1, 99)), rtol=1e-4)
    assert fp.value_range(scan, rows=(2, 3), device="cpu") == fp.value_range(
        scan, center=fp.rotation_axis(scan).center, rows=(2, 3), device="cpu"
    )


@pytest.mark.parametrize(
    ("how", "word"),
    [
        ({"out_dtype": "uint8"}, "value_range"),
        ({"out_dtype": "uint8", "out_range": (1, 1)}, "first below the second"),
        ({"out_dtype": "uint8", "out_range": (0, np.inf)}, "finite"),
        ({"out_dtype": "int8", "out_range": (0, 1)}, "uint16"),
        ({"out_range": (0, 1)}, "out_dtype='uint16'"),
    ],
)
def test_mistakes(scan, how, word):
    with pytest.raises(fp.ArgumentError, match=word):
        fp.reconstruct(scan, center=33.0, device="cpu", **how)
    with pytest.raises(fp.ArgumentError, match=word):
        fp.plan_reconstruct(scan, center=33.0, device="cpu", **how)


def test_the_smallest_budget_of_a_range(scan):
    with pytest.raises(fp.BudgetError) as caught:
        fp.value_range(scan, center=33.0, device="cpu", memory="1MB")
    assert fp.value_range(scan, center=33.0, device="cpu", memory=caught.value.smallest)[0] < 0


def test_ranges_of_nothing_are_refused(scan):
    with pytest.raises(fp.ArgumentError, match="percentiles"):
        fp.value_range(scan, center=33.0, percentiles=(5, 2))
    empty = ArrayScan(np.zeros(scan.shape, "f4"), scan.angles)
    with pytest.raises(fp.ArgumentError, match="0 everywhere"):
        fp.value_range(empty, center=33.0, log=False, device="cpu")
