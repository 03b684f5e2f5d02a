"""Images whose rows are short, filtered with their axes turned: against SciPy and NumPy, in parts, in blocks, and their plans.

Convolutions turn some of their rows at a time in a thread's workspace, and have the bits of the same columns of a wide image.
"""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import scipy.ndimage
from hypothesis import given, settings
from hypothesis import strategies as st

import footprint as fp
from footprint.api._arrays import where
from footprint.api._rank import Window, rank_op
from footprint.kernels.common.few import in_threads
from footprint.kernels.convolve import contract as sums
from footprint.kernels.separable import contract
from footprint.reference import convolve as reference
from footprint.spec import ArraySpec, Limits

SHAPES = [(n, width) for n, width in zip((65, 200, 131, 70, 300, 100, 140), (1, 2, 3, 5, 8, 9, 33))]
VOLUMES = [(90, 3, 2), (70, 4, 5), (67, 1, 1), (3, 80, 3), (2, 70, 9), (66, 65, 1)]
MODES = ("reflect", "constant", "nearest", "mirror", "wrap")
SUMS = [
    ("gaussian_filter", (1.3,), {}),
    ("gaussian_filter", (20,), {}),
    ("gaussian_filter", (2,), {"order": (1, 0, 2), "truncate": 3}),
    ("gaussian_filter", ((0, 2, 1),), {}),
    ("uniform_filter", (4,), {"origin": (1, -1, 0)}),
    ("uniform_filter", (31,), {}),
    ("uniform_filter", ((1, 70, 5),), {}),
    ("sobel", (), {"axis": 0}),
    ("sobel", (), {}),
    ("laplace", (), {}),
    ("gaussian_laplace", (1.5,), {}),
]
CPU = {"device": "cpu"}
DIRECT = {"method": "direct", **CPU}
# Long axes first and in the middle; masks of one row, whose taps go by a vector's length apart, of a column in one round of sums or
# several, of one chain and of many, and wider than a span of columns.
CONVOLVED = [
    ((600, 1), (3, 3)),
    ((600, 3), (1, 3)),
    ((70, 9), (1, 40)),
    ((700, 33), (25, 1)),
    ((700, 50), (3, 3)),
    ((700, 63), (9, 2)),
    ((700, 64), (25, 1)),
    ((600, 5), (5, 1)),
    ((300, 2), (45, 1)),
    ((300, 7), (230, 1)),
    ((700, 20), (13, 13)),
    ((90, 31), (31, 40)),
    ((600, 3, 2), (3, 3, 3)),
    ((200, 7, 9), (1, 4, 3)),
    ((3, 300, 4), (2, 6, 5)),
    ((90, 70, 3), (9, 3, 2)),
]
THIN = st.tuples(st.integers(1, 700), st.integers(1, 66)) | st.tuples(st.integers(1, 150), st.integers(1, 90), st.integers(1, 12))
MASKS = st.integers(1, 6) | st.sampled_from([13, 17, 41])
SEEDS = st.integers(0, 99)
TYPES = st.sampled_from(["f4", "f8", "?", "u1", "i1", "u2", "i2", ">f4", "i4"])


def along(value, n):
    """An argument for so many axes of three, those that are there."""
    return value[:n] if isinstance(value, tuple) else value


def scipys(verb, image, *args, mode, **options):
    """Of several borders SciPy takes each for all axes of a derivative, where every axis has its own here."""
    if isinstance(mode, str) or "laplace" not in verb:
        return getattr(scipy.ndimage, verb)(image, *args, mode=mode, **options)
    if verb == "laplace":
        return sum(scipy.ndimage.correlate1d(image, [1, -2, 1], axis, mode=one) for axis, one in enumerate(mode))
    orders = 2 * np.eye(image.ndim, dtype=int)
    return sum(scipy.ndimage.gaussian_filter(image, *args, order=tuple(order), mode=mode) for order in orders)


