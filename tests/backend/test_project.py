"""Projection: a dense matrix, the transpose of backprojection, parts, and what it says of mistakes."""

from __future__ import annotations

import numpy as np
import pytest

import footprint as fp
from footprint.reference.project import matrix

CASES = [(1, 1, 1, 1), (3, 20, 20, 20), (1, 31, 17, 23), (5, 40, 90, 100), (2, 130, 7, 64)]


def geometry(rng, n_y, width, n_x):
    """Steep, flat and slanting angles, an axis off the middle, slices off the corner, rows that wander."""
    angles = np.concatenate([[0, np.pi / 2, np.pi / 4, -np.pi, 3 * np.pi / 4], rng.uniform(-4, 7, 6)])
    where = {"center": (n_x - 1) / 2 + 0.3, "roi": (-3, width - 3, 2, n_y + 2), "axis_shifts": rng.normal(0, 2, len(angles))}
    return angles, where


@pytest.mark.parametrize(("n_z", "n_y", "width", "n_x"), CASES)
def test_a_pixel_is_shared_by_two_bins(device, rng, n_z, n_y, width, n_x):
    angles, where = geometry(rng, n_y, width, n_x)
    volume = rng.standard_normal((n_z, n_y, width)).astype(np.float32)
    dense = matrix(angles, n_x, *(where[name] for name in ("center", "roi", "axis_shifts")))
    found = fp.project(volume, angles, n_x=n_x, **where, device=device)
    assert found.shape == (n_z, len(angles), n_x) and found.dtype == np.float32
    want = (volume.reshape(n_z, -1) @ dense.T).reshape(found.shape)
    np.testing.assert_allclose(found, want, rtol=0, atol=4e-6 * max(np.abs(want).max(), 1))
    # A slice alone, of other bytes, lying otherwise, has the bits it has among others.
    other = np.asfortranarray(volume[-1].astype(">f8"))
    np.testing.assert_array_equal(fp.project(other, angles, n_x=n_x, **where, device=device), found[-1])


@pytest.mark.parametrize(("n_z", "n_y", "width", "n_x"), CASES)
def test_projection_is_the_transpose_of_backprojection(device, rng, n_z, n_y, width, n_x):
    angles, where = geometry(rng, n_y, width, n_x)
    volume = rng.random((n_z, n_y, width), np.float32)
    rows = rng.random((n_z, len(angles), n_x), np.float32)
    seen = fp.project(volume, angles, n_x=n_x, **where, device=device)
    back = fp.backproject(rows, angles, **where, weighted=False, device=device)
    one, other = np.vdot(seen.astype(float), rows), np.vdot(volume.astype(float), back)
    assert abs(one - other) <= 1e-5 * abs(one)


def test_mass_and_rows_far_away(device, rng):
    volume = rng.random((40, 40), np.float32)
    angles = rng.uniform(0, 7, 9)
    found = fp.project(volume, angles, n_x=90, center=44.5, roi=(25, 65, 25, 65), device=device)
    np.testing.assert_allclose(found.sum(1), volume.sum(), rtol=1e-5)
    far = fp.project(volume, angles, axis_shifts=np.tile([1e12, -1e12, 300.0], 3), device=device)
    assert not far.any()


def test_parts_have_the_bits_of_the_whole(device, rng):
    volume = rng.random((37, 90, 100)).astype(">f4")
    want = fp.project(volume, 40, device=device)
    with pytest.raises(fp.BudgetError) as caught:
        fp.plan_project(volume.shape, 40, dtype=">f4", memory=1, device=device)
    least = caught.value.smallest
    assert {"z"} <= {cut.axis for cut in fp.plan_project(volume.shape, 40, dtype=">f4", memory=least, device=device).cuts}
    for memory in (least, 3 * least):
        np.testing.assert_array_equal(fp.project(volume, 40, memory=memory, device=device), want)


@pytest.mark.parametrize(
    ("call", "word"),
    [
        (lambda: fp.project(np.zeros(5), 4), r"volume: .*\(n_y, n_x\)"),
        (lambda: fp.project(np.zeros((5, 5)), 0), "angles"),
        (lambda: fp.project(np.zeros((5, 5)), 4, n_x=0), "n_x"),
        (lambda: fp.project(np.zeros((5, 5)), 4, n_x=2.5), "n_x"),
        (lambda: fp.project(np.zeros((5, 5)), 4, roi=(0, 4, 0, 5)), r"slices of \(5, 5\).*\(5, 4\)"),
        (lambda: fp.project(np.zeros((5, 5)), 4, center=10), "center"),
        (lambda: fp.project(np.zeros((5, 5)), 4, axis_shifts=[1, 2]), "axis_shifts"),
        (lambda: fp.plan_project((5,), 4), "shape"),
    ],
)
def test_mistakes(call, word):
    with pytest.raises(fp.FootprintError, match=word):
        call()
