"""Gaussian and uniform filters against one tap at a time and SciPy, on every device found."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import scipy.ndimage

import footprint as fp
from footprint.backend.registry import device_limits
from footprint.kernels.common.borders import BORDERS
from footprint.kernels.separable.contract import in_one_pass, line_work
from footprint.kernels.separable.cpu import line
from footprint.kernels.separable.gpu import separable_program
from footprint.kernels.separable.rings import shared
from footprint.reference.gaussian_filter import gaussian_filter as reference
from footprint.spec import ArraySpec, Limits

from .kernels import in_turn

SHAPES = [((1,), 1), ((700,), 30), ((1, 1), 2), ((5, 3), 4), ((1, 90), (0, 3)), ((33, 70), (1.3, 0.4)), ((90, 1300), 2),
          ((130, 200), 20), ((4, 21, 33), (0.5, 1, 2)), ((4, 21, 33), (0, 2, 0)), ((9, 8, 300), (1, 0, 30))]  # fmt: skip
TOLERANCE = {"float32": 1e-6, "float64": 1e-14}


def close(got, want, image, weights=1.0):
    assert got.shape == want.shape
    largest = np.abs(image.astype(float)).max(initial=0)
    np.testing.assert_allclose(got, want, rtol=0, atol=TOLERANCE[got.dtype.name] * weights * max(largest, 1e-300))


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize(("shape", "sigma"), SHAPES)
def test_gaussians_of_awkward_shapes(shape, sigma, dtype, device, rng):
    in_turn(device, SHAPES.index((shape, sigma)) + (dtype == "f8"), 2)
    image = (rng.standard_normal(shape) + 3).astype(dtype)
    sigmas = (sigma,) * len(shape) if np.ndim(sigma) == 0 else sigma
    close(fp.gaussian_filter(image, sigma, device=device), reference(image, sigmas), image)


@pytest.mark.parametrize("mode", BORDERS)
def test_borders_orders_and_radii_are_scipys(mode, device, rng):
    # A program for every border and set of weights: each set under some of the borders.
    turn = slice(BORDERS.index(mode) % 2, None, 2) if device.startswith("opencl") else slice(None)
    for shape in ((40, 90), (3, 5)):
        image = rng.standard_normal(shape)
        for options in (
            {"order": (0, 1)},
            {"order": (2, 3)},
            {"radius": (2, 5)},
            {"truncate": 2.5},
            {"axes": (1,)},
            {"axes": (1, 0)},
        )[turn]:
            for cval in (0, -2.5):
                want = scipy.ndimage.gaussian_filter(image, 1.7, mode=mode, cval=cval, **options)
                got = fp.gaussian_filter(image, 1.7, mode=mode, cval=cval, device=device, **options)
                np.testing.assert_allclose(got, want, rtol=0, atol=1e-13)
        for size, origin in ((3, 0), ((4, 70), 0), ((5, 6), (2, -3)), ((1, 4), 0))[turn]:
            want = scipy.ndimage.uniform_filter(image, size, mode=mode, cval=3, origin=origin)
            got = fp.uniform_filter(image, size, mode=mode, cval=3, origin=origin, device=device)
            np.testing.assert_allclose(got, want, rtol=0, atol=1e-13)


def test_a_mode_for_every_axis(device, rng):
    image, modes = rng.standard_normal((30, 44)), ("wrap", "mirror")
    got = fp.gaussian_filter(image, 2, mode=modes, device=device)
    np.testing.assert_allclose(got, scipy.ndimage.gaussian_filter(image, 2, mode=modes), atol=1e-13)
    # What lies beyond one axis is what the next one sums: their order counts.
    volume, beyond = rng.standard_normal((5, 7, 9)), {"mode": "constant", "cval": 3.0, "axes": (1, 2, 0)}
    want = scipy.ndimage.gaussian_filter(volume, 1, **beyond)
    np.testing.assert_allclose(fp.gaussian_filter(volume, 1, device=device, **beyond), want, atol=1e-13)


def test_colours_go_plane_by_plane_and_spectra_do_not(rng):
    photo, how = rng.standard_normal((30, 44, 3)), {"mode": "constant", "cval": 3.0, "device": "cpu"}
    for axes in ((0, 1), (1, 0), (1,)):
        want = scipy.ndimage.gaussian_filter(photo, 2, mode="constant", cval=3.0, axes=axes)
        np.testing.assert_allclose(fp.gaussian_filter(photo, 2, axes=axes, **how), want, atol=1e-13)
    # Down rows of three numbers, 500 x 500 x 3 took fifty times as long as its planes do.
    plans = [fp.plan_gaussian_filter((30, 44, n), 2, axes=(0, 1), device="cpu") for n in (3, 100)]
    assert [plan.slots[0].spec.shape for plan in plans] == [(3, 30, 44), (30, 44, 100)]
    assert [plan.inputs[0].spec.shape for plan in plans] == [(30, 44, 3), (30, 44, 100)]


@pytest.mark.parametrize("sigma", [5, 60])
def test_constant_and_uniform_images_keep_their_digits(sigma, device, rng):
    for image in (np.full((70, 600), 6852.7, "f4"), rng.random((70, 600), np.float32)):
        close(fp.gaussian_filter(image, sigma, device=device), reference(image, (sigma, sigma)), image)
    flat = np.full((20, 900), 6852.7, "f4")
    close(fp.uniform_filter(flat, (15, 801), device=device), flat.astype(float), flat)


@pytest.mark.parametrize("dtype", ["?", "u1", ">u2", "i4", "u8", "f2", ">f4", ">f8"])
def test_dtypes(dtype, device, rng):
    image = (rng.random((23, 70)) * 200).astype(dtype)
    got = fp.gaussian_filter(image, 1.5, device=device)
    assert got.dtype == ("float32" if np.dtype(dtype).str[1:] in ("f2", "f4", "u1", "u2", "b1") else "float64")
    close(got, reference(image.astype(float), (1.5, 1.5)), image)


def test_nan_reaches_what_its_weights_reach_and_no_more(device, rng):
    image = rng.standard_normal((40, 90), "f4")
    image[15, 30] = np.nan
    want = np.zeros(image.shape, bool)
    want[13:18, 25:36] = True
    np.testing.assert_array_equal(np.isnan(fp.gaussian_filter(image, 1, radius=(2, 5), device=device)), want)


@pytest.mark.parametrize("mode", ["mirror", "wrap"])
def test_any_budget_gives_the_same_bits(mode, device, rng):
    if mode == "mirror" and device.startswith("opencl"):
        pytest.skip("a text's borders are compared one by one elsewhere: wrapping alone reads rows from afar")
    jobs = (((151, 300), ">u2", 1.5), ((150, 200), ">f4", (20, 1)), ((6, 40, 100), ">f4", (1, 2, 1)), ((30_000,), ">f4", 3))
    for shape, dtype, sigma in (*jobs, ((60, 5), ">f4", 2)):
        image = (rng.random(shape) * 1000).astype(dtype)
        options = {"mode": mode, "device": device}
        want = fp.gaussian_filter(image, sigma, **options)
        with pytest.raises(fp.BudgetError) as caught:
            fp.gaussian_filter(image, sigma, memory=1, **options)
        # The smallest budget means a part a pixel.
        memory = caught.value.smallest + (image.nbytes // 5 if image.size > 300 else 0)
        plan = fp.plan_gaussian_filter(shape, sigma, dtype=dtype, mode=mode, memory=memory, device=device)
        assert plan.n_parts > 1 and plan.footprint.total <= memory
        np.testing.assert_array_equal(fp.gaussian_filter(image, sigma, memory=memory, **options), want)


def test_strides_and_output(device, rng):
    base = rng.standard_normal((60, 80), "f4")
    for image in (base[::2, ::-3], base.T, base[5:, 7:]):
        image.setflags(write=False)
        close(fp.gaussian_filter(image, 2, device=device), reference(image, (2, 2)), image)
    want = fp.gaussian_filter(base, 2, device=device)
    for out in (np.zeros((60, 80), "f4"), np.zeros((60, 80), ">f8"), np.zeros((60, 160), "f4")[:, ::2]):
        assert fp.gaussian_filter(base, 2, output=out, device=device) is out
        np.testing.assert_array_equal(out, want)


@pytest.mark.parametrize("radius", [2, 8, 16, 21, 70])
@pytest.mark.parametrize(("axis", "dtype"), [(1, "f4"), (2, "f4"), (1, "f8"), (1, "u1")])
def test_planes_of_a_volume_are_filtered_along_one_axis_as_each_is_alone(radius, axis, dtype, device, rng):
    """Threads, and groups of a GPU, share planes; forty weights are the most that a processor takes in another way."""
    volume = (rng.random((5, 61, 47)) * 200).astype(dtype)
    how = {"radius": radius, "mode": "reflect", "device": device}
    found = fp.gaussian_filter(volume, radius / 3, axes=axis, **how)
    close(found, scipy.ndimage.gaussian_filter1d(volume.astype(float), radius / 3, axis, radius=radius), volume)
    alone = [fp.gaussian_filter(np.ascontiguousarray(plane), radius / 3, axes=axis - 1, **how) for plane in volume]
    np.testing.assert_array_equal(found, alone)


@pytest.mark.parametrize("cval", [0.0, 1.5])
@pytest.mark.parametrize(("taps", "kind"), [(3, "f4"), (25, "f4"), (40, "f4"), (41, "f4"), (32, "f8")])
@pytest.mark.parametrize("shape", [(5, 61, 47), (2, 9, 9), (3, 20, 1000)])
def test_planes_are_summed_within_their_workspace(shape, taps, kind, cval, rng):
    """What lies beyond a border decides how a processor sums, and so what it needs."""
    volume, weights, out = rng.random(shape).astype(kind), rng.random(taps).astype(kind), np.empty(shape, kind)
    how = {"down": True, "planes": True, "first": -(taps // 2), "border": "constant", "cval": cval}
    specs = [ArraySpec(array.shape, array.dtype.str) for array in (volume, weights, out)]
    (room,) = line_work(Limits(threads=1), *specs, **how)
    held = np.full(room.size + (1 << 16), 7.25, kind)
    line(volume, weights, out, held[: room.size].reshape(room.shape), **how)
    assert (held[room.size :] == 7.25).all()
    want = scipy.ndimage.correlate1d(volume.astype(float), weights.astype(float), 1, mode="constant", cval=cval)
    np.testing.assert_allclose(out, want, rtol=0, atol=TOLERANCE[out.dtype.name] * taps)


def test_nothing_to_do_copies(device):
    image = np.arange(12.0).reshape(3, 4)
    np.testing.assert_array_equal(fp.gaussian_filter(image, 0, device=device), image)
    np.testing.assert_array_equal(fp.uniform_filter(image, 1, device=device), image)
    for shape in ((0,), (0, 5), (5, 0), (0, 4, 4)):
        assert fp.gaussian_filter(np.ones(shape), 1, device=device).shape == shape


def test_neighbouring_axes_are_one_pass_where_their_weights_are_few():
    def steps(sigma, dtype="f4", device="null:h100"):
        plan = fp.plan_gaussian_filter((500, 500), sigma, dtype=dtype, device=device)
        return [step.kernel for step in plan.steps if step.kernel]

    def room(local_mem):
        limits = replace(device_limits("null:h100"), local_mem=local_mem)
        taps = ArraySpec((81,), "f4")
        places = {"y0": -40, "x0": -40, "border_y": "reflect", "border_x": "reflect", "cval": 0.0}
        image = ArraySpec((1, 8192, 8192), "f4")
        (launch,) = separable_program(limits, image, taps, taps, image, **places).launches
        return in_one_pass(limits, (81, 81), 4), launch.local <= local_mem

    # As much of an image stays on a chip as it has room for; with too little, few would be at work.
    assert room(232448) == room(64 << 10) == room(49152) == (True, True)
    assert not in_one_pass(replace(device_limits("null:h100"), local_mem=12 << 10), (81, 81), 4)
    apart = ["separable.line", "separable.line"]
    assert steps(2) == steps(3.5, "f8") == ["separable"]
    assert steps(7) == steps(10) == steps(20) == ["separable.ring"]
    assert steps(21) == steps(4, "f8") == steps(10, device="cpu") == apart


def test_weights_that_change_much_share_no_products():
    """A share of a product is as large as the larger weight makes it, and digits of what lies under the other would be lost."""
    even, limits = np.ones(41, "f4") / 41, device_limits("null:h100")
    steep, odd = even.copy(), even.copy()
    steep[20:] *= 3
    odd[7] *= -1
    assert shared(limits, even, even)
    assert not any(shared(limits, even, other) for other in (steep, odd, even * 5, even[:1], even.astype("f8")))
    assert not shared(limits, even[:20], even[:20])


def test_a_volume_is_one_pass_where_a_chip_holds_its_planes():
    def steps(device, sigma):
        plan = fp.plan_gaussian_filter((64, 60, 50), sigma, device=device)
        return [step.kernel for step in plan.steps if step.kernel]

    assert steps("null:h100", 2) == ["separable.cube"]
    assert steps("null:h100", 3) == steps("cpu", 2) == ["separable", "separable.line"]


@pytest.mark.parametrize("sigma", [2, 30])
def test_a_gpu_reads_integers_as_they_are_stored(sigma):
    plan = fp.plan_gaussian_filter((50, 60), sigma, dtype="u1", device="null:h100")
    assert max(slot.spec.nbytes for slot in plan.slots if slot.spec.dtype == "|u1") == 3000
    floats = [slot for slot in plan.slots if slot.spec.dtype == "<f4" and slot.spec.shape == (50, 60)]
    assert len(floats) == (2 if sigma == 2 else 3), "the result, its room on the device, and sums down"


IMAGE = np.ones((6, 8))
BAD = {
    "sigma": (lambda: fp.gaussian_filter(IMAGE, -1), "sigma -1 0"),
    "sigma word": (lambda: fp.gaussian_filter(IMAGE, "a"), "sigma 'a' number"),
    "sigmas": (lambda: fp.gaussian_filter(IMAGE, (1, 2, 3)), "sigma (1, 2, 3) 2"),
    "order": (lambda: fp.gaussian_filter(IMAGE, 1, 0.5), "order 0.5 whole"),
    "mode": (lambda: fp.gaussian_filter(IMAGE, 1, mode="odd"), "mode 'odd' mirror"),
    "cval": (lambda: fp.gaussian_filter(IMAGE, 1, mode="constant", cval=np.nan), "cval nan finite"),
    "size": (lambda: fp.uniform_filter(IMAGE, 0), "size 0 1"),
    "output": (lambda: fp.gaussian_filter(IMAGE, 1, output=np.zeros((6, 8), "u1")), "output uint8 float64"),
    "dimensions": (lambda: fp.gaussian_filter(IMAGE[None, None], 1), "input 4 1 to 3"),
}


@pytest.mark.parametrize("case", BAD)
def test_what_is_wrong_is_said_in_one_sentence(case):
    call, words = BAD[case]
    with pytest.raises(fp.ArgumentError) as caught:
        call()
    for word in words.split():
        assert word in str(caught.value), (word, str(caught.value))
