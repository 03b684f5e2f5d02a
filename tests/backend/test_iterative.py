"""SIRT, CGLS and total variation: the same steps with a dense matrix, parts, and phantoms seen from few sides."""

from __future__ import annotations

import itertools
import re

import numpy as np
import pytest

import footprint as fp
from footprint.reference import iterative as reference
from footprint.reference.fbp import ellipse_image, ellipse_sinogram
from footprint.reference.project import matrix

N, N_A = 22, 13
CENTER, BOX = 10.9, (-2, 23, 0, 21)
ANGLES = np.sort(np.random.default_rng(5).uniform(0, np.pi, N_A))
SHIFTS = np.linspace(-1, 1.5, N_A)
WHERE = {"center": CENTER, "roi": BOX, "axis_shifts": SHIFTS}
SHAPE = (BOX[3] - BOX[2], BOX[1] - BOX[0])
DENSE = matrix(ANGLES, N, CENTER, BOX, SHIFTS)
METHODS = {
    "sirt": (lambda b: reference.sirt(DENSE, b, 30), {"iterations": 30}),
    "sirt, nonnegative": (lambda b: reference.sirt(DENSE, b, 30, True), {"iterations": 30, "nonnegative": True}),
    # Conjugate gradients in float32 lose their way later.
    "cgls": (lambda b: reference.cgls(DENSE, b, 4), {"iterations": 4}),
    "tv": (lambda b: reference.tv(DENSE, b, SHAPE, 0.5, 40, N_A / 4), {"iterations": 40, "weight": 0.5}),
    "tv, nonnegative": (
        lambda b: reference.tv(DENSE, b, SHAPE, 0.2, 30, N_A / 4, True),
        {"iterations": 30, "weight": 0.2, "nonnegative": True},
    ),
}


def run(name, sinogram, *rest, **options):
    return getattr(fp, name.partition(",")[0])(sinogram, *rest, **options)


@pytest.mark.parametrize("name", METHODS)
def test_steps_are_those_with_a_dense_matrix(device, rng, name):
    """Of slices that differ, so that nothing of one may be another's; also of a sinogram that is all zeros."""
    wanted, settings = METHODS[name]
    sinogram = rng.standard_normal((4, N_A, N)) + 1
    sinogram[1] *= 40
    sinogram[2] = 0
    found = run(name, sinogram, ANGLES, **WHERE, **settings, device=device)
    assert found.shape == (4, *SHAPE) and found.dtype == np.float32
    assert not found[2].any()
    for z in (0, 1, 3):
        want = wanted(np.float32(sinogram[z]).ravel().astype(float)).reshape(SHAPE)
        np.testing.assert_allclose(found[z], want, rtol=0, atol=3e-5 * np.abs(want).max())


@pytest.mark.parametrize("center", [N + 3.3, -4.0])
def test_an_axis_off_the_detector(device, rng, center):
    """Projection, its transpose and what is made of them, of the square that holds all that was seen."""
    with pytest.warns(UserWarning, match="no pixel of a slice was seen from all") as caught:
        fp.sirt(np.zeros((N_A, N)), ANGLES, center=center, iterations=1, device=device)
    low, high = map(int, re.search(r"roi=\((-?\d+), (-?\d+),", str(caught[0].message)).groups())
    assert all(abs(end - center) >= max(center, N - 1 - center) for end in (low, high - 1))
    box = (low, high) * 2
    dense, where = matrix(ANGLES, N, center, box), {"center": center, "roi": box, "device": device}
    image, lines = rng.random((high - low, high - low)), rng.standard_normal((N_A, N)) + 1
    seen, back = (dense @ image.ravel()).reshape(lines.shape), (dense.T @ lines.ravel()).reshape(image.shape)
    found = fp.project(image, ANGLES, n_x=N, **where), fp.backproject(lines, ANGLES, weighted=False, **where)
    made = fp.cgls(lines, ANGLES, iterations=3, **where), reference.cgls(dense, lines.ravel(), 3).reshape(image.shape)
    for got, want in (*zip(found, (seen, back)), made):
        np.testing.assert_allclose(got, want, rtol=0, atol=3e-5 * np.abs(want).max())


