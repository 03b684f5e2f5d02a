"""Every library's arrays through every verb: a first call, a second that finds all ready, one into ``out``, and twice into it."""

from __future__ import annotations

import numpy as np
import pytest

import footprint as fp
from footprint.plan.ready import READY
from tests import far


@pytest.fixture
def there():
    with far.far_device():
        yield


def hits(call) -> tuple[object, int]:
    """What a call gives, and how many kept plans it found."""
    before = READY.hits
    return call(), READY.hits - before


N_A, N_X = 12, 16
ANGLES = np.linspace(0, np.pi, N_A, endpoint=False)
SHIFTS = np.array([0.5, -1.25, 2.0])
MASK = np.arange(9.0).reshape(3, 3)
BAD = np.arange(99).reshape(9, 11) % 7 == 0
# Verb, the array's shape, and the call of it; "out" goes to the call where it is given.
VERBS = {
    "convolve": ((9, 11), lambda a, **o: fp.convolve(a, MASK, **o)),
    "convolve, masked": ((9, 11), lambda a, **o: fp.convolve(a, MASK, masked=BAD, **o)),
    "correlate": ((9, 11), lambda a, **o: fp.correlate(a, MASK, boundary="wrap", **o)),
    "threshold": ((9, 11), lambda a, **o: fp.threshold(a, 0.5, **o)),
    "pad": ((9, 11), lambda a, **o: fp.pad(a, 2, "reflect", **o)),
    "vertical_shift": ((3, 5, 7), lambda a, **o: fp.vertical_shift(a, SHIFTS, **o)),
    "ramp_filter": ((N_A, N_X), lambda a, **o: fp.ramp_filter(a, **o)),
    "backproject": ((N_A, N_X), lambda a, **o: fp.backproject(a, ANGLES, **o)),
    "fbp": ((N_A, N_X), lambda a, **o: fp.fbp(a, ANGLES, method="direct", **o)),
    "project": ((N_X, N_X), lambda a, **o: fp.project(a, ANGLES, **o)),
    "cgls": ((2, N_A, N_X), lambda a, **o: fp.cgls(a, ANGLES, iterations=2, **o)),
    "fbp, stack": ((2, N_A, N_X), lambda a, **o: fp.fbp(a, ANGLES, method="direct", **o)),
}
WRAPS = {"numpy": lambda a: a, "cupy": far.ndarray, "torch": far.Tensor}


def on_host(array) -> np.ndarray:
    return getattr(array, "_host", array)


@pytest.mark.parametrize("library", WRAPS)
@pytest.mark.parametrize("verb", VERBS)
def test_a_second_call_and_out(there, rng, library, verb):
    shape, call = VERBS[verb]
    first, second = rng.random(shape, "f4"), rng.random(shape, "f4")
    device = {"device": "cpu"} if library == "numpy" else {}
    wanted = [call(x, device="cpu") for x in (first, second)]
    fp.clear_cache()
    wrap = WRAPS[library]
    kinds = []
    for x, want, found in ((first, wanted[0], 0), (second, wanted[1], 1), (first, wanted[0], 1)):
        got, again = hits(lambda x=x: call(wrap(x), **device))
        np.testing.assert_array_equal(on_host(got), want)
        kinds.append(type(got))
        assert again == found
    assert set(kinds) == {type(wrap(first))}
    for x, want in ((first, wanted[0]), (second, wanted[1]), (first, wanted[0])):
        out = wrap(np.zeros_like(want))
        far.WRITTEN.clear()
        assert call(wrap(x), out=out, **device) is out
        np.testing.assert_array_equal(on_host(out), want)
        # Autograd may hold this tensor, and must know that its numbers are others now.
        assert library != "torch" or out.data_ptr() in far.WRITTEN


