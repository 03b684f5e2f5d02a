"""The driver: lanes that overlap, several devices, errors in any lane, Ctrl-C, and jobs that go on where they were."""

from __future__ import annotations

import gc
import random
import signal
import threading
import time
import weakref

import numpy as np
import pytest

from footprint.backend.registry import open_backend
from footprint.ops.base import Table
from footprint.plan.builder import Builder
from footprint.plan.done import DoneSet
from footprint.plan.drive import Job, drive
from footprint.plan.lifetime import OVERLAPPED, SERIAL
from footprint.plan.plan import finish
from footprint.plan.slots import Cut
from footprint.spec import ArraySpec
from tests.plan_cases import SOURCE, THREADS, Case, Counting, Sink, Source, cuts_of
from tests.plan_ops import (
    Clipped,
    Failing,
    Flat,
    Gather,
    MinusLog,
    Nap,
    Sinograms,
    Smooth,
    chain,
    taps,
)
from tests.property.test_plan import LONG, case_of


def naps(parts=6, nap=0.05):
    x = np.random.default_rng(0).random((1, parts, 4))
    return x, Case(Nap(seconds=nap), [x], [SOURCE], [SOURCE]), (Cut("z", parts, 1),)


def test_lanes_overlap():
    """With two copies part k is read while part k - 2 is written: each waits for the other, which in one thread none could."""
    x, case, cuts = naps(nap=0)
    (inputs, outputs, results), meet, read, written = case.faces(), threading.Barrier(2), iter(range(6)), iter(range(6))
    inputs[0].before = lambda: meet.wait(60) if next(read) >= 2 else None
    outputs[0].before = lambda: meet.wait(60) if next(written) < 4 else None
    with case.plan(cuts, OVERLAPPED, 2).bind(Counting(), "ledger") as bound:
        bound(*inputs, out=outputs)
    np.testing.assert_array_equal(results[0], x)


@pytest.mark.parametrize("started", [0, 1, 2])
def test_where_a_thread_cannot_start_the_caller_does_every_part_once(monkeypatch, started):
    """Those that did start leave before they have taken a part."""
    x, case, cuts = naps(nap=0)
    start, tried, read, faces = threading.Thread.start, [], [], case.faces()

    def refused(thread):
        tried.append(thread)
        if len(tried) > started:
            raise RuntimeError("can't start new thread")
        start(thread)
        time.sleep(0.05)

    faces[0][0].before = lambda: read.append(threading.current_thread())
    with case.plan(cuts, OVERLAPPED, 2).bind(Counting(), "ledger") as bound:
        monkeypatch.setattr(threading.Thread, "start", refused)
        bound(*faces[0], out=faces[1])
        assert not bound.late()
    np.testing.assert_array_equal(faces[2][0], x)
    assert len(tried) == started + 1 and read == [threading.current_thread()] * 6


@pytest.mark.parametrize("copies", [1, 2, 3])
@pytest.mark.parametrize("lanes", THREADS[1:])
@pytest.mark.parametrize("summed", [False, True])
def test_a_slow_sink_keeps_its_copies(lanes, copies, summed):
    """Whoever runs ahead of it waits for a copy that it is done with: the ledger would tell."""
    if summed:
        x = np.random.default_rng(0).random((6, 4, 3))
        case, cuts = Case(Gather(Table([0.0, 1, 2, 3])), [x], [SOURCE], [SOURCE]), (Cut("z", 6, 1), Cut("a", 4, 2, sums=True))
    else:
        x = np.random.default_rng(0).random((1, 9, 3))
        case, cuts = Case(Smooth((0.5, 1.0, 0.25)), [x], [SOURCE], [SOURCE]), (Cut("z", 9, 1),)
    (whole,) = case.run(case.plan())
    np.testing.assert_array_equal(case.run(case.plan(cuts, lanes, copies), before=lambda: time.sleep(0.01))[0], whole)


