"""Parts along two axes or three, several pixels long and wide, have the bits of the whole."""

from __future__ import annotations

import numpy as np
import pytest

import footprint as fp

from .kernels import in_turn

BORDERS = ("reflect", "constant", "nearest", "mirror", "wrap")


VERBS = {
    "gaussian": (lambda image, **how: fp.gaussian_filter(image, 1.5, **how), fp.plan_gaussian_filter, (1.5,), (40, 36, 12)),
    "cubes": (lambda image, **how: fp.uniform_filter(image, 9, **how), fp.plan_uniform_filter, (9,), (24, 26, 28)),
    "image": (lambda image, **how: fp.gaussian_filter(image, 4, **how), fp.plan_gaussian_filter, (4,), (130, 150)),
    "extremes": (lambda image, **how: fp.maximum_filter(image, 17, **how), fp.plan_maximum_filter, (17,), (130, 150)),
    "medians": (lambda image, **how: fp.median_filter(image, 5, **how), fp.plan_median_filter, (5,), (60, 70)),
}


@pytest.mark.parametrize("mode", BORDERS)
@pytest.mark.parametrize("name", VERBS)
def test_blocks_have_the_bits_of_the_whole(name, mode, device, rng):
    in_turn(device, BORDERS.index(mode) + list(VERBS).index(name), len(BORDERS))
    verb, planned, words, shape = VERBS[name]
    # Stored otherwise than they are summed, so that a processor has parts of its own, too.
    image = (100 * rng.random(shape)).astype(">f4" if name in ("extremes", "medians") else "u2")
    how = {"mode": mode, "device": device}
    whole = verb(image, **how)
    with pytest.raises(fp.BudgetError) as caught:
        verb(image, memory=1, **how)
    blocks, axes = 0, 3 if name == "cubes" else 2
    for times in (1.5, 2, 3, 5, 8):
        memory = int(caught.value.smallest * times)
        plan = planned(shape, *words, dtype=image.dtype.str, memory=memory, **how)
        blocks += len(plan.cuts) >= axes and all(cut.count > 1 and cut.size > 1 for cut in plan.cuts)
        np.testing.assert_array_equal(verb(image, memory=memory, **how), whole)
    # Of a processor's memory threads have most, whatever the part; a GPU's windows, one after another, see all of what wraps.
    assert blocks or (name == "cubes" if device == "cpu" else (name, mode) == ("extremes", "wrap"))
