"""How much is kept on devices that are several, or have memory of their own."""

import dataclasses

import pytest

from footprint import settings
from footprint.plan.ready import Ready
from tests.plan_cases import LIMITS, Counting
from tests.unit.test_ready import plan

pytestmark = pytest.mark.usefixtures("nothing_kept")


def test_a_job_on_two_devices_may_keep_as_much_on_each(monkeypatch):
    monkeypatch.setenv("FOOTPRINT_KEEP", "1500 KiB")
    store, backend = Ready(), Counting()
    for devices, kept in ((1, 1000), (2, 2000), (1, 2000)):
        for key in "ab":
            store.put(f"{key}{devices}", plan(1000).bind(backend), devices=devices)
        assert store.kept() == kept << 10 and store.info()["limit"] == max(kept // 1000, 1) * 1500 << 10
    store.clear()
    assert store.kept() == 0 and store.info()["limit"] == 1500 << 10


def test_a_device_with_much_memory_keeps_a_share_of_it(monkeypatch):
    """Other devices keep no more for that, nor does any where a bound is set."""
    monkeypatch.setattr(settings, "_KEPT", 1000 << 10)
    large, usual = Counting(), Counting()
    large.limits = dataclasses.replace(LIMITS, device="cuda:0", memory=16 * 4500 << 10)
    for setting, there, limit in (("", 2000, 4500), ("900 KiB", 0, 900)):
        monkeypatch.setenv("FOOTPRINT_KEEP", setting)
        store = Ready()
        for number in range(3):
            store.put(f"here {number}", plan(800).bind(usual))
            store.put(f"there {number}", plan(2000).bind(large))
        store.put("here too large", plan(1500).bind(usual))
        # Two plans of the device and one of the host are more than all may have: the oldest went.
        assert (store.kept("cuda:0"), store.kept("cpu"), store.info()["limit"]) == (there << 10, 800 << 10, limit << 10)
        assert (store.take("there 2") is not None) == bool(there) and store.take("here 2") is not None
        # What the device has left is not the host's.
        store.put("here 3", plan(800).bind(usual)), store.put("here 4", plan(800).bind(usual))
        assert store.kept("cpu") == 800 << 10
        store.clear()
