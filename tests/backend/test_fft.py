"""Row transforms of every device against float64, and that their work area is counted and given back."""

from __future__ import annotations

import os
from dataclasses import dataclass

import numpy as np
import pytest

import footprint as fp
from footprint.backend.fft.base import fft_library, with_fft
from footprint.kernels.fft.gpu import fft_program
from footprint.ops.base import Op
from footprint.ops.job import plan_op
from footprint.plan.slots import Given
from footprint.spec import ArraySpec

from .kernels import in_turn, need_gpu, run

# rows, samples given, length: powers of two, mixed, a prime factor beyond every written-out radix, zero-padding
SHAPES = [(3, 8, 8), (5, 100, 128), (1, 1, 2), (7, 90, 180), (2, 22, 22), (4, 1000, 1430), (3, 17, 34), (2, 600, 1024)]

KINDS = ["f4", "f8", "c8", "c16"]


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


@pytest.mark.parametrize(("kind", "given", "n"), [("f4", 100, 210), ("f8", 64, 64), ("c8", 50, 96)])
def test_rows_on_the_chip(kind, given, n, backend, monkeypatch, rng):
    """One launch and no work memory, on a device of any size; rows that fill no group, of every radix between them."""
    need_gpu(backend)
    monkeypatch.setattr("footprint.kernels.fft.gpu._FEW_CORES", 0)
    samples = rng.standard_normal((5, 2 * given)).astype("f4").view("c8") if kind[0] == "c" else rng.standard_normal((5, given))
    samples = samples.astype(kind)
    spectra = np.zeros((5, n if kind[0] == "c" else n // 2 + 1), np.result_type(kind, "c8"))
    back = np.zeros((5, n), kind)
    specs = [ArraySpec(a.shape, a.dtype.str) for a in (samples, spectra)]
    program = fft_program(backend.limits, *specs)
    assert len(program.launches) == 1 and not program.work
    run(backend, "fft", samples, spectra)
    run(backend, "fft", spectra, back, inverse=True)
    transform = np.fft.fft if kind[0] == "c" else np.fft.rfft
    digits = np.finfo(kind).eps * 10
    np.testing.assert_allclose(spectra, transform(samples.astype("c16" if kind[0] == "c" else "f8"), n), atol=digits * n**0.5)
    np.testing.assert_allclose(back[:, :given], samples, atol=digits)
    np.testing.assert_allclose(back[:, given:], 0, atol=digits)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize(("rows", "given", "n"), SHAPES)
def test_forward_and_back(rows, given, n, dtype, backend, limits, rng):
    # VkFFT compiles every length anew; of ours, a radix is compiled once a dtype.
    in_turn(
        limits.device, SHAPES.index((rows, given, n)) + (dtype == "f8"), 4 if limits.fft == "vkfft" else 2 if dtype == "f8" else 1
    )
    x = rng.standard_normal((rows, given)).astype(dtype)
    spectrum = np.empty((rows, n // 2 + 1), np.result_type(dtype, np.complex64))
    back, sums = np.empty((rows, n), dtype), np.empty((rows, n), dtype)
    arrays = Arrays(backend)
    a, b, c = arrays(x), arrays(spectrum), arrays(back)
    transform = backend.transforms(limits)
    transform(a, b, False)
    backend.read(spectrum, b)
    transform(b, c, True)
    backend.read(back, c)
    backend.write(b, spectrum)
    transform(b, c, True, False)
    backend.read(sums, c)
    backend.sync()
    transform.release()
    arrays.free()
    wanted = np.fft.rfft(x.astype("f8"), n)
    eps = np.finfo(dtype).eps
    np.testing.assert_allclose(spectrum, wanted, rtol=0, atol=30 * eps * np.abs(wanted).max())
    np.testing.assert_allclose(back[:, :given], x, rtol=0, atol=60 * eps)
    np.testing.assert_allclose(back[:, given:], 0, rtol=0, atol=60 * eps)
    np.testing.assert_allclose(sums, n * back, rtol=0, atol=60 * eps * n)


@pytest.mark.parametrize("dtype", ["c8", "c16"])
@pytest.mark.parametrize(("rows", "given", "n"), [*SHAPES, (3, 7, 11), (2, 9, 9)])
def test_complex_forward_and_back(rows, given, n, dtype, backend, limits, rng):
    specs = ArraySpec((rows, given), dtype), ArraySpec((rows, n), dtype)
    if limits.fft == "vkfft":
        with pytest.raises(fp.ArgumentError, match="fft: got 'vkfft', wanted a library that transforms complex"):
            fft_library(limits, *specs, False)
        return
    x = (rng.standard_normal((rows, given)) + 1j * rng.standard_normal((rows, given))).astype(dtype)
    spectrum, back = np.empty((rows, n), dtype), np.empty((rows, n), dtype)
    assert fft_library(limits, *specs, False)[0] >= 0
    arrays = Arrays(backend)
    a, b, c = arrays(x), arrays(spectrum), arrays(back)
    transform = backend.transforms(limits)
    transform(a, b, False)
    backend.read(spectrum, b)
    transform(b, c, True)
    backend.read(back, c)
    backend.sync()
    transform.release()
    arrays.free()
    wanted, eps = np.fft.fft(x.astype("c16"), n), np.finfo(dtype).eps
    np.testing.assert_allclose(spectrum, wanted, rtol=0, atol=30 * eps * np.abs(wanted).max())
    np.testing.assert_allclose(back[:, :given], x, rtol=0, atol=60 * eps)
    np.testing.assert_allclose(back[:, given:], 0, rtol=0, atol=60 * eps)


@dataclass(frozen=True)
class Spectrum(Op):
    """Half or whole spectra along an axis of stacks."""

    axis: int
    n: int
    dtype: str
    inverse: bool = False

    @property
    def axes(self):
        return ("".join("." if k == self.axis else "zyx"[k] for k in range(3)),)

    @property
    def cut(self):
        return self.axes[0].replace(".", "")

    def out_specs(self, *specs):
        shape = list(specs[0].shape)
        shape[self.axis] = self.n
        return (ArraySpec(tuple(shape), self.dtype, self.axes[0]),)

    def record(self, b, *refs):
        source, out = refs
        x = b.like(source, source.spec.dtype, "what may be destroyed")
        b.fetch(source, x)
        with b.deliver(out) as y:
            b.fft(x, y, self.axis, inverse=self.inverse)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("axis", [0, 1, 2])
def test_any_axis_whole_and_in_parts(axis, kind, backend, limits, rng):
    real = np.dtype(kind).kind == "f"
    if limits.fft == "vkfft" and not real:
        pytest.skip("VkFFT serves real numbers")
    if limits.fft == "vkfft" and (axis, kind) != (0, "f4"):
        pytest.skip("VkFFT compiles every size anew: one case; rows are transformed in either dtype above")
    in_turn(limits.device, axis + KINDS.index(kind), 1 if limits.fft == "vkfft" else 2)
    x = rng.standard_normal((10, 36, 34)) + (0 if real else 1j * rng.standard_normal((10, 36, 34)))
    x, n, spectra = x.astype(kind), x.shape[axis], np.result_type(kind, np.complex64).str
    transform, back = (np.fft.rfft, np.fft.irfft) if real else (np.fft.fft, np.fft.ifft)
    wanted = transform(x.astype(np.result_type(kind, "f8")), axis=axis)
    eps = np.finfo(kind).eps
    first: list[np.ndarray] = []
    there, home = Spectrum(axis, wanted.shape[axis], spectra), Spectrum(axis, n, x.dtype.str, inverse=True)
    for divisor in (1, 3, 10):
        spectrum, again = (np.empty(a.shape, d) for a, d in ((wanted, spectra), (x, kind)))
        for op, source, result in ((there, x, spectrum), (home, spectrum, again)):
            specs = [(ArraySpec(a.shape, a.dtype.str), Given(direct=False)) for a in (source, result)]
            whole = plan_op(limits, None, "fft", op, specs[:1], specs[1:])
            try:
                plan = plan_op(limits, whole.footprint.total // divisor, "fft", op, specs[:1], specs[1:])
            except fp.BudgetError as error:
                plan = plan_op(limits, error.smallest, "fft", op, specs[:1], specs[1:])
            assert divisor == 1 or plan.n_parts > 1
            with plan.bind(backend, "ledger") as bound:
                bound(source, out=[result])
        np.testing.assert_allclose(spectrum, wanted, rtol=0, atol=30 * eps * np.abs(wanted).max())
        np.testing.assert_allclose(again, back(wanted, n, axis=axis), rtol=0, atol=60 * eps)
        first = first or [spectrum, again]
        for one, other in zip(first, (spectrum, again)):
            # VkFFT orders its sums by how many lines there are.
            near = 4 * eps * np.abs(one).max() if limits.fft == "vkfft" else 0
            np.testing.assert_allclose(one, other, rtol=0, atol=near)


def test_a_library_says_what_it_takes(limits):
    src, dst = ArraySpec((64, 1000)), ArraySpec((64, 1025), "complex64")
    for inverse in (False, True):
        nbytes, _ = fft_library(limits, *((dst, ArraySpec((64, 2048))) if inverse else (src, dst)), inverse)
        assert 0 <= nbytes < 64 << 20


def test_the_work_area_goes_with_its_transforms(backend, limits):
    if backend.limits.host:
        pytest.skip("the CPU's library frees what it takes within each call")
    arrays = Arrays(backend)
    before = backend.used()
    a, b = arrays(np.zeros((256, 3000), "f4")), arrays(np.zeros((256, 2049), "c8"))
    transform = backend.transforms(limits)
    transform(a, b, False)
    backend.sync()
    transform.release()
    arrays.free()
    if "PYTEST_XDIST_WORKER" not in os.environ:
        # modules loaded on the way stay; the arrays and the work area (3 + 4 MB and more) do not
        assert backend.used() - before < 3 << 20


def test_rows_filtered_by_a_named_library(backend, limits, rng):
    if limits.fft == backend.limits.fft and not backend.limits.host:
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
