"""Seconds by lane: measured where someone asks, without a trace where nobody does."""

from __future__ import annotations

import time

import numpy as np
import pytest

import footprint as fp
from footprint.api.convolve_rows import convolve_rows
from footprint.plan.spent import SPANS, SPENT, Busy, Clock, measuring

IMAGE, MASK = np.ones((64, 48), np.float32), np.ones((3, 3))


def _rows(slow: float, memory: int | None) -> None:
    def read(start: int, stop: int, block: np.ndarray) -> None:
        time.sleep(slow)
        block[...] = IMAGE[start:stop]

    convolve_rows(read, IMAGE.shape, "float32", MASK, lambda start, stop, block: None, memory=memory, device="cpu")


@pytest.mark.parametrize("memory", [None, 41_500])
def test_every_lane_has_what_it_was_busy_and_what_was_predicted(memory):
    with measuring() as spent:
        _rows(0.05, memory)
    assert set(spent.measured) == {"read", "compute", "write"} == set(spent.predicted)
    assert spent.measured["read"] >= 0.05 > spent.measured["write"]
    assert all(seconds > 0 for seconds in spent.predicted.values())


def test_waiting_for_another_lane_is_not_being_busy():
    with measuring() as spent:
        _rows(0.02, 41_500)
    assert spent.measured["read"] >= 0.04
    assert spent.measured["compute"] < spent.measured["read"] > spent.measured["write"]


def test_passes_wait_for_one_another(rng):
    """Lanes overlap within a pass alone: one is read for long, the other computed for long."""
    clock = Clock()
    for read, compute in ((3.0, 1.0), (1.0, 2.0)):
        clock.seconds["read"] = clock.seconds.get("read", 0.0) + read
        clock.seconds["compute"] = clock.seconds.get("compute", 0.0) + compute
        clock.passed()
    assert clock.longest == 5.0
    image = rng.standard_normal((300, 257)).astype(">f4")
    with measuring() as spent:
        fp.find_sources(
            image, memory=fp.plan_find_sources(image.shape, dtype=">f4", device="cpu").footprint.total // 2, device="cpu"
        )
    assert max(spent.measured.values()) <= spent.longest <= sum(spent.measured.values()) * 1.0001


def test_what_a_device_takes_is_measured_beside(device):
    plans: list[fp.Plan] = []
    fp.clear_cache()
    with measuring() as spent:
        read = lambda start, stop, block: block.fill(1)
        convolve_rows(read, (1000, 700), "float32", MASK, lambda *_: None, device=device, on_plan=plans.append)
    if device == "cpu":
        assert spent.held is None
    elif device.startswith("opencl"):
        # What is asked for is counted; on CUDA the driver counts, by pages.
        assert spent.held == plans[0].footprint.arena + plans[0].footprint.constant
    else:
        assert spent.held is not None and spent.held >= 0


def test_when_lanes_are_busy_is_kept_for_who_asks():
    with measuring(when=True) as spent:
        _rows(0.02, 41_500)
    assert spent.busy.keys() == spent.measured.keys()
    for lane, busy in spent.busy.items():
        assert len(busy.seconds) == SPANS and sum(busy.seconds) == pytest.approx(spent.measured[lane])
        assert max(busy.seconds) <= busy.span * (1 + 1e-9)
    with measuring() as spent:
        _rows(0.0, None)
    assert spent.busy == {}


def test_spans_of_time_grow_and_join():
    one, other = Busy(), Busy()
    first = one.span
    one.add(0, first / 2)
    one.add(1.5 * first, 3 * first)
    assert one.seconds[:4] == [first / 2, first / 2, first, 0]
    one.add(2 * SPANS * first, (2 * SPANS + 1) * first)
    assert one.span == 4 * first and one.seconds[:2] == [2 * first, 0] and one.seconds[SPANS // 2] == first
    assert sum(one.seconds) == 3 * first
    other.add(5 * first, 6 * first)
    other.join(one)
    assert other.span == one.span and other.seconds[:2] == [2 * first, first] and sum(other.seconds) == 4 * first
    short = Busy()
    short.add(5 * first, 6 * first)
    one.join(short)
    assert one.seconds[:2] == [2 * first, first]


def test_jobs_add_up_and_a_job_that_fails_counts():
    with measuring() as one:
        _rows(0.03, None)
    with measuring() as two:
        _rows(0.03, None)
        _rows(0.03, None)
    assert two.predicted["read"] == pytest.approx(2 * one.predicted["read"])
    assert two.measured["read"] >= 0.06

    def full(start: int, stop: int, block: np.ndarray) -> None:
        time.sleep(0.03)
        raise OSError("full")

    with measuring() as spent, pytest.raises(OSError, match="full"):
        convolve_rows(lambda a, b, block: None, IMAGE.shape, "float32", MASK, full, device="cpu")
    assert "compute" in spent.measured and SPENT.get() is None


def test_nothing_is_measured_unless_asked():
    from footprint.plan.ready import READY

    fp.clear_cache()
    with measuring() as spent:
        fp.convolve(IMAGE, MASK, device="cpu")
    # A call in one launch is not even asked.
    assert spent.measured == {} and [bound.clock for bound in READY._idle.values()] == [None]


def test_a_profile_still_has_every_kernel():
    from footprint.backend.registry import running_backend

    plan = fp.plan_convolve((64, 48), (3, 3), device="cpu")
    with plan.bind(running_backend("cpu")) as bound:
        seconds = bound.profile(IMAGE, MASK.astype("f4"), out=[np.empty_like(IMAGE)])
        assert seconds["convolve"] > 0 and bound.clock is None
