"""Host memory on the way to a device, from call to call."""

import numpy as np
import pytest
import scipy.ndimage as nd

import footprint as fp


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
