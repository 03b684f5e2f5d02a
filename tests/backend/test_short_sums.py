"""Sums across and down in one pass on the CPU, against SciPy in float64, and blocks of rows against the whole."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.ndimage

import footprint as fp
from footprint.backend.registry import open_backend

from .kernels import bound


# Several strips, chains and odd rows at an end; columns that no block fits into; one strip that ends within a block.
@pytest.mark.parametrize(
    ("tall", "wide", "shape", "border"), [(27, 64, (41, 1300), "mirror"), (2, 9, (9, 3), "wrap"), (5, 31, (20, 700), "constant")]
)
def test_blocks_equal_the_whole_and_the_whole_scipys(tall, wide, shape, border, rng):
    image, column, row = rng.random((1, *shape), "f4"), rng.random(tall, "f4"), rng.random(wide, "f4")
    backend, out = open_backend("cpu"), np.zeros_like(image)
    across = {"x0": -(wide // 2), "border_x": border, "cval": 0.0}
    with bound(backend, "separable", [image, column, row, out], y0=-(tall // 2), border_y=border, **across) as run:
        run()
    want = image[0].astype("f8")
    for axis, weights in enumerate((column, row)):
        want = scipy.ndimage.correlate1d(want, weights.astype("f8"), axis, mode=border)
    np.testing.assert_allclose(out[0], want, rtol=0, atol=5e-7 * float(column.sum() * row.sum()))
    part = np.zeros((1, shape[0] - tall, shape[1]), "f4")
    with bound(backend, "separable", [image[:, 1:].copy(), column, row, part], y0=0, border_y="none", **across) as run:
        run()
    np.testing.assert_array_equal(part[0], out[0, 1 + tall // 2 :][: len(part[0])])


@pytest.mark.parametrize("mode", ["mirror", "wrap", "constant"])
def test_small_planes_of_a_stack_have_the_bits_of_each_alone(mode, rng):
    """A lane to each: the last group begins within the one before, and fewer planes than lanes go one by one."""
    for kind in ("f4", "f8"):
        for shape, sigma in (((37, 8, 8), 1), ((16, 5, 33), (2, 4)), ((19, 64, 4), (7, 0.5)), ((7, 9, 9), 1)):
            images, how = rng.standard_normal(shape).astype(kind), {"mode": mode, "device": "cpu"}
            images[3, 2, 2] = np.nan
            want = np.stack([fp.gaussian_filter(image, sigma, **how) for image in images])
            got = fp.gaussian_filter(images, sigma, axes=(1, 2), **how)
            np.testing.assert_array_equal(got, want)
            with pytest.raises(fp.BudgetError) as caught:
                fp.gaussian_filter(images, sigma, axes=(1, 2), memory=1, **how)
            got = fp.gaussian_filter(images, sigma, axes=(1, 2), memory=caught.value.smallest + images.nbytes // 3, **how)
            np.testing.assert_array_equal(got, want)
