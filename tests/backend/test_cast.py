"""Copies on a device into another dtype, or the other order."""

import numpy as np
import pytest

from tests.backend.kernels import need_gpu, run


@pytest.mark.parametrize("n", [1, 255, 600])
def test_a_copy_backwards_is_the_array_turned_along_every_axis(backend, n, rng):
    need_gpu(backend)
    array = rng.random((n, 3)).astype("f4")
    for kind in ("f4", "f8"):
        got = np.zeros_like(array, kind)
        run(backend, "cast", array, got, backwards=True)
        np.testing.assert_array_equal(got, array[::-1, ::-1])
