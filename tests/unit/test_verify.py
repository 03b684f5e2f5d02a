"""Which devices are compared."""

from __future__ import annotations

import pytest

import footprint as fp


def test_devices_to_compare_are_looked_for_before_the_first_runs(monkeypatch):
    monkeypatch.setattr("footprint.api.verify._job", lambda *given: pytest.fail("ran"))
    with pytest.raises(fp.BackendError, match="null"):
        fp.verify("fbp", ["cpu", "null"])


def test_one_device_of_each_kind_is_compared_where_none_is_named(monkeypatch):
    rows = [("cuda", "needs the package cupy"), ("opencl:0", ""), ("opencl:1", ""), ("cpu", ""), ("null", ""), ("null:h100", "")]
    asked = []
    monkeypatch.setattr("footprint.api.verify.all_devices", lambda: rows)
    monkeypatch.setattr("footprint.api.verify.running_backend", asked.append)
    monkeypatch.setattr("footprint.api.verify._job", lambda *given: pytest.fail("ran"))
    with pytest.raises(pytest.fail.Exception):
        fp.verify("fbp")
    assert asked == ["cpu", "opencl:0"]
    rows[1:3] = []
    with pytest.raises(fp.ArgumentError, match="wanted two devices or more"):
        fp.verify("fbp")
