"""Sums along one axis and along two by the kernels of a GPU, against SciPy in float64: what few verbs come to."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.ndimage

from footprint.kernels.separable.rings import pairs_of, rings_of, with_sums

from .kernels import bound, need_gpu

pytestmark = pytest.mark.short_runs

# Weights, shape, dtype of the image: columns side by side as words that are read at once or put together, and two or three chains,
# of which all but the last wait.
DOWN = [
    (14, (30, 52), "u1", "reflect"),
    (30, (41, 53), "i2", "constant"),
    (150, (90, 37), "f4", "wrap"),
    (150, (70, 34), "f8", "mirror"),
    (600, (60, 37), "f4", "reflect"),
    (641, (150, 33), "f4", "constant"),
    (1025, (70, 40), "u1", "wrap"),
]
# The same of masks of one column in mode "full", by one launch and by several.
COLUMN = [
    (26, (30, 52), "u1", "reflect"),
    (64, (41, 32), "f8", "constant"),
    (101, (70, 34), "f4", "wrap"),
    (40, (90, 3), "i2", "nearest"),
    (600, (610, 33), "f4", "mirror"),
    (700, (130, 34), "i2", "constant"),
    (330, (331, 35), "f8", "mirror"),
]
BOTH = [
    (9, 12, (30, 140), "i1", "mirror"),
    (23, 31, (33, 600), "u2", "constant"),
    (8, 5, (20, 65), "f8", "wrap"),
    (41, 33, (50, 90), "f4", "constant"),
    (81, 81, (150, 70), "f4", "reflect"),
]
# Weights through the planes, down and across; rows that begin at vectors and that do not, and tiles that end within them.
ALL = [
    ((9, 9, 9), (21, 45, 72), "f4", ("reflect", "mirror", "nearest")),
    ((3, 17, 6), (5, 70, 131), "u1", ("wrap", "constant", "wrap")),
    ((7, 2, 5), (9, 3, 66), "i2", ("constant", "reflect", "constant")),
    ((4, 8, 17), (3, 20, 34), "f8", ("mirror", "wrap", "constant")),
]


def summed(image, weights, axis, border, cval=2.5):
    return scipy.ndimage.correlate1d(image.astype("f8"), weights.astype("f8"), axis, mode=border, cval=cval)


def pixels(rng, shape, dtype):
    return (rng.random(shape) * 120 + 7).astype(dtype)


@pytest.mark.parametrize(("taps", "shape", "dtype", "border"), DOWN)
def test_sums_down(taps, shape, dtype, border, backend, rng):
    need_gpu(backend)
    kind = "f8" if dtype == "f8" else "f4"
    image, weights, out = pixels(rng, shape, dtype), rng.random(taps).astype(kind), np.zeros(shape, kind)
    # Equal numbers lose most in a long chain.
    image[:, 5:9], weights[: taps // 2] = image[0, 0], weights[0]
    with bound(backend, "separable.line", [image, weights, out], down=True, first=-(taps // 2), border=border, cval=2.5) as run:
        run()
    room = (1e-6 if kind == "f4" else 1e-15) * float(weights.sum()) * 127
    np.testing.assert_allclose(out, summed(image, weights, 0, border), rtol=0, atol=room)


@pytest.mark.parametrize(
    ("taps", "dtype", "border"), [(9, "u2", "reflect"), (170, "f4", "constant"), (650, "f4", "wrap"), (30, "f8", "mirror")]
)
def test_planes_are_summed_down_side_by_side(taps, dtype, border, backend, rng):
    need_gpu(backend)
    kind = "f8" if dtype == "f8" else "f4"
    volume, weights, out = pixels(rng, (3, 70, 37), dtype), rng.random(taps).astype(kind), np.zeros((3, 70, 37), kind)
    how = {"down": True, "planes": True, "first": -(taps // 2), "border": border, "cval": 2.5}
    with bound(backend, "separable.line", [volume, weights, out], **how) as run:
        run()
    room = (1e-6 if kind == "f4" else 1e-15) * float(weights.sum()) * 127
    np.testing.assert_allclose(out, summed(volume, weights, 1, border), rtol=0, atol=room)


@pytest.mark.parametrize("taps", [641, 1100])
@pytest.mark.parametrize("begin", [1, 16, 37])
def test_parts_of_long_sums_down_have_the_bits_of_the_whole(taps, begin, backend, rng):
    """Of a part the window begins anywhere, and chains of products begin where the whole has them."""
    need_gpu(backend)
    image, weights = rng.standard_normal((taps + 199, 33), np.float32), rng.random(taps).astype("f4")
    found = {}
    for first, made in ((0, 200), (begin, 90)):
        found[first] = np.full((made, 33), np.nan, np.float32)
        lies = {"down": True, "first": 0, "border": "nearest", "cval": 0.0}
        with bound(backend, "separable.line", [image[first : first + made + taps - 1], weights, found[first]], **lies) as run:
            run()
    np.testing.assert_array_equal(found[begin], found[0][begin : begin + 90])


def test_long_sums_down_take_what_is_not_finite_for_itself(backend, rng):
    """As far as the weights reach, and no further: results side by side have their inputs in common, and not all of them."""
    need_gpu(backend)
    image, weights, out = rng.random((2100, 7), np.float32), rng.random(701).astype("f4"), np.zeros((2100, 7), "f4")
    image[[900, 1300, 0, 2099], [0, 1, 2, 3]] = np.nan, np.inf, -np.inf, np.nan
    with bound(backend, "separable.line", [image, weights, out], down=True, first=-350, border="constant", cval=0.0) as run:
        run()
    odd = np.zeros((2100, 7), bool)
    odd[550:1251, 0] = odd[950:1651, 1] = odd[:351, 2] = odd[1749:, 3] = True
    np.testing.assert_array_equal(np.isfinite(out), ~odd)
    assert np.isnan(out[550:1251, 0]).all() and (out[950:1651, 1] == np.inf).all() and (out[:351, 2] == -np.inf).all()


@pytest.mark.parametrize(("taps", "shape", "dtype", "border"), COLUMN)
def test_a_mask_of_one_column_is_summed_down(taps, shape, dtype, border, backend, rng):
    need_gpu(backend)
    kind = "f8" if dtype == "f8" else "f4"
    image, mask, out = (
        pixels(rng, shape, dtype),
        rng.random((taps, 1)).astype(kind),
        np.zeros((shape[0] + taps - 1, shape[1]), kind),
    )
    places = {"y0": 1 - taps, "x0": 0, "border_y": border, "border_x": border, "cval": 2.5}
    with bound(backend, "convolve", [image, mask, out], **places) as run:
        run()
    mode = {"reflect": "symmetric", "mirror": "reflect", "nearest": "edge"}.get(border, border)
    more = {"constant_values": 2.5} if border == "constant" else {}
    lines = np.pad(image.astype("f8"), ((taps - 1, taps - 1), (0, 0)), mode, **more)
    # Nearer than what is judged, which float64 is not where it sums many.
    wanted = np.lib.stride_tricks.sliding_window_view(lines, taps, axis=0) @ mask[:, 0].astype(np.longdouble)
    np.testing.assert_allclose(out, wanted, rtol=0, atol=(1e-6 if kind == "f4" else 1e-15) * float(mask.sum()) * 127)


@pytest.mark.parametrize(("taps", "dtype", "border"), [(2, "f4", "reflect"), (31, "u2", "constant"), (200, "f8", "wrap")])
def test_a_mask_of_one_weight_a_plane_is_summed_through_the_planes(taps, dtype, border, backend, rng):
    need_gpu(backend)
    kind = "f8" if dtype == "f8" else "f4"
    volume, mask, out = pixels(rng, (40, 5, 7), dtype), rng.random((taps, 1, 1)).astype(kind), np.zeros((40, 5, 7), kind)
    places = {"z0": -(taps // 2), "y0": 0, "x0": 0, "border_z": border, "border_y": border, "border_x": border, "cval": 2.5}
    with bound(backend, "volume", [volume, mask, out], **places) as run:
        run()
    room = (1e-6 if kind == "f4" else 1e-15) * float(mask.sum()) * 127
    np.testing.assert_allclose(out, summed(volume, mask.reshape(-1), 0, border), rtol=0, atol=room)


@pytest.mark.parametrize(("tall", "wide", "shape", "dtype", "border"), BOTH)
def test_sums_down_and_across(tall, wide, shape, dtype, border, backend, rng):
    need_gpu(backend)
    kind = "f8" if dtype == "f8" else "f4"
    image, out = pixels(rng, (2, *shape), dtype), np.zeros((2, *shape), kind)
    column, row = rng.random(tall).astype(kind), rng.random(wide).astype(kind)
    places = {"y0": -(tall // 2), "x0": -(wide // 2), "border_y": border, "border_x": border, "cval": 2.5}
    with bound(backend, "separable", [image, column, row, out], **places) as run:
        run()
    room = (1e-6 if kind == "f4" else 1e-15) * float(column.sum() * row.sum()) * 127
    for got, plane in zip(out, image):
        np.testing.assert_allclose(got, summed(summed(plane, column, 0, border), row, 1, border), rtol=0, atol=room)


@pytest.mark.parametrize(("taps", "shape", "dtype", "borders"), ALL)
def test_sums_along_all_axes(taps, shape, dtype, borders, backend, rng):
    need_gpu(backend)
    kind = "f8" if dtype == "f8" else "f4"
    volume, out = pixels(rng, shape, dtype), np.full(shape, np.nan, kind)
    weights = [rng.random(n).astype(kind) for n in taps]
    places = {f"{axis}0": -(n // 2) for axis, n in zip("zyx", taps)} | {f"border_{axis}": b for axis, b in zip("zyx", borders)}
    with bound(backend, "separable.cube", [volume, *weights, out], **places) as run:
        run()
    want = volume
    for axis in range(3):
        want = summed(want, weights[axis], axis, borders[axis], 0.0)
    np.testing.assert_allclose(out, want, rtol=0, atol=(1e-6 if kind == "f4" else 1e-15) * float(want.max()))


RINGS = [
    (41, 33, (50, 90), "f4", "constant", True),
    (34, 40, (61, 133), "u1", "reflect", True),
    (81, 81, (150, 70), "f4", "mirror", True),
    (45, 36, (40, 301), "i2", "wrap", True),
    (95, 88, (40, 60), "f4", "constant", True),
    (81, 66, (70, 129), "f4", "nearest", False),
    (35, 81, (37, 36), "u2", "constant", False),
]


def bell(taps: int) -> np.ndarray:
    """Weights of which neighbours differ little."""
    at = np.arange(taps) - (taps - 1) / 2 + 0.2
    weights = np.exp(-0.5 * (at / (taps / 8)) ** 2)
    return (weights / weights.sum()).astype("f4")


def ring(backend, image, column, row, out, border, paired, first=(0, 0), cval=2.5):
    how = {"taps": (column.size, row.size), "border_y": border, "border_x": border, "cval": cval}
    how["pairs"] = (pairs_of(column), pairs_of(row)) if paired else ()
    places = {"first_y": first[0], "first_x": first[1], "y0": first[0] - column.size // 2, "x0": first[1] - row.size // 2}
    with bound(
        backend, "separable.ring", [image, *(with_sums(w) if paired else w for w in (column, row)), out], **how, **places
    ) as run:
        run()


@pytest.mark.parametrize(("tall", "wide", "shape", "dtype", "border", "paired"), RINGS)
def test_rings_of_sums(tall, wide, shape, dtype, border, paired, backend, rng):
    need_gpu(backend)
    image, out = pixels(rng, (2, *shape), dtype), np.full((2, *shape), np.nan, "f4")
    column, row = bell(tall), bell(wide)
    ring(backend, image, column, row, out, border, paired)
    for got, plane in zip(out, image):
        np.testing.assert_allclose(got, summed(summed(plane, column, 0, border), row, 1, border), rtol=1e-6, atol=0)


@pytest.mark.parametrize("paired", [True, False])
@pytest.mark.parametrize("size", [64, 161])
def test_rings_of_equal_numbers_keep_their_digits(size, paired, backend):
    """What chains across and down lose adds up where all they sum is alike; these numbers lose most in one long chain."""
    need_gpu(backend)
    if not rings_of(backend.limits, (size, size)):
        pytest.skip(f"{backend.limits.local_mem} bytes on the chip hold no ring of {size} weights each way")
    worst, weights = 0.0, np.full(size, 1 / size, "f4")
    for value in (1986.8945, 3999.3672, 3939.3533, 7861.449, 4042.6372, 3873.5618, 7892.686):
        image, out = np.full((1, 20, 40), value, "f4"), np.zeros((1, 20, 40), "f4")
        ring(backend, image, weights, weights, out, "nearest", paired)
        worst = max(worst, np.abs(out / float(image[0, 0, 0]) / weights.astype("f8").sum() ** 2 - 1).max())
    assert worst < 8e-7


@pytest.mark.parametrize("first", [(10, 21), (11, 20), (13, 23)])
def test_parts_of_rings_have_the_bits_of_the_whole(first, backend, rng):
    need_gpu(backend)
    image, weights = pixels(rng, (1, 60, 130), "f4"), bell(41)
    whole, part = np.zeros((1, 60, 130), "f4"), np.full((1, 30, 83), np.nan, "f4")
    ring(backend, image, weights, weights, whole, "reflect", True)
    ring(backend, image, weights, weights, part, "reflect", True, first)
    y, x = first
    np.testing.assert_array_equal(part, whole[:, y : y + part.shape[1], x : x + part.shape[2]])


def test_rings_take_what_is_not_finite_for_itself(backend, rng):
    """And nothing beyond the weights for anything: a result is that of its own numbers alone."""
    need_gpu(backend)
    weights = bell(35)
    clean = pixels(rng, (1, 90, 200), "f4")
    image, out, plain = clean.copy(), np.zeros(clean.shape, "f4"), np.zeros(clean.shape, "f4")
    image[0, 20, 30], image[0, 70, 100], image[0, 45, 160], image[0, 10, 150] = np.inf, np.nan, 3e38, -np.inf
    ring(backend, image, weights, weights, out, "nearest", True)
    ring(backend, clean, weights, weights, plain, "nearest", True)
    with np.errstate(over="ignore", invalid="ignore"):
        want = summed(summed(image[0], weights, 1, "nearest"), weights, 0, "nearest")
    same = np.isfinite(want)
    np.testing.assert_array_equal(np.isnan(out[0]), np.isnan(want))
    np.testing.assert_array_equal(out[0][np.isinf(want)], want[np.isinf(want)].astype("f4"))
    np.testing.assert_allclose(out[0][same], want[same], rtol=1e-6)
    far = np.ones((90, 200), bool)
    for y, x in ((20, 30), (70, 100), (45, 160), (10, 150)):
        far[max(y - 17, 0) : y + 18, max(x - 17, 0) : x + 18] = False
    np.testing.assert_array_equal(out[0][far], plain[0][far])
