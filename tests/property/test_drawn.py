"""Calls drawn at random, at the least budget that a refusal names: each gives what the whole gives."""

from __future__ import annotations

import numpy as np
import pytest

from tests import drawn, draws


@pytest.mark.parametrize("kind", draws.KINDS)
@pytest.mark.parametrize("seed", range(6))
def test_the_budget_that_is_named_gives_the_whole(kind, seed):
    call = draws.KINDS[kind](draws.Draw(seed))
    assert not drawn.compare(call, "cpu"), str(call)


def test_what_differs_is_told():
    call = draws.Call("pad", [np.arange(6.0), 1], near=1e-6)
    whole = [np.arange(6.0)]
    assert not drawn.difference(call, whole, [whole[0] + 4e-6], False)
    assert "off by" in drawn.difference(call, whole, [whole[0] + 4e-6], True)
    assert "off by" in drawn.difference(call, whole, [whole[0] + 6e-6], False)
    assert "finite" in drawn.difference(call, whole, [np.where(whole[0] == 2, np.nan, whole[0])], False)
    assert "a result" in drawn.difference(call, whole, "ArgumentError: image", False)
