"""Methods of convolution: the same sums but for rounding, the same bits at every budget, and one sentence where one is refused."""

from __future__ import annotations

import contextlib

import numpy as np
import pytest

import footprint as fp
from footprint.api.convolve_rows import convolve_rows, plan_convolve_rows
from footprint.backend.registry import device_limits
from footprint.kernels.common.borders import BORDERS
from footprint.ops.convolve import Correlate
from footprint.ops.job import plan_op
from footprint.ops.overlap_save import OverlapSave, by_method
from footprint.plan.slots import Given
from footprint.reference import convolve as reference
from footprint.spec import ArraySpec, Limits

from .kernels import in_turn

CPU = Limits("cpu", threads=2)
SHAPES = [((1, 1), (1, 1)), ((1, 1), (3, 4)), ((37, 253), (6, 9)), ((150, 131), (31, 2)), ((40, 60), (90, 70))]


def products(shape, rng, rank=1):
    """A mask of so many products of a column and a row."""
    return sum(np.outer(rng.random(shape[0]), rng.random(shape[1])) for _ in range(rank))


def smallest(call):
    """The least that will do, by what the errors say: to take a mask apart, and then for the plan."""
    budget = 1
    for _ in range(3):
        try:
            call(budget)
            return budget
        except fp.BudgetError as error:
            assert error.smallest > budget
            budget = error.smallest
    raise AssertionError(budget)


@pytest.mark.parametrize("boundary", BORDERS)
@pytest.mark.parametrize(("shape", "taps"), SHAPES)
def test_transforms_of_tiles_make_the_sums(shape, taps, boundary, device, rng):
    in_turn(device, SHAPES.index((shape, taps)) + BORDERS.index(boundary), 2)
    for kind, digits in (("f4", 1e-6), ("f8", 1e-14)):
        image, mask = rng.standard_normal(shape).astype(kind), rng.standard_normal(taps).astype(kind)
        scale = np.abs(mask).sum(dtype=float) * max(np.abs(image).max(), 2.5)
        for mode in ("same", "full"):
            options = {"mode": mode, "boundary": boundary, "cval": 2.5}
            got = fp.convolve(image, mask, method="fft", device=device, **options)
            assert got.dtype == kind
            np.testing.assert_allclose(got, reference.convolve(image, mask, **options), rtol=0, atol=digits * scale)


@pytest.mark.parametrize(("shape", "taps", "origin"), [((64, 50), (63, 31), (-20, 9)), ((33, 60), (150, 81), (60, -37))])
def test_small_images_under_large_masks(shape, taps, origin, rng):
    """One tile, whose zeros at both ends are the same ones, and a mask of which only what falls on the image is taken."""
    image, mask = rng.standard_normal(shape, "f4"), rng.standard_normal(taps, "f4")
    broken = image.copy()
    broken[0, 7], broken[shape[0] - 1, shape[1] - 2], broken[20, 0] = np.nan, np.inf, np.nan
    for options in ({"mode": "same"}, {"mode": "same", "origin": origin}, {"mode": "full"}):
        op = by_method("fft", Correlate(taps, **options), ArraySpec(shape), CPU)
        assert options != {"mode": "same"} or (op.steps == shape and max(op.taken) <= 2 * max(shape))
        got = fp.convolve(image, mask, method="fft", device="cpu", **options)
        want = fp.convolve(image.astype("f8"), mask.astype("f8"), method="direct", device="cpu", **options)
        np.testing.assert_allclose(got, want, rtol=0, atol=1e-6 * np.abs(mask).sum(dtype=float) * np.abs(image).max())
        direct, fft = (fp.convolve(broken, mask, method=how, device="cpu", **options) for how in ("direct", "fft"))
        np.testing.assert_array_equal(np.isfinite(fft), np.isfinite(direct))
    # Other samples than 0 have to have room.
    assert by_method("fft", Correlate(taps, boundary="mirror"), ArraySpec(shape), CPU).steps != shape
    assert fp.plan_convolve((300, 300), (127, 127), device="cpu").footprint.total < 1.3 * 2 * 4 * 300**2