@pytest.mark.parametrize("library", WRAPS)
def test_what_is_changed_in_place(there, rng, library):
    wrap, device = WRAPS[library], ({"device": "cpu"} if library == "numpy" else {})
    x, y = rng.random((6, 7), "f4"), rng.random((6, 7), "f4")
    for _ in range(3):
        mine = x.copy()
        target = wrap(mine)
        far.WRITTEN.clear()
        assert fp.muladd(target, wrap(y), 2, 3, **device) is target
        assert library != "torch" or target.data_ptr() in far.WRITTEN
        np.testing.assert_allclose(mine, 2 * x + 3 * y, rtol=1e-6)
        fp.muladd(target, target, 0.5, 0.25, **device)
        np.testing.assert_allclose(mine, 0.75 * (2 * x + 3 * y), rtol=1e-6)
    stack = rng.random((3, 5, 7), "f4")
    wanted = fp.vertical_shift(stack, SHIFTS, device="cpu")
    for _ in range(3):
        mine = wrap(stack.copy())
        assert fp.vertical_shift(mine, SHIFTS, out=mine, **device) is mine
        np.testing.assert_array_equal(on_host(mine), wanted)
    rows = rng.random((N_A, N_X), "f4")
    wanted = fp.ramp_filter(rows, device="cpu")
    for _ in range(3):
        mine = wrap(rows.copy())
        fp.ramp_filter(mine, out=mine, **device)
        np.testing.assert_array_equal(on_host(mine), wanted)


@pytest.mark.parametrize("library", ["cupy", "torch"])
def test_out_that_shares_memory_is_refused_in_every_call(there, rng, library):
    whole = WRAPS[library](rng.random((8, 9), "f4"))
    for _ in range(2):
        fp.convolve(whole[:4], MASK)
        with pytest.raises(fp.ArgumentError, match="memory shared with image"):
            fp.convolve(whole[:4], MASK, out=whole[2:6])


STRIDES = {
    "transposed": lambda a: np.asfortranarray(a),
    "reversed": lambda a: a[::-1].copy()[::-1],
    "every second": lambda a: np.repeat(a, 2, axis=-1)[..., ::2],
}


@pytest.mark.parametrize("lies", STRIDES)
@pytest.mark.parametrize("library", ["cupy", "torch"])
@pytest.mark.parametrize("verb", VERBS)
def test_strides_on_a_device(there, rng, library, verb, lies):
    """They are copied into memory that the plan has; so is a result's way into an array that has them."""
    shape, call = VERBS[verb]
    wrap, first, second = WRAPS[library], rng.random(shape, "f4"), rng.random(shape, "f4")
    for x in (first, second, first):
        want = call(x, device="cpu")
        np.testing.assert_array_equal(on_host(call(wrap(STRIDES[lies](x)))), want)
        holds = STRIDES[lies](np.zeros_like(want))
        out = wrap(holds)
        far.WRITTEN.clear()
        assert call(wrap(x), out=out) is out
        np.testing.assert_array_equal(holds, want)
        assert library != "torch" or out.data_ptr() in far.WRITTEN


@pytest.mark.parametrize("library", ["cupy", "torch"])
def test_strides_of_other_arguments_and_in_place(there, rng, library):
    wrap, x, y = WRAPS[library], rng.random((9, 11), "f4"), rng.random((9, 11), "f4")
    turned = lambda a: wrap(np.asfortranarray(a))
    assert fp.sigma_clip(turned(x)) == fp.sigma_clip(x, device="cpu")
    labels, count = fp.label(x > 0.5, device="cpu")
    got, found = fp.label(turned(x > 0.5))
    assert found == count
    np.testing.assert_array_equal(on_host(got), labels)
    rows = fp.measure(x, labels, count, device="cpu")
    for name in rows.colnames:
        np.testing.assert_array_equal(fp.measure(turned(x), turned(labels), count)[name], rows[name])
    mine = np.asfortranarray(x)
    fp.muladd(wrap(mine), turned(y), 2, 3)
    np.testing.assert_allclose(mine, 2 * x + 3 * y, rtol=1e-6)
    stack = np.asfortranarray(rng.random((3, 5, 7), "f4"))
    wanted = fp.vertical_shift(stack, SHIFTS, device="cpu")
    fp.vertical_shift(far_one := wrap(stack), SHIFTS, out=far_one)
    np.testing.assert_array_equal(stack, wanted)
    with pytest.raises(fp.ShapeError, match=r"^out.*stride of 0"):
        fp.convolve(wrap(x), MASK, out=wrap(np.broadcast_to(np.float32(0), x.shape)))


