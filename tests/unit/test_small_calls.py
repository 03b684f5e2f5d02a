"""Small calls like an earlier one: how little of Python they go through, and that what is made ready once is not mistaken."""

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import footprint as fp

SMALL: dict[str, tuple[int, Callable[[np.ndarray], Any]]] = {
    "threshold": (27, lambda image: fp.threshold(image, 1.5, device="cpu")),
    "pad": (33, lambda image: fp.pad(image, 4, "edge", device="cpu")),
    "convolve": (35, lambda image: fp.convolve(image, np.ones((5, 5), "f4"), device="cpu")),
    "sigma_clip": (27, lambda image: fp.sigma_clip(image, device="cpu")),
}


@pytest.mark.parametrize("verb", SMALL)
def test_a_small_call_like_an_earlier_one_takes_few_turns_of_python(verb, rng, monkeypatch):
    """Counted, since no clock is as steady: of some 15 us that such a call takes, each function takes its part."""
    monkeypatch.setenv("FOOTPRINT_CHECK", "")
    fp.clear_cache()
    most, call = SMALL[verb]
    image, turns = rng.standard_normal((32, 32), np.float32), []
    call(image), call(image)
    sys.setprofile(lambda frame, event, argument: turns.append(frame.f_code.co_name) if event == "call" else None)
    try:
        call(image)
    finally:
        sys.setprofile(None)
    assert len(turns) <= most, turns


def test_a_border_of_minus_zero_is_not_one_of_zero():
    image = np.ones((3, 3), np.float32)
    for value in (0.0, -0.0, 0.0):
        edge = fp.pad(image, 1, constant_values=value, device="cpu")[0, 0]
        assert (edge, np.signbit(edge)) == (0, np.signbit(value))
