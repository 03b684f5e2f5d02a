"""Three by three neighbours, and means, in one launch on the CPU: exact, local, and the same whatever the parts."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.ndimage

import footprint as fp
from footprint.kernels.common.borders import BORDERS

# Narrower than a vector and than the window; a row and a column alone; wider than a strip; planes.
SHAPES = [(1, 1), (2, 40), (70, 3), (9, 4200), (3, 20, 50)]


def integers(rng, shape, dtype):
    """All that a dtype holds, its ends among it."""
    if dtype == "bool":
        return rng.random(shape) > 0.5
    ends = np.iinfo(dtype)
    found = rng.integers(ends.min, ends.max + 1, shape, dtype)
    found.flat[:: max(1, found.size // 5)] = ends.max
    return found


def kernels(plan):
    return {step.kernel for step in plan.steps if step.kernel}


@pytest.mark.parametrize("mode", BORDERS)
def test_derivatives_of_integers_are_exact(mode, rng):
    for number, dtype in enumerate(("bool", "uint8", "int8", "uint16", "int16")):
        for shape in SHAPES[number % 2 :: 2] + SHAPES[:1]:
            image = integers(rng, shape, dtype)
            wide, axes = image.astype(float), (-2, -1)
            got = fp.laplace(image, mode=mode, axes=axes, device="cpu")
            assert got.dtype == np.float32
            np.testing.assert_array_equal(got, scipy.ndimage.generic_laplace(wide, _second, mode=mode, axes=axes))
            if len(shape) == 2:
                for axis in axes:
                    np.testing.assert_array_equal(
                        fp.sobel(image, axis, mode=mode, device="cpu"), scipy.ndimage.sobel(wide, axis, mode=mode)
                    )


def _second(image, axis, output, mode, cval):
    return scipy.ndimage.correlate1d(image, [1, -2, 1], axis, output, mode, cval)


def test_a_laplacian_leaves_corners_alone(rng):
    image = rng.standard_normal((40, 90)).astype("f4")
    spoilt = image.copy()
    spoilt[20, 41], spoilt[30, 1], spoilt[7, 0], spoilt[39, 89] = np.nan, np.nan, np.inf, np.nan
    clean, got = (fp.laplace(one, device="cpu") for one in (image, spoilt))
    reached = scipy.ndimage.binary_dilation(~np.isfinite(spoilt))
    np.testing.assert_array_equal(~np.isfinite(got), reached)
    np.testing.assert_array_equal(got[~reached], clean[~reached])


@pytest.mark.parametrize("mode", BORDERS)
def test_means_of_integers_are_exact_but_for_roundings(mode, rng):
    sizes = {2: [(3, 3), (4, 9), (1, 31), (45, 1), (70, 180)], 3: [(1, 5, 70), (3, 4, 5)]}
    for number, dtype in enumerate(("bool", "uint8", "int8", "uint16", "int16")):
        for shape in SHAPES[number % 2 :: 2] + SHAPES[:1]:
            image = integers(rng, shape, dtype)
            for size in sizes[len(shape)]:
                origin = tuple(-((n - 1) // 2) for n in size)
                got = fp.uniform_filter(image, size, mode=mode, origin=origin, device="cpu")
                want, reach = (
                    image.astype(float),
                    scipy.ndimage.uniform_filter(abs(image.astype(float)), size, None, mode, 0, origin),
                )
                want = scipy.ndimage.uniform_filter(want, size, None, mode, 0, origin)
                np.testing.assert_array_less(abs(got - want), 4e-7 * reach + 1e-9, err_msg=f"{dtype} {shape} {size}")


def test_sums_of_integers_that_32_bits_do_not_hold_are_made_another_way(rng):
    most = 65535
    assert kernels(fp.plan_uniform_filter((300, 400), 181, dtype="uint16", device="cpu")) == {"separable.counts"}
    assert kernels(fp.plan_uniform_filter((300, 400), 182, dtype="uint16", device="cpu")) == {"separable.means"}
    for size in (181, 182):
        got = fp.uniform_filter(np.full((200, 190), most, "u2"), size, device="cpu")
        np.testing.assert_allclose(got, most, rtol=4e-7)
    assert "separable.counts" not in kernels(fp.plan_uniform_filter((300, 400), 31, dtype="uint8", device="null:h100"))


def test_means_of_float32_are_local_and_keep_their_digits(rng):
    plans = [fp.plan_uniform_filter((300, 400), n, dtype="float32", device="cpu") for n in (15, 16, 200, 201)]
    assert [kernels(plan) for plan in plans] == [{"separable"}, {"separable.means"}, {"separable.means"}, {"separable.box"}]
    # Strips, a last vector that is not whole, groups of rows that are not, and windows longer than the image.
    for shape, sizes in (((70, 1100), (31, 45)), ((2, 60, 37), (1, 16, 101)), ((20, 30), (200, 19))):
        image = rng.standard_normal(shape).astype("f4") + 2
        for mode in BORDERS:
            got = fp.uniform_filter(image, sizes, mode=mode, device="cpu")
            want, reach = (scipy.ndimage.uniform_filter(one.astype(float), sizes, mode=mode) for one in (image, abs(image)))
            np.testing.assert_array_less(abs(got - want), 5e-7 * reach + 1e-9, err_msg=f"{shape} {sizes} {mode}")
    image = rng.standard_normal((130, 150)).astype("f4")
    clean, inside = fp.uniform_filter(image, (33, 51), device="cpu"), np.zeros(image.shape, bool)
    inside[60 - 16 : 60 + 17, 70 - 25 : 70 + 26] = True
    for value in (np.nan, np.inf, 1e30):
        image[60, 70] = value
        got = fp.uniform_filter(image, (33, 51), device="cpu")
        np.testing.assert_array_equal(got[~inside], clean[~inside])
        assert not np.isclose(got[inside], clean[inside]).any()
    level = fp.uniform_filter(np.full((300, 300), 6852.7, "f4"), 199, device="cpu")
    np.testing.assert_allclose(level, np.float32(6852.7), rtol=4e-7)


@pytest.mark.parametrize("mode", ["mirror", "wrap", "constant"])
def test_parts_have_the_bits_of_the_whole(mode, rng):
    calls = {
        "f4": [
            (fp.laplace, ()),
            (fp.sobel, (0,)),
            (fp.uniform_filter, (3,)),
            (fp.uniform_filter, (19,)),
        ],
        ">u2": [(fp.laplace, ()), (fp.uniform_filter, ((20, 33),))],
    }
    for shape in ((120, 90), (1, 6000)):
        for dtype, some in calls.items():
            image = (rng.random(shape) * 1000).astype(dtype)[:, ::-1]
            for verb, given in some:
                how = {"mode": mode, "device": "cpu"}
                want = verb(image, *given, **how)
                with pytest.raises(fp.BudgetError) as caught:
                    verb(image, *given, memory=1, **how)
                memory = caught.value.smallest + image.nbytes // 4
                np.testing.assert_array_equal(verb(image, *given, memory=memory, **how), want)


def test_edges_have_the_bits_of_the_inside(rng):
    image = rng.standard_normal((30, 100)).astype("f4")
    for verb in (fp.laplace, fp.sobel):
        whole = verb(image, device="cpu")
        for cut in (1, 5, 17):
            part = verb(image[:, cut:], mode="constant", device="cpu")
            np.testing.assert_array_equal(part[1:-1, 1:-1], whole[1:-1, cut + 1 : -1])
        # Beside the image lie its own rows and columns, so that what is an edge here was none there.
        inner = verb(image[3:-3, 3:-3], mode="nearest", device="cpu")
        beyond = np.pad(image[3:-3, 3:-3], 1, mode="edge")
        np.testing.assert_array_equal(inner, verb(beyond, device="cpu")[1:-1, 1:-1])