@pytest.mark.parametrize("shape", SHAPES + VOLUMES)
@pytest.mark.parametrize(("verb", "args", "options"), SUMS)
def test_sums_are_scipys(verb, args, options, shape, rng):
    image, n = rng.standard_normal(shape), len(shape)
    args, options = [along(one, n) for one in args], {name: along(one, n) for name, one in options.items()}
    for mode in (*MODES, ["wrap", "mirror", "constant"][:n]):
        want = scipys(verb, image, *args, mode=mode, **options)
        got = getattr(fp, verb)(image, *args, mode=mode, **options, **CPU)
        np.testing.assert_allclose(got, want, rtol=0, atol=3e-13)
        plain = np.abs(getattr(fp, verb)(image.astype("f4"), *args, mode=mode, **options, **CPU) - want).max()
        assert plain < 2e-5


@pytest.mark.parametrize("shape", [(120, 3), (90, 2, 3), (3, 80, 4)])
def test_a_constant_outside_lies_beyond_what_one_axis_leaves_for_the_next(shape, rng):
    """In that order of axes, which must then be the array's own."""
    image = rng.standard_normal(shape)
    for verb, args in (("gaussian_filter", (2,)), ("uniform_filter", (5,)), ("sobel", (0,)), ("gaussian_filter", (2, 1))):
        want = getattr(scipy.ndimage, verb)(image, *args, mode="constant", cval=2.5)
        np.testing.assert_allclose(getattr(fp, verb)(image, *args, mode="constant", cval=2.5, **CPU), want, rtol=0, atol=1e-13)


@pytest.mark.parametrize("shape", [(90, 3, 2), (70, 4, 5), (3, 80, 3), (200, 70, 3), (70, 40, 30)])
def test_some_axes_of_three(shape, rng):
    image = rng.standard_normal(shape)
    for count in (1, 2):
        for axes in itertools.combinations(range(3), count):
            for verb, args in (("gaussian_filter", (2,)), ("uniform_filter", (5,)), ("gaussian_laplace", (1.0,)), ("laplace", ())):
                want = getattr(scipy.ndimage, verb)(image, *args, axes=axes)
                np.testing.assert_allclose(getattr(fp, verb)(image, *args, axes=axes, **CPU), want, rtol=0, atol=3e-14)
            want = scipy.ndimage.percentile_filter(image, 30, (3, 4)[:count], axes=axes, mode="wrap")
            np.testing.assert_array_equal(fp.percentile_filter(image, 30, (3, 4)[:count], axes=axes, mode="wrap", **CPU), want)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("dtype", ["f4", "u1", ">f8"])
def test_ranks_are_scipys(shape, dtype, rng):
    image = (rng.standard_normal(shape) * 50).astype(dtype)
    cross = np.array([[0, 1, 1], [1, 0, 1], [0, 1, 0], [0, 0, 1]], bool)
    for mode in MODES:
        for verb, args, options in (
            ("median_filter", (3,), {}),
            ("minimum_filter", ((5, 2),), {"origin": (1, -1)}),
            ("rank_filter", (2,), {"footprint": cross, "origin": (-1, 0)}),
            ("maximum_filter", ((1, 4),), {"cval": 7}),
        ):
            want = getattr(scipy.ndimage, verb)(image.astype("=" + dtype[-2:]), *args, mode=mode, **options)
            np.testing.assert_array_equal(getattr(fp, verb)(image, *args, mode=mode, **options, **CPU), want)


def test_windows_along_a_short_last_axis_stand_down_planes_of_it(rng):
    """Across them the rows of a plane had three pixels, and took eight times as long."""
    how = Window(3, None, "reflect", 0.0, 0, (2,))
    op, order = rank_op(ArraySpec((9, 80, 3)), 0, how, where("cpu"))
    assert order == (0, 2, 1) and op.size == (3, 1)
    image = rng.standard_normal((9, 80, 3)).astype(np.float32)
    np.testing.assert_array_equal(fp.maximum_filter(image, 3, axes=(2,), **CPU), scipy.ndimage.maximum_filter(image, 3, axes=(2,)))


