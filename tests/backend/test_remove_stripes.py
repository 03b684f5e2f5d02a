"""Stripes against the plain algorithms, whole and in parts, alone and in a reconstruction, on every device found."""

from __future__ import annotations

import numpy as np
import pytest

import footprint as fp
from footprint.ops.fourier_wavelet import FourierWavelet
from footprint.ops.wavelets import NAMES, filters
from footprint.reference import remove_stripes as reference
from footprint.reference.fourier_wavelet import fourier_wavelet

TRUTH = {
    "mean": reference.mean,
    "mean-division": lambda s: reference.mean(s, divide=True),
    "double-flatfield": reference.double_flatfield,
    "sorting": reference.sorting,
    "large": reference.large,
    "dead": reference.dead,
    "all": reference.every,
    "fw": lambda s: fourier_wavelet(s, filters("sym16")[0]),
}


def striped(rng, n_angles=181, n_x=203, n_z=3):
    """A cylinder with noise and stripes of every kind: weak, broad, stuck, and flickering."""
    x = np.linspace(-1, 1, n_x)
    lines = np.sqrt(np.clip(1 - x**2 / 0.7, 0, None)) * (1 + 0.1 * np.sin(np.linspace(0, 3, n_angles)))[:, None] + 0.2
    stack = lines * np.linspace(1, 2, n_z)[:, None, None] + 0.01 * rng.standard_normal((n_z, n_angles, n_x))
    clean = stack.copy()
    at = lambda share: int(share * n_x)
    stack[:, :, at(0.25)] *= 1.3
    stack[:, :, at(0.44) : at(0.47)] += 0.4
    stack[:, :, at(0.6)] = 0.7
    stack[:, :, at(0.75)] += 0.5 * rng.standard_normal((n_z, n_angles))
    return stack.astype("f4"), clean


@pytest.mark.parametrize("method", TRUTH)
def test_every_method_is_the_plain_algorithm(device, rng, method):
    stack, clean = striped(rng)
    got = fp.remove_stripes(stack, method, device=device)
    want = np.stack([TRUTH[method](s.astype(float)) for s in stack])
    assert got.dtype == np.float32
    np.testing.assert_allclose(got, want, rtol=0, atol=3e-6 * np.abs(want).max())
    assert np.abs(got - stack).max() > 0.1, "nothing was removed"
    if method == "all":
        assert np.square(got - clean).mean() < 0.1 * np.square(stack - clean).mean()


@pytest.mark.parametrize(
    "shape", [(1, 1, 1), (2, 1, 9), (1, 9, 1), (3, 2, 2), (2, 30, 4), (1, 17, 300), (2, 300, 17), (1, 1100, 5)]
)
@pytest.mark.parametrize("size", [1, 4, 5, 31])
def test_sorting_at_any_shape_and_size(device, rng, shape, size):
    stack = rng.integers(-3, 4, shape).astype("f4")  # many equal values, whose order must stay
    got = fp.remove_stripes(stack, "sorting", size=size, device=device)
    np.testing.assert_array_equal(got, [reference.sorting(s.astype(float), size) for s in stack])


@pytest.mark.parametrize("n_x", [9, 21])
@pytest.mark.parametrize("spread", [0.03, 1e-5])
def test_values_that_differ_in_their_last_bits(device, rng, spread, n_x):
    """Beside others of another sign and far away: few, or many, have the same highest bits."""
    stack = 1 + rng.integers(0, 4, (1, 700, n_x)) / 256 + spread * rng.standard_normal((1, 700, n_x))
    stack[:, ::50] *= -1e20
    stack = stack.astype("f4")
    got = fp.remove_stripes(stack, "sorting", size=4, device=device)
    np.testing.assert_array_equal(got, [reference.sorting(s.astype(float), 4) for s in stack])


@pytest.mark.parametrize(("shape", "size"), [((1, 3, 5), 1025), ((1, 25_601, 2), 3), ((1, 2, 300), 140)])
def test_long_windows_and_columns(device, rng, shape, size):
    stack = rng.integers(-3, 4, shape).astype("f4")
    got = fp.remove_stripes(stack, "sorting", size=size, device=device)
    np.testing.assert_array_equal(got, [reference.sorting(s.astype(float), size) for s in stack])


@pytest.mark.parametrize("method", TRUTH)
@pytest.mark.parametrize("shape", [(1, 1), (1, 7), (7, 1), (2, 2), (5, 4), (3, 6)])
def test_few_pixels_leave_nothing_undefined(device, rng, method, shape):
    got = fp.remove_stripes(1 + rng.random(shape), method, device=device)
    assert got.shape == shape and np.isfinite(got).all()


