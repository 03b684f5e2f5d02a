"""Flat field, minus log and the shift of sinograms against the row-by-row reference, on every device found."""

import numpy as np
import pytest

import footprint as fp
from footprint.kernels.minus_log.cpu import minus_log
from footprint.plan.builder import Builder
from footprint.plan.plan import finish
from footprint.reference.flatfield import flatfield as reference
from footprint.reference.flatfield import shift as shift_reference
from footprint.spec import ArraySpec
from tests.scans import raw_scan


def launch(backend, kernel, arrays, shape, **numbers):
    """Run one kernel as a plan does, and give its result."""
    b = Builder(backend.limits)
    given = [b.inp(ArraySpec(a.shape, a.dtype.str), f"in{i}") for i, a in enumerate(arrays)]
    out = b.out(ArraySpec(shape), "out")
    brought = [b.bring(ref) for ref in given]
    with b.deliver(out) as y:
        b.launch(kernel, *brought, y, **numbers)
    result = np.full(shape, np.nan, np.float32)
    with finish(b, kernel).bind(backend) as bound:
        bound(*arrays, out=[result])
    return result


def scan(rng, n_a, n_z, n_x, dtype="u2", n_groups=2):
    flats = rng.uniform(20000, 30000, (n_groups, n_z, n_x)).astype("f4")
    dark = rng.uniform(90, 110, (n_z, n_x)).astype("f4")
    raw = rng.uniform(50, 40000, (n_a, n_z, n_x))
    raw = raw / 200 if np.dtype(dtype).itemsize == 1 else raw
    upper = rng.integers(0, n_groups, n_a)
    weight = rng.random(n_a).astype("f4")
    weight[::3] = 0
    return [raw.astype(dtype), flats, dark, np.zeros(n_a, "i8"), upper.astype("i8"), weight]


@pytest.mark.parametrize("shape", [(1, 1, 1), (5, 3, 7), (4, 2, 300), (0, 2, 3), (3, 0, 2), (2, 3, 1031)])
@pytest.mark.parametrize("dtype", ["u2", "f4", "u1"])
def test_lines(backend, rng, shape, dtype):
    arrays = scan(rng, *shape, dtype)
    # Bytes with a beam of its own for every projection, 16 bits with pixels that are saturated.
    gain = [rng.uniform(0.5, 2, shape[0]).astype("f4")] if dtype == "u1" else []
    ceiling = {"ceiling": 30000.0} if dtype == "u2" else {}
    got = launch(backend, "flatfield", arrays + gain, (shape[1], shape[0], shape[2]), **ceiling)
    want = reference(*arrays, gain=gain[0] if gain else None, **ceiling)
    np.testing.assert_allclose(got, want, rtol=2e-6, atol=4e-6)


@pytest.mark.parametrize("border", [1, 3, 40])
def test_border(backend, rng, border):
    arrays = scan(rng, 4, 3, 37)
    arrays[0] = arrays[0].astype("f4")
    arrays[0][1, 2, 0] = np.nan
    arrays[0][2, 1] = 0
    got = launch(backend, "flatfield", arrays, (3, 4, 37), border=border)
    np.testing.assert_allclose(got, reference(*arrays, border=border), rtol=2e-6, atol=4e-6)
    assert np.all(got[1, 2] == 0)


def test_dead_pixels_take_their_neighbours_values(backend, rng):
    arrays = scan(rng, 3, 4, 29, "f4")
    raw, flats, dark = arrays[:3]
    flats[:, :, [0, 1, 9, 10, 11, 28]] = dark[:, [0, 1, 9, 10, 11, 28]]
    flats[1, 2, 15], dark[1, 16] = np.nan, np.inf
    raw[2, 3, 20], raw[1, 1, 21] = np.nan, np.inf
    flats[:, 0] = 0
    want = reference(*arrays)
    got = launch(backend, "flatfield", arrays, (4, 3, 29))
    assert np.isfinite(got).all() and np.all(got[0] == 0) and np.ptp(want[1:]) > 1
    np.testing.assert_allclose(got, want, rtol=2e-6, atol=4e-6)
    # by distance, seen once with the eye: two thirds of the way from 8 to 12
    np.testing.assert_allclose(got[1, 0, 11], got[1, 0, 8] + 0.75 * (got[1, 0, 12] - got[1, 0, 8]), rtol=1e-5)


def test_clip(backend):
    raw = np.array([[[0, 100, 101, 65535, 50]]], "u2")
    flats, dark = np.full((1, 1, 5), 1100, "f4"), np.full((1, 5), 100, "f4")
    index, weight = np.zeros(1, "i8"), np.zeros(1, "f4")
    got = launch(backend, "flatfield", [raw, flats, dark, index, index, weight], (1, 1, 5))
    np.testing.assert_allclose(got[0, 0], -np.log([1e-6, 1e-6, 1e-3, 10, 1e-6]), rtol=1e-6)


@pytest.mark.parametrize(("n_in", "n_out", "z0"), [(9, 4, 3), (4, 9, -2), (1, 1, 0), (5, 5, 0)])
def test_shift(backend, rng, n_in, n_out, z0):
    sinograms = rng.standard_normal((n_in, 6, 33)).astype("f4")
    whole = np.array([0, 2, -3, 1, -1, 40])
    fraction = np.array([0, 0.25, 0.5, 0, 0.999, 0.5], "f4")
    got = launch(backend, "flatfield.shift", [sinograms, whole, fraction], (n_out, 6, 33), z0=z0)
    np.testing.assert_allclose(got, shift_reference(sinograms, whole, fraction, n_out, z0), rtol=1e-6, atol=1e-6)


def test_dead_and_saturated_pixels_are_counted_alike_on_every_device(backend, rng):
    """On devices blocks are filled where the one before was: what is counted of them is counted at once."""
    scan = raw_scan(rng.random((24, 2, 32)), np.arange(24) * np.pi / 24, rng)
    scan.raw[3, 1, 4:9], scan.saturation, found = 65535, 65535, []
    fp.reconstruct(scan, center=15.5, device=backend.limits.device, on_counts=found.append)
    assert (found[0].dead, found[0].pixels, found[0].saturated, found[0].values) == (2, 64, 5, 24 * 64)


def test_logarithms_of_the_cpu_are_right_to_the_last_place():
    """Of every size that is not clipped, next to 1, and of what is no share; in place, too."""
    shares = np.concatenate([np.geomspace(1e-7, 20, 20_001), 1 + np.linspace(-1e-3, 1e-3, 2001), [0, -1, np.inf, -np.inf, np.nan]])
    shares = shares.astype("f4")
    want = -np.log(np.clip(shares, np.float32(1e-6), np.float32(10)).astype("f8"))
    got = np.empty_like(shares)
    minus_log(shares, got)
    assert np.isnan(got[-1]) and np.isfinite(got[:-1]).all()
    assert (np.abs(got - want)[:-1] <= np.spacing(np.abs(want[:-1]).astype("f4"))).all()
    minus_log(shares, shares)
    np.testing.assert_array_equal(shares, got)