@pytest.mark.parametrize("name", ["sirt", "cgls", "tv"])
def test_parts_and_runs_have_the_bits_of_the_whole(device, rng, name):
    sinogram = rng.random((5, N_A, N)).astype(">f4")
    settings = METHODS[name][1] | {"iterations": 3}
    want = run(name, sinogram, ANGLES, **settings, device=device)
    plan = getattr(fp, f"plan_{name}")
    with pytest.raises(fp.BudgetError) as caught:
        plan(sinogram.shape, ANGLES, dtype=">f4", **settings, memory=1, device=device)
    least = caught.value.smallest
    assert plan(sinogram.shape, ANGLES, dtype=">f4", **settings, memory=least, device=device).n_parts == 5
    for memory in (least, 2 * least, None):
        np.testing.assert_array_equal(run(name, sinogram, ANGLES, **settings, memory=memory, device=device), want)
    alone = np.full((N, N), np.nan)
    assert run(name, sinogram[3], ANGLES, **settings, out=alone, device=device) is alone
    np.testing.assert_array_equal(alone, want[3])


def head(n, n_a):
    """The phantom, and its line integrals from few sides."""
    c = (n - 1) / 2
    return ellipse_image(n, c), ellipse_sinogram(np.linspace(0, np.pi, n_a, endpoint=False), n, c)


def test_residuals_fall_and_few_sides_are_better_than_backprojected():
    truth, sinogram = head(64, 18)
    off = lambda image: np.linalg.norm(image - truth) / np.linalg.norm(truth)
    by = off(fp.fbp(sinogram, device="cpu"))
    for name, most in (("sirt", (1, 3, 10, 40)), ("cgls", (1, 2, 4, 8))):
        images = [run(name, sinogram, iterations=n, device="cpu") for n in most]
        left = [np.linalg.norm(sinogram - fp.project(image, 18, device="cpu")) for image in images]
        assert all(b < a for a, b in itertools.pairwise(left)) and left[-1] < 0.1 * np.linalg.norm(sinogram)
        assert off(images[-1]) < 0.8 * by
    bounded = fp.sirt(sinogram, iterations=8, nonnegative=True, device="cpu")
    assert off(bounded) < off(fp.sirt(sinogram, iterations=8, device="cpu"))


def test_total_variation_comes_to_its_least_and_evens_noise_out(rng):
    n, n_a = 28, 11
    truth, dense = ellipse_image(n, 13.5), matrix(np.linspace(0, np.pi, n_a, endpoint=False), n, 13.5, (0, n, 0, n))
    sinogram = dense @ truth.ravel() + rng.normal(0, 0.3, n_a * n)
    image = fp.tv(sinogram.reshape(n_a, n), weight=0.7, iterations=250, device="cpu")
    best = reference.tv(dense, sinogram, (n, n), 0.7, 1500, 2.0)
    value = lambda x: reference.objective(dense, sinogram, x, 0.7)
    assert value(image) < 1.002 * value(best)
    # Another value of the weight has its least elsewhere.
    assert value(image) < 0.98 * value(reference.tv(dense, sinogram, (n, n), 1.4, 300, 2.0))
    off = lambda x: np.linalg.norm(x - truth)
    assert off(image) < 0.9 * off(fp.sirt(sinogram.reshape(n_a, n), device="cpu"))


def test_pixel_size_and_circle(device):
    _, sinogram = head(N, N_A)
    plain = fp.sirt(sinogram, center=9.0, iterations=3, device=device)
    sized = fp.sirt(sinogram, center=9.0, iterations=3, pixel_size=0.25, circle=True, device=device)
    y, x = np.mgrid[:N, :N]
    inside = np.hypot(x - 9, y - 9) <= 9.5
    np.testing.assert_array_equal(sized, np.where(inside, plain * 4, 0))


@pytest.mark.parametrize(
    ("call", "word"),
    [
        (lambda b: fp.sirt(b, iterations=0), "iterations: got 0"),
        (lambda b: fp.sirt(b, iterations=1.5), "iterations: got 1.5"),
        (lambda b: fp.tv(b, weight=0), "weight: got 0"),
        (lambda b: fp.tv(b, weight="much"), "weight: got 'much'"),
        (lambda b: fp.tv(b, weight=float("nan")), "weight: got nan"),
        (lambda b: fp.cgls(b, pixel_size=0), "pixel_size"),
        (lambda b: fp.sirt(b[0]), "sinogram"),
        (lambda b: fp.sirt(b, np.zeros(3)), "angles"),
        (lambda b: fp.sirt(b, center=99), "center"),
        (lambda b: fp.plan_sirt(b.shape, memory=1000, device="cpu"), "memory"),
    ],
)
def test_mistakes(call, word):
    with pytest.raises(fp.FootprintError, match=word):
        call(np.zeros((N_A, N)))
