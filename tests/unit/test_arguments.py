"""What callers hand in from Python: arrays of other libraries, and one table of what can be wrong."""

from __future__ import annotations

import sys
import types

import numpy as np
import pytest

import footprint as fp


class Foreign:
    """An array of a library that, as JAX does with memory it does not like, copies what it is handed by DLPack."""

    __module__ = "foreign"

    def __init__(self, values):
        self.values = np.array(values)

    def __dlpack__(self, **options):
        return self.values.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.values.__dlpack_device__()


@pytest.mark.parametrize(
    "verb",
    [
        lambda x: fp.convolve(x, np.ones((1, 1))),
        lambda x: fp.pad(x, 1),
        lambda x: fp.ramp_filter(x, filter="none"),
        lambda x: fp.backproject(x),
        lambda x: fp.fbp(x),
        lambda x: fp.threshold(x, 0.5),
        lambda x: fp.label(x)[0],
    ],
)
def test_results_go_back_in_kind_when_they_are_there(verb, monkeypatch, rng):
    monkeypatch.setitem(sys.modules, "foreign", types.SimpleNamespace(from_dlpack=lambda data: Foreign(data)))
    values = rng.standard_normal((40, 30), np.float32)
    found = verb(Foreign(values))
    assert isinstance(found, Foreign)
    np.testing.assert_array_equal(found.values, verb(values))