@pytest.mark.parametrize("size", [(13, 13), (63, 64), (255, 255), (3, 301)], ids=str)
def test_float32_keeps_its_digits_in_transforms(size, device, rng):
    shape = tuple(n + 60 for n in size)
    images = [np.full(shape, 6852.7, "f4"), rng.random(shape, "f4"), rng.standard_normal(shape, "f4")]
    for mask in (np.full(size, 1 / np.prod(size), "f4"), rng.random(size, "f4")):
        for image in images:
            got = fp.correlate(image, mask, mode="valid", method="fft", device=device)
            exact = fp.correlate(image.astype("f8"), mask.astype("f8"), mode="valid", method="direct", device="cpu")
            scale = fp.correlate(np.abs(image).astype("f8"), mask.astype("f8"), mode="valid", method="direct", device="cpu")
            assert (np.abs(got - exact) / scale).max() < 1e-6


def made(backend, op, image, mask):
    """The sums of an operation, on a device."""
    specs = [(ArraySpec(a.shape, a.dtype.str), Given()) for a in (image, mask)]
    out = np.full(op.out_specs(*(spec for spec, _ in specs))[0].shape, np.nan, image.dtype)
    plan = plan_op(backend.limits, None, "convolve", op, specs, [(ArraySpec(out.shape, out.dtype.str), Given())])
    with plan.bind(backend) as bound:
        bound(image, mask, out=[out])
    return out


def test_a_mask_in_many_blocks_keeps_its_digits(backend):
    """Additions of 25 equal blocks would lose more than the transforms do."""
    image, mask = np.full((300, 300), 6852.7, "f4"), np.full((101, 101), 1 / 101**2, "f4")
    op = OverlapSave((101, 101), "same", "nearest", tile=64, block=(21, 21), folded=backend.limits.family == "gpu")
    out = made(backend, op, image, mask)
    np.testing.assert_allclose(out, mask.sum(dtype=float) * np.float32(6852.7), rtol=1e-6)


def test_tiles_are_made_of_integers_as_they_are_stored(rng):
    mask, how = rng.random((20, 31)), {"method": "fft", "boundary": "constant", "cval": 2.5, "device": "cpu"}
    for kind in ("?", "i1", "u1", "i2", "u2", ">u2"):
        image = rng.integers(0, 2 if kind == "?" else 127, (181, 167)).astype(kind)
        want = fp.convolve(image.astype("f4"), mask, **how)
        np.testing.assert_array_equal(fp.convolve(image, mask, **how), want)
    stored, sums = (fp.plan_convolve((900, 800), (63, 63), dtype=kind, **how).footprint.total for kind in ("u1", "f4"))
    assert stored == sums


def test_a_bright_tile_does_not_leak_into_the_dark_one_beside_it(device, rng):
    image, mask = rng.random((200, 600), "f4"), rng.random((21, 21), "f4")
    exact = fp.convolve(image.astype("f8"), mask, method="direct", device="cpu")
    op = by_method("fft", Correlate((21, 21)), ArraySpec(image.shape), device_limits(device))
    step = op.steps[1]
    for bright, dark in ((0, 1), (1, 0)):
        lit = image.copy()
        # What only one of two neighbours sees.
        lit[:, bright * step + 21 : (bright + 1) * step - 21] *= 1e6
        got = fp.convolve(lit, mask, method="fft", device=device)
        seen = slice(dark * step, (dark + 1) * step)
        assert np.abs(got[:, seen] - exact[:, seen]).max() < 1e-6 * mask.sum()
        lit[:, max(dark * step - 10, 0) : (dark + 1) * step + 11] = 0
        got = fp.convolve(lit, mask, method="fft", device=device)
        assert device != "cpu" or not got[:, seen].any(), "a blank tile gets of its neighbour"


