"""Sums by products of matrices of halves: against float64, beside stars, in parts, of what is not finite, and where taken."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.ndimage import correlate1d

import footprint as fp
from footprint.backend.null import PROFILES
from footprint.kernels.matrix.contract import (
    AHEAD,
    BEHIND,
    COLUMNS,
    EVEN,
    MOST,
    SIDE,
    fit,
    power_of,
    powers,
    results_of,
    shift_of,
    steps_of,
    table,
)
from footprint.ops.job import plan_op
from footprint.ops.matrix import Matrix, matrix
from footprint.ops.separable import Taps, lines
from footprint.ops.separable import table as constant
from footprint.plan.slots import Given
from footprint.spec import ArraySpec as S

from .gaussians import MODES, as_far, image_of, spoil
from .gaussians import weights as gaussian

H100 = PROFILES["h100"]


def along(weights: tuple[np.ndarray, np.ndarray], mode: str, dims: str = "yx") -> list[Taps]:
    return [Taps(axis, constant(one, "float32"), -(one.size // 2), mode) for axis, one in zip(dims[-2:], weights)]


def made(backend, weights, image, mode="reflect", budget=None, dims="yx"):
    """The result on a device, and its plan, whether the operation would be taken or not."""
    if not backend.limits.halves:
        pytest.skip(
            f"{backend.limits.device} has no units for matrices of halves: NVIDIA's of compute capability 9.0 have, by CUDA"
        )
    op, spec = Matrix(tuple(along(weights, mode, dims)), dims), S(image.shape, image.dtype.str)
    out = np.full(image.shape, np.nan, np.float32)
    plan = plan_op(backend.limits, budget, "gaussian_filter", op, [(spec, Given())], [(S(out.shape), Given())])
    with plan.bind(backend) as bound:
        bound(image, out=[out])
    return out, plan


def truth_of(weights, image, mode):
    exact = correlate1d(image.astype(float), weights[0].astype(np.float32).astype(float), 0, mode=mode)
    return correlate1d(exact, weights[1].astype(np.float32).astype(float), 1, mode=mode)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("kind", ["constant", "normal", "uniform", "bool", "uint8", "int8", "uint16", "int16"])
def test_it_is_what_sums_in_float64_are(backend, rng, mode, kind):
    weights, image = (gaussian(11.3), gaussian(16.0)), image_of(kind, (301, 348), rng)
    found, _ = made(backend, weights, image, mode)
    truth, size = truth_of(weights, image, mode), truth_of(weights, np.abs(image.astype(float)), mode)
    assert (np.abs(found - truth) <= 1e-6 * size + 1e-30).all()


@pytest.mark.parametrize("shape", [(1, 1), (1, 900), (900, 1), (63, 65), (64, 64), (129, 191), (517, 403), (2300, 70), (70, 2304)])
@pytest.mark.parametrize("sizes", [(1, 1), (3, 129), (161, 3), (25, 31), (97, 99), (77, 145)])
def test_weights_of_any_kind_and_images_of_any_size(backend, rng, shape, sizes):
    weights = tuple(rng.standard_normal(n) for n in sizes)
    image = rng.standard_normal(shape, np.float32) * np.float32(10) ** rng.integers(-3, 3, shape).astype(np.float32)
    found, _ = made(backend, weights, image, "mirror")
    size = truth_of(tuple(map(np.abs, weights)), np.abs(image), "mirror")
    # Of a number is lost what is 2^-40 of the largest beside it.
    least = 2.0**-38 * np.abs(image).max() * np.abs(weights[0]).sum() * np.abs(weights[1]).sum()
    assert (np.abs(found - truth_of(weights, image, "mirror")) <= 1e-6 * size + least).all()


@pytest.mark.parametrize("scale", [1e-38, 1e-30, 1e-9, 1e9, 1e30])
def test_numbers_of_any_size(backend, rng, scale):
    weights, image = (gaussian(9.0), gaussian(12.0)), (rng.random((200, 230)) * scale).astype(np.float32)
    found, _ = made(backend, weights, image)
    np.testing.assert_allclose(found, truth_of(weights, image, "reflect"), rtol=1e-6 if scale > 1e-35 else 1e-4)


@pytest.mark.parametrize("star", [1e3, 1e5, 1e6])
def test_a_star_leaves_what_it_does_not_reach_as_it_is(backend, star):
    weights, image = (gaussian(16.0), gaussian(16.0)), np.ones((400, 410), np.float32)
    image[200, 200] = star
    found, _ = made(backend, weights, image)
    truth = truth_of(weights, image, "reflect")
    assert (np.abs(found - truth) <= 2e-6 * truth).all()
    assert (np.abs(found - truth)[np.abs(truth - 1) < 1e-9] <= 1e-6).all()


@pytest.mark.parametrize("mode", ["reflect", "wrap", "constant"])
@pytest.mark.parametrize("share", [2, 3, 5])
def test_parts_have_the_bits_of_the_whole(backend, rng, mode, share):
    weights, image = (gaussian(10.0), gaussian(13.0)), rng.standard_normal((1500, 260), np.float32)
    image[450, 100], image[460, 230] = 1e7, np.nan
    whole, plan = made(backend, weights, image, mode)
    some, cut = made(backend, weights, image, mode, plan.nbytes // share)
    assert cut.n_parts > 1
    np.testing.assert_array_equal(some, whole)


def test_parts_of_columns_have_the_bits_of_the_whole(backend, rng):
    weights, image = (gaussian(10.0), gaussian(13.0)), rng.standard_normal((120, 2001), np.float32)
    image[50, 1000] = 1e7
    whole, plan = made(backend, weights, image, "wrap")
    for share in (0.8, 0.6, 0.4):
        some, cut = made(backend, weights, image, "wrap", int(plan.nbytes * share))
        np.testing.assert_array_equal(some, whole)
        if any(one.axis == "x" for one in cut.cuts):
            return
    raise AssertionError("no budget cut the image across")


def test_planes_are_filtered_one_by_one(backend, rng):
    weights, volume = (gaussian(11.0), gaussian(9.0)), rng.standard_normal((3, 220, 230), np.float32)
    volume[1, 50, 60] = np.nan
    found, _ = made(backend, weights, volume, "mirror", dims="zyx")
    for plane, one in zip(volume, found):
        np.testing.assert_array_equal(one, made(backend, weights, np.ascontiguousarray(plane), "mirror")[0])


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("case", ["one", "blank", "few", "signs"])
def test_what_is_not_finite_goes_as_far_as_the_weights(backend, rng, mode, case):
    weights, image = (gaussian(11.0), gaussian(11.5)), rng.standard_normal((260, 300), np.float32)
    spoil(image, case, rng)
    found, _ = made(backend, weights, image, mode)
    as_far(found, image, (11.0, 11.5), mode)


def chosen(shape, sigmas, dtype="float32", mode="reflect", cval=0.0, limits=H100):
    taps = [Taps(axis, constant(gaussian(s), dtype), -(gaussian(s).size // 2), mode, cval) for axis, s in zip("yx", sigmas)]
    return type(matrix(lines(taps, "yx"), taps, "yx", "", S(shape, dtype), limits)) is Matrix


def test_it_is_taken_where_direct_sums_are_longer():
    assert all(chosen((8192, 8192), (sigma, sigma)) for sigma in (8, 11, 14, 16, 20)) and chosen((4096, 4096), (16, 16), "uint16")
    assert not chosen((8192, 8192), (3, 3)) and not chosen((300, 300), (16, 16)) and not chosen((8192, 8192), (21, 21))
    assert not chosen((8192, 8192), (16, 16), "float64") and not chosen((8192, 8192), (16, 16), mode="constant", cval=1.0)
    assert not chosen((8192, 8192), (16, 16), limits=replace(H100, halves=False)) and not chosen(((1 << 30) + 1, 64), (16, 16))
    assert not chosen((0, 5), (1, 1)) and not chosen((5, 0), (1, 1))
    assert "products of matrices of halves" in str(fp.plan_gaussian_filter((8192, 8192), 14, device="null:h100").notes)


@pytest.mark.parametrize("size", [1, 3, 41, 127, 129, 161])
def test_tables_hold_all_bits_of_weights(rng, size):
    weights = (rng.standard_normal(size) * 10.0 ** rng.integers(-4, 1, size)).astype(np.float32)
    shift, words = shift_of(size), table(weights)
    assert words.shape == (AHEAD + SIDE * steps_of(size) + BEHIND, 2)
    halves = words.view(np.float16).astype(float).reshape(-1, 2, 2) * 2.0 ** -power_of(weights)
    row = np.zeros(words.shape[0] + 1)
    row[AHEAD + shift :][:size] = weights
    for neighbour in (0, 1):
        expected = row[neighbour:][: words.shape[0]]
        np.testing.assert_allclose(halves.sum(1)[:, neighbour], expected, rtol=2.0**-23, atol=2.0**-40 * np.abs(weights).max())


def test_lines_are_read_from_even_places_which_costs_no_results():
    for taps in range(1, 162, 2):
        shift, results = shift_of(taps), results_of(taps)
        assert (shift + taps // 2) % EVEN == 0 and results == -(-(SIDE - 1 + taps) // COLUMNS) * COLUMNS <= MOST
        # All weights of a block of results are within its steps, and those of results that are left out are not.
        assert SIDE - 1 + shift + taps <= SIDE * steps_of(taps) and SIDE - 1 - results % -SIDE < SIDE + shift


def test_sums_stay_within_what_halves_hold(rng):
    for factor in (1e-6, 0.3, 1.0, 700.0):
        tall, wide = (factor * rng.random(99) for _ in range(2))
        down, across = power_of(tall), power_of(wide)
        assert 2.0**14 <= tall.max() * 2.0**down < 2.0**15
        lower, last = powers(tall, wide)
        assert wide.sum() * 2.0 ** (across + lower) <= 1.001 and lower + last == -across - down


def test_weights_that_are_not_summed_so():
    few = gaussian(9.0)
    assert fit(few, few) and not fit(few[1:], few) and not fit(few, gaussian(20.3)) and not fit(few, few * 1e-12)
    assert not fit(few, np.append(few, [0, np.inf]))