@pytest.mark.parametrize("lanes", [SERIAL, OVERLAPPED])
def test_arrays_cross_a_bus_in_pieces(device, lanes):
    """More than a ring holds, as it lies and cast, whole and in parts, along either axis."""
    backend = open_backend(device)
    x = np.random.default_rng(0).integers(0, 60000, (300, 4001)).astype("u2")
    for cuts, dtype in (((), "f4"), ((Cut("z", 300, 130),), "f8"), ((Cut("z", 300, 130),), "f4"), ((Cut("x", 4001, 1500),), "f4")):
        b = Builder(backend.limits, cuts, 64 << 10)
        src, out = b.inp(ArraySpec(x.shape, "<u2", "zx"), "x"), b.out(ArraySpec(x.shape, dtype, "zx"), "out")
        with b.deliver(out, "float32") as y:
            b.copy(b.bring(src, "float32"), y)
        result = np.zeros(x.shape, dtype)
        with finish(b, "copy", lanes, 2).bind(backend, "ledger") as bound:
            for _ in range(2):
                bound(x, out=[result])
        np.testing.assert_array_equal(result, x)


@pytest.mark.parametrize("count", [1, 2, 3])
def test_several_devices_share_the_parts(count):
    """Each reads its part while every other reads one: they wait for one another."""
    x, case, cuts = naps(nap=0)
    bounds = [case.plan(cuts, SERIAL).bind(Counting(), "ledger") for _ in range(count)]
    (inputs, outputs, results), meet = case.faces(), threading.Barrier(count)
    inputs[0].before = lambda: meet.wait(60)
    drive(bounds, bounds[0].feeds(inputs, outputs))
    assert np.array_equal(results[0], x) and (outputs[0].times == 1).all()


class Slow(Counting):
    """A device that has queued work done when it is waited for, and no sooner; another that is quick is waited for first."""

    def __init__(self, quick: threading.Event) -> None:
        super().__init__()
        self.quick, self.launched, self.full = quick, 0, threading.Event()

    def launch(self, kernel, arrays):
        super().launch(kernel, arrays)
        self.launched += 1
        if self.launched == 3:
            self.full.set()

    def mark(self):
        return self.launched

    def wait(self, event):
        if event is not None:
            self.quick.wait(60)


class Quick(Slow):
    """Waits with its first part until the other has all it may have, whenever that one's threads are run."""

    def __init__(self, slow: Slow) -> None:
        super().__init__(slow.quick)
        self.other = slow

    def launch(self, kernel, arrays):
        assert self.other.full.wait(60)
        super().launch(kernel, arrays)
        if self.launched == 17:
            self.quick.set()

    def wait(self, event):
        """At once."""


@pytest.mark.parametrize("lanes", THREADS)
def test_parts_go_to_the_device_that_is_through_with_its_own(lanes):
    """Not to the one whose threads are quick to queue them: of twenty the slow one has as many as may be under way, three."""
    x, case, cuts = naps(parts=20, nap=0)
    quick, plan = threading.Event(), case.plan(cuts, lanes, 2)
    slow = Slow(quick)
    other = Quick(slow)
    bounds = [plan.bind(slow), plan.bind(other)]
    inputs, outputs, results = case.faces()
    drive(bounds, bounds[0].feeds(inputs, outputs))
    np.testing.assert_array_equal(results[0], x)
    assert slow.launched == 3 and other.launched == 17


@pytest.mark.parametrize("seed", range(600, 612))
def test_chains_on_several_devices(seed):
    r, _, _, case = case_of(seed)
    whole = case.run(case.plan())
    plan = case.plan(cuts_of(r, case), r.choice(THREADS), r.randint(1, 3))
    bounds = [plan.bind(Counting(), "ledger") for _ in range(3)]
    inputs, outputs, results = case.faces()
    drive(bounds, bounds[0].feeds(inputs, outputs))
    np.testing.assert_array_equal(results[0], whole[0])


def test_what_is_kept_stays_on_one_device():
    x = np.ones((4, 3, 2))
    case = Case(Clipped(), [x])
    plan = case.plan((Cut("a", 4, 1),))
    bounds = [plan.bind(Counting()) for _ in range(2)]
    inputs, outputs, _ = case.faces()
    with pytest.raises(AssertionError, match="keeps results from part to part: one device"):
        drive(bounds, bounds[0].feeds(inputs, outputs))


