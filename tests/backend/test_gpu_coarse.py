"""Wide Gaussians on a GPU by coarse rows and columns: the sums, the same bits in parts, what is not finite, and the choice."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.ndimage import gaussian_filter

from footprint.backend.null import PROFILES
from footprint.kernels.coarse.contract import way_of, wide
from footprint.kernels.coarse.ways import UNITS
from footprint.ops.coarse import Coarse, coarse
from footprint.ops.job import plan_op
from footprint.ops.matrix import matrix
from footprint.ops.separable import Taps, lines, table
from footprint.plan.slots import Given
from footprint.spec import ArraySpec as S

from .gaussians import MODES, as_far, image_of, spoil, weights
from .kernels import need_gpu

H100 = PROFILES["h100"]


def gaussian(backend, sigmas: tuple[float, float], mode: str, dims: str = "yx") -> Coarse:
    """The operation, whether it would be taken or not."""
    taps = tuple(
        Taps(axis, table(weights(sigma), "float32"), -(weights(sigma).size // 2), mode) for axis, sigma in zip(dims[-2:], sigmas)
    )
    found = [wide(one.weights.array, way_of(backend.limits)) for one in taps]
    assert found[0] is not None and found[1] is not None
    return Coarse(taps, dims, gaussians=(found[0], found[1]))


def made(backend, op, image, budget=None):
    """The result on a device, and its plan."""
    need_gpu(backend)
    spec = op.out_specs(S(image.shape, image.dtype.str))[0]
    out = np.full(spec.shape, np.nan, spec.dtype)
    plan = plan_op(backend.limits, budget, "gaussian_filter", op, [(S(image.shape, image.dtype.str), Given())], [(spec, Given())])
    with plan.bind(backend) as bound:
        bound(image, out=[out])
    return out, plan


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("kind", ["constant", "normal", "uniform", "bool", "uint8", "int16"])
def test_it_is_the_gaussian_that_direct_sums_make(backend, rng, mode, kind):
    sigmas, image = (11.3, 15.0), image_of(kind, (301, 347), rng)
    found, _ = made(backend, gaussian(backend, sigmas, mode), image)
    truth = gaussian_filter(image.astype(float), sigmas, mode=mode)
    size = gaussian_filter(np.abs(image.astype(float)), sigmas, mode=mode)
    assert (np.abs(found - truth) <= 1e-6 * size + 1e-30).all()


@pytest.mark.parametrize("sigma", [11.0, 12.0, 13.3, 15.0, 16.0, 19.3, 19.9, 20.0, 24.2, 24.9, 25.0])
def test_light_beyond_the_weights_does_not_leak_in(backend, sigma):
    """Of a star nothing is left beyond the ends of its weights but 3e-7 of its largest one, by matrix units 4e-7."""
    leak, near_it = (4e-7, 3e-7) if way_of(backend.limits) is UNITS else (3e-7, 2e-7)
    image = np.zeros((int(16 * sigma), int(16 * sigma) + 1), np.float32)
    image[image.shape[0] // 2, image.shape[1] // 2] = 1
    found, _ = made(backend, gaussian(backend, (sigma, sigma), "nearest"), image)
    truth = gaussian_filter(image.astype(float), sigma, mode="nearest")
    assert np.abs(found - truth)[truth == 0].max() <= leak * truth.max()
    np.testing.assert_allclose(found[truth > 0], truth[truth > 0], rtol=2e-3, atol=near_it * truth.max())
    near = truth > 1e-3 * truth.max()
    np.testing.assert_allclose(found[near], truth[near], rtol=2e-6)


@pytest.mark.parametrize("mode", ["reflect", "wrap", "constant"])
@pytest.mark.parametrize("share", [2, 3, 5])
def test_parts_have_the_bits_of_the_whole(backend, rng, mode, share):
    op, image = gaussian(backend, (11.0, 12.0), mode), rng.standard_normal((900, 260), np.float32)
    image[450, 100] = 1e5
    whole, plan = made(backend, op, image)
    some, cut = made(backend, op, image, plan.nbytes // share)
    assert cut.n_parts > 1 or mode == "wrap"
    np.testing.assert_array_equal(some, whole)


@pytest.mark.parametrize("sigma", [33.0, 70.0, 140.0])
def test_steps_that_several_groups_share_are_summed_whole(backend, rng, sigma):
    """Groups gather up to 32 rows of a step, and steps are .56 of a sigma: here one, two and four, by matrix units two."""
    image = rng.standard_normal((1300, 90), np.float32) + 1
    op = gaussian(backend, (sigma, 11.0), "reflect")
    whole, plan = made(backend, op, image)
    truth, size = (gaussian_filter(one.astype(float), (sigma, 11.0)) for one in (image, np.abs(image)))
    assert (np.abs(whole - truth) <= 1e-6 * size).all()
    some, cut = made(backend, op, image, int(plan.nbytes * 0.9))
    assert cut.n_parts > 1
    np.testing.assert_array_equal(some, whole)


def test_parts_that_begin_at_an_odd_column_have_the_bits_of_the_whole(backend, rng):
    """Two columns side by side are made of the same coarse columns, whichever part they are in."""
    op, image = gaussian(backend, (11.0, 12.0), "wrap"), rng.standard_normal((120, 901), np.float32)
    whole, plan = made(backend, op, image)
    for share in (0.8, 0.6, 0.4):
        some, cut = made(backend, op, image, int(plan.nbytes * share))
        np.testing.assert_array_equal(some, whole)
        if any(one.axis == "x" and one.size % 2 for one in cut.cuts):
            return
    raise AssertionError("no budget cut the image at an odd column")


def test_more_rows_than_a_grid_has_groups_for(backend, rng):
    """What groups have left is joined by groups of four rows, of which a grid has 65,535 one below another."""
    if backend.limits.cores < 16:
        pytest.skip("a processor's OpenCL takes a quarter of a minute for it")
    image = rng.random((263_000, 5), np.float32) + 1
    found, _ = made(backend, gaussian(backend, (11.0, 11.0), "reflect"), image)
    truth = gaussian_filter(image.astype(float), 11.0)
    assert (np.abs(found - truth) <= 1e-6 * truth).all()


def test_planes_are_filtered_one_by_one(backend, rng):
    volume = rng.standard_normal((3, 220, 230), np.float32)
    volume[1, 50, 60] = np.nan
    found, _ = made(backend, gaussian(backend, (11.0, 13.0), "mirror", "zyx"), volume)
    for plane, one in zip(volume, found):
        np.testing.assert_array_equal(one, made(backend, gaussian(backend, (11.0, 13.0), "mirror"), np.ascontiguousarray(plane))[0])


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("case", ["one", "blank", "few", "signs"])
def test_what_is_not_finite_goes_as_far_as_the_weights(backend, rng, mode, case):
    image = rng.standard_normal((260, 300), np.float32)
    spoil(image, case, rng)
    found, _ = made(backend, gaussian(backend, (11.0, 11.5), mode), image)
    as_far(found, image, (11.0, 11.5), mode)


def chosen(shape, sigmas, dtype="float32", mode="reflect", cval=0.0, limits=H100):
    taps = [Taps(axis, table(weights(sigma), dtype), -(weights(sigma).size // 2), mode, cval) for axis, sigma in zip("yx", sigmas)]
    spec = S(shape, dtype)
    return type(coarse(matrix(lines(taps, "yx"), taps, "yx", "", spec, limits), taps, "yx", "", spec, limits)) is Coarse


def test_it_is_taken_where_direct_sums_are_long():
    assert chosen((8192, 8192), (100, 100)) and chosen((4096, 4096), (90, 100)) and chosen((8192, 8192), (21, 21))
    assert not chosen((8192, 8192), (20, 20)) and not chosen((1024, 1024), (21, 21)) and chosen((8192, 8192), (100, 100), "uint8")
    assert not chosen((8192, 8192), (9, 9)) and not chosen((8192, 8192), (100, 5)) and not chosen((300, 8192), (100, 100))
    assert not chosen((8192, 8192), (100, 100), "float64") and not chosen((8192, 8192), (100, 100), mode="constant", cval=1.0)
    # A launch has so many groups one below another.
    assert chosen((65535 * 64, 4000), (100, 100)) and not chosen((65535 * 64 + 1, 4000), (100, 100))
    # More on the chip or fewer cores change no result.
    assert chosen((8192, 8192), (100, 100), limits=replace(H100, cores=20, local_mem=48 << 10))


@pytest.mark.parametrize("sigma", [11.0, 33.3, 380.0])
def test_a_gaussian_is_told_by_its_weights(sigma):
    found = wide(weights(sigma).astype(np.float32))
    assert found is not None and found.sigma == pytest.approx(sigma, rel=1e-6) and found.reach == weights(sigma).size // 2


def test_other_weights_are_no_wide_gaussian():
    base = weights(20.0)
    dented, ends = base.copy(), np.abs(np.arange(-80, 81)) + 1.0
    dented[30] *= 1 + 1e-5
    for one in (
        weights(10.0),
        weights(14.0),
        weights(20.0, 3.0),
        weights(20.0, 6.0),
        dented,
        2 * base,
        base[1:],
        np.ones(161) / 161,
        ends / ends.sum(),
    ):
        assert wide(one) is None