def test_what_is_not_finite_reaches_what_direct_sums_reach(device, rng):
    image, mask = rng.standard_normal((150, 170), "f4"), rng.random((23, 18), "f4")
    image[149, 0], image[60:70, 155:] = np.nan, np.nan
    image[0, 169], image[120, 165] = -np.inf, np.inf
    # Most of it in the last tile across, the second of a pair.
    assert device != "cpu" or by_method("fft", Correlate(mask.shape), ArraySpec(image.shape), CPU).tile == 64
    for zero in (False, True):
        mask[3, 4] = 0 if zero else 1
        for cval in (0.0, np.nan, np.inf):
            for mode in ("same", "full"):
                options = {"mode": mode, "cval": cval}
                direct = fp.convolve(image, mask, method="direct", device="cpu", **options)
                fft = fp.convolve(image, mask, method="fft", device=device, **options)
                finite = np.isfinite(direct)
                np.testing.assert_array_equal(fft[~finite], direct[~finite])
                np.testing.assert_allclose(fft[finite], direct[finite], atol=1e-6 * mask.sum() * 4.5)


def test_sizes_near_the_ends_of_the_floats(device, rng):
    image, mask = rng.random((70, 80), "f4"), rng.random((20, 20), "f4")
    want = fp.convolve(image, mask, method="direct", device="cpu")
    for one, other in ((2.0**117, 2.0**-120), (2.0**-120, 2.0**110), (2.0**100, 2.0**10), (2.0**-60, 2.0**-60)):
        got = fp.convolve(image * np.float32(one), mask * np.float32(other), method="fft", device=device)
        np.testing.assert_allclose(got / np.float32(one * other), want, rtol=0, atol=1e-6 * mask.sum())
    assert not fp.convolve(np.zeros((70, 80), "f4"), mask, method="fft", device=device).any()
    assert not fp.convolve(image, 0 * mask, method="fft", device=device).any()


@pytest.mark.parametrize("boundary", ["constant", "mirror", "wrap"])
@pytest.mark.parametrize(("method", "kind"), [("fft", "f4"), ("fft", ">f8"), ("separable", "u2")])
def test_the_same_bits_at_every_budget(method, kind, boundary, device, rng):
    if device != "cpu" and boundary != "constant":
        pytest.skip("one border says as much there")
    # An odd number of tiles across: the last has no neighbour. The smallest budget means parts of a row or two.
    shape = (401, 267) if method == "fft" or device == "cpu" else (101, 267)
    image, mask = (100 * rng.standard_normal(shape)).astype(kind), products((40, 19), rng, 2)
    for mode in ("same", "full", "valid") if device == "cpu" else ("full",):
        options = {"mode": mode, "boundary": boundary, "cval": 1.5, "method": method, "device": device}
        want = fp.convolve(image, mask, **options)
        got = np.full_like(want, np.nan)
        read = lambda start, stop, out: np.copyto(out, image[start:stop], casting="unsafe")
        write = lambda start, stop, block: got.__setitem__(slice(start, stop), block)  # noqa: B023
        call = lambda memory: convolve_rows(read, image.shape, kind, mask, write, memory=memory, **options)  # noqa: B023
        budget = smallest(call)
        for memory in (budget, budget + 50_000):
            got[:] = np.nan
            plan = call(memory)
            assert plan.footprint.total <= memory
            assert plan.n_parts > 1
            np.testing.assert_array_equal(got, want)


def test_threads_do_not_change_a_bit(rng, monkeypatch):
    import numba

    image, mask = rng.random((700, 500), "f4"), rng.random((30, 30), "f4")
    want = fp.convolve(image, mask, method="fft", device="cpu")
    before = numba.get_num_threads()
    numba.set_num_threads(1)
    try:
        np.testing.assert_array_equal(fp.convolve(image, mask, method="fft", device="cpu", memory="1GB"), want)
    finally:
        numba.set_num_threads(before)


