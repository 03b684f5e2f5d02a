"""Host memory on the way to a device, from call to call."""

import gc
import threading
from dataclasses import replace

import numpy as np
import pytest
import scipy.ndimage as nd

import footprint as fp
from footprint.backend.registry import open_backend
from footprint.plan import cross, frames, pins
from footprint.plan.faces import COPIERS
from footprint.plan.pins import PINS
from footprint.plan.ready import READY
from footprint.spec import ArraySpec
from tests import far


def test_a_plan_too_large_to_keep_finds_its_host_memory_again(device, backend, monkeypatch, rng):
    if backend.limits.host:
        pytest.skip("arrays on the host are this device's own")
    image, mask = rng.random((300, 700), np.float32), np.ones((3, 3))
    asked, host = [], type(backend).host
    monkeypatch.setattr(type(backend), "host", lambda self, nbytes: asked.append(nbytes) or host(self, nbytes))
    # Two images are 1.6 MiB, and as much again is on the way.
    monkeypatch.setenv("FOOTPRINT_KEEP", "2 MiB")
    fp.clear_cache()
    told = []
    for turn in range(3):
        shown = image + turn
        got = fp.convolve(shown, mask, device=device)
        np.testing.assert_allclose(got, nd.convolve(shown, mask, mode="constant"), rtol=1e-5)
        told.append((len(asked), fp.cache_info()["plans"]))
    assert told[0][0] >= 1 and told[0] == told[1] == told[2] and not told[0][1]
    kept = fp.cache_info()["pinned"]
    fp.clear_cache()
    assert kept and fp.cache_info()["pinned"] == 0


def test_a_transfer_that_fails_leaves_no_thread_behind(device, backend, monkeypatch, rng):
    """Those that copy are as many as before: the next calls are served."""
    if backend.limits.host:
        pytest.skip("arrays on the host are this device's own")
    image, mask = rng.random((700, 1500), np.float32), np.ones((3, 3))
    want = fp.convolve(image, mask, device=device)
    fp.clear_cache()
    # Pieces cross, as they do of an array that is not pinned.
    monkeypatch.setattr(pins, "_LEAST", 1 << 60)
    for verb in ("write", "read"):
        inner, seen = getattr(type(backend), verb), []

        def fails(*args, inner=inner, seen=seen, **how):
            seen.append(args)
            if len(seen) > 2:
                raise OSError("the bus is gone")
            return inner(*args, **how)

        monkeypatch.setattr(type(backend), verb, fails)
        for _ in range(2 * COPIERS.workers):
            seen.clear()
            with pytest.raises(OSError, match="the bus is gone"):
                fp.convolve(image, mask, device=device)
        monkeypatch.setattr(type(backend), verb, inner)
        np.testing.assert_array_equal(fp.convolve(image, mask, device=device), want)


def test_memory_that_opencl_maps_carries_blocks_both_ways(device, backend, monkeypatch, rng):
    """Transfers go on by themselves there, also where several blocks share one ring; the addresses are forgotten with it."""
    if not device.startswith("opencl"):
        pytest.skip("memory that OpenCL maps")
    image, mask = rng.random((1200, 900), np.float32), rng.random((5, 5))
    wanted = fp.convolve(image, mask, device=device)
    fp.clear_cache()
    from footprint.backend import opencl

    monkeypatch.setattr(opencl, "_across_a_bus", lambda _: True)
    used, host = set(), opencl.OpenClBackend.host
    monkeypatch.setattr(opencl.OpenClBackend, "host", lambda self, nbytes: used.add(self) or host(self, nbytes))
    for memory in (None, "2 MB"):
        for _ in range(2):
            np.testing.assert_array_equal(fp.convolve(image, mask, memory=memory, device=device), wanted)
    (one,) = used
    assert one._pinned
    fp.clear_cache()
    gc.collect()
    assert not one._pinned


