"""The labelling text: SciPy's numbers where runs cross chunks, rows and each other."""

from __future__ import annotations

import numpy as np
import pytest

from footprint.reference.label import label as reference

from .kernels import need_gpu, run

pytestmark = pytest.mark.short_runs


def spiral(n):
    image = np.zeros((n, n), bool)
    for i in range(0, n // 2, 2):
        image[i, i : n - i] = image[i : n - i, n - 1 - i] = image[n - 1 - i, i : n - i] = image[i + 2 : n - i, i] = True
        image[i + 2, i : i + 2] = True
    return image


def check(backend, mask, connectivity):
    labels, count = np.full(mask.shape, -7, np.int32), np.full(1, -1)
    run(backend, "label", mask.astype(np.uint8), labels, count, connectivity=connectivity)
    wanted, number = reference(mask, connectivity)
    assert count[0] == number and np.array_equal(labels, wanted)


@pytest.mark.parametrize("connectivity", [4, 8])
@pytest.mark.parametrize("shape", [(1, 1), (2, 2), (13, 11), (97, 131), (1, 5000), (5000, 1), (257, 1023), (3, 2048)])
def test_random_masks(backend, rng, shape, connectivity):
    need_gpu(backend)
    for share in (0, 0.1, 0.4, 0.6, 0.9, 1):
        check(backend, rng.random(shape) < share, connectivity)


@pytest.mark.parametrize("connectivity", [4, 8])
def test_long_joins(backend, connectivity):
    need_gpu(backend)
    y, x = np.indices((99, 101))
    for mask in (
        spiral(41),
        spiral(201),
        ~spiral(201),
        (x + y) % 2 == 0,
        x % 2 == 0,
        (x % 2 == 0) | (y == 98),
        np.zeros((0, 5), bool),
    ):
        check(backend, mask, connectivity)
