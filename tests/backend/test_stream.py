"""Streams of frames: the bits of single calls, in order, in bounded memory, and an end to every thread."""

from __future__ import annotations

import threading
import time

import numpy as np
import pytest

import footprint as fp
from footprint.plan import frames as plan_frames
from tests import far


def _threads():
    return [t.name for t in threading.enumerate() if t.name.startswith("footprint-") and "copy" not in t.name]


@pytest.mark.parametrize("depth", [1, 2, 3])
@pytest.mark.parametrize("dtype", ["uint8", "uint16", "float32", ">i2"])
def test_frames_are_what_single_calls_give(device, rng, depth, dtype):
    frames = [rng.integers(0, 200, (65, 97)).astype(dtype) for _ in range(6)]
    mask = rng.standard_normal((4, 5))
    got = [frame.copy() for frame in fp.stream(iter(frames), mask=mask, boundary="reflect", depth=depth, device=device)]
    want = [fp.convolve(frame, mask, boundary="reflect", device=device) for frame in frames]
    assert len(got) == len(want)
    for a, b in zip(got, want):
        np.testing.assert_array_equal(a, b)
    assert not _threads()


def test_results_that_are_held_are_not_written_again(device, rng):
    frames = [rng.random((40, 50), np.float32) for _ in range(9)]
    mask = np.ones((3, 3))
    held = list(fp.stream(iter(frames), mask=mask, device=device))
    for got, frame in zip(held, frames):
        np.testing.assert_array_equal(got, fp.convolve(frame, mask, device=device))


def test_a_result_has_the_dtype_asked_for(device, rng):
    frames = [rng.integers(0, 200, (33, 31)).astype("u2") for _ in range(3)]
    for got, frame in zip(fp.stream(frames, mask=np.ones((3, 3)) / 9, dtype="float16", device=device), frames):
        assert got.dtype == np.float16
        np.testing.assert_array_equal(got, fp.convolve(frame, np.ones((3, 3)) / 9, device=device).astype("f2"))


def test_a_slow_consumer_slows_the_source():
    taken = []

    def camera():
        for i in range(50):
            taken.append(i)
            yield np.full((16, 16), i, "f4")

    with fp.stream(camera(), mask=np.ones((1, 1)), depth=2, device="cpu") as frames:
        first = next(frames)
        time.sleep(0.3)
        assert first[0, 0] == 0
        # Two in each stage, those waiting to be taken, and the one under way.
        assert len(taken) <= 10
        rest = [frame[0, 0] for frame in frames]
    assert rest == list(range(1, 50))


def test_an_error_of_the_source_is_raised_once_and_ends_all_threads(device):
    def camera():
        yield np.zeros((8, 8), "f4")
        raise ValueError("the camera is gone")

    frames = fp.stream(camera(), mask=np.ones((3, 3)), device=device)
    with pytest.raises(ValueError, match="the camera is gone"):
        list(frames)
    assert list(frames) == []
    assert not _threads()


def test_frames_must_be_alike(device):
    with pytest.raises(fp.ShapeError, match="frame 1: got float32"):
        list(fp.stream([np.zeros((8, 8), "f4"), np.zeros((8, 9), "f4")], mask=np.ones((3, 3)), device=device))
    # A frame that a camera dropped is not the end of the stream.
    with pytest.raises(fp.ShapeError, match=r"frame 1: got None, wanted float32 \(8, 8\)"):
        list(fp.stream([np.zeros((8, 8), "f4"), None, np.zeros((8, 8), "f4")], mask=np.ones((3, 3)), device=device))
    masked = np.ma.masked_equal(np.eye(8, dtype="f4"), 1)
    for frames in ([masked], [np.zeros((8, 8), "f4"), masked]):
        with pytest.raises(fp.FootprintError, match="a masked array, whose mask would be ignored"):
            list(fp.stream(frames, mask=np.ones((3, 3)), device=device))
    with pytest.raises(fp.ArgumentError, match="frames: got None"):
        fp.stream([None], mask=np.ones((3, 3)), device=device)
    with pytest.raises(fp.ShapeError, match="at least one frame"):
        fp.stream([], mask=np.ones((3, 3)), device=device)
    with pytest.raises(fp.ArgumentError, match="frames: got a str"):
        fp.stream("frames.tif", mask=np.ones((3, 3)), device=device)


