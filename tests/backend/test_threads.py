"""Threads of the caller's and of ours on one device: apart from each other, as many as were asked for, and none left behind."""

from __future__ import annotations

import threading
import time

import numpy as np
import pytest

import footprint as fp
from footprint.api.convolve_rows import convolve_rows
from footprint.backend.device import parse
from footprint.backend.null import NullBackend
from footprint.backend.registry import open_backend
from footprint.ops.job import plan_op
from footprint.plan.bind import BoundPlan
from footprint.plan.slots import Given
from footprint.spec import ArraySpec
from tests.backend.test_fft import Spectrum

IMAGE, MASK = np.arange(64 * 48, dtype=np.float32).reshape(64, 48), np.ones((3, 3))
# Long enough that parts of it go through lanes side by side within 2 MB.
LONG = np.arange(4000 * 256, dtype=np.float32).reshape(4000, 256)


def test_two_threads_whose_rows_go_through_one_fft_library(device, rng):
    fft = {"opencl": "stockham", "cuda": "cufft"}.get(device.partition(":")[0], "auto")
    options = {"device": device, "fft": fft, "method": "direct"}
    scans = rng.random((6, 60, 256), np.float32), rng.random((1, 60, 512), np.float32)
    memory = "1MB", None
    want = [fp.fbp(scan, memory=most, **options) for scan, most in zip(scans, memory)]
    wrong, first = [], threading.Thread(target=lambda: run(0, 4))

    def run(number, times):
        for _ in range(times):
            got = fp.fbp(scans[number], memory=memory[number], **options)
            if np.abs(got - want[number]).max() > 1e-5 * np.abs(want[number]).max():
                wrong.append(number)

    first.start()
    while first.is_alive():
        run(1, 1)
    assert wrong == []


def test_bound_plans_have_work_areas_of_their_own(backend, rng):
    if backend.limits.host:
        pytest.skip("the CPU's library takes its buffers within each call")
    counts = not backend.limits.device.startswith("cuda")  # CUDA's count is of pages of 2 MiB
    plans, arrays = [], []
    for rows in (64, 8):
        op, spec = Spectrum(2, 65, "complex64"), ArraySpec((1, rows, 128))
        plans.append(plan_op(backend.limits, None, "spectrum", op, [(spec, Given())], [(op.out_specs(spec)[0], Given())]))
        arrays.append(rng.random((1, rows, 128), np.float32))
    before = backend.used()
    with plans[0].bind(backend) as one, plans[1].bind(backend) as other:
        held = backend.used() - before
        for bound, x in ((one, arrays[0]), (other, arrays[1]), (one, arrays[0])):
            out = np.empty((1, x.shape[1], 65), np.complex64)
            bound(x, out=[out])
            np.testing.assert_allclose(out, np.fft.rfft(x), atol=1e-3)
        assert backend.used() - before == held or not counts
    # To the byte, with what each plan says that its transforms take.
    areas = [one.nbytes for plan in plans for one in plan.libraries if one.name == "FFT work"]
    assert not counts or (held == sum(plan.nbytes for plan in plans) + sum(areas) and backend.used() == before)


def test_kernels_in_every_thread_have_the_threads_asked_for_and_the_caller_keeps_its_own(monkeypatch):
    numba = pytest.importorskip("numba")
    if numba.config.NUMBA_NUM_THREADS < 2:
        pytest.skip("Numba has one thread")
    from footprint.backend.cpu import CpuBackend

    seen, launch = [], CpuBackend.launch

    def noted(self, kernel, arrays):
        seen.append((threading.current_thread().name, numba.get_num_threads()))
        launch(self, kernel, arrays)

    monkeypatch.setattr(CpuBackend, "launch", noted)
    mine = numba.get_num_threads()
    for threads in (1, 2):
        monkeypatch.setenv("FOOTPRINT_THREADS", str(threads))
        for own in (1, 2):
            numba.set_num_threads(own)
            try:
                seen.clear()
                list(fp.stream([IMAGE] * 2, mask=MASK, device="cpu"))
                with pytest.raises(fp.BudgetError) as caught:
                    fp.convolve(IMAGE, MASK, device="cpu", memory=1, out=np.empty(IMAGE.shape, "f8"))
                fp.convolve(IMAGE, MASK, device="cpu", memory=caught.value.smallest, out=np.empty(IMAGE.shape, "f8"))
                fp.ramp_filter(IMAGE, device="cpu")
                assert {n for _, n in seen} == {threads} and len(seen) >= 3
                assert numba.get_num_threads() == own
            finally:
                numba.set_num_threads(mine)


