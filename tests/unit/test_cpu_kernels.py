"""The CPU's kernels by themselves: one of them for all masks, its digits, and the same bits on one thread and on all."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import scipy.ndimage
import scipy.signal

from footprint.backend.cpu import limits
from footprint.kernels.common.table import cpu_function, work_specs
from footprint.kernels.convolve import cpu as convolve
from footprint.kernels.remove_stripes import cpu as stripes
from footprint.reference.convolve import correlate
from footprint.spec import ArraySpec

ROOT = Path(__file__).resolve().parents[2]


def launch(kernel, *arrays, **numbers):
    specs = tuple(ArraySpec(a.shape, a.dtype.str) for a in arrays)
    work = [np.full(s.shape, 77, s.dtype) for s in work_specs(limits(), kernel, specs, numbers)]
    cpu_function(kernel)(*arrays, *work, **numbers)


def correlated(image, weights, border="reflect"):
    out = np.full(image.shape, np.nan, image.dtype)
    starts = {"y0": -(weights.shape[0] // 2), "x0": -(weights.shape[1] // 2)}
    launch("convolve", image, weights, out, **starts, border_y=border, border_x=border, cval=1.5)
    return out


def test_masks_of_every_size_share_one_kernel(rng):
    image = rng.standard_normal((20, 20), "f4")
    for shape in ((3, 2), (1, 2)):
        correlated(image, np.ones(shape, "f4"))
    compiled = convolve._image_units.signatures[:], convolve.line_units.signatures[:]
    for shape in ((3, 5), (4, 40), (17, 1), (1, 300), (2, 2)):
        correlated(image, np.ones(shape, "f4"))
    assert (convolve._image_units.signatures, convolve.line_units.signatures) == compiled


@pytest.mark.parametrize("height", [1, 2, 3, 4, 5, 6, 7, 11, 12, 16])
@pytest.mark.parametrize("width", [1, 2, 15, 16, 17, 31, 32, 33, 64, 65])
def test_every_way_a_mask_is_cut(height, width, rng):
    weights = rng.standard_normal((height, width))
    for shape in ((5, 200), (9, 63), (4, 64), (3, 65), (37, 70)):
        image = rng.standard_normal(shape)
        want = correlate(image, weights, "same", "reflect")
        np.testing.assert_allclose(correlated(image, weights), want, rtol=0, atol=1e-13 * np.abs(weights).sum())


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("shape", [(3, 3), (5, 3), (2, 40), (13, 13), (1, 9), (1, 101)])
def test_an_output_has_the_same_bits_wherever_it_lies(shape, dtype, rng):
    image, weights = rng.standard_normal((40, 700)).astype(dtype), rng.standard_normal(shape).astype(dtype)
    want = correlated(image, weights, "nearest")
    height, width = shape
    for y, x in ((0, 1), (1, 0), (3, 17), (7, 130)):
        got = correlated(np.ascontiguousarray(image[y:, x:]), weights, "nearest")
        np.testing.assert_array_equal(got[height:-height, width:-width], want[y:, x:][height:-height, width:-width])


@pytest.mark.parametrize("shape", [(13, 13), (31, 31), (101, 101), (1, 1001)])
@pytest.mark.parametrize("kind", ["constant", "uniform"])
def test_float32_keeps_its_digits_under_large_masks(shape, kind, rng):
    size = (150, 150) if shape[0] > 1 else (1, 5000)
    image = np.full(size, 0.7, "f4") if kind == "constant" else rng.random(size, "f4")
    weights = rng.random(shape, "f4")
    starts = {"y0": 0, "x0": 0, "border_y": "none", "border_x": "none", "cval": 0.0}
    out = np.empty(tuple(n - k + 1 for n, k in zip(size, shape)), "f4")
    launch("convolve", image, weights, out, **starts)
    want = scipy.signal.fftconvolve(image.astype("f8"), weights[::-1, ::-1].astype("f8"), "valid")
    assert np.abs(out / want - 1).max() < 6e-7


def test_nothing_is_compiled_twice(tmp_path):
    """Nor is SciPy's linear algebra loaded, before somebody compiles a product of arrays."""
    code = (
        "import sys, numpy as np, footprint as fp\n"
        "fp.convolve(np.ones((30, 30), 'f4'), np.ones((2, 2)), device='cpu')\n"
        "from footprint.kernels.convolve.cpu import _image_units as run\n"
        "print(sum(run.stats.cache_misses.values()), sum(run.stats.cache_hits.values()), 'scipy.linalg' in sys.modules)\n"
    )
    product = (
        "import numba\n"
        "from numba.np import arraymath, linalg\n"
        "print(numba.njit(lambda a: a @ a)(np.full((2, 2), 2.0)).tolist(), 'scipy.linalg' in sys.modules)\n"
        "print(arraymath._HAVE_BLAS, linalg.ensure_blas.__module__)\n"
    )
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)}

    def run(program):
        words = [sys.executable, "-c", program]
        return subprocess.run(words, capture_output=True, text=True, cwd=ROOT, env=environment, check=True).stdout

    assert run(code) == "1 0 False\n"
    assert run(code + product) == "0 1 False\n[[8.0, 8.0], [8.0, 8.0]] True\nTrue numba.np.linalg\n"


