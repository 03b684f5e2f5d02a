"""Row transforms of every device against float64, and that their work area is counted and given back."""

from __future__ import annotations

import os

import numpy as np
import pytest

import footprint as fp
from footprint.backend.fft.base import fft_library, with_fft
from footprint.flow.ready import clear_cache
from footprint.spec import ArraySpec

# rows, samples given, length: powers of two, mixed, a prime factor beyond every written-out radix, zero-padding
SHAPES = [(3, 8, 8), (5, 100, 128), (1, 1, 2), (7, 90, 180), (2, 22, 22), (4, 1000, 1430), (3, 17, 34), (2, 600, 1024)]


@pytest.fixture(params=["auto", "vkfft"])
def limits(request, backend):
    """The device's limits with its usual library, and with every other it may have."""
    kind = backend.limits.device.partition(":")[0]
    if request.param == "vkfft":
        if kind == "cpu":
            pytest.skip("VkFFT serves CUDA and OpenCL")
        pytest.importorskip(f"pyvkfft.{'cuda' if kind == 'cuda' else 'opencl'}", reason="pyvkfft is not installed for this device")
    return with_fft(backend.limits, request.param)


class Arrays:
    """Arrays of a device by name, given back at the end."""

    def __init__(self, backend) -> None:
        self.backend, self.blocks = backend, []

    def __call__(self, array):
        block = self.backend.alloc(array.nbytes)
        self.blocks.append(block)
        view = self.backend.view(block, 0, ArraySpec(array.shape, array.dtype.str))
        self.backend.write(view, array)
        return view

    def free(self) -> None:
        for block in self.blocks:
            self.backend.free(block)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize(("rows", "given", "n"), SHAPES)
def test_forward_and_back(rows, given, n, dtype, backend, limits, rng):
    x = rng.standard_normal((rows, given)).astype(dtype)
    spectrum = np.empty((rows, n // 2 + 1), np.result_type(dtype, np.complex64))
    back = np.empty((rows, n), dtype)
    arrays = Arrays(backend)
    a, b, c = arrays(x), arrays(spectrum), arrays(back)
    backend.fft(limits.fft, a, b, False)
    backend.read(spectrum, b)
    backend.fft(limits.fft, b, c, True)
    backend.read(back, c)
    backend.sync()
    arrays.free()
    wanted = np.fft.rfft(x.astype("f8"), n)
    eps = np.finfo(dtype).eps
    np.testing.assert_allclose(spectrum, wanted, rtol=0, atol=30 * eps * np.abs(wanted).max())
    np.testing.assert_allclose(back[:, :given], x, rtol=0, atol=60 * eps)
    np.testing.assert_allclose(back[:, given:], 0, rtol=0, atol=60 * eps)


def test_a_library_says_what_it_takes(limits):
    src, dst = ArraySpec((64, 1000)), ArraySpec((64, 1025), "complex64")
    for inverse in (False, True):
        nbytes, _ = fft_library(limits, *((dst, ArraySpec((64, 2048))) if inverse else (src, dst)), inverse)
        assert 0 <= nbytes < 64 << 20


def test_the_work_area_goes_with_the_last_block(backend, limits):
    if backend.limits.host:
        pytest.skip("the CPU's library frees what it takes within each call")
    # Plans kept from other tests hold blocks, and so the work area, too.
    clear_cache()
    arrays = Arrays(backend)
    before = backend.used()
    a, b = arrays(np.zeros((256, 3000), "f4")), arrays(np.zeros((256, 2049), "c8"))
    backend.fft(limits.fft, a, b, False)
    backend.sync()
    arrays.free()
    assert backend._fft.size == 0
    if "PYTEST_XDIST_WORKER" not in os.environ:
        # modules loaded on the way stay; the arrays and the work area (3 + 4 MB and more) do not
        assert backend.used() - before < 3 << 20


def test_rows_filtered_by_a_named_library(backend, limits, rng):
    if limits.fft == backend.limits.fft:
        pytest.skip("the usual library has tests of its own")
    x = rng.standard_normal((37, 500)).astype("f4")
    device = backend.limits.device
    for options in ({}, {"padding": "edge", "filter": "hann"}):
        usual, named = (fp.ramp_filter(x, device=device, fft=fft, **options) for fft in ("auto", limits.fft))
        np.testing.assert_allclose(named, usual, rtol=0, atol=2e-6 * np.abs(usual).max())
    plan = fp.plan_ramp_filter(x.shape, device=device, fft=limits.fft)
    assert plan.limits.fft == limits.fft and "FFT work" in str(plan)
    assert backend.used() >= 0


def test_unknown_libraries():
    with pytest.raises(fp.ArgumentError, match="fft: got 'cufft', wanted auto or numpy on cpu"):
        fp.ramp_filter(np.ones((2, 8)), device="cpu", fft="cufft")
    with pytest.raises(fp.ArgumentError, match="auto or cufft or vkfft on null:h100"):
        fp.plan_fbp((10, 16), device="null:h100", fft="numpy")
    plan = fp.plan_fbp((1500, 2048), device="null:h100", fft="vkfft", memory="1GB")
    assert plan.limits.fft == "vkfft" and any(step.action == "fft" for step in plan.steps)