def test_transforms_have_the_threads_of_their_plan(monkeypatch):
    backend = open_backend("cpu")
    for threads in (1, 3):
        monkeypatch.setenv("FOOTPRINT_THREADS", str(threads))
        plan = fp.plan_ramp_filter((40, 64), device="cpu", fft="numpy")
        with plan.bind(backend) as bound:
            assert bound.transforms.threads == plan.limits.threads == threads


def test_a_plan_that_cannot_be_made_ready_leaves_no_memory(monkeypatch):
    plan = fp.plan_convolve((64, 48), (3, 3), device="null:h100")
    assert plan.straight and plan.nbytes
    backend = NullBackend("h100")

    def broken(self, index, step):
        raise MemoryError("no room for its arguments")

    monkeypatch.setattr(BoundPlan, "_baked", broken)
    with pytest.raises(MemoryError, match="no room"):
        plan.bind(backend)
    assert backend.allocated == 0


def test_a_job_that_is_stopped_twice_is_left_at_once_and_its_memory_when_its_threads_end(monkeypatch):
    inside, go_on, freed = threading.Event(), threading.Event(), []
    free = BoundPlan._free
    monkeypatch.setattr(BoundPlan, "_free", lambda self: (freed.append(_lanes()), free(self)))

    def read(start, stop, block):
        inside.set()
        go_on.wait(20)

    stops = iter([KeyboardInterrupt, KeyboardInterrupt])
    join = threading.Thread.join

    def interrupted(thread, timeout=None):
        # As if Ctrl-C came while the threads are waited for.
        if threading.current_thread() is threading.main_thread() and thread.name == "footprint-read":
            raise next(stops)
        join(thread, timeout)

    monkeypatch.setattr(threading.Thread, "join", interrupted)
    wait = threading.Condition.wait

    def stopped(condition, timeout=None):
        if threading.current_thread() is threading.main_thread() and timeout == 1.0:
            # Without the job's lock, for which the threads wait on their way there.
            end = time.monotonic() + 20
            while not inside.is_set() and time.monotonic() < end:
                wait(condition, 0.05)
            raise next(stops)
        return wait(condition, timeout)

    monkeypatch.setattr(threading.Condition, "wait", stopped)
    plans = []
    with pytest.raises(KeyboardInterrupt):
        convolve_rows(read, LONG.shape, "float32", MASK, lambda *rows: None, memory="2MB", device="cpu", on_plan=plans.append)
    assert len(plans[0].lanes) == 3
    monkeypatch.setattr(threading.Condition, "wait", wait)
    assert _lanes() and freed == []
    go_on.set()
    _until(lambda: freed)
    assert freed == [[]]


def _lanes():
    return [t.name for t in threading.enumerate() if t.name in ("footprint-read", "footprint-compute", "footprint-write")]


def _until(true, seconds=20.0):
    end = time.monotonic() + seconds
    while not true() and time.monotonic() < end:
        time.sleep(0.01)
    assert true()


# -- several devices ---------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("names", ["cpu,cpu", ["cpu", "cpu:0"], ["null:h100", "null:h100"], "cuda,cuda:0"])
def test_a_device_is_named_once(names):
    with pytest.raises(fp.ArgumentError, match="twice, wanted every device once"):
        fp.plan_convolve((64, 48), (3, 3), device=names)


