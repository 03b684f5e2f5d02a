"""A catalogue of very many sources takes what its plan counts for it, and the plan counts little more."""

import pytest

# Python's own objects and malloc's arenas, no function of the data.
_INTERPRETER = 512 << 10


@pytest.mark.parametrize("verb", ["measure", "plain", "placed"])
def test_the_catalogue_takes_what_is_planned(verb, fresh):
    found = fresh("catalogue", verb)
    if not found["known"]:
        pytest.skip("this system does not tell the process's peak")
    assert found["rows"] == 4096 * 256 // 4
    assert found["growth"] <= found["plan"] + _INTERPRETER, found
    assert found["plan"] <= 1.15 * found["growth"], found