class Numbered:
    """What has frames by number and no ``__iter__``, as a Zarr array has."""

    def __init__(self, stack):
        self._stack = stack

    def __getitem__(self, number):
        return self._stack[number]


def test_what_can_be_iterated_over_is_a_source(rng):
    stack, mask = rng.random((3, 9, 11), np.float32), np.ones((3, 3))
    for got, frame in zip(fp.stream(Numbered(stack), mask=mask, device="cpu"), stack, strict=True):
        np.testing.assert_array_equal(got, fp.convolve(frame, mask, device="cpu"))
    for wrong in 5, None, np.float32(3), np.array(3.0):
        with pytest.raises(fp.ArgumentError, match=r"frames: got .*, wanted a list, a generator or another iterable of arrays"):
            fp.stream(wrong, mask=mask, device="cpu")


class Held:
    """What is not handed over, as a tensor of PyTorch's with a gradient."""

    shape, dtype = (8, 8), np.dtype("f4")

    def __dlpack__(self, **options):
        raise BufferError("Can't export tensors that require gradient, use tensor.detach()")

    def __dlpack_device__(self):
        return 1, 0

    def __array__(self, dtype=None, copy=None):
        raise RuntimeError("Can't call numpy() on Tensor that requires grad")


def test_what_a_later_frame_is_refused_for_names_it(device):
    plain, mask = np.zeros((8, 8), "f4"), np.ones((3, 3))
    wrong = {r"got a Held that is not handed over \(.*tensor\.detach\(\)\)": Held(), "got the name 'b.tif'": "b.tif"}
    wrong["got a Lazy of dask, which is still to be computed"] = type("Lazy", (), {"__module__": "dask.array.core"})()
    for said, frame in wrong.items():
        with fp.stream([plain, plain, frame], mask=mask, device=device) as frames:
            assert len([next(frames), next(frames)]) == 2
            with pytest.raises(fp.ArgumentError, match=f"frame 2: {said}"):
                next(frames)


def test_a_later_frame_has_no_unit(device):
    units = pytest.importorskip("astropy.units", reason="astropy is not installed")
    plain = np.zeros((8, 8), "f4")
    with pytest.raises(fp.ArgumentError, match="frame 1: got a Quantity in K, whose unit the result would lack"):
        list(fp.stream([plain, plain * units.K], mask=np.ones((3, 3)), device=device))


def test_a_stream_that_is_left_early_ends(device):
    with fp.stream((np.zeros((8, 8), "f4") for _ in range(10**9)), mask=np.ones((3, 3)), device=device) as frames:
        next(frames)
    assert not _threads()


def test_statistics_count_what_was_handed_on(device):
    frames = fp.stream([np.zeros((8, 8), "f4")] * 5, mask=np.ones((3, 3)), device=device)
    assert sum(1 for _ in frames) == 5
    told = frames.statistics
    assert told["frames"] == 5 and told["frames_per_second"] > 0 and 0 < told["latency_median"] <= told["latency_largest"]


def test_a_budget_too_small_is_refused_by_its_number():
    frame = np.zeros((512, 512), "f4")
    with pytest.raises(fp.BudgetError) as caught:
        fp.stream([frame], mask=np.ones((3, 3)), memory=1000, device="cpu")
    with fp.stream([frame], mask=np.ones((3, 3)), memory=caught.value.smallest, device="cpu") as frames:
        assert frames.plan.footprint.total <= caught.value.smallest


@pytest.mark.parametrize("result", [None, "float16", "float64"])
@pytest.mark.parametrize("dtype", ["uint8", ">u2", "float64"])
def test_frames_of_a_stack_go_from_reader_to_writer(device, rng, dtype, result):
    stack, mask, told, got = rng.integers(0, 200, (7, 45, 70)).astype(dtype), rng.standard_normal((3, 6)), [], []

    def read(number, block):
        block[...] = stack[number]

    def write(number, block):
        assert number == len(got)
        got.append(block.copy())

    options = {"boundary": "mirror", "mode": "full", "result": result, "device": device}
    statistics = fp.convolve_frames(
        read, stack.shape, dtype, mask, write, flip=False, progress=lambda *n: told.append(n), **options
    )
    want = [fp.correlate(frame, mask, boundary="mirror", mode="full", dtype=result, device=device) for frame in stack]
    assert told == [(n, 7) for n in range(1, 8)] and statistics["frames"] == 7 and statistics["latency_median"] > 0
    for a, b in zip(got, want, strict=True):
        # A writer casts sums that did not have to cross a bus, and a device may round float64 to float16 by way of float32.
        np.testing.assert_allclose(a, b, rtol=1e-3 if result == "float16" else 0)
    assert not _threads()