def jobs(rng):
    """Every kernel with a way of its own for small work: arrays, and the numbers that go with them."""
    image = rng.standard_normal((37, 53), "f4")
    whole = {"dst_start": (0, 0, 0), "dst_step": (1, 1, 1), "other_start": (0, 0, 0), "other_step": (1, 1, 1)}
    index, sides = np.clip(np.arange(-4, 57), -1, 52), {"lo": 3, "hi": 50}
    stack, shifts = rng.standard_normal((5, 20, 31), "f4"), np.stack([[1, -2, 0, 30, 3], rng.random(5)], 1).astype("f4")
    yield "convolve", (image, rng.standard_normal((5, 4), "f4"), 0 * image), {
        "y0": -2, "x0": -2, "border_y": "wrap", "border_x": "mirror", "cval": 0.0}  # fmt: skip
    yield "convolve", (image, rng.standard_normal((1, 40), "f4"), 0 * image), {
        "y0": 0, "x0": -7, "border_y": "none", "border_x": "constant", "cval": 2.0}  # fmt: skip
    starts = {
        "fill": 5.0,
        "border_z": "none",
        "z0": 0,
        "z_base": 0,
        "z_n": 1,
        "border_y": "mirror",
        "y0": 0,
        "y_base": 0,
        "y_n": 37,
    }
    for rule in ({"border_x": "listed", "x0": 0}, {"border_x": "reflect", "x0": -4}):
        lists = (index,) if rule["border_x"] == "listed" else ()
        yield "pad", (image[None], np.zeros((1, 37, 61), "f4"), *lists), {**starts, **rule, "x_base": 0, "x_n": 53}
    yield "pad.ramp", (image[None].copy(),), {"lo": 3, "hi": 30, "left": 1.0, "right": 2.0}
    yield "pad.constant", (image.T[None].copy(),), {**sides, "left": 1.0, "right": 2.0}
    yield "pad.odd", (image.T[None].copy(),), {**sides, "repeat": True}
    for statistic in ("mean", "maximum", "median"):
        yield "pad.statistic", (image.T[None].copy(),), {**sides, "statistic": statistic, "left": 7, "right": 9}
    yield "muladd", (image[None].copy(), image[None] + 1), {"a": 0.5, "b": 2.0, "count": (1, 37, 53), **whole}
    yield "threshold", (image, np.full(image.shape, 9, "u1")), {"level": 0.5, "background": 0.1}
    yield "vertical_shift", (stack, shifts, 0 * stack), {"z0": 0}
    for connectivity in (4, 8):
        yield "label", ((image > 0.4).view("u1"), np.full(image.shape, -5, "i4"), np.zeros(1, "i8")), {"connectivity": connectivity}


def test_one_thread_and_all_give_the_same_bits(rng, monkeypatch):
    for kernel, arrays, numbers in jobs(rng):
        found = []
        for small in (True, False):
            module = sys.modules[cpu_function(kernel).__module__]
            monkeypatch.setattr(module, "few", lambda _, small=small: small)
            mine = [a.copy() for a in arrays]
            launch(kernel, *mine, **numbers)
            found.append(mine)
        for one, other in zip(*found):
            np.testing.assert_array_equal(one, other, err_msg=kernel)
        assert any((a != b).any() for a, b in zip(arrays, found[0])), kernel


@pytest.mark.parametrize("shape", [(1, 12, 3), (2, 37, 70), (1, 200, 17)])
def test_what_columns_fluctuate(rng, shape):
    """Each value beside the mean of the ten from five before it on."""
    lines, found = rng.standard_normal(shape, np.float32), np.empty((shape[0], shape[2]))
    stripes.roughness(lines, found)
    around = scipy.ndimage.uniform_filter1d(lines.astype("f8"), 10, axis=1, mode="reflect")
    np.testing.assert_allclose(found, np.abs(lines - around).sum(axis=1), rtol=1e-12)
