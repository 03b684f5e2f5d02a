"""Copies on a device into another dtype, or the other order."""

import numpy as np
import pytest

from footprint.spec import ArraySpec
from tests.backend.kernels import need_gpu, run


@pytest.mark.parametrize("n", [1, 255, 600])
def test_a_copy_backwards_is_the_array_turned_along_every_axis(backend, n, rng):
    need_gpu(backend)
    array = rng.random((n, 3)).astype("f4")
    for kind in ("f4", "f8"):
        got = np.zeros_like(array, kind)
        run(backend, "cast", array, got, backwards=True)
        np.testing.assert_array_equal(got, array[::-1, ::-1])


def test_launches_of_one_kernel_keep_to_their_own_arrays(backend, rng):
    """More than there are kernels that keep arguments, queued in any order, those of a call made again among them."""
    need_gpu(backend)
    specs, numbers = (ArraySpec((5,)), ArraySpec((5,), "f8")), np.arange(75)
    arrays = rng.random((75, 5)).astype("f4")
    blocks = [[backend.alloc(spec.nbytes) for spec in specs] for _ in numbers]
    views = [tuple(backend.view(block, 0, spec) for block, spec in zip(pair, specs, strict=True)) for pair in blocks]
    ready = [backend.compile("cast", specs, {}) for _ in numbers]
    again = [backend.bake(one, pair, ()) for one, pair in zip(ready, views, strict=True)]
    got = np.zeros(5)
    with backend.inside(1) as here:
        for turn, order in enumerate((numbers, numbers[::-1], rng.permutation(75), rng.permutation(75))):
            for k in order:
                backend.write(views[k][0], arrays[k] + turn)
                if turn % 2:
                    again[k]({}, here)
                else:
                    backend.launch(ready[k], views[k])
            for k in numbers:
                backend.read(got, views[k][1])
                np.testing.assert_array_equal(got, (arrays[k] + np.float32(turn)).astype("f8"))
    for pair in blocks:
        for block in pair:
            backend.free(block)