@pytest.mark.parametrize("shape", SHAPES + VOLUMES)
@pytest.mark.parametrize("dtype", ["u2", "f4", "f8"])
def test_pads_are_numpys(shape, dtype, rng):
    image = (rng.random(shape) * 100).astype(dtype)
    for mode in ("symmetric", "reflect", "edge", "wrap", "constant", "maximum"):
        if mode == "reflect" and 1 in shape:
            continue
        for width in (2, ((3, 0), (1, 4), (0, 2))[: len(shape)], ((40, 41), (9, 70), (7, 3))[: len(shape)]):
            np.testing.assert_array_equal(fp.pad(image, width, mode, **CPU), np.pad(image, width, mode))


@pytest.mark.parametrize(("shape", "taps"), CONVOLVED)
@pytest.mark.parametrize("boundary", MODES)
def test_convolutions_are_sums_of_taps(shape, taps, boundary, rng):
    image, mask = rng.standard_normal(shape), rng.standard_normal(taps)
    for mode in ("same", "full"):
        want = reference.convolve(image, mask, mode, boundary, 2.5)
        for kind, digits in (("f8", 1e-14), ("f4", 1e-6)):
            got = fp.convolve(image.astype(kind), mask, mode=mode, boundary=boundary, cval=2.5, **DIRECT)
            np.testing.assert_allclose(got, want, rtol=0, atol=digits * np.abs(mask).sum() * 5)
    moves = tuple((k - 1) // 2 * (-1) ** axis for axis, k in enumerate(taps))
    want = scipy.ndimage.correlate(image, mask, mode=boundary, cval=2.5, origin=moves)
    got = fp.correlate(image, mask, boundary=boundary, cval=2.5, origin=moves, **DIRECT)
    np.testing.assert_allclose(got, want, rtol=0, atol=1e-14 * np.abs(mask).sum() * 5)


@settings(max_examples=80)
@given(
    shape=THIN,
    taps=st.tuples(MASKS, MASKS, st.integers(1, 5)),
    dtype=TYPES,
    boundary=st.sampled_from(MODES),
    seed=st.integers(0, 99),
)
def test_any_thin_array_under_any_mask(shape, taps, dtype, boundary, seed):
    """And what reaches nothing outside has the bits of the same columns of a wide image; a column alone those of a signal."""
    rng, taps = np.random.default_rng(seed), taps[-len(shape) :] if len(shape) == 3 else taps[:2]
    wide = (rng.standard_normal((*shape[:-1], 70 + shape[-1])) * 50).astype(dtype)
    image, mask = np.ascontiguousarray(wide[..., : shape[-1]]), rng.standard_normal(taps)
    for mode in ("same", "full"):
        got = fp.correlate(image, mask, mode=mode, boundary=boundary, cval=-7, **DIRECT)
        want = reference.correlate(image, mask, mode, boundary, -7)
        digits = 1e-6 if got.dtype == "f4" else 1e-14
        np.testing.assert_allclose(got, want, rtol=0, atol=digits * np.abs(mask).sum() * max(np.abs(image.astype("f8")).max(), 7))
    if all(k <= n for k, n in zip(taps, shape)):
        signal = len(shape) == 2 and shape[1] == taps[1] == 1
        others = (image[:, 0], mask[:, 0]) if signal else (wide, mask)
        got, want = (fp.correlate(one, some, mode="valid", **DIRECT) for one, some in ((image, mask), others))
        np.testing.assert_array_equal(got, want[:, None] if signal else want[..., : got.shape[-1]])


@pytest.mark.parametrize(("shape", "taps"), CONVOLVED)
@pytest.mark.parametrize("mode", ["same", "full"])
def test_every_budget_and_thread_sums_the_same_bits(mode, shape, taps, rng):
    """However few rows a part has; the last may be one of a few."""
    image, mask = rng.standard_normal(shape, "f4"), rng.standard_normal(taps)
    for boundary in ("reflect", "wrap", "constant"):
        how = {"mode": mode, "boundary": boundary, **DIRECT}
        want = fp.convolve(image, mask, **how)
        with in_threads():
            np.testing.assert_array_equal(fp.convolve(image, mask, **how), want)
        with pytest.raises(fp.BudgetError) as caught:
            fp.convolve(image, mask, memory=1, **how)
        for more in (0, image.nbytes // 7, image.nbytes // 3):
            np.testing.assert_array_equal(fp.convolve(image, mask, memory=caught.value.smallest + more, **how), want)


@pytest.mark.parametrize("taps", [(3, 3), (5, 1), (1, 4), (50, 1), (17, 5)])
@pytest.mark.parametrize("dtype", ["f4", "u1"])
def test_images_of_a_batch_are_summed_as_each_alone(taps, dtype, rng):
    mask = rng.standard_normal(taps)
    for shape in ((200, 4, 4), (300, 20, 7), (5, 300, 3), (3, 40, 60)):
        stack = (rng.standard_normal(shape) * 50).astype(dtype)
        want = np.stack([fp.convolve(plane, mask, boundary="mirror", **DIRECT) for plane in stack])
        np.testing.assert_array_equal(fp.convolve(stack, mask, boundary="mirror", axes=(1, 2), **DIRECT), want)
        colours = np.moveaxis(stack, 0, 2)
        got = fp.convolve(colours, mask, boundary="mirror", axes=(0, 1), **DIRECT)
        np.testing.assert_array_equal(got, np.moveaxis(want, 0, 2))


def test_what_is_not_known_complex_numbers_and_infinities_in_thin_images(rng):
    image, mask = rng.standard_normal((500, 3)), rng.standard_normal((5, 3))
    holes = np.where(rng.random(image.shape) < 0.1, np.nan, image)
    for nan in ("interpolate", "ignore", "propagate"):
        positive = np.abs(mask)
        got = fp.convolve(holes, positive, nan=nan, boundary="nearest", **DIRECT)
        want = reference.convolve(holes, positive, "same", "nearest", 0.0, nan)
        np.testing.assert_allclose(got, want, rtol=1e-12, atol=1e-12)
    parts = [reference.convolve(one, other) for one in (image, image[::-1]) for other in (mask, mask[::-1])]
    got = fp.convolve(image + 1j * image[::-1], mask + 1j * mask[::-1], **DIRECT)
    np.testing.assert_allclose(got, parts[0] - parts[3] + 1j * (parts[1] + parts[2]), rtol=0, atol=1e-12)
    image[250, 1] = np.inf
    assert np.isinf(fp.convolve(image, np.ones((5, 3)), **DIRECT)).nonzero()[0].tolist() == np.repeat(range(248, 253), 3).tolist()


def test_lines_of_any_part_have_room(rng):
    """Lines go along another axis in a part that has few of one."""
    for _ in range(20_000):
        taps = tuple(int(n) for n in rng.choice([1, 2, 3, 5, 9, 31, 200], 3))
        large = (*(int(rng.integers(1, most)) for most in rng.choice([9, 130, 3000], 2)), int(rng.integers(1, 64)))
        small = (*(int(rng.integers(1, n + 1)) for n in large[:2]), large[2])
        if sums.is_thin(taps, small):
            along, slot = sums.thin_axis(small), small[2] + taps[2] - 1
            longest, most = sums.thin_places(taps, small, along)
            lines = (most + taps[1 - along] - 1) * slot * (longest + taps[along] - 1)
            assert lines + (small[2] + 2) * longest <= sums.thin_room(taps, large), (taps, large, small)


@pytest.mark.parametrize("width", [1, 2, 3, 8])
def test_views_byte_orders_and_outputs(width, rng):
    """However the pixels lie, they are summed in the same order, and the next call like it does the same."""
    image = rng.standard_normal((300, width))
    want = fp.gaussian_filter(image, 2, **CPU)
    wide, other = np.zeros((600, 3 * width)), image.astype(">f8")
    wide[::-2, ::3] = image
    for view in (wide[::-2, ::3], np.asfortranarray(image), other):
        for _ in range(2):
            np.testing.assert_array_equal(fp.gaussian_filter(view, 2, **CPU), want)
    for out in (np.zeros_like(image), np.zeros_like(wide)[::-2, ::3], np.zeros_like(other), np.zeros_like(image, order="F")):
        for _ in range(2):
            out[...] = 0
            assert fp.gaussian_filter(image, 2, output=out, **CPU) is out
            np.testing.assert_array_equal(out, want)


@pytest.mark.parametrize("shape", [(150, 3), (90, 3, 4), (3, 90, 4)])
def test_nan_and_infinities_reach_what_their_weights_reach(shape, rng):
    image = rng.standard_normal(shape)
    image.flat[[40, 200]] = np.nan, np.inf
    for verb, args, size in (("gaussian_filter", (1.5,), 13), ("uniform_filter", (3,), 3), ("gaussian_laplace", (1.0,), 9)):
        reached = scipy.ndimage.maximum_filter(~np.isfinite(image), size)
        np.testing.assert_array_equal(~np.isfinite(getattr(fp, verb)(image, *args, **CPU)), reached)


@pytest.mark.parametrize("shape", [(700, 3), (90, 4, 5), (5, 90, 3), (900, 1), (640, 20)])
@pytest.mark.parametrize("mode", ["reflect", "wrap", "constant"])
def test_every_budget_gives_the_same_bits(mode, shape, rng):
    """The last part may be of a few pixels."""
    image, how = rng.standard_normal(shape, "f4"), {"mode": mode, **CPU}
    for verb, args in (("gaussian_filter", (3,)), ("uniform_filter", (31,)), ("uniform_filter", (61,)), ("gaussian_laplace", (1,))):
        filtered = getattr(fp, verb)
        want = filtered(image, *args, **how)
        with pytest.raises(fp.BudgetError) as caught:
            filtered(image, *args, memory=1, **how)
        least = caught.value.smallest
        for memory in (least + image.nbytes // 8, least + image.nbytes // 3, least + image.nbytes):
            np.testing.assert_array_equal(filtered(image, *args, memory=memory, **how), want)


@pytest.mark.parametrize("kind", ["f4", "f8"])
def test_no_part_needs_more_workspace_than_the_largest(kind, rng):
    """Strips of a narrower part were wider ones, and of few columns blocks were laid beside each other, past what was planned."""
    limits = Limits(device="cpu", threads=2)
    for _ in range(3000):
        tall, wide = rng.choice([3, 9, 20, 60], 2)
        large = (1, int(rng.integers(1, 80)), int(rng.choice([rng.integers(1, 70), rng.integers(1, 30_000)])))
        small = (1, *(int(rng.integers(1, n + 1)) for n in large[1:]))
        rooms = []
        for out in (large, small):
            specs = (
                ArraySpec((1, out[1] + tall - 1, out[2] + wide - 1), kind),
                ArraySpec((int(tall),), kind),
                ArraySpec((int(wide),), kind),
            )
            asked = [contract.separable_work, contract.counts_work, contract.means_work]
            works = [one for ask in asked for one in ask(limits, *specs, ArraySpec(out, kind))]
            for axis in (1, 2):
                works += contract.box_work(limits, specs[0], specs[axis], ArraySpec(out, kind), axis=axis)
            rooms.append([work.nbytes for work in works])
        assert all(n <= most for most, n in zip(*rooms)), (large, small, tall, wide)


def test_planes_of_a_stack_have_the_bits_of_each_alone(rng):
    stack = rng.standard_normal((5, 100, 7), "f4")
    for verb, args in (("gaussian_filter", (2,)), ("uniform_filter", (20,)), ("laplace", ()), ("gaussian_laplace", (1,))):
        want = np.stack([getattr(fp, verb)(plane, *args, **CPU) for plane in stack])
        np.testing.assert_array_equal(getattr(fp, verb)(stack, *args, axes=(1, 2), **CPU), want)
        colours = np.moveaxis(stack, 0, 2)
        np.testing.assert_array_equal(getattr(fp, verb)(colours, *args, axes=(0, 1), **CPU), np.moveaxis(want, 0, 2))


@pytest.mark.parametrize(("shape", "chunks"), [((500, 3), (50, 3)), ((500, 40), (500, 8)), ((300, 4, 5), (40, 4, 5))])
def test_blocks_are_summed_in_the_order_of_the_whole(shape, chunks, rng):
    """Those of a wide image may be thin, and those of a thin one short."""
    da = pytest.importorskip("dask.array", reason="dask is not installed")
    import footprint.dist.dask as lazily

    image = rng.standard_normal(shape, "f4")
    given = da.from_array(image, chunks=chunks)
    for verb, args in (("gaussian_filter", (1.5,)), ("uniform_filter", (4,)), ("laplace", ()), ("gaussian_laplace", (1,))):
        got = getattr(lazily, verb)(given, *args, device="cpu").compute(scheduler="sync")
        np.testing.assert_array_equal(got, getattr(fp, verb)(image, *args, **CPU))
    mask = rng.standard_normal((5, 3, 2)[: len(shape)])
    got = lazily.convolve(given, mask, method="direct", device="cpu").compute(scheduler="sync")
    np.testing.assert_array_equal(got, fp.convolve(image, mask, **DIRECT))
    got = lazily.median_filter(given, 3, axes=(0, 1), device="cpu").compute(scheduler="sync")
    np.testing.assert_array_equal(got, fp.median_filter(image, 3, axes=(0, 1), **CPU))


def test_the_plan_has_the_turned_copies():
    """Two of them where rows are turned, none where a row is one pixel, and none for GPUs, whose kernels ask for no long rows."""
    copies = fp.plan_gaussian_filter((5000, 3), 2, device="cpu")
    assert copies.slots[0].spec.shape == (3, 5000) and copies.nbytes >= 2 * 4 * 15000
    column = fp.plan_gaussian_filter((500_000, 1), 2, device="cpu")
    assert column.slots[0].spec.shape == (1, 500_000) and column.nbytes < 4 * 500_000
    # Parts of the long axis have each other's pixels at their ends alone.
    assert fp.plan_gaussian_filter((500_000, 3), 2, memory="2MB", device="cpu").chunk.unit == "pixels"
    assert fp.plan_gaussian_filter((5000, 3), 2, device="null:h100").slots[0].spec.shape == (5000, 3)


@pytest.mark.parametrize("shape", [(5000, 3), (5000, 1), (5000, 33), (60, 3), (40, 40), (600, 4, 3), (4, 600, 3)])
def test_the_plan_without_data_is_that_of_the_call(shape, monkeypatch):
    from footprint.api import _call

    plans, bind = [], _call.bind
    monkeypatch.setattr(_call, "bind", lambda plan, backend: plans.append(plan) or bind(plan, backend))
    fp.clear_cache()
    for verb, args in (("gaussian_filter", (2,)), ("laplace", ()), ("uniform_filter", (9,)), ("pad", (2, "edge"))):
        getattr(fp, verb)(np.zeros(shape, "f4"), *args, **CPU)
        assert plans.pop().key == getattr(fp, f"plan_{verb}")(shape, *args, device="cpu").key
