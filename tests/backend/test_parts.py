"""Array verbs in parts, at any cut, on every device found: the bits of the whole."""

from __future__ import annotations

import numpy as np
import pytest

import footprint as fp
from footprint.backend.registry import device_limits
from footprint.ops.backproject import Backproject, Geometry
from footprint.ops.job import plan_op
from footprint.plan.slots import Given
from footprint.spec import ArraySpec


def test_backprojection_in_groups_of_angles_and_rows_of_slices_is_that_of_the_whole(device, rng):
    sinogram = rng.random((3, 160, 100), np.float32).astype(">f4")
    angles = np.linspace(0, np.pi, 160, endpoint=False)
    box = {"center": 47.3, "roi": (-5, 110, 7, 90)}
    want = fp.backproject(sinogram, **box, device=device)
    op, given = Backproject(Geometry(angles, 100, **box)), [(ArraySpec(sinogram.shape, ">f4"), Given(direct=False))]
    # A result of another dtype is the plan's own until it is taken, so that rows of it are worth cutting.
    result = [(ArraySpec(want.shape, "float64"), Given())]
    with pytest.raises(fp.BudgetError) as caught:
        plan_op(device_limits(device), 1, "backproject", op, given, result)
    least, seen = caught.value.smallest, set()
    for memory in (least, int(1.2 * least), 2 * least, 4 * least, 100_000_000):
        cuts = plan_op(device_limits(device), memory, "backproject", op, given, result).cuts
        seen |= {cut.axis for cut in cuts}
        got = fp.backproject(sinogram, **box, out=np.empty(want.shape), memory=memory, device=device)
        # Positions of a part that starts between the kernel's tiles are rounded from another corner.
        np.testing.assert_allclose(got, want, rtol=0, atol=2e-5 * np.abs(want).max())
        if "y" not in {cut.axis for cut in cuts}:
            np.testing.assert_array_equal(got, want)
    assert seen == {"z", "a", "y"}
