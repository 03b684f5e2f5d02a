"""Tables of islands in less room than an image has components: rows of those that have ended and are none are used again."""

from __future__ import annotations

import numpy as np
import pytest

import footprint as fp
from tests.backend.test_fit import correlated

RULES = {"sigma": 4.0, "flood": 1.5, "connectivity": 8, "device": "cpu"}


def scene(rng):
    """Noise with many components; combs whose teeth join after many rows; points."""
    image = correlated(rng, (400, 300))
    image[100:180, 40:120:8] += 6
    image[180, 40:120] += 6
    image[20:300, 200] += 8
    image[10::30, 230::20] += 12
    return image.astype("f4")


@pytest.mark.parametrize("over", [{}, {"noise": 1.0}], ids=["clip", "maps"])
def test_rows_are_used_again(rng, over):
    image = scene(rng)
    if over:
        over = {"noise": np.full(image.shape, 1.0, "f4"), "background": np.zeros(image.shape, "f4")}
    painted, plans = np.zeros((2, *image.shape), "i4"), []
    whole = fp.find_sources(image, capacity=2000, labels=painted[0], **RULES, **over)
    with pytest.raises(fp.CapacityError) as short:
        fp.find_sources(image, capacity=len(whole) // 2, **RULES, **over)
    assert 40 < len(whole) < 90 < 120 < 300 < short.value.needed < 1000
    # What is stored the other way round is brought, and may come in parts.
    for pixels, memory in ((image, None), (image.astype(">f4"), 250_000)):
        few = fp.find_sources(pixels, capacity=120, labels=painted[1], memory=memory, on_plan=plans.append, **(RULES | over))
        assert all(np.array_equal(whole[n], few[n], equal_nan=whole[n].dtype.kind == "f") for n in whole.colnames)
        assert np.array_equal(*painted)
    assert plans[-1].n_parts > 1
    # What is said to do, does, down to the row.
    needed = short.value.needed
    assert len(fp.find_sources(image, capacity=needed, min_area=30, **RULES, **over)) < len(whole)
    # Where every component is an island, none goes.
    every = RULES | {"sigma": 1.5, "flood": None, "min_area": 1}
    with pytest.raises(fp.CapacityError):
        fp.find_sources(image, capacity=120, **every, **over)


@pytest.mark.parametrize("fit", ["point", "gaussian"])
def test_large_images_are_planned_in_little(fit):
    beam = {
        "BMAJ": 5 / 3600,
        "BMIN": 5 / 3600,
        "BPA": 0.0,
        "CTYPE1": "RA---SIN",
        "CTYPE2": "DEC--SIN",
        "CDELT1": -1 / 3600,
        "CDELT2": 1 / 3600,
    }
    about = {"sigma": 5.0, "flood": 3.0, "connectivity": 8, "fit": fit, "header": beam, "streamed": True, "device": "cpu"}
    assert fp.plan_find_sources((16384, 16384), memory="140MB", **about).footprint.total <= 140e6