@pytest.mark.parametrize("where", ["read", "write"])
def test_a_stack_whose_reader_or_writer_fails_ends_with_its_error(device, where):
    def fails(number, block):
        if number == 3:
            raise OSError("the disk is gone")

    calls = {"read": lambda number, block: None, "write": lambda number, block: None} | {where: fails}
    with pytest.raises(OSError, match="the disk is gone"):
        fp.convolve_frames(calls["read"], (9, 16, 16), "uint8", np.ones((3, 3)), calls["write"], device=device)
    assert not _threads()


def test_a_stack_is_for_one_device():
    with pytest.raises(fp.ArgumentError, match=r"device: .*one device"):
        fp.plan_convolve_frames((9, 16, 16), (3, 3), dtype="uint8", device="null:h100,null:a100")


class Late(far.FarBackend):
    """A device whose transfers to the host are done when somebody waits for them, and no sooner."""

    def __init__(self):
        super().__init__()
        self.marks, self.most, self.flying, self.down = 0, 0, [], False
        # Frames that are computed, and those that must be before a transfer ends.
        self.computed, self.wanted = 0, []

    def host(self, nbytes):
        memory = np.zeros(nbytes, np.uint8)
        self.pinned[memory.ctypes.data] = nbytes
        return memory

    def write(self, dst, src):
        super().write(dst, src)
        self.down = False

    def read(self, dst, src, wait=True):
        self.down = True
        if wait:
            super().read(dst, src, wait)
        else:
            self.flying.append((self.marks, dst, src.copy()))
            self.most = max(self.most, len(self.flying))

    def launch(self, kernel, arrays):
        super().launch(kernel, arrays)
        self.computed += 1

    def mark(self):
        self.marks += 1
        return self.marks, self.down

    def wait(self, event):
        mark, down = event if event is not None else (0, False)
        while down and self.flying and self.flying[0][0] < mark:
            wanted, since = self.wanted.pop(0) if self.wanted else 0, time.perf_counter()
            while self.computed < wanted:
                if time.perf_counter() - since > 20:
                    self.wanted = []
                    raise TimeoutError(f"{wanted} frames should be under way, not {self.computed}")
                time.sleep(0.001)
            _, dst, src = self.flying.pop(0)
            super().read(dst, src)


@pytest.fixture
def late(monkeypatch):
    """Results go to pinned memory from the first on."""
    monkeypatch.setattr(plan_frames, "_MANY", -1)
    made = Late()
    monkeypatch.setattr(far, "open_backend", lambda index=0: made)
    with far.far_device():
        yield made


@pytest.mark.parametrize("depth", [1, 3])
def test_frames_are_queued_while_results_are_on_their_way(late, rng, depth):
    """No result is handed on before it is there; meanwhile the device has as many other frames as there are copies, and no more."""
    frames = [rng.random((200, 220), np.float32) for _ in range(20)]
    late.wanted = [min(i + depth + 1, len(frames)) for i in range(len(frames))]
    # What is let go of has its pinned memory used again.
    held = [result.copy() for result in fp.stream(iter(frames), mask=np.ones((3, 3)), depth=depth, device="cuda")]
    assert late.most == depth + 1 and not late.flying
    for got, frame in zip(held, frames, strict=True):
        np.testing.assert_array_equal(got, fp.convolve(frame, np.ones((3, 3)), device="cpu"))


def test_a_result_does_not_wait_for_a_frame_that_is_yet_to_come(late, rng):
    """A camera that is triggered by what came of the last frame."""
    frames, results = [rng.random((200, 220), np.float32) for _ in range(6)], []
    seen = threading.Semaphore(1)

    def camera():
        for frame in frames:
            if not seen.acquire(timeout=20):
                raise TimeoutError("the last result has not come")
            yield frame

    for result in fp.stream(camera(), mask=np.ones((3, 3)), device="cuda"):
        results.append(result)
        seen.release()
    for got, frame in zip(results, frames, strict=True):
        np.testing.assert_array_equal(got, fp.convolve(frame, np.ones((3, 3)), device="cpu"))
