"""Bound plans without a device: what they refuse, and calls from several threads."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from footprint.backend.null import NullBackend, limits
from footprint.errors import BackendError, ShapeError
from footprint.plan.fit import build
from footprint.plan.slots import Given
from footprint.spec import ArraySpec, Limits

CPU, GPU = Limits(threads=2), limits("h100")
SOURCE = Given(owner="source")


@pytest.fixture(autouse=True)
def kernels_need_nothing(monkeypatch):
    monkeypatch.setattr("footprint.plan.builder.work_specs", lambda limits, kernel, specs, numbers: ())


def test_a_plan_for_more_than_the_device_has_is_refused():
    plan = build(GPU, "job", lambda b: b.launch("use", b.scratch((5,))))
    with pytest.raises(BackendError, match=r"made for another device.*for a gpu, this is a cpu"):
        plan.bind(NullBackend())


def test_calling_with_wrong_arrays_names_the_slot():
    def record(b):
        x = b.inp(ArraySpec((4, 5)), "x")
        b.launch("use", x, b.out(ArraySpec((4, 5)), "y"))

    plan = build(CPU, "job", record)
    with plan.bind(NullBackend()) as bound:
        with pytest.raises(ShapeError, match=r"x: got shape \(4, 4\), wanted \(4, 5\)"):
            bound(np.zeros((4, 4)), out=[np.zeros((4, 5))])
        with pytest.raises(ShapeError, match="inputs"):
            bound(out=[np.zeros((4, 5))])
        x, y = np.zeros((4, 5), "f4"), np.zeros((4, 5), "f4")
        with pytest.raises(ShapeError, match="x: got dtype float64, wanted float32"):
            bound(x.astype("f8"), out=[y])
        with pytest.raises(ShapeError, match="x: got dtype >f4, wanted float32"):
            bound(x.astype(">f4"), out=[y])
        with pytest.raises(ShapeError, match="y: got strides"):
            bound(x, out=[np.asfortranarray(y)])
        bound(x, out=[y])


def test_a_bound_plan_that_was_freed_says_so():
    plan = build(CPU, "job", lambda b: b.launch("use", b.scratch((4, 5))))
    bound = plan.bind(NullBackend())
    bound()
    bound.free()
    with pytest.raises(BackendError, match="has been given back; bind it again"):
        bound()


def test_threads_take_turns_in_one_bound_plan(monkeypatch):
    """Its memory is one: a second call waits for the first."""
    backend, inside, met = NullBackend(), [], []

    def fill(region, block):
        inside.append(region)
        time.sleep(0.02)
        met.append(len(inside))
        inside.pop()

    source = type("Slow", (), {"fill": staticmethod(fill)})()
    plan = build(CPU, "job", lambda b: b.launch("use", b.bring(b.inp(ArraySpec((4, 5)), "x", SOURCE))))
    monkeypatch.setattr("footprint.plan.steps.fill_from", lambda given, window, shape, view: given.fill(window, view))
    with plan.bind(backend) as bound, ThreadPoolExecutor(3) as pool:
        list(pool.map(lambda _: bound(source), range(6)))
    assert met == [1] * 6


def test_a_loop_of_no_turns_does_nothing():
    def record(b):
        with b.repeat(0):
            b.launch("use", b.out(ArraySpec((4, 5)), "y"))

    backend = NullBackend()
    with build(CPU, "job", record).bind(backend) as bound:
        bound(out=[np.zeros((4, 5), "f4")])
    assert backend.launched == []


def test_casts_of_a_call_that_comes_again_are_launched_as_kernels_are():
    """By way of the backend's copy each took longer than a small image's sums."""
    backend, here, whole = NullBackend("h100"), Given(space="device"), ArraySpec((64, 64), "int32")

    def record(b):
        x = b.bring(b.inp(whole, "x", here), dtype="float32")
        with b.deliver(b.out(whole, "y", here), dtype="float32") as y:
            b.launch("separable.line", x, b.const(np.ones(3, "f4"), "weights"), y, down=True, first=-1, border="wrap", cval=0.0)

    images = [np.zeros(whole.shape, whole.dtype) for _ in range(2)]
    plan = build(backend.limits, "job", record)
    assert plan.straight
    with plan.bind(backend) as bound:
        for _ in range(2):
            bound.replay(images)
    assert backend.launched == ["cast", "separable.line", "cast"] * 2
