"""Medians and other ranks against sorted windows and SciPy, to the bit, on every device found."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.ndimage

import footprint as fp
from footprint.backend.registry import device_limits
from footprint.kernels.common.borders import BORDERS
from footprint.kernels.rank_filter.gpu import rank_filter_program
from footprint.kernels.rank_filter.networks import alone, of_column, picked, rows_in, shared
from footprint.reference.rank_filter import rank_filter as reference
from footprint.spec import ArraySpec

from .kernels import in_turn, quick_compiler

DTYPES = ["u1", "u2", "i2", "f4", "f8"]
OTHERS = ["?", "i1", "i4", "u4", "i8", "u8", "f2", ">u2", ">f4", ">f8"]
SHAPES = [(1, 1), (1, 70), (5, 3), (33, 128), (9, 4200), (300, 65)]


def values(rng, shape, dtype):
    """Of the whole range of a dtype, many of them equal."""
    kind = np.dtype(dtype)
    if kind.kind == "f":
        return rng.choice(np.append(rng.standard_normal(50) * 100, [np.inf, -np.inf, 0.0, -0.0]), shape).astype(kind)
    if kind.kind == "b":
        return rng.random(shape) < 0.5
    info, native = np.iinfo(kind), kind.newbyteorder("=")
    some = np.append(rng.integers(info.min, info.max, 50, native, True), np.array([info.min, info.max], native))
    return rng.choice(some, shape).astype(kind)


def same(got, want):
    """To the bit, but for how a NaN is written."""
    assert got.dtype == want.dtype.newbyteorder("=") and got.shape == want.shape
    np.testing.assert_array_equal(got, want)
    if got.dtype.kind == "f":
        np.testing.assert_array_equal(np.signbit(got) & ~np.isnan(got), np.signbit(want) & ~np.isnan(want))


@pytest.mark.parametrize("tall", range(1, 12))
def test_networks_find_every_rank_of_every_window(tall, rng):
    def run(network, given):
        found = dict(enumerate(given))
        for a, b, low, high in network.pairs:
            found[low], found[high] = np.minimum(found[a], found[b]), np.maximum(found[a], found[b])
        return [found[i] for i in network.outputs]

    for wide in range(1, 12):
        count = tall * wide
        for rank in {0, count // 5, count // 2, count - 1, int(rng.integers(count))}:
            window = rng.integers(0, count, (tall, wide, 60))
            found = run(picked(count, rank), window.reshape(count, -1))[0]
            np.testing.assert_array_equal(found, np.sort(window.reshape(count, -1), axis=0)[rank])
            # As two windows side by side find it.
            both, own = rows_in(tall, wide, rank)
            columns = [run(of_column(tall, both), window[:, j]) for j in range(wide - 1)]
            left = run(shared(tall, wide, rank), [columns[j][i] for i in range(len(both)) for j in range(wide - 1)])
            last = run(of_column(tall, own), window[:, -1])
            np.testing.assert_array_equal(run(alone(tall, wide, rank), [*left, *last])[0], found)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES)
def test_medians_of_awkward_shapes(shape, dtype, device, rng):
    image = values(rng, shape, dtype)
    for size, mode in ((3, "reflect"), (5, "constant")):
        same(fp.median_filter(image, size, mode=mode, cval=7, device=device), reference(image, size**2 // 2, (size,) * 2, mode, 7))


@pytest.mark.parametrize("mode", BORDERS)
@pytest.mark.parametrize(("size", "origin"), [((1, 1), 0), ((4, 1), (-1, 0)), ((1, 6), (0, 2)), ((5, 4), (2, -1))])
def test_windows_and_borders(size, origin, mode, device, rng):
    in_turn(device, size[0] + size[1] + BORDERS.index(mode), 2)
    for shape in ((31, 90), (4, 3)):
        image = values(rng, shape, "f4")
        options = {"mode": mode, "cval": -3.5, "origin": origin}
        got = fp.median_filter(image, size, device=device, **options)
        same(got, reference(image, size[0] * size[1] // 2, size, **options))
        np.testing.assert_array_equal(got, scipy.ndimage.median_filter(image, size, **options))


@pytest.mark.parametrize(("size", "dtype"), [((9, 10), "f4"), ((11, 11), "u2")])
def test_large_windows(size, dtype, device, rng):
    quick_compiler(device, "a network for a window of 90 pixels")
    image = values(rng, (40, 150), dtype)
    same(fp.median_filter(image, size, device=device), reference(image, size[0] * size[1] // 2, size))


@pytest.mark.parametrize("dtype", OTHERS)
def test_other_dtypes(dtype, device, rng):
    in_turn(device, OTHERS.index(dtype), 2)
    image = values(rng, (20, 177), dtype)
    same(fp.median_filter(image, 3, device=device), reference(image, 4, (3, 3)))


def test_ranks_percentiles_minima_and_maxima_are_scipys(device, rng):
    image = rng.integers(0, 60000, (37, 130)).astype("u2")
    size = (3, 4)
    on = {"device": device}
    for rank in (0, 3, -10, 11):
        same(fp.rank_filter(image, rank, size, **on), scipy.ndimage.rank_filter(image, rank, size))
    for percentile in (0, 24.9, 25, -75, 100):
        same(fp.percentile_filter(image, percentile, size, **on), scipy.ndimage.percentile_filter(image, percentile, size))
    for mode in ("constant", ("mirror", "wrap")):
        options = {"mode": mode, "cval": 300, "origin": (1, -1)}
        same(fp.minimum_filter(image, size, **on, **options), scipy.ndimage.minimum_filter(image, size, **options))
        same(fp.maximum_filter(image, size, **on, **options), scipy.ndimage.maximum_filter(image, size, **options))
    same(fp.median_filter(image, footprint=np.ones(size), **on), scipy.ndimage.median_filter(image, size))


CROSS = np.array([[0, 1, 0], [1, 1, 1], [0, 1, 0]], bool)
KINDS = ["u1", "i2", "f4", "f8", "f2"]
CORNER = np.array([[1, 0, 1, 1], [1, 0, 0, 1]], bool)


@pytest.mark.parametrize("dtype", KINDS)
@pytest.mark.parametrize("mode", ["constant", "mirror"])
def test_footprints(mode, dtype, device, rng):
    in_turn(device, KINDS.index(dtype) + (mode == "mirror"), 2)
    options = {"mode": mode, "cval": 3, "device": device}
    for shape in ((33, 90), (5, 3)):
        image = values(rng, shape, dtype)
        if image.dtype.kind == "f":
            image[rng.random(shape) < 0.2] = np.copysign(np.nan, rng.choice([-1, 1]))
        got = fp.median_filter(image, footprint=CROSS, **options)
        same(got, reference(image, 2, (3, 3), mode, 3, footprint=CROSS))
        # Of as many places, the same rank: one kernel does both.
        got = fp.rank_filter(image, 2, footprint=CORNER, origin=(-1, 1), **options)
        same(got, reference(image, 2, (2, 4), mode, 3, (-1, 1), CORNER))


def test_footprints_are_scipys_by_parts_and_along_chosen_axes(device, rng):
    y, x = np.mgrid[-2:3, -2:3]
    image, disk, on = values(rng, (210, 400), ">u2"), y * y + x * x <= 4, {"device": device}
    want = scipy.ndimage.median_filter(image, footprint=disk)
    same(fp.median_filter(image, footprint=disk, **on), want)
    plan = fp.plan_median_filter(image.shape, footprint=disk, dtype=">u2", memory="100KB", **on)
    assert plan.n_parts > 1 and plan.footprint.total <= 100_000
    same(fp.median_filter(image, footprint=disk, memory="100KB", **on), want)
    got = fp.percentile_filter(image, 30, footprint=CROSS, **on)
    same(got, scipy.ndimage.percentile_filter(image, 30, footprint=CROSS))
    photo = values(rng, (21, 33, 3), "u1")
    for axes in ((0, 1), (1, 0)):
        got = fp.minimum_filter(photo, footprint=CORNER, axes=axes, **on)
        box = CORNER if axes == (0, 1) else CORNER.T
        same(got, np.stack([scipy.ndimage.minimum_filter(photo[..., c], footprint=box) for c in range(3)], -1))
    signal = values(rng, 500, "f4")
    holes = np.array([1, 0, 1, 0, 0, 1, 0], bool)
    same(fp.maximum_filter(signal, footprint=holes, **on), reference(signal, 2, (7,), footprint=holes))


def test_signals_and_stacks(device, rng):
    signal, stack = values(rng, 5000, "f8"), values(rng, (4, 21, 33), "i2")
    same(fp.median_filter(signal, 9, device=device), reference(signal, 4, (9,)))
    want = reference(stack, 7, (1, 3, 5))
    same(fp.median_filter(stack, (1, 3, 5), device=device), want)
    same(fp.median_filter(stack, (5, 3), axes=(2, 1), device=device), want)
    same(fp.median_filter(stack, 3, axes=-1, device=device), reference(stack, 1, (1, 1, 3)))


@pytest.mark.parametrize("dtype", ["f4", "f8", "f2"])
def test_nan_is_the_largest_and_zeros_keep_their_signs(dtype, device, rng):
    image = values(rng, (40, 170), dtype)
    image[rng.random(image.shape) < 0.3] = np.nan
    image[rng.random(image.shape) < 0.1] = np.copysign(np.nan, -1)
    # Floats of any width are compared as whole numbers of theirs.
    for rank in (0, 4, 8) if dtype == "f4" else (4,):
        same(fp.rank_filter(image, rank, 3, mode="constant", cval=np.nan, device=device),
             reference(image, rank, (3, 3), "constant", np.nan))  # fmt: skip


def test_half_floats_lie_on_a_gpu_as_they_are_and_two_in_a_word():
    """As integers of 16 bits do."""
    plans = [fp.plan_median_filter((999, 1001), 5, dtype=dtype, device="null:h100") for dtype in ("float16", "int16")]
    assert plans[0].footprint == plans[1].footprint and len(plans[0].steps) == len(plans[1].steps)
    spec, how = ArraySpec((1, 99, 1001), "float16"), {"tall": 5, "wide": 5, "rank": 12, "y0": -2, "x0": -2}
    made = rank_filter_program(device_limits("null:h100"), spec, spec, **how, border_y="constant", border_x="mirror", cval=1e6)
    (launch,) = made.launches
    assert {"LANES": 2, "REAL": 1, "BITS": 16, "SIGN": 1}.items() <= dict(launch.defines).items()
    # Infinity's bits.
    assert launch.args[-1] == 0x7C00


@pytest.mark.parametrize("odd", [-0.0, np.nan, -np.nan])
def test_one_odd_value_among_floats(odd, device, rng):
    plain = np.round(rng.standard_normal((70, 90)) * 2).astype("f4") + 0.0  # whose zeros have no sign
    for row in (0, 10, 31, 33, 69):
        image = plain.copy()
        image[row, 40] = odd
        same(fp.median_filter(image, 3, device=device), reference(image, 4, (3, 3), "reflect", 0))


@pytest.mark.parametrize("mode", BORDERS)
def test_any_budget_gives_the_same_bits(mode, device, rng):
    in_turn(device, BORDERS.index(mode) - BORDERS.index("wrap"), len(BORDERS))
    jobs = (((301, 500), ">f4", (5, 4), None), ((6, 40, 300), ">u2", 3, (1, 2)), ((30_000,), ">f4", 6, None))
    for shape, dtype, size, axes in (*jobs, ((7, 30), ">u2", 3, None)):
        image = values(rng, shape, dtype)
        options = {"mode": mode, "cval": 3, "axes": axes, "device": device}
        want = fp.median_filter(image, size, **options)
        with pytest.raises(fp.BudgetError) as caught:
            fp.median_filter(image, size, memory=1, **options)
        # The smallest budget means a part a pixel.
        memory = caught.value.smallest + (image.nbytes // 5 if image.size > 300 else 0)
        plan = fp.plan_median_filter(shape, size, dtype=dtype, mode=mode, axes=axes, memory=memory, device=device)
        assert plan.n_parts > 1 and plan.footprint.total <= memory
        same(fp.median_filter(image, size, memory=memory, **options), want)


def test_strides_read_only_and_output(device, rng):
    base = values(rng, (60, 80), "f4")
    for image in (base[::2, ::-3], base.T, base[5:, 7:]):
        image.setflags(write=False)
        same(fp.median_filter(image, 3, device=device), reference(image, 4, (3, 3)))
    want = reference(base, 4, (3, 3))
    for out in (np.zeros((60, 80), "f4"), np.zeros((60, 80), ">f8"), np.zeros((60, 160), "f4")[:, ::2]):
        assert fp.median_filter(base, 3, output=out, device=device) is out
        np.testing.assert_array_equal(out, want)


def test_empty_images(device):
    for shape in ((0,), (0, 5), (5, 0), (0, 4, 4)):
        assert fp.median_filter(np.ones(shape), 1, device=device).shape == shape


IMAGE = np.ones((6, 8), "u1")
BAD = {
    "size none": (lambda: fp.median_filter(IMAGE), "size None"),
    "size large": (lambda: fp.median_filter(IMAGE, 13), "size (13, 13) 11"),
    "size zero": (lambda: fp.median_filter(IMAGE, 0), "size 0 1"),
    "size fraction": (lambda: fp.median_filter(IMAGE, 2.5), "size 2.5 whole"),
    "sizes": (lambda: fp.median_filter(IMAGE, (3, 3, 3)), "size (3, 3, 3) 2"),
    "stack": (lambda: fp.median_filter(IMAGE[None], 3), "size (3, 3, 3) axes=(1, 2)"),
    "dimensions": (lambda: fp.median_filter(IMAGE[None, None], 3), "input 4 1 to 3"),
    "footprint": (lambda: fp.median_filter(IMAGE, footprint=np.zeros((3, 3))), "footprint (3, 3) some"),
    "footprint of a signal": (lambda: fp.median_filter(IMAGE, footprint=np.ones(3)), "footprint (3,) 2 dimensions"),
    "rank in a footprint": (lambda: fp.rank_filter(IMAGE, 3, footprint=np.eye(3)), "rank 3 -3 to 2"),
    "mode": (lambda: fp.median_filter(IMAGE, 3, mode="mirrored"), "mode 'mirrored' nearest"),
    "origin": (lambda: fp.median_filter(IMAGE, 3, origin=2), "origin 2 -1 to 1"),
    "cval": (lambda: fp.median_filter(IMAGE, 3, mode="constant", cval=-1), "cval -1 uint8"),
    "axes": (lambda: fp.median_filter(IMAGE, 3, axes=(0, -2)), "axes (0, -2) each once"),
    "rank": (lambda: fp.rank_filter(IMAGE, 9, 3), "rank 9 -9 to 8"),
    "percentile": (lambda: fp.percentile_filter(IMAGE, 101, 3), "percentile 101 100"),
    "complex": (lambda: fp.median_filter(IMAGE * 1j, 3), "input complex128"),
    "output": (lambda: fp.median_filter(IMAGE, 3, output=np.zeros((6, 8), "i1")), "output int8 uint8"),
    "output shape": (lambda: fp.median_filter(IMAGE, 3, output=np.zeros((6, 7), "u1")), "output (6, 7) (6, 8)"),
    "output itself": (lambda: fp.median_filter(IMAGE, 3, output=IMAGE), "output shared"),
}


@pytest.mark.parametrize("case", BAD)
def test_what_is_wrong_is_said_in_one_sentence(case):
    call, words = BAD[case]
    with pytest.raises(fp.ArgumentError) as caught:
        call()
    for word in words.split():
        assert word in str(caught.value), (word, str(caught.value))


@pytest.mark.parametrize("dtype", ["f8", "u8", "f4", "u1"])
@pytest.mark.parametrize("size", [(1, 10), (1, 11), (2, 11), (1, 9)])
def test_every_column_is_written_at_any_width(dtype, size, rng):
    """Of 8-byte numbers a wide window reaches over three vectors beyond the last column, and the third was left as it was."""
    for width in (*range(20, 60), 193, 1194):
        image = (rng.random((9, width)) * 200).astype(dtype)
        for origin in (-(size[1] // 2), 0, (size[1] - 1) // 2):
            out = np.full_like(image, 77)
            fp.minimum_filter(image, size, mode="reflect", origin=(0, origin), output=out, device="cpu")
            want = scipy.ndimage.minimum_filter(image, size, mode="reflect", origin=(0, origin))
            np.testing.assert_array_equal(out, want)


@pytest.mark.parametrize("verb", ["median_filter", "maximum_filter"])
def test_a_constant_counts_only_where_a_border_is_one(verb, rng):
    call, image = getattr(fp, verb), rng.integers(0, 2, (9, 8)).astype(bool)
    for mode in ("mirror", "reflect", ("nearest", "wrap")):
        want = call(image, 3, mode=mode, device="cpu")
        for cval in (2, -3.5, np.nan):
            same(call(image, 3, mode=mode, cval=cval, device="cpu"), want)
        with pytest.raises(fp.ArgumentError, match="cval: got 'a', wanted a number"):
            call(image, 3, mode=mode, cval="a", device="cpu")
    for mode in ("constant", ("nearest", "constant")):
        with pytest.raises(fp.ArgumentError, match="cval: got 2, wanted a value that bool holds, 0 to 1"):
            call(image, 3, mode=mode, cval=2, device="cpu")