@pytest.mark.parametrize("boundary", BORDERS)
@pytest.mark.parametrize(("taps", "rank"), [((7, 5), 1), ((12, 9), 2), ((1, 8), 1), ((70, 30), 1), ((16, 16), 3)])
def test_products_make_the_sums(taps, rank, boundary, device, rng):
    if device != "cpu" and (taps, boundary) not in (((12, 9), "wrap"), ((70, 30), "constant")):
        pytest.skip("every mask is compiled there: two of them")
    image, mask = rng.standard_normal((83, 91), "f4"), products(taps, rng, rank)
    for mode in ("same", "full", "valid"):
        options = {"mode": mode, "boundary": boundary, "cval": -2.0}
        got = fp.convolve(image, mask, method="separable", device=device, **options)
        want = reference.convolve(image, mask, **options)
        np.testing.assert_allclose(got, want, rtol=0, atol=1e-6 * mask.sum() * 4.5)


def test_products_are_counted_to_the_tolerance(rng):
    image = rng.standard_normal((50, 60))
    exact = products((15, 15), rng)
    assert "1 product of" in notes(image, exact)
    # A mask kept in float32 is a product but for its own rounding.
    assert "1 product of" in notes(image, exact.astype("f4"))
    assert "2 products of" in notes(image, exact + 1e-6 * products((15, 15), rng))
    np.testing.assert_allclose(
        fp.convolve(image, exact, method="separable", device="cpu"),
        fp.convolve(image, exact, device="cpu"),
        atol=1e-13 * exact.sum() * 5,
    )


@pytest.mark.parametrize(
    ("image_of", "mask_of", "bound"), [("f8", "f8", 48), ("f8", "f4", 24), ("f4", "f8", 24), ("f4", ">f4", 24)]
)
def test_products_leave_out_what_is_promised_by_the_dtypes(image_of, mask_of, bound, device, rng):
    image = rng.standard_normal((60, 70)).astype(image_of)
    mask = products((15, 15), rng).astype(mask_of)
    whole, most = np.abs(mask.astype("f8")).sum(), np.abs(image).max()
    got = fp.convolve(image, mask, method="separable", dtype="f8" if image_of == "f8" else None, device=device)
    lost = np.abs(got - reference.convolve(image.astype("f8"), mask)).max() / (whole * most)
    assert lost <= 2.0**-bound + (1e-13 if image_of == "f8" else 1e-6)  # and what direct sums lose
    # So faint a rest makes a mask of float64, and no other, no product.
    faint = (mask.astype("f8") + whole / mask.size * 2.0**-30 * rng.choice([-1, 1], mask.shape)).astype(mask_of)
    with pytest.raises(fp.ArgumentError, match="not a sum of 3 products") if bound == 48 else contextlib.nullcontext():
        fp.convolve(image, faint, method="separable", device="cpu")
    assert "2^-24 of the sum of ``|mask|`` if mask or sums are float32" in fp.convolve.__doc__


def notes(image, mask):
    found = []
    read = lambda start, stop, out: np.copyto(out, image[start:stop])
    options = {"method": "separable", "device": "cpu", "on_plan": lambda plan: found.extend(plan.notes)}
    convolve_rows(read, image.shape, "f8", mask, lambda *_: None, **options)
    return "; ".join(found)


def test_another_mask_of_the_same_shape_is_no_earlier_one(rng):
    image = rng.standard_normal((90, 90), "f4")
    for method in ("fft", "separable"):
        for _ in range(3):
            mask = products((20, 20), rng)
            got = fp.convolve(image, mask, method=method, device="cpu")
            np.testing.assert_allclose(got, reference.convolve(image, mask), atol=1e-6 * mask.sum() * 5)


