"""The order in which passes between basins are opened: the highest first, of equal ones the first in raster order."""

from __future__ import annotations

import numpy as np
import pytest

from footprint.kernels.deblend import tree
from footprint.kernels.deblend.contract import CODE, HEIGHT


def heights(kind: str, rng: np.random.Generator, n: int) -> np.ndarray:
    if kind == "float32":
        return (1e3 * rng.standard_normal(n)).astype(np.float32).astype(float)
    if kind == "few values":
        return rng.integers(-2, 3, n).astype(float)
    if kind == "all the same":
        return np.full(n, 5.0)
    if kind == "all magnitudes":
        return (rng.choice([-1, 1], n) * 10.0 ** rng.uniform(-30, 30, n)).astype(np.float32).astype(float)
    return 1e3 * rng.standard_normal(n)  # no digit is left for a place beside those of a double


@pytest.mark.parametrize("n", [0, 1, 2, 40, 3000])
@pytest.mark.parametrize("kind", ["float32", "few values", "all the same", "all magnitudes", "float64"])
def test_passes_are_opened_from_the_highest_down(kind, n, rng):
    values = heights(kind, rng, n)
    passes, codes = np.zeros((n, 4), np.int64), rng.integers(0, 1 << 37, n)
    passes[:, CODE], passes[:, HEIGHT] = codes, [tree.rank_of(value) for value in values]
    keys, order, spare = np.zeros(n, np.uint64), np.zeros(n, np.int64), np.zeros(n, np.int64)
    tree._rank(passes, n, keys, order, spare)
    np.testing.assert_array_equal(order, np.lexsort((codes, -values)))
