"""Wide Gaussians on the CPU by coarse rows and columns: sums, their bits in parts and threads, what is not finite, the choice."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.ndimage import gaussian_filter

import footprint as fp
from footprint.backend.null import PROFILES
from footprint.backend.registry import device_limits, open_backend
from footprint.kernels.coarse.contract import coarse_work, wide
from footprint.kernels.coarse.strips import Strips, rooms
from footprint.kernels.coarse.ways import CORE, UNITS
from footprint.ops.coarse import Coarse
from footprint.ops.job import plan_op
from footprint.ops.separable import Taps, table
from footprint.plan.plan import Plan
from footprint.plan.slots import Given
from footprint.spec import ArraySpec as S

from .gaussians import MODES, as_far, image_of, spoil, weights
from .test_gpu_coarse import chosen

CPU = device_limits("cpu")


def made(image: np.ndarray, sigmas: tuple[float, float], mode: str = "reflect", **how: Any) -> tuple[np.ndarray, Plan]:
    """The result of the operation, whether it would be taken or not, and its plan, of a ``budget`` and ``threads``."""
    dims, limits = "zyx"[-image.ndim :], replace(CPU, threads=how.get("threads", CPU.threads))
    taps = [
        Taps(axis, table(weights(sigma), "float32"), -(weights(sigma).size // 2), mode) for axis, sigma in zip(dims[-2:], sigmas)
    ]
    found = [wide(one.weights.array, CORE) for one in taps]
    assert found[0] is not None and found[1] is not None
    op, spec = Coarse(tuple(taps), dims, gaussians=(found[0], found[1])), S(image.shape, image.dtype.str)
    out = np.full(image.shape, np.nan, np.float32)
    plan = plan_op(limits, how.get("budget"), "gaussian_filter", op, [(spec, Given())], [(S(image.shape), Given())])
    with plan.bind(open_backend("cpu")) as bound:
        bound(image, out=[out])
    return out, plan


def off(found: np.ndarray, image: np.ndarray, sigmas: tuple[float, float], mode: str) -> float:
    """How far from the truth, as a share of the sum of |w| |x|."""
    truth, size = (gaussian_filter(one.astype(float), sigmas, mode=mode) for one in (image, np.abs(image.astype(float))))
    return float((np.abs(found - truth) / np.maximum(size, 1e-24)).max())


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("kind", ["constant", "normal", "uniform", "bool", "uint8", "int16"])
def test_it_is_the_gaussian_that_direct_sums_make(rng, mode, kind):
    image = image_of(kind, (301, 347), rng)
    found, _ = made(image, (11.3, 15.0), mode)
    assert off(found, image, (11.3, 15.0), mode) <= 1e-6


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("shape", [(1, 1), (1, 700), (700, 1), (2, 3), (17, 31), (61, 509), (503, 15), (16, 16), (257, 256)])
def test_images_of_any_size(rng, mode, shape):
    image = rng.random(shape, np.float32) + 1
    for sigmas in ((11.0, 21.0), (30.0, 11.1)):
        found, _ = made(image, sigmas, mode)
        assert off(found, image, sigmas, mode) <= 1e-6


@pytest.mark.parametrize("sigma", [12.4, 16.0, 19.9, 20.1, 40.0, 77.7, 150.0, 390.0])
def test_gaussians_of_any_width(rng, sigma):
    """Rows of a step are one chain or several, and vectors of results come from one or two coarse columns more than one does."""
    image = rng.random((260, 1100), np.float32) + np.float32(0.5)
    for sigmas in ((sigma, 11.0), (11.0, sigma)):
        found, _ = made(image, sigmas)
        assert off(found, image, sigmas, "reflect") <= 1e-6


@pytest.mark.parametrize("sigma", [11.0, 12.0, 12.4, 13.3, 14.0, 15.0, 16.0, 19.3, 19.9, 20.0, 24.2, 25.0, 40.0])
def test_light_beyond_the_weights_does_not_leak_in(sigma):
    """Of a star nothing is left beyond the ends of its weights but 1.5e-7 of its largest one."""
    image = np.zeros((int(16 * sigma), int(16 * sigma) + 1), np.float32)
    image[image.shape[0] // 2, image.shape[1] // 2] = 1
    found, _ = made(image, (sigma, sigma), "nearest")
    truth = gaussian_filter(image.astype(float), sigma, mode="nearest")
    assert np.abs(found - truth)[truth == 0].max() <= 1.5e-7 * truth.max()
    np.testing.assert_allclose(found[truth > 0], truth[truth > 0], rtol=2e-3, atol=1.5e-7 * truth.max())
    near = truth > 1e-3 * truth.max()
    np.testing.assert_allclose(found[near], truth[near], rtol=1e-6)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("share", [0.8, 0.6, 0.45])
def test_parts_have_the_bits_of_the_whole(rng, mode, share):
    for shape in ((900, 261), (250, 1001)):
        image = rng.standard_normal(shape, np.float32)
        image[shape[0] // 2, 100] = 1e5
        whole, plan = made(image, (11.0, 12.0), mode)
        some, cut = made(image, (11.0, 12.0), mode, budget=int(plan.nbytes * share))
        assert cut.n_parts > 1
        np.testing.assert_array_equal(some, whole)


def test_parts_in_tiles_have_the_bits_of_the_whole(rng):
    """Coarse rows and columns lie where the whole has them, wherever a part begins; what is odd reaches from part to part."""
    image = rng.standard_normal((60, 6001), np.float32)
    image[30, 4000], image[10, 5990], image[50:, 3] = np.nan, np.inf, -np.inf
    whole, plan = made(image, (11.0, 12.0))
    some, cut = made(image, (11.0, 12.0), budget=plan.nbytes // 4)
    assert {one.axis for one in cut.cuts} == {"x", "y"}
    np.testing.assert_array_equal(some, whole)


def test_no_part_needs_more_than_the_largest_at_its_worst_place(rng):
    for step, stride in ((6, 8), (22, 30), (218, 292)):
        reaches, tails = (7 * step, 6 * stride), 3 * step
        for turn in range(200):
            height, width, made, beside = sizes = rng.integers(1, 900, 4)
            specs = [S((1,))] * 5 + [S((2, tails))]
            planned = coarse_work(CPU, S((2, height, width)), *specs, S((2, made, beside)), steps=(step, stride), reaches=reaches)
            some = [int(n if turn % 2 else rng.integers(1, n + 1)) for n in sizes]
            strips = Strips(*some, step, stride, int(rng.integers(step)), int(rng.integers(stride)))
            for one, most in zip(rooms(CPU, strips, reaches, tails), planned):
                assert one.size <= most.size and one.shape[:-1] == most.shape[:-1]


@pytest.mark.parametrize("shape", [(900, 261), (250, 1001), (70, 70)])
def test_threads_change_no_bit(rng, shape):
    image = rng.standard_normal(shape, np.float32)
    image[shape[0] // 3, 7] = np.nan
    alone, _ = made(image, (11.0, 25.0), threads=1)
    for threads in (2, 3, 7, 40):
        np.testing.assert_array_equal(made(image, (11.0, 25.0), threads=threads)[0], alone)


def test_planes_are_filtered_one_by_one(rng):
    volume = rng.standard_normal((3, 220, 230), np.float32)
    volume[1, 50, 60] = np.nan
    found, _ = made(volume, (11.0, 13.0), "mirror")
    for plane, one in zip(volume, found):
        np.testing.assert_array_equal(one, made(plane.copy(), (11.0, 13.0), "mirror")[0])


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("case", ["one", "blank", "few", "signs", "ends"])
def test_what_is_not_finite_goes_as_far_as_the_weights(rng, mode, case):
    image = rng.standard_normal((260, 301), np.float32)
    spoil(image, case, rng)
    sigmas = 11.0, 11.5
    found, _ = made(image, sigmas, mode)
    as_far(found, image, sigmas, mode)


def test_the_largest_numbers_are_no_infinities(rng):
    image = rng.random((200, 210), np.float32) * np.float32(1e36)
    found, _ = made(image, (11.0, 11.0))
    assert off(found, image, (11.0, 11.0), "reflect") <= 1e-6


@pytest.mark.parametrize("dtype", ["float32", ">f4", "float16", "uint8", "uint16", "int16", "bool"])
def test_the_verb_takes_it(rng, dtype):
    image = (rng.random((2, 401, 390)) * (1 if dtype == "bool" else 200)).astype(dtype)
    found = fp.gaussian_filter(image, (0, 20, 25), device="cpu")
    assert found.dtype == np.float32
    plan = fp.plan_gaussian_filter(image.shape, (0, 20, 25), dtype=dtype, device="cpu")
    assert any("wide Gaussians" in one for one in plan.notes)
    for plane, one in zip(image, found):
        assert off(one, plane, (20, 25), "reflect") <= 1e-6


def test_what_was_chosen_for_another_device_is_summed_directly():
    """An image on the host may have its result on a GPU."""
    taps = tuple(Taps(axis, table(weights(20.0), "float32"), -80, "reflect") for axis in "yx")
    spec = S((500, 500))
    for way, limits in (CORE, PROFILES["h100"]), (UNITS, CPU):
        found = [wide(one.weights.array, way) for one in taps]
        op = Coarse(taps, "yx", gaussians=(found[0], found[1]))
        plan = plan_op(limits, None, "gaussian_filter", op, [(spec, Given())], [(spec, Given())])
        kernels = {step.kernel for step in plan.steps if step.action == "launch"}
        assert kernels and all(one.startswith("separable") for one in kernels)


def test_blocks_of_a_lazy_array_are_those_of_the_whole_but_for_rounding(rng):
    da = pytest.importorskip("dask.array")
    image = rng.random((900, 700), np.float32)
    found = fp.gaussian_filter(da.from_array(image, chunks=(450, 350)), 12, device="cpu").compute()
    assert off(found, image, (12, 12), "reflect") <= 1e-6


def test_it_is_taken_where_it_is_quicker():
    cpu = replace(CPU, threads=2)
    take = lambda shape, sigmas, dtype="float32", **how: chosen(shape, sigmas, dtype, limits=how.pop("limits", cpu), **how)
    assert take((6000, 6000), (100, 100)) and take((1024, 1024), (14, 14))
    assert take((512, 512), (20, 20)) and take((300, 2000), (20, 20))
    assert take((6000, 6000), (100, 100), "uint8") and take((6000, 6000), (20, 100)) and take((300, 6000), (100, 100))
    assert not take((6000, 6000), (10, 10)) and not take((6000, 6000), (100, 5)) and not take((20, 6000), (100, 100))
    assert not take((64, 64), (11, 11)) and not take((6000,), (100,)) and not take((6000, 1), (100, 100))
    assert not take((6000, 6000), (100, 100), "float64") and not take((6000, 6000), (100, 100), mode="constant", cval=1.0)
    # Whatever the number of threads, which may change no bit.
    for shape, sigma in ((512, 512), 13), ((2048, 2048), 12), ((6000, 6000), 11), ((400, 400), 20):
        assert len({take(shape, (sigma, sigma), limits=replace(CPU, threads=n)) for n in (1, 2, 8, 64)}) == 1
