"""On a real NVIDIA device: other libraries' arrays, streams, and that memory is what the plan says."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest
import scipy.ndimage

import footprint as fp
from footprint.backend.registry import open_backend, placed_on
from footprint.cli.lesson import STEPS, lesson

# cudaMalloc hands out whole pages of this size; a block's last one is the driver's rounding.
PAGE = 2 << 20
# CuPy's pool hands out multiples of this.
UNIT = 512


def held(cuda) -> int:
    """Bytes of the device in use by everybody, as the driver counts them."""
    cuda.cuda.Device(0).synchronize()
    cuda.get_default_memory_pool().free_all_blocks()
    free, total = cuda.cuda.runtime.memGetInfo()
    return total - free


@pytest.fixture
def image(rng):
    return rng.standard_normal((301, 517), "f4")


@pytest.fixture
def mask(rng):
    return rng.standard_normal((5, 5), "f4")


@pytest.mark.parametrize("library", ["cupy", "torch", "jax", "numba"])
def test_device_arrays_come_in_and_go_out_in_kind(cuda, library, image, mask):
    module = pytest.importorskip(library)
    if library == "cupy":
        given = cuda.asarray(image)
    elif library == "torch":
        given = module.from_numpy(image).cuda()
    elif library == "jax":
        given = module.device_put(image, module.devices("gpu")[0])
    else:
        numba_cuda = pytest.importorskip("numba.cuda")
        given = numba_cuda.to_device(image)
    result = fp.convolve(given, mask)
    back = cuda.from_dlpack(result) if hasattr(result, "__dlpack__") else cuda.asarray(result)
    wanted = scipy.ndimage.convolve(image.astype("f8"), mask.astype("f8"), mode="constant")
    np.testing.assert_allclose(back.get(), wanted, atol=1e-4)
    assert type(result).__module__.partition(".")[0] == type(given).__module__.partition(".")[0]


@pytest.mark.parametrize("library", ["cupy", "torch"])
@pytest.mark.parametrize("taps", [(4, 5), (1, 3), (70, 65)])
def test_masks_on_the_device_are_looked_at_anew_by_every_call(cuda, library, taps, image, rng):
    """Turned on their way into the table, or copied where there is none; also one changed in place, or of another dtype."""
    there = cuda.asarray if library == "cupy" else lambda a: pytest.importorskip("torch").from_numpy(a).cuda()
    given = there(image)
    last = there(np.zeros(taps, "f4"))
    # SciPy turns a mask of even size about the sample behind ours.
    oracles = {fp.convolve: scipy.ndimage.convolve, fp.correlate: scipy.ndimage.correlate}
    behind = {fp.convolve: [-(n % 2 == 0) for n in taps], fp.correlate: 0}
    for turn, verb in enumerate(2 * list(oracles)):
        for kind in ("f4", "f8"):
            mask = rng.standard_normal(taps)
            wanted = oracles[verb](image.astype("f8"), mask.astype(kind), mode="constant", origin=behind[verb])
            for weights in (there(mask.astype(kind)), last if kind == "f4" else None):
                if weights is last:
                    last[...] = there(mask.astype("f4"))
                if weights is not None:
                    got = verb(given, weights)
                    got = got.get() if library == "cupy" else got.cpu().numpy()
                    np.testing.assert_allclose(got, wanted, atol=1e-6 * np.abs(mask).sum() * 5, err_msg=f"{turn} {kind}")


def test_a_device_array_is_not_copied(cuda, mask):
    image = cuda.zeros((4096, 4096), "f4")
    out = cuda.empty_like(image)
    plan = fp.plan_convolve(image.shape, mask.shape, device="null:h100")
    assert plan.nbytes > 2 * image.nbytes
    before = held(cuda)
    fp.convolve(image, mask, out=out, memory="1MB", device="cuda")
    assert held(cuda) - before < image.nbytes


def test_a_strided_device_array_gives_what_its_copy_gives(cuda, image, mask):
    there = cuda.asarray(image)
    for view in (there[:, ::2], there.T, there[::-1]):
        result = fp.convolve(view, mask)
        np.testing.assert_array_equal(result.get(), fp.convolve(cuda.ascontiguousarray(view), mask).get())


def test_the_callers_stream_is_used(cuda, image, mask):
    with cuda.cuda.Stream(non_blocking=True):
        given = cuda.asarray(image) * 2
        result = fp.convolve(given, mask)
    wanted = scipy.ndimage.convolve(2 * image.astype("f8"), mask.astype("f8"), mode="constant")
    np.testing.assert_allclose(result.get(), wanted, atol=2e-4)


@pytest.mark.parametrize("shape", [(1000, 1000), (3000, 4097), (1, 10**7)])
@pytest.mark.parametrize("budget", ["3MB", "20MB", "200MB", None])
def test_device_memory_stays_within_the_plan(cuda, shape, budget):
    backend = open_backend("cuda")
    try:
        plan = fp.plan_convolve(shape, (1, 5) if shape[0] == 1 else (5, 5), memory=budget, device="cuda")
    except fp.BudgetError as error:
        assert error.smallest > error.budget
        return
    plan.bind(backend).free()  # load the kernels: code is the context's
    pool = cuda.get_default_memory_pool()
    before, in_use = held(cuda), pool.used_bytes()
    with plan.bind(backend):
        # The pool is asked for what the plan says, to its unit; the driver may answer from a chunk that it kept.
        asked = pool.used_bytes() - in_use
        assert plan.nbytes <= asked <= plan.nbytes + UNIT * len(plan.blocks)
        assert held(cuda) - before <= plan.nbytes + PAGE * len(plan.blocks)
    assert held(cuda) <= before + PAGE


def test_a_thousand_runs_leak_nothing(cuda, image, mask):
    for _ in range(20):
        fp.convolve(image, mask, device="cuda")
    before = held(cuda)
    for _ in range(1000):
        fp.convolve(image, mask, device="cuda")
    assert held(cuda) <= before + PAGE


def test_memory_taken_between_plan_and_bind(cuda):
    plan = fp.plan_convolve((16384, 16384), (5, 5), device="cuda")
    backend = open_backend("cuda")
    held(cuda)
    free, _ = cuda.cuda.runtime.memGetInfo()
    other = cuda.cuda.runtime.malloc(free - plan.nbytes // 2)
    try:
        before = held(cuda)
        with pytest.raises(fp.BackendError, match=r"planned.*free now"):
            plan.bind(backend)
        assert held(cuda) <= before + PAGE
    finally:
        cuda.cuda.runtime.free(other)


def test_binaries_are_kept_across_processes(cuda, tmp_path):
    code = "import numpy as np, footprint as fp;fp.convolve(np.ones((64, 64), 'f4'), np.ones((21, 21), 'f4'), device='cuda')"
    environment = {**os.environ, "FOOTPRINT_CACHE": str(tmp_path)}
    seen = []
    for _ in range(2):
        subprocess.run([sys.executable, "-c", code], check=True, env=environment)
        seen.append({path.name: path.stat().st_mtime_ns for path in (tmp_path / "cuda").iterdir()})
    assert seen[0] and seen[0] == seen[1]


def test_indices_past_32_bits(cuda):
    n = (1 << 31) + 4099
    held(cuda)
    free, _ = cuda.cuda.runtime.memGetInfo()
    if free < 3 * 4 * n:
        pytest.skip(f"needs {3 * 4 * n} bytes of device memory, {free} are free")
    signal = cuda.zeros(n, "f4")
    signal[-3:] = cuda.asarray([1, 2, 3], "f4")
    signal[1 << 31] = 5
    result = fp.convolve(signal, np.array([1, 10, 100], "f4"))
    np.testing.assert_array_equal(result[-4:].get(), [1, 12, 123, 230])
    np.testing.assert_array_equal(result[(1 << 31) - 1 : (1 << 31) + 2].get(), [5, 50, 500])


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_a_stack_shifts_in_place(cuda, dtype, rng):
    radios = rng.standard_normal((5, 100, 130)).astype(dtype)
    shifts = np.array([0, 3.25, -4.5, 200.0, -0.75])
    wanted = fp.vertical_shift(radios, shifts, device="cpu")
    given = cuda.asarray(radios)
    fp.vertical_shift(given, shifts, out=given)
    np.testing.assert_allclose(given.get(), wanted, atol=1e-5 if dtype == "f4" else 1e-12)


def test_a_call_leaves_the_current_device_as_it_was(cuda, image, mask):
    if cuda.cuda.runtime.getDeviceCount() < 2:
        pytest.skip("there is one device")
    for there in (0, 1):
        for here in (0, 1):
            with cuda.cuda.Device(there):
                given = cuda.asarray(image)
            with cuda.cuda.Device(here):
                for _ in range(3):
                    fp.convolve(given, mask)
                    assert cuda.cuda.runtime.getDevice() == here


def test_one_bound_plan_on_two_streams_keeps_its_memory_to_one_job_at_a_time(cuda, rng):
    sinograms = [rng.random((8, 200, 3000), np.float32) for _ in range(2)]
    given = [cuda.asarray(s) for s in sinograms]
    want = [fp.ramp_filter(s, fft="cufft").get() for s in given]
    streams = [cuda.cuda.Stream(non_blocking=True) for _ in range(2)]
    got = [None, None]
    for _ in range(5):
        for k, stream in enumerate(streams):
            with stream:
                got[k] = fp.ramp_filter(given[k], fft="cufft")
        for k, stream in enumerate(streams):
            stream.synchronize()
            np.testing.assert_allclose(got[k].get(), want[k], atol=1e-4 * np.abs(want[k]).max())


def test_the_lesson_is_timed_with_and_without_transfers(cuda, image):
    there = placed_on("cuda:0", image)
    assert isinstance(there, cuda.ndarray) and np.array_equal(there.get(), image)
    figures, problems = lesson(image, ["cpu", "cuda:0"], 3.0, 3.0, 8)
    assert not problems and list(figures["seconds"]) == ["cpu", "cuda:0", "cuda:0, arrays there"]
    assert all(tuple(steps) == STEPS for steps in figures["seconds"].values())
    assert figures["islands"] == scipy.ndimage.label(image > 3 * figures["after"]["std"], np.ones((3, 3)))[1]