def test_a_copy_of_strides_on_a_device_is_in_the_plan(there, rng):
    """Beside an array that lies as kernels want it there is as much memory more as the copy takes, and never more than allowed."""
    x, plans = rng.standard_normal((900, 700), "f4"), []
    calls = lambda a, **o: fp.find_sources(far.ndarray(a), 4, min_area=1, on_plan=plans.append, **o)
    rows = calls(x)
    for short in (0, 1):
        found = calls(np.asfortranarray(x), memory=plans[-1].nbytes - 1 if short else None)
        for name in rows.colnames:
            np.testing.assert_array_equal(found[name], rows[name])
    small, large, cut = plans
    assert x.nbytes <= large.nbytes - small.nbytes <= x.nbytes + 256
    assert cut.nbytes < large.nbytes and cut.n_parts > 1


@pytest.mark.parametrize("library", ["cupy", "torch"])
def test_axes_in_another_order_on_a_device(there, rng, library):
    wrap, x = WRAPS[library], rng.random((9, 11, 3), "f4")
    for call in (
        lambda a, **o: fp.convolve(a, MASK, axes=(0, 1), **o),
        lambda a, **o: fp.median_filter(a, (3, 3, 1), **o),
        lambda a, **o: fp.gaussian_filter(a, (1, 1, 0), **o),
    ):
        np.testing.assert_allclose(on_host(call(wrap(x))), call(x, device="cpu"), rtol=1e-6)


@pytest.mark.parametrize("library", ["cupy", "torch"])
def test_complex_numbers_on_a_device_are_refused_where_they_are_on_the_host(there, rng, library):
    x = (rng.random((4, 6)) + 1j).astype("c8")
    for verb in (lambda a: fp.pad(a, 2), lambda a: fp.fbp(a), lambda a: fp.find_sources(a), lambda a: fp.median_filter(a, 3)):
        for given in (x, WRAPS[library](x)):
            with pytest.raises(fp.ShapeError, match=r"complex64.*real numbers"):
                verb(given)


@pytest.mark.parametrize("library", ["cupy", "torch"])
def test_labels(there, rng, library):
    wrap = WRAPS[library]
    for _ in range(3):
        mask = rng.random((13, 17)) > 0.6
        wanted, count = fp.label(mask, device="cpu")
        got, found = fp.label(wrap(mask))
        out = wrap(np.zeros_like(wanted))
        assert found == count and fp.label(wrap(mask), out=out) == (out, count)
        np.testing.assert_array_equal(on_host(got), wanted)
        np.testing.assert_array_equal(on_host(out), wanted)


@pytest.mark.parametrize("mask", WRAPS)
@pytest.mark.parametrize("image", WRAPS)
def test_masks_from_elsewhere(there, rng, image, mask):
    """The first call brings the mask to where the image is; so must the second."""
    for _ in range(3):
        x, w = rng.random((9, 11), "f4"), rng.random((3, 4))
        given = {"device": "cpu"} if image == "numpy" else {}
        got = fp.convolve(WRAPS[image](x), WRAPS[mask](w), **given)
        np.testing.assert_array_equal(on_host(got), fp.convolve(x, w, device="cpu"))


@pytest.mark.parametrize("library", ["cupy", "torch"])
def test_small_tables_from_a_device(there, rng, library):
    wrap, sinogram = WRAPS[library], rng.random((N_A, N_X), "f4")
    for k in range(3):
        angles = ANGLES + 0.1 * k
        got = fp.fbp(sinogram, wrap(angles), method="direct", device="cpu")
        np.testing.assert_array_equal(got, fp.fbp(sinogram, angles, method="direct", device="cpu"))
        got = fp.project(sinogram, wrap(angles), device="cpu")
        np.testing.assert_array_equal(got, fp.project(sinogram, angles, device="cpu"))


@pytest.mark.parametrize("library", ["cupy", "torch"])
def test_kept_memory_is_given_up_before_a_result_finds_no_room(there, rng, library):
    image = WRAPS[library](rng.random((9, 11), "f4"))
    want = on_host(fp.convolve(image, MASK))
    far.ROOM[0] = lambda: READY.kept() == 0
    np.testing.assert_array_equal(on_host(fp.convolve(image, MASK)), want)
    far.ROOM[0] = lambda: False
    with pytest.raises(fp.BackendError, match="no room for the result"):
        fp.convolve(image, MASK)
