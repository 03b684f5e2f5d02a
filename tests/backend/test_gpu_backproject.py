"""The backprojection text: any angle, tiles that see nothing, several slices, angle groups."""

from __future__ import annotations

import numpy as np
import pytest

import footprint.kernels.backproject.gpu as gpu
from footprint.reference.backproject import backproject as reference

from .kernels import need_gpu, run


def table_of(angles, weights, center, x0=0.0, y0=0.0, shifts=0.0):
    cos, nsin = np.cos(angles), -np.sin(angles)
    return np.stack([cos, nsin, center + shifts + cos * (x0 - center) + nsin * (y0 - center), weights], 1)


@pytest.mark.parametrize("n_z", [1, 2, 3])
@pytest.mark.parametrize(
    ("n_a", "n_x", "n_y", "width"), [(37, 50, 50, 50), (5, 101, 70, 33), (40, 64, 65, 130), (1, 1, 1, 1), (3, 2, 1, 5)]
)
def test_equals_the_reference(backend, rng, n_z, n_a, n_x, n_y, width):
    need_gpu(backend)
    angles = rng.uniform(-4, 7, n_a)
    angles[: min(n_a, 4)] = (0, np.pi / 2, np.pi / 4, -np.pi)[:n_a]
    weights, shifts, center = rng.uniform(0.5, 1.5, n_a), rng.normal(0, 3, n_a), (n_x - 1) / 2 + 1.3
    rows = rng.standard_normal((n_z, n_a, n_x)).astype(np.float32)
    table = table_of(angles, weights, center, 3, -2, shifts)
    wanted = np.stack([reference(r, angles, weights, center, (3, 3 + width, -2, -2 + n_y), shifts) for r in rows])
    tolerance = 2e-5 * max(np.abs(wanted).max(), 1)
    out = np.full((n_z, n_y, width), np.nan, np.float32)
    run(backend, "backproject", rows, table, out)
    assert np.abs(out - wanted).max() <= tolerance
    run(backend, "backproject", rows, table, out, accumulate=True)
    assert np.abs(out - 2 * wanted).max() <= 2 * tolerance


def test_more_slices_than_a_launch_has_groups_for(backend, rng, monkeypatch):
    need_gpu(backend)
    angles = rng.uniform(-4, 7, 6)
    rows, table = rng.standard_normal((11, 6, 23)).astype(np.float32), table_of(angles, np.ones(6), 11.0)
    whole, parts = (np.full((11, 19, 29), np.nan, np.float32) for _ in range(2))
    run(backend, "backproject", rows, table, whole)
    monkeypatch.setattr(gpu, "MAX_GROUPS_Y", 2)
    run(backend, "backproject", rows, table, parts)
    np.testing.assert_array_equal(parts, whole)


def test_far_away_rows_and_no_angles_give_zero(backend, rng):
    need_gpu(backend)
    rows = rng.standard_normal((1, 3, 20)).astype(np.float32)
    table = table_of(np.array([0.1, 1.0, 2.0]), np.ones(3), 9.5, shifts=np.array([1e12, -1e12, 400.0]))
    out = np.full((1, 20, 20), np.nan, np.float32)
    run(backend, "backproject", rows, table, out)
    assert np.all(out == 0)
    out[:] = np.nan
    run(backend, "backproject", rows[:, :0], table[:0], out)
    assert np.all(out == 0)


def test_position_keeps_its_precision_on_wide_rows(backend, rng):
    need_gpu(backend)
    n_x, angles = 16384, np.array([0.7])
    rows = np.zeros((1, 1, n_x), np.float32)
    rows[0, 0] = rng.standard_normal(n_x)
    table = table_of(angles, np.ones(1), (n_x - 1) / 2, 15000.0, 2000.0)
    wanted = reference(rows[0], angles, np.ones(1), (n_x - 1) / 2, (15000, 15070, 2000, 2066))
    out = np.empty((1, 66, 70), np.float32)
    run(backend, "backproject", rows, table, out)
    assert np.abs(out[0] - wanted).max() < 5e-5
