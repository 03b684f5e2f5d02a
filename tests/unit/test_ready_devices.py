"""How much is kept on devices that are several, or have memory of their own."""

import dataclasses

from footprint import settings
from footprint.plan.ready import Ready
from tests.plan_cases import LIMITS, Counting
from tests.unit.test_ready import plan


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
    for setting, there, here, limit in (("", 4000, 800, 4500), ("900 KiB", 0, 800, 900)):
        monkeypatch.setenv("FOOTPRINT_KEEP", setting)
        store = Ready()
        for number in range(3):
            store.put(f"here {number}", plan(800).bind(usual))
            store.put(f"there {number}", plan(2000).bind(large))
        store.put("here too large", plan(1500).bind(usual))
        store.take("there 1"), store.put("here", plan(800).bind(usual))
        assert store.info()["limit"] == limit << 10
        assert (store.kept("cuda:0"), store.kept("cpu")) == (there // 2 << 10, here << 10)
        store.clear()
