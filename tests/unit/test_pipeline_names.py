"""Further inputs of a chain's operations: each has its own, but for those that are said to be shared."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import ndimage

import footprint as fp
from footprint.ops.base import Table
from footprint.ops.convolve import Correlate
from footprint.ops.flatfield import Flat
from footprint.ops.job import plan_op
from footprint.ops.pipeline import Pipeline
from footprint.plan.slots import Given
from footprint.spec import ArraySpec


def test_two_filters_of_a_chain_have_a_mask_each(backend, rng):
    line = Pipeline.chain([Correlate((3, 3)), Correlate((5, 5))])
    assert line.inputs == ("input", "mask", "mask 2")
    arrays = [rng.random(shape, np.float32) for shape in ((40, 50), (3, 3), (5, 5))]
    specs = [ArraySpec(array.shape) for array in arrays]
    want = ndimage.correlate(ndimage.correlate(arrays[0].astype("f8"), arrays[1], mode="constant"), arrays[2], mode="constant")
    out = np.empty((40, 50), np.float32)
    plan = plan_op(backend.limits, None, "filters", line, [(spec, Given()) for spec in specs], [(ArraySpec(out.shape), Given())])
    with plan.bind(backend, "ledger") as bound:
        bound(*arrays, out=[out])
    np.testing.assert_allclose(out, want, rtol=1e-5)


def test_names_that_are_shared_are_one_input():
    flat = Flat(Table([0]), Table([0]), Table([0.0]))
    twice = Pipeline.chain([flat, flat], "projections", "out", shared=("flats",))
    assert twice.inputs == ("projections", "flats", "dark", "dark 2")


def test_a_mask_of_another_shape_than_the_operation_is_refused():
    with pytest.raises(fp.ShapeError, match=r"mask: got shape \(5, 5\), wanted \(3, 3\), as the operation was made for"):
        Correlate((3, 3)).out_specs(ArraySpec((40, 50)), ArraySpec((5, 5)))