def test_auto_goes_by_shapes_and_small_masks_keep_their_bits(rng):
    image = rng.standard_normal((600, 500), "f4")
    for size in ((3, 3), (9, 9), (11, 11), (1, 101)):
        mask = rng.random(size, "f4")
        np.testing.assert_array_equal(
            fp.convolve(image, mask, device="cpu"), fp.convolve(image, mask, method="direct", device="cpu")
        )
    # Tiles and segments are made of what is stored: no copy of all of it counts against them.
    found = [type(by_method("auto", Correlate((13, 13)), ArraySpec((2048, 2048), kind), CPU)) for kind in ("f4", "u2")]
    found += [type(by_method("auto", Correlate((133,)), ArraySpec((1 << 22,), kind), CPU)) for kind in ("f4", "u2")]
    assert found == [OverlapSave] * 4
    mask = rng.random((63, 63), "f4")
    np.testing.assert_array_equal(fp.convolve(image, mask, device="cpu"), fp.convolve(image, mask, method="fft", device="cpu"))
    plan = fp.plan_convolve((600, 500), (63, 63), device="cpu")
    assert "method: fft" in str(plan) and "direct sums" in str(plan)
    chosen = [
        by_method("auto", Correlate((63, 63)), ArraySpec((600, 500)), Limits("cpu", threads=n, free=f))
        for n, f in ((1, None), (64, 10**6))
    ]
    assert chosen[0] == chosen[1]
    foreign = fp.plan_convolve((600, 500), (63, 63), dtype=">f4", device="cpu")
    less = fp.plan_convolve((600, 500), (63, 63), dtype=">f4", memory=foreign.footprint.total - 1, device="cpu")
    assert less.n_parts > foreign.n_parts and less.notes == foreign.notes


def test_a_huge_mask_takes_no_minute():
    op, image, mask = Correlate((2000, 2000)), ArraySpec((2048, 2048)), ArraySpec((2000, 2000))
    chosen = by_method("auto", op, image, CPU)
    from footprint.plan.rates import rates

    assert op.cost(CPU, image, mask).seconds(rates(CPU)) > 60
    assert chosen.cost(CPU, image, mask).seconds(rates(CPU)) < 2


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"method": "quick"}, "one of auto, direct, separable, fft"),
        ({"method": None}, "one of auto"),
        ({"method": "separable", "image": np.zeros(9), "mask": np.ones(3)}, "only the mask of a single image"),
        ({"method": "separable", "mask": np.eye(9)}, "not a sum of 2 products"),
        ({"method": "separable", "mask": np.full((3, 3), np.nan)}, "NaN"),
        ({"method": "separable", "mask": np.ones((3, 3)), "memory": 10}, "needs at least"),
        ({"method": "fft", "memory": 10}, "needs at least"),
        ({"method": "fft", "nan": "ignore"}, "where nan is not"),
        ({"method": "separable", "nan": "interpolate"}, "where nan is not"),
    ],
)
def test_refused_in_one_sentence(arguments, words):
    call = {"image": np.zeros((20, 20)), "mask": np.ones((5, 5)), "device": "cpu"} | arguments
    with pytest.raises(fp.FootprintError) as caught:
        fp.convolve(**call)
    assert words in str(caught.value) and "\n" not in str(caught.value)


@pytest.mark.parametrize("rank", [1, 3])
def test_the_first_budget_that_is_named_for_products_is_enough(rank, rng):
    """Their number is known only once the mask has been taken apart, for which the budget was too short."""
    image, mask = rng.random((10, 32)) < 0.5, sum(np.outer(rng.random(25), rng.random(13)) for _ in range(rank))
    with pytest.raises(fp.BudgetError) as caught:
        fp.convolve(image, mask, mode="full", method="separable", memory=1, device="cpu")
    got = fp.convolve(image, mask, mode="full", method="separable", memory=caught.value.smallest, device="cpu")
    np.testing.assert_allclose(got, fp.convolve(image, mask, mode="full", method="direct", device="cpu"), rtol=1e-5)


def test_frames_go_by_the_methods_too(rng):
    frames, mask = rng.random((3, 200, 210), "f4"), rng.random((41, 41), "f4")
    for frame, got in zip(frames, fp.stream(iter(frames), mask=mask, device="cpu")):
        np.testing.assert_array_equal(got, fp.convolve(frame, mask, method="fft", device="cpu"))
    with pytest.raises(fp.ArgumentError, match="stack of frames"):
        fp.stream(iter(frames), mask=mask, method="separable", device="cpu")