# -- errors ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("lanes", THREADS)
@pytest.mark.parametrize("copies", [1, 3])
@pytest.mark.parametrize("where", ["source", "kernel", "sink"])
def test_an_error_in_any_lane_ends_everything_and_is_raised_once(lanes, copies, where):
    ops = [Flat(), Smooth(taps(random.Random(0), 1)), *([Failing(12)] if where == "kernel" else [])]
    case = Case(chain(ops), LONG, [SOURCE] * 3, [SOURCE])
    plan, backend, before = case.plan((Cut("z", 30, 2),), lanes, copies), Counting(), threading.active_count()
    inputs, outputs, _ = case.faces(die=6 if where == "sink" else -1)
    inputs[0].die = 6 if where == "source" else -1
    kind, words = {"source": (OSError, "torn"), "kernel": (IndexError, "row"), "sink": (OSError, "no space")}[where]
    with plan.bind(backend, "ledger") as bound, pytest.raises(kind, match=words):
        bound(*inputs, out=outputs)
    assert threading.active_count() == before
    assert backend.freed == plan.nbytes
    assert outputs[0].calls < 15 and inputs[0].calls < 15


def test_the_first_error_is_the_one_that_is_raised():
    """Others may follow: the source is still reading when the sink fails, and then fails, too."""
    _, case, cuts = naps(parts=8)
    inputs, outputs, _ = case.faces(die=2)
    inputs[0].before = lambda: time.sleep(0.5) if inputs[0].calls == 4 else None
    inputs[0].die = 4
    with case.plan(cuts, OVERLAPPED, 3).bind(Counting()) as bound, pytest.raises(OSError, match="no space"):
        bound(*inputs, out=outputs)
    assert inputs[0].calls == 4


@pytest.mark.parametrize("lanes", [SERIAL, OVERLAPPED])
def test_an_error_that_was_caught_keeps_no_memory(lanes):
    """A job that is begun again for what the first found has its plan's memory alone, before Python looks for cycles."""

    class Found(Exception):
        pass

    def find():
        if outputs[0].calls == 2:
            raise Found

    _, case, cuts = naps(parts=4)
    inputs, outputs, _ = case.faces()
    outputs[0].before = find
    gc.disable()
    try:
        with case.plan(cuts, lanes, 2).bind(Counting()) as bound:
            try:
                bound(*inputs, out=outputs)
            except Found as error:
                left = weakref.ref(error)
            assert left() is None
    finally:
        gc.enable()


def test_an_error_while_parts_become_durable(tmp_path):
    case = Case(chain([Flat()]), LONG, [SOURCE] * 3, [SOURCE])
    inputs, outputs, _ = case.faces()
    outputs[0].flush = lambda: (_ for _ in ()).throw(OSError("the disk is gone"))
    with case.plan((Cut("z", 30, 2),), OVERLAPPED, 2).bind(Counting()) as bound, pytest.raises(OSError, match="the disk is gone"):
        bound(*inputs, out=outputs, done=DoneSet(tmp_path / "done"))
    assert not DoneSet(tmp_path / "done").covers(0, 2)


@pytest.mark.parametrize("lanes", [SERIAL, OVERLAPPED])
def test_ctrl_c_ends_every_thread(lanes):
    _, case, cuts = naps(parts=100)
    plan, backend, before = case.plan(cuts, lanes, 2), Counting(), threading.active_count()
    inputs, outputs, _ = case.faces()
    outputs[0].before = lambda: signal.raise_signal(signal.SIGINT) if outputs[0].calls == 3 else None
    with plan.bind(backend) as bound, pytest.raises(KeyboardInterrupt):
        bound(*inputs, out=outputs)
    assert threading.active_count() == before and backend.freed == plan.nbytes
    assert outputs[0].calls < 20


def test_a_run_that_failed_can_be_followed_by_one_that_does_not(device):
    """On a device copies and transfers may be on their way when a lane fails: nobody touches the arrays afterwards."""
    backend = open_backend(device)
    x = np.random.default_rng(0).random((64, 1000)).astype("f4")

    def plan():
        b = Builder(backend.limits, (Cut("z", 64, 4),), 64 << 10)
        spec = ArraySpec(x.shape, "float32", "z.")
        src, out = b.inp(spec, "x", SOURCE), b.out(spec, "out", SOURCE)
        with b.deliver(out) as y:
            b.copy(b.bring(src), y)
        return finish(b, "copy", OVERLAPPED, 2)

    with plan().bind(backend, "ledger") as bound:
        for fails in ({"die": 7}, {}):
            result = np.zeros_like(x)
            with pytest.raises(OSError) if fails else threading.Lock():
                bound(Source(x), out=[Sink(result, **fails)])
            assert np.array_equal(result, x) == (not fails)