@pytest.mark.parametrize(("image", "memory", "lanes"), [(IMAGE, 41_500, 1), (LONG, "2MB", 3)])
def test_rows_are_written_in_order_by_several_devices_and_one_block_at_a_time(image, memory, lanes):
    rows, busy, late = [], [], threading.Event()

    def read(start, stop, block):
        if start == 0:
            # The first part is the last to be read.
            late.wait(1.0)
        block[...] = image[start:stop]

    def write(start, stop, block):
        busy.append(start)
        time.sleep(0.002)
        assert busy == [start]
        busy.clear()
        rows.append((start, block.copy()))

    plan = convolve_rows(read, image.shape, "float32", MASK, write, memory=memory, device=parse("cpu,cpu"))
    assert plan.n_parts > 4 and len(plan.lanes) == lanes and [start for start, _ in rows] == [first for first, _ in plan.chunks]
    np.testing.assert_array_equal(np.concatenate([block for _, block in rows]), fp.convolve(image, MASK, device="cpu"))


def test_an_error_while_a_device_waits_for_its_turn_ends_all():
    def read(start, stop, block):
        if start == 0:
            time.sleep(0.2)
            raise OSError("the disk is gone")

    with pytest.raises(OSError, match="the disk is gone"):
        convolve_rows(read, LONG.shape, "float32", MASK, lambda *rows: None, memory="2MB", device=parse("cpu,cpu"))
    assert not _lanes()


# -- streams -----------------------------------------------------------------------------------------------------------
def test_a_stream_is_closed_although_its_source_blocks():
    camera_is_back, ended = threading.Event(), []

    def camera():
        try:
            yield IMAGE
            camera_is_back.wait(30)
            yield IMAGE
        finally:
            ended.append(threading.current_thread().name)

    frames = fp.stream(camera(), mask=MASK, device="cpu")
    next(frames)
    since = time.monotonic()
    frames.close()
    assert time.monotonic() - since < 10 and not ended and frames._job.error is not None
    camera_is_back.set()
    _until(lambda: not _lanes())
    assert ended == ["footprint-read"]


def test_a_stream_that_is_closed_closes_a_generator_and_nothing_else(device):
    ended = []

    def camera():
        try:
            while True:
                yield IMAGE
        finally:
            ended.append(True)

    with fp.stream(camera(), mask=MASK, device=device) as frames:
        next(frames)
    assert ended == [True]

    class Film:
        def __iter__(self):
            return self

        def __next__(self):
            return IMAGE

        def close(self):
            ended.append("film")

    with fp.stream(Film(), mask=MASK, device=device) as frames:
        next(frames)
    assert ended == [True]


def test_a_stream_that_is_let_go_ends(device):
    def forever():
        while True:
            yield IMAGE

    for _ in fp.stream(forever(), mask=MASK, device=device):
        break
    _until(lambda: not _lanes())


@pytest.mark.parametrize("how", ["an error", "another shape"])
def test_what_was_finished_before_a_source_failed_is_handed_on_first(device, how):
    def camera():
        for i in range(6):
            yield np.full((16, 16), i, np.float32)
        if how == "another shape":
            yield np.zeros((16, 17), np.float32)
        raise RuntimeError("unplugged")

    for _ in range(5):
        got = []
        with pytest.raises((RuntimeError, fp.ShapeError), match=r"unplugged|frame 6"):
            for frame in fp.stream(camera(), mask=np.ones((1, 1)), device=device):
                got.append(frame[0, 0])
        assert got == list(range(6))


def test_a_stream_keeps_few_arrays_for_results_that_were_let_go():
    with fp.stream([IMAGE] * 40, mask=MASK, depth=2, device="cpu") as frames:
        held = [next(frames) for _ in range(30)]
        assert len({frame.ctypes.data for frame in held}) == 30
        assert len(frames._job._arrays._memory) <= 4


def test_a_stream_that_cannot_start_gives_its_memory_back(monkeypatch):
    from footprint.api import stream as verb
    from footprint.plan.drive import Flow

    seen, bind = [], verb.bind
    monkeypatch.setattr(verb, "bind", lambda *args: seen.append(bind(*args)) or seen[-1])

    def none(self):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(Flow, "start", none)
    with pytest.raises(RuntimeError, match="can't start"):
        fp.stream([IMAGE], mask=MASK, device="cpu")
    assert seen[0].blocks == []
