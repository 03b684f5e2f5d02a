"""Sums along one axis and along two by the kernels of a GPU, against SciPy in float64: what few verbs come to."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.ndimage

from .kernels import bound, need_gpu

pytestmark = pytest.mark.short_runs

# Weights, shape, dtype of the image: columns side by side as words that are read at once or put together, and two or three chains,
# of which all but the last wait.
DOWN = [
    (14, (30, 52), "u1", "reflect"),
    (30, (41, 53), "i2", "constant"),
    (150, (90, 37), "f4", "wrap"),
    (150, (70, 34), "f8", "mirror"),
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