def test_arrays_that_cross_again_are_pinned_for_opencl(device, backend, monkeypatch, rng):
    """As buffers that use their pages: what the host writes is what crosses, and unpinned they are as they were."""
    if not device.startswith("opencl"):
        pytest.skip("buffers of OpenCL that use the caller's pages")
    monkeypatch.setattr("footprint.backend.opencl._across_a_bus", lambda _: True)
    monkeypatch.setattr(pins, "_LEAST", 1 << 10)
    # Of the device's memory, a sixteenth may be what the driver sets aside for pinned arrays.
    monkeypatch.setattr(backend, "limits", replace(backend.limits, memory=16 * 6_000_000))
    fp.clear_cache()
    large = rng.random((1000, 1600), np.float32)
    for _ in range(4):
        fp.threshold(large, 0.5, device=device)
    assert not backend.reaches(large)
    image, mask, out = rng.random((600, 500), np.float32), rng.random((5, 5)), np.empty((600, 500), np.float32)
    stack, shifts = rng.random((8, 60, 800), np.float32), np.linspace(-3, 3, 8)
    for turn in range(5):
        kept = image.copy()
        fp.convolve(image, mask, out=out, memory="1 MB" if turn > 2 else None, device=device)
        np.testing.assert_array_equal(image, kept)
        np.testing.assert_allclose(out, nd.convolve(image, mask, mode="constant"), rtol=1e-5)
        np.add(image, 1, out=image)
        # Rows that lie apart go through the ring.
        moved = fp.vertical_shift(stack[:, 5:, :], shifts, device=device)
        np.testing.assert_allclose(moved, fp.vertical_shift(stack[:, 5:, :], shifts, device="cpu"), rtol=1e-6)
    assert PINS.nbytes >= image.nbytes + out.nbytes and backend_reaches(backend, image, out)
    before = out.copy(), image.copy()
    fp.clear_cache()
    assert PINS.nbytes == 0 and not backend_reaches(backend, image, out)
    np.testing.assert_array_equal(out, before[0])
    np.testing.assert_array_equal(image, before[1])


def backend_reaches(backend, *arrays):
    return all(backend.reaches(array) for array in arrays)


def test_pinned_arrays_cross_as_they_lie(device, backend, monkeypatch, rng):
    """Whole and in parts, without a copy on the way."""
    if backend.limits.host:
        pytest.skip("arrays on the host are this device's own")
    shape, mask = (1200, 900), rng.random((5, 5))
    plain = rng.random(shape, np.float32)
    wanted = fp.convolve(plain, mask, device=device)
    fp.clear_cache()
    if device.startswith("opencl"):
        monkeypatch.setattr("footprint.backend.opencl._across_a_bus", lambda _: True)
    image, out = (backend.host(plain.nbytes).view(np.float32).reshape(shape) for _ in range(2))
    image[...] = plain
    assert backend.reaches(image) and backend.reaches(image[7:9]) and not backend.reaches(plain)
    monkeypatch.setattr(cross, "Carry", None)
    for memory in (None, "2 MB"):
        for _ in range(2):
            out[...] = -1
            fp.convolve(image, mask, out=out, memory=memory, device=device)
            np.testing.assert_array_equal(out, wanted)
    fp.clear_cache()


def test_results_of_a_stream_come_to_lie_where_a_device_reaches_them(monkeypatch):
    """When many have been asked for; what anybody still sees, be it a part, is not written again."""
    made = []

    def host(nbytes):
        memory = np.zeros(nbytes, np.uint8)
        made.append(memory.ctypes.data)
        return memory

    monkeypatch.setattr(frames, "_MANY", 3)
    arrays = frames.Recycled(ArraySpec((4, 6), "<f4"), 2, host)
    for turn in range(12):
        result = arrays.get()
        assert result.shape == (4, 6) and result.dtype == np.float32 and len(made) == min(max(turn - 2, 0), 2)
        assert turn < 6 or result.ctypes.data in made
        del result
    seen = [arrays.get()[1:3, ::2] for _ in range(9)]
    for i, one in enumerate(seen):
        one[...] = i
    assert [one.max() for one in seen] == [one.min() for one in seen] == list(range(9)) and len(made) == 2


@pytest.fixture
def bus(monkeypatch):
    """A device behind a bus, and arrays of 16 KiB and more worth pinning."""
    monkeypatch.setattr(pins, "_LEAST", 16 << 10)
    monkeypatch.setattr(cross, "_ROW", 256)
    fp.clear_cache()
    with far.far_device():
        yield open_backend("cuda:0")
        fp.clear_cache()
    assert PINS.nbytes == 0


def crossings(monkeypatch, run):
    """How many blocks are copied to our own memory and from it while something runs."""
    seen, carry = [], cross.Carry
    monkeypatch.setattr(cross, "Carry", lambda *args: seen.append(args[-1]) or carry(*args))
    run()
    monkeypatch.setattr(cross, "Carry", carry)
    return len(seen)