@pytest.mark.parametrize("dtype", ["f8", ">f4", "u2", "f2"])
def test_dtypes_and_strides(device, rng, dtype):
    stack = (100 * striped(rng, 40, 50)[0]).astype(dtype)
    want = fp.remove_stripes(stack.astype("f4"), "all", device=device)
    np.testing.assert_array_equal(fp.remove_stripes(stack, "all", device=device), want)
    np.testing.assert_array_equal(fp.remove_stripes(np.asfortranarray(stack), "all", device=device), want)


@pytest.mark.parametrize("name", NAMES)
def test_wavelets_are_orthogonal_and_blind_to_polynomials(name):
    low, high = filters(name)
    length, moments = len(low), int(name[2:] if name[:2] == "db" else name[3:] if name[:3] == "sym" else 1) or 1
    assert length == 2 * moments
    assert low.sum() == pytest.approx(np.sqrt(2), abs=1e-11)
    for shift in range(0, length, 2):
        assert low[shift:] @ low[: length - shift] == pytest.approx(float(shift == 0), abs=1e-11)
        assert low[shift:] @ high[: length - shift] == pytest.approx(0, abs=1e-11)
    # Moments about the middle: those of a wavelet of length 2 N vanish up to order N - 1.
    at = (np.arange(length) - (length - 1) / 2) / length
    for order in range(moments):
        assert (high * at**order).sum() == pytest.approx(0, abs=1e-8), order