# -- going on where it was -------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("lanes", THREADS)
@pytest.mark.parametrize("tiles", [False, True])
def test_a_job_that_was_stopped_goes_on_with_another_budget(tmp_path, lanes, tiles):
    case = Case(chain([Flat(), Smooth(taps(random.Random(0), 2)), MinusLog()]), LONG, [SOURCE] * 3, [SOURCE])
    (whole,) = case.run(case.plan())
    path = tmp_path / "done"

    def cuts(size):
        return (Cut("z", 30, size), *([Cut("x", 5, 2)] if tiles else []))

    inputs, outputs, results = case.faces(die=8 if tiles else 4)
    with case.plan(cuts(5), lanes, 2).bind(Counting(), "ledger") as bound, pytest.raises(OSError, match="no space"):
        bound(*inputs, out=outputs, done=DoneSet(path))
    with open(path, "a") as file:
        file.write("25 3")  # Torn: the machine stopped while it was written.
    left, told = DoneSet(path), []
    assert path.read_text().endswith("\n")
    assert left.covers(0, 5) and left.covers(0, 10) and not left.covers(25, 30) and not left.covers(0, 20)
    again = Sink(results[0])
    inputs, _, _ = case.faces()
    with case.plan(cuts(3), lanes, 1).bind(Counting(), "ledger") as bound:
        bound(*inputs, out=[again], done=left, progress=lambda rows, total: told.append((rows, total)))
    np.testing.assert_array_equal(results[0], whole)
    assert not again.times[:, :9].any() and (again.times[:, 15:] == 1).all() and again.flushed
    assert told[-1] == (30, 30) and [rows for rows, _ in told] == sorted(rows for rows, _ in told)
    assert DoneSet(path).covers(0, 30)
    inputs, outputs, _ = case.faces()
    with case.plan(cuts(4), lanes, 1).bind(Counting(), "ledger") as bound:
        bound(*inputs, out=outputs, done=DoneSet(path))
    assert not outputs[0].calls and not inputs[0].calls


def test_rows_are_done_when_their_last_tile_is(tmp_path):
    """On two devices tiles of the same rows end in any order."""
    case = Case(chain([Flat()]), LONG, [SOURCE] * 3, [SOURCE])
    plan = case.plan((Cut("z", 30, 15), Cut("x", 5, 1)))
    job = Job(plan, 0, 0, {slot.id: Sink(np.zeros(slot.spec.shape)) for slot in plan.outputs}, None, DoneSet(tmp_path / "done"))
    with plan.bind(Counting()) as bound:
        groups = [job.next() for _ in range(10)]
        for group in (*groups[5:], *groups[1:5]):
            assert not DoneSet(tmp_path / "done").covers(0, 15)
            job.finished(bound, group, 0)
        assert DoneSet(tmp_path / "done").covers(15, 30) and not DoneSet(tmp_path / "done").covers(0, 30)
        job.finished(bound, groups[0], 0)
    assert DoneSet(tmp_path / "done").covers(0, 30)


def test_a_sum_is_one_step_of_progress():
    lines = np.random.default_rng(1).random((2, 6, 4))
    case, told = Case(Gather(Table(np.linspace(0, 3, 6))), [lines], [SOURCE], [SOURCE]), []
    inputs, outputs, _ = case.faces()
    with case.plan((Cut("a", 6, 2, sums=True),)).bind(Counting(), "ledger") as bound:
        bound(*inputs, out=outputs, progress=lambda rows, total: told.append((rows, total)))
    assert told == [(6, 6)]


def test_the_whole_of_sinograms_is_their_transposition():
    x = np.arange(24.0).reshape(2, 3, 4)
    case = Case(Sinograms(), [x])
    assert np.array_equal(case.run(case.plan((Cut("a", 2, 1),)))[0], x.transpose(1, 0, 2))