@pytest.mark.parametrize("memory", [None, "300 kB"])
def test_arrays_that_cross_again_are_pinned_and_cross_as_they_lie(bus, memory, monkeypatch, rng):
    image, mask, out = rng.random((300, 400), np.float32), rng.random((5, 5)), np.empty((300, 400), np.float32)
    wanted = nd.convolve(image, mask, mode="constant")
    copied, run = [], lambda: fp.convolve(image, mask, out=out, memory=memory, device="cuda")
    for turn in range(4):
        out[...] = -1
        copied.append(crossings(monkeypatch, run))
        np.testing.assert_allclose(out, wanted, rtol=1e-5)
        np.add(image, 1, out=image)
        wanted = nd.convolve(image, mask, mode="constant")
        assert turn or not bus.pinned
    assert copied[0] >= 2 and copied[3] == 0
    assert bus.pinned == {a.ctypes.data: a.nbytes for a in (image, out)}
    assert fp.cache_info()["arrays"] == image.nbytes + out.nbytes


def test_rows_that_lie_apart_cross_in_one_transfer(bus, monkeypatch, rng):
    """Parts along the second axis, of an array that is pinned as a whole: also where a view of it is given."""
    stack, shifts = rng.random((40, 60, 80), np.float32), np.linspace(-3, 3, 40)
    wanted = fp.vertical_shift(stack[:, 5:, :], shifts, device="cpu")
    results = []
    run = lambda: results.append(fp.vertical_shift(stack[:, 5:, :], shifts, device="cuda"))
    copied = [crossings(monkeypatch, run) for _ in range(4)]
    for one in results:
        np.testing.assert_array_equal(one, wanted)
    # What is new every time crosses as before.
    assert list(bus.pinned) == [stack.ctypes.data] and copied[0] > copied[3] == 1


def test_devices_of_one_kind_share_pinned_pages_and_others_do_not(bus, rng):
    """Of two kinds of drivers each would wait for what the other has pinned; one that does not reach it pins it, too."""

    class Other(far.FarBackend):
        pass

    array, near, apart, other = rng.random(5000, np.float32), far.FarBackend(), far.FarBackend(), Other()
    near.reaches = lambda one: True
    ask = lambda backend: PINS.crosses(array, array.nbytes, backend)
    assert [ask(bus), ask(bus), ask(near), ask(apart), ask(other)] == [False, True, True, True, False]
    at = {array.ctypes.data: array.nbytes}
    assert (bus.pinned, near.pinned, apart.pinned, other.pinned) == (at, {}, at, {}) and PINS.nbytes == array.nbytes
    near.pinned = dict(at)
    PINS.clear()
    assert not (bus.pinned or near.pinned or apart.pinned or PINS.nbytes)


def test_pages_go_with_the_array(bus, rng):
    image, mask = rng.random((300, 400), np.float32), np.ones((3, 3))
    for _ in range(3):
        fp.convolve(image, mask, device="cuda")
    assert list(bus.pinned) == [image.ctypes.data]
    shown = image[5:, ::2]
    del image
    assert bus.pinned
    del shown
    assert not bus.pinned and PINS.nbytes == 0


def test_no_more_is_pinned_than_may_be(bus, monkeypatch, rng):
    """Those known longest give way; what is larger than all that may be pinned crosses as before."""
    images = [rng.random((100, 400), np.float32) for _ in range(3)]
    large = rng.random((400, 400), np.float32)
    monkeypatch.setattr(pins, "free_host_bytes", lambda: 5 * images[0].nbytes)
    monkeypatch.setattr(pins, "resident_bytes", lambda: 0)
    for one in (*images, large):
        for _ in range(3):
            np.testing.assert_allclose(fp.convolve(one, np.full((1, 1), 2.0), device="cuda"), 2 * one, rtol=1e-6)
        assert PINS.nbytes <= 2.5 * images[0].nbytes
    assert bus.ever == [one.ctypes.data for one in images] and list(bus.pinned) == bus.ever[1:]


def test_what_cannot_be_pinned_crosses_as_before(bus, tmp_path, monkeypatch, rng):
    """Small arrays, memory that is not NumPy's own, what the driver refuses; and nothing where nothing may be kept."""
    values, mask = rng.random((300, 400), np.float32), np.ones((3, 3))
    mapped = np.memmap(tmp_path / "image", np.float32, "w+", shape=values.shape)
    mapped[...] = values
    foreign = np.frombuffer(bytearray(values.tobytes()), np.float32).reshape(values.shape)
    wanted = nd.convolve(values, mask, mode="constant")

    def several(image):
        for _ in range(4):
            np.testing.assert_allclose(fp.convolve(image, mask, device="cuda"), wanted[: len(image)], rtol=1e-5)

    several(mapped)
    several(foreign)
    assert not bus.ever
    bus.most = 0
    several(values)
    bus.most = 1 << 40
    monkeypatch.setenv("FOOTPRINT_KEEP", "0")
    fp.clear_cache()
    several(values)
    assert not bus.ever


