"""Calls of ``convolve`` whose masks' values decide on the plan: each is known again by what was seen of its mask."""

from __future__ import annotations

import numpy as np
import pytest

import footprint as fp
from footprint.api import _filtered
from footprint.api._method import made_by


def hanning(n):
    """A product that falls off towards its edges."""
    return np.outer(np.hanning(n + 2)[1:-1], np.hanning(n + 2)[1:-1])


def test_a_product_that_is_not_taken_is_known_again(rng):
    """Integers are cast for the two sums of a product, so boxes alone are worth it there; what others are has to be seen once."""
    image, box = rng.integers(0, 200, (1024, 1024)).astype("u2"), np.full((9, 9), 0.5)
    some, faint = hanning(9), hanning(9)
    faint[0, 0] *= 1 + 1e-3
    how = {"boundary": "reflect", "device": "cpu"}
    assert not fp.plan_convolve(image.shape, some, dtype="u2", **how).notes
    assert "separable" in fp.plan_convolve(image.shape, box, dtype="u2", **how).notes[0]
    fp.clear_cache()
    for turn in range(3):
        for mask in (some, faint, box, 2 * some):
            misses, hits = fp.cache_info()["misses"], fp.cache_info()["hits"]
            got = fp.convolve(image, mask, **how)
            known = fp.cache_info()["hits"] - hits, fp.cache_info()["misses"] - misses
            method = "separable" if mask is box else "direct"
            np.testing.assert_array_equal(got, fp.convolve(image, mask, method=method, **how))
            assert turn == 0 or known == (1, 0)
    made = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_filtered, "made_by", lambda *args: made.append(args) or made_by(*args))
        for mask in (some, faint, box, 2 * some):
            fp.convolve(image, mask, **how)
    assert not made, "the long way"
