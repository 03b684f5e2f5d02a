"""Host memory on the way to a device, from call to call."""

import gc

import numpy as np
import pytest
import scipy.ndimage as nd

import footprint as fp
from footprint.plan import cross, stream
from footprint.plan.faces import COPIERS
from footprint.spec import ArraySpec


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
        monkeypatch.undo()
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

    monkeypatch.setattr(stream, "_MANY", 3)
    arrays = stream.Recycled(ArraySpec((4, 6), "<f4"), 2, host)
    for turn in range(12):
        result = arrays.get()
        assert result.shape == (4, 6) and result.dtype == np.float32 and len(made) == min(max(turn - 2, 0), 2)
        assert turn < 6 or result.ctypes.data in made
        del result
    seen = [arrays.get()[1:3, ::2] for _ in range(9)]
    for i, one in enumerate(seen):
        one[...] = i
    assert [one.max() for one in seen] == [one.min() for one in seen] == list(range(9)) and len(made) == 2