def hanning(n, m):
    """A product that falls off towards its edges."""
    return np.outer(np.hanning(n + 2)[1:-1], np.hanning(m + 2)[1:-1])


def test_auto_takes_products_where_they_are_quicker(rng):
    """In any order of calls: a mask that is none has the bits it has alone, and so has one that is."""
    image = (10.0 ** rng.uniform(-6, 6, (512, 530))).astype("f4")
    wide, narrow = hanning(11, 11), hanning(11, 11) ** 3
    faint = narrow.copy()
    # A weight that the sum of all others hides; what it falls on need not be hidden.
    faint[0, 0] *= 1 + 1e-3
    masks = {"separable": (wide, narrow, (wide / wide.sum()).astype("f4")), "direct": (faint, rng.random((11, 11)))}
    for _ in range(2):
        for number in range(5):
            method, mask = [(method, mask) for method, some in masks.items() for mask in some][number * 2 % 5]
            for cval in (0.0, 3.0):
                options = {"cval": cval, "device": "cpu"}
                got = fp.convolve(image, mask, **options)
                np.testing.assert_array_equal(got, fp.convolve(image, mask, method=method, **options))
                assert (method in "".join(fp.plan_convolve(image.shape, mask, **options).notes)) == (method == "separable")
                if cval == 0:
                    exact, scale = (
                        fp.convolve(some.astype("f8"), np.abs(mask).astype("f8"), method="direct", device="cpu")
                        for some in (image, np.abs(image))
                    )
                    assert (np.abs(got - exact) / scale).max() < 1e-6


def test_products_of_auto_know_no_budget_and_are_asked_for_to_the_digits_of_the_sums(rng):
    image, mask = rng.standard_normal((600, 500)).astype(">f4"), hanning(11, 11)
    want = fp.convolve(image, mask, device="cpu")
    least = smallest(lambda budget: fp.plan_convolve(image.shape, mask, dtype=">f4", memory=budget, device="cpu"))
    plan = fp.plan_convolve(image.shape, mask, dtype=">f4", memory=least, device="cpu")
    assert plan.n_parts > 1 and "separable" in plan.notes[0]
    np.testing.assert_array_equal(fp.convolve(image, mask, memory=least, device="cpu"), want)
    assert not fp.plan_convolve(image.shape, mask.shape, dtype=">f4", device="cpu").notes
    # To float32's digits alone it is a product, which is not enough for sums in float64.
    image, rounded = image.astype(float), mask.astype("f4")
    assert "separable" in fp.plan_convolve(image.shape, rounded, device="cpu").notes[0]
    np.testing.assert_array_equal(
        fp.convolve(image, rounded, device="cpu"), fp.convolve(image, rounded, method="direct", device="cpu")
    )


@pytest.mark.parametrize(
    "mask", [np.zeros((10, 10)), np.full((10, 10), np.nan), np.full((10, 10), 1e-40, "f4")], ids=["none", "NaN", "small"]
)
def test_weights_that_no_product_keeps_are_summed_one_by_one(mask):
    image = np.ones((512, 512), "f4")
    np.testing.assert_array_equal(fp.convolve(image, mask, device="cpu"), fp.convolve(image, mask, method="direct", device="cpu"))


@pytest.mark.parametrize("method", ["auto", "separable"])
def test_the_plan_of_rows_with_a_mask_is_that_of_the_run(rng, method):
    image, mask, out = rng.random((300, 2048), "f4"), products((13, 13), rng), np.empty((300, 2048), "f4")

    def read(first, last, block):
        block[...] = image[first:last]

    def write(first, last, block):
        out[first:last] = block

    how = {"method": method, "memory": "4MB", "device": "cpu"}
    plan = plan_convolve_rows(image.shape, mask, **how)
    assert plan.notes[0].startswith("method: separable")
    assert plan.key == convolve_rows(read, image.shape, "float32", mask, write, **how).key