def test_a_stream_pins_the_frames_that_come_again(bus, rng):
    """As those of a camera's ring of buffers do."""
    ring = [rng.integers(0, 4096, (300, 160), np.uint16) for _ in range(3)]
    mask, frames = np.ones((3, 3)), 12

    def camera():
        for i in range(frames):
            yield ring[i % 3]

    results = list(fp.stream(camera(), mask=mask, device="cuda"))
    for i, got in enumerate(results):
        np.testing.assert_allclose(got, nd.convolve(ring[i % 3].astype(np.float32), mask, mode="constant"), rtol=1e-5)
    assert sorted(bus.ever) == sorted(frame.ctypes.data for frame in ring)


def test_a_frame_has_been_read_when_the_next_is_asked_for(bus, monkeypatch, rng):
    """Who gives frames may have one buffer for all of them, also when that is pinned and transfers go on by themselves."""
    frame, mask = rng.random((300, 160), np.float32), np.ones((3, 3))
    kind, write, seen = type(bus), type(bus).write, []

    def noted(what):
        # The thread that asks for frames, and brings them.
        if threading.current_thread().name == "footprint-frames":
            seen.append(what)
        return what

    monkeypatch.setattr(kind, "write", lambda self, dst, src: (write(self, dst, src), noted(src.nbytes)))
    monkeypatch.setattr(kind, "mark", lambda self: noted(object()))
    monkeypatch.setattr(kind, "wait", lambda self, event: noted(event))

    def camera():
        for i in range(8):
            noted(f"ask {i}")
            yield frame

    assert len(list(fp.stream(camera(), mask=mask, device="cuda"))) == 8 and bus.ever == [frame.ctypes.data]
    # From the fourth on it is pinned for certain.
    for i in range(4, 7):
        turn = seen[seen.index(f"ask {i}") : seen.index(f"ask {i + 1}")]
        at = turn.index(frame.nbytes)
        assert turn[at + 1] in turn[at + 2 :]


def test_memory_that_is_short_gives_pinned_arrays_up(bus, monkeypatch, rng):
    """Their page tables lie on the device."""
    image, mask = rng.random((300, 400), np.float32), np.ones((3, 3))
    for _ in range(3):
        fp.convolve(image, mask, device="cuda")
    # No plan is kept that could be given up instead.
    READY.give_up()
    assert bus.pinned
    alloc, tried = type(bus).alloc, []

    def short(self, nbytes):
        tried.append(dict(bus.pinned))
        if bus.pinned:
            raise MemoryError
        return alloc(self, nbytes)

    monkeypatch.setattr(type(bus), "alloc", short)
    fp.gaussian_filter(image, 2, device="cuda")
    assert tried[0] and not tried[-1]


@pytest.mark.parametrize("dtype", ["u1", "f8"])
def test_more_than_one_command_clears_or_copies(device, backend, monkeypatch, dtype):
    """NVIDIA's OpenCL never ends a fill of more than 2 GiB."""
    if not device.startswith("opencl"):
        pytest.skip("what clears and copies memory in pieces is OpenCL")
    monkeypatch.setattr("footprint.backend.opencl._AT_ONCE", 1000)
    wanted = np.arange(3003).astype(dtype).reshape(3, -1)
    spec, part = ArraySpec(wanted.shape, dtype), ArraySpec((2000,), "uint8")
    block, got = backend.alloc(2 * spec.nbytes), np.ones(wanted.shape, dtype)
    try:
        view, other = backend.view(block, 0, spec), backend.view(block, spec.nbytes, spec)
        backend.read(got, view)
        assert not got.any()
        backend.write(view, wanted)
        backend.copy(other, view)
        backend.clear(backend.view(block, 500, part))
        backend.read(got, other)
        assert np.array_equal(got, wanted)
        backend.read(got, view)
    finally:
        backend.free(block)
    wanted.reshape(-1).view(np.uint8)[500:2500] = 0
    assert np.array_equal(got, wanted)