@pytest.mark.parametrize("shape", [(1, 1, 1), (1, 40, 7), (2, 7, 40), (1, 64, 90), (1, 33, 300)])
@pytest.mark.parametrize("settings", [("haar", 5, 1.0), ("sym8", 2, 0.1), ("db15", 4, 10.0), ("sym16", 1, 3.0)])
def test_wavelets_at_any_shape_and_setting(device, rng, shape, settings):
    wavelet, level, sigma = settings
    stack = rng.random(shape, np.float32) + np.linspace(0, 3, shape[2], dtype="f4")
    stack[:, :, shape[2] // 2] += 1
    got = fp.remove_stripes(stack, "fw", wavelet=wavelet, level=level, sigma=sigma, device=device)
    want = [fourier_wavelet(s, filters(wavelet)[0], level, sigma) for s in stack]
    np.testing.assert_allclose(got, want, rtol=0, atol=3e-6)


def test_slow_waves_of_all_levels_share_their_products():
    """Multiplied by every wave, there and back, a column of n angles would take 2 J n of them."""
    there, back, levels = FourierWavelet()._waves(900)
    weights = sum(table.size for table in (*there, *back))
    assert len(levels) == 91 and weights < 0.35 * 2 * 91 * 900


def test_in_place_and_into_another(device, rng):
    stack, _ = striped(rng, 60, 70)
    want = fp.remove_stripes(stack, device=device)
    out = np.empty(stack.shape)
    assert fp.remove_stripes(stack, out=out, device=device) is out
    np.testing.assert_array_equal(out, want)
    assert fp.remove_stripes(stack, out=stack, device=device) is stack
    np.testing.assert_array_equal(stack, want)
    one = np.empty(stack.shape[1:], "f4")
    assert fp.remove_stripes(np.array(striped(rng, 60, 70)[0][0]), out=one, device=device) is one


@pytest.mark.parametrize("method", TRUTH)
def test_the_same_bits_at_any_budget(device, rng, method):
    stack, _ = striped(rng, 50, 61, n_z=11)
    stack = stack.astype(">f4")
    want = fp.remove_stripes(stack, method, device=device)
    with pytest.raises(fp.BudgetError) as caught:
        fp.remove_stripes(stack, method, memory=1, device=device)
    least, parts = caught.value.smallest, set()
    for memory in (least, 2 * least, 5 * least):
        parts.add(fp.plan_remove_stripes(stack.shape, method, dtype=">f4", memory=memory, device=device).n_parts)
        np.testing.assert_array_equal(fp.remove_stripes(stack, method, memory=memory, device=device), want)
    assert len(parts) > 1


@pytest.mark.parametrize("shape", [(9, 11), (17, 21)])
@pytest.mark.parametrize("sign", [1, -1])
def test_not_a_number_stays_in_its_column_and_goes_to_the_last_rank(device, rng, sign, shape):
    """Processors make those with the sign bit: 0 / 0 has it."""
    sinogram = rng.random(shape).astype("f4")
    sinogram[4, 5] = np.copysign(np.nan, np.float32(sign))
    np.testing.assert_array_equal(fp.remove_stripes(sinogram, size=1, device=device), sinogram)
    np.testing.assert_array_equal(fp.remove_stripes(sinogram, size=3, device=device), reference.sorting(sinogram.astype(float), 3))


def test_negative_zero_stays_behind_zero(device):
    sinogram = np.array([[0, 0.0, 0], [5, -0.0, 5]], "f4")
    np.testing.assert_array_equal(fp.remove_stripes(sinogram, size=3, device=device), [[0, 0, 0], [5, 5, 5]])
    wide = np.tile(sinogram, (8, 6))
    np.testing.assert_array_equal(fp.remove_stripes(wide, size=3, device=device), reference.sorting(wide.astype(float), 3))


def test_columns_at_the_ends_are_not_bridged(device, rng):
    """They have neighbours on one side only."""
    stack, _ = striped(rng, 90, 80)
    stack[:, :, [0, 1, -1]] += 2 * rng.standard_normal((3, 90, 3)).astype("f4")
    got = fp.remove_stripes(stack, "dead", device=device)
    for one, sinogram in zip(got, stack):
        want = reference.dead(sinogram.astype(float))
        np.testing.assert_allclose(one, want, rtol=0, atol=3e-6 * np.abs(want).max())


@pytest.mark.parametrize("rings", ["sorting", {"method": "all", "size": 31, "small": 9}, "mean", "fw"])
def test_in_a_reconstruction(device, rng, rings):
    """The step between line integrals and backprojection is the verb, whole and in blocks."""
    from tests.backend.test_reconstruct import phantom

    scan, settings = phantom(rng, n_angles=40, n_z=6), {"center": 20.3, "method": "direct", "device": device}
    plain = lambda steps: steps[:-1]
    lines = fp.reconstruct(scan, **settings, steps=plain)
    alone = rings if isinstance(rings, dict) else {"method": rings}
    removed, plans = fp.remove_stripes(lines, **alone, device=device), []
    got = fp.reconstruct(scan, **settings, steps=lambda steps: fp.steps(rings=rings)(steps)[:-1])
    np.testing.assert_array_equal(got, removed)
    want = fp.fbp(removed, scan.angles, center=20.3, method="direct", device=device)
    whole = fp.reconstruct(scan, **settings, steps=fp.steps(rings=rings), on_plan=plans.append)
    np.testing.assert_allclose(whole, want, rtol=0, atol=1e-5 * np.abs(want).max())
    assert plans[0].n_parts == 1
    memory = plans[0].choices[-1].nbytes
    part = fp.reconstruct(scan, **settings, steps=fp.steps(rings=rings), memory=memory, on_plan=plans.append)
    np.testing.assert_array_equal(part, whole)
    assert plans[-1].n_parts == 6 and plans[-1].n_summed == 1


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"method": "vsnr"}, "method 'vsnr' sorting"),
        ({"method": 3}, "method 3 sorting"),
        ({"size": 0}, "size 0 1"),
        ({"size": 2.5}, "size 2.5 whole"),
        ({"snr": -1}, "snr -1 above"),
        ({"sigma": np.nan, "method": "mean"}, "sigma nan above"),
        ({"method": "fw", "level": 0}, "level 0 16"),
        ({"snr": 9}, "snr 9 only 'sorting' uses: size"),
        ({"method": "mean", "size": 3}, "size 3 only 'mean' uses: sigma"),
        ({"method": "fw", "small": 5}, "small 5 only 'fw' uses: sigma, level, wavelet"),
        ({"method": "all", "level": 2, "size": 5}, "level 2 only 'all' uses: snr, size, small"),
        ({"method": "fw", "wavelet": "sym99"}, "wavelet sym99 sym16"),
        ({"sinogram": np.zeros(4)}, "sinogram (4,) n_angles"),
        ({"out": np.zeros((4, 5))}, "out (1, 4, 5) (1, 4, 6)"),
    ],
)
def test_bad_input_is_one_clear_sentence(change, words):
    with pytest.raises(fp.FootprintError) as caught:
        fp.remove_stripes(**{"sinogram": np.zeros((4, 6)), "device": "cpu"} | change)
    missing = [word for word in words.split() if word not in str(caught.value)]
    assert not missing, f"no {missing} in: {caught.value}"


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"rings": "munchausen"}, "rings munchausen sorting"),
        ({"rings": {"size": 3}}, "rings method"),
        ({"rings": {"method": "all", "sise": 3}}, "rings sise small"),
        ({"rings": [1]}, "rings list mapping"),
    ],
)
def test_bad_settings_of_steps_are_one_clear_sentence(settings, words):
    with pytest.raises(fp.FootprintError) as caught:
        fp.steps(**settings)
    missing = [word for word in words.split() if word not in str(caught.value)]
    assert not missing, f"no {missing} in: {caught.value}"


def test_rings_need_sinograms():
    only = lambda steps: fp.steps(rings="mean")([step for step in steps if type(step).__name__ not in ("Sinograms", "Dropouts")])
    with pytest.raises(fp.ArgumentError, match="rings: got steps without sinograms"):
        fp.plan_reconstruct((6, 4, 8), steps=only, device="cpu")
