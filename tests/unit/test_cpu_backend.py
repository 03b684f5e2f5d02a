"""The CPU backend: exact blocks, row FFTs into given memory, casting copies, no allocation while running."""

import os
import subprocess
import sys
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

import footprint as fp
from footprint.backend import memory
from footprint.backend.cpu import CpuBackend
from footprint.backend.fft.numpy import RowFFT, library
from footprint.backend.memory import PeakMeter, free_host_bytes
from footprint.backend.registry import choose_device, device_limits, devices, open_backend
from footprint.errors import ArgumentError, BackendError, FootprintError
from footprint.plan.fit import build
from footprint.plan.slots import Given
from footprint.spec import ArraySpec, Limits

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize(("rows", "width", "padded"), [(1, 1, 2), (7, 5, 12), (64, 100, 240), (33, 33, 66), (5, 14, 14)])
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_row_fft_there_and_back(threads, rows, width, padded, dtype, rng):
    x = rng.random((rows, width)).astype(dtype)
    spectrum = np.full((rows, padded // 2 + 1), np.nan, np.result_type(dtype, "c8"))
    back = np.full((rows, padded), np.nan, dtype)
    fft = RowFFT(threads)
    fft(x, spectrum, inverse=False)
    np.testing.assert_allclose(spectrum, np.fft.rfft(x.astype("f8"), padded, axis=1), atol=1e-5 * padded)
    fft(spectrum, back, inverse=True)
    np.testing.assert_allclose(back[:, :width], x, atol=1e-5)
    np.testing.assert_allclose(back[:, width:], 0, atol=1e-5)


def test_row_fft_allocates_no_array(rng):
    x = rng.random((512, 2048)).astype("f4")
    spectrum, fft = np.empty((512, 2049), "c8"), RowFFT(2)
    back = np.empty((512, 4096), "f4")
    fft(x, spectrum, False)
    fft(spectrum, back, True)
    tracemalloc.start()
    fft(x, spectrum, False)
    fft(spectrum, back, True)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 64 << 10


def test_transforms_in_place_copy_a_few_rows_at_a_time(rng):
    """NumPy copies what overlaps: whole, that would be as much again as the rows themselves."""
    x = (rng.random((700, 1536)) + 1j * rng.random((700, 1536))).astype("c8")
    want, fft = np.fft.ifft(x.astype("c16")), RowFFT(2)
    bound = library(Limits(threads=2), ArraySpec(x.shape, "c8"), ArraySpec(x.shape, "c8"), True)[0]
    assert bound < x.nbytes // 2
    fft(x[:64].copy(), x[:64].copy(), True)
    tracemalloc.start()
    fft(x, x, True)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak <= bound
    np.testing.assert_allclose(x, want, rtol=0, atol=1e-6)


def test_pocketfft_stays_under_its_bound(rng):
    rows, n = 64, 1 << 20
    x, spectrum = np.ones((rows, n // 2), "f4"), np.ones((rows, n // 2 + 1), "c8")
    fft = RowFFT(2)
    fft(x[:2], spectrum[:2, :5], False)
    with PeakMeter() as meter:
        fft(x, spectrum, False)
    if not meter.known:
        pytest.skip("this system does not tell the process's peak")
    assert meter.growth <= library(Limits(threads=2), ArraySpec(x.shape), ArraySpec(spectrum.shape, "c8"), False)[0]


@pytest.mark.parametrize("dtype", [">f4", "<u2", "f8", "f2"])
@pytest.mark.parametrize("strided", [False, True])
def test_bring_converts_in_windows(dtype, strided, rng):
    x = (100 * rng.random((11, 6))).astype(dtype)
    x = x[::-1, ::2] if strided else x
    out = np.empty(x.shape, "f4")

    def record(b):
        source = b.inp(ArraySpec(x.shape, x.dtype.str), "x", Given("host", not strided and x.dtype.isnative))
        target = b.out(ArraySpec(x.shape), "y")
        brought = b.bring(source, "float32")
        with b.repeat(3) as loop:
            b.copy(brought.window(loop, 4), target.window(loop, 4))

    backend = CpuBackend()
    with build(backend.limits, "job", record).bind(backend) as bound:
        bound(x, out=[out])
    np.testing.assert_array_equal(out, x.astype("f4"))


@pytest.mark.parametrize("order", ["C", "F", "cropped"])
@pytest.mark.parametrize("dtype", ["f4", ">f8"])
def test_parts_of_parts_of_strided_arrays(order, dtype, rng):
    """Windows of the rows of a stack, to and from arrays whose strides no reshape keeps and whose dtype is not the slot's."""
    x = rng.random((3, 7, 5)).astype(dtype)
    given = {"C": x, "F": np.asfortranarray(x), "cropped": np.pad(x, ((0, 0), (1, 2), (3, 1)))[:, 1:-2, 3:-1]}[order]
    out = np.zeros_like(given, subok=False)

    def record(b):
        a, c = (kind(ArraySpec(x.shape), given=Given(direct=False)) for kind in (b.inp, b.out))
        here = b.bring(a)
        with b.deliver(c) as there, b.repeat(3) as z:
            with b.repeat(3) as rows:
                b.copy(here.row(z).window(rows, 3), there.row(z).window(rows, 3))
            b.copy(here.row(z)[6], there.row(z)[6])

    backend = CpuBackend()
    with build(backend.limits, "job", record).bind(backend) as bound:
        # As verbs hand in what a plan copies; a caller gives what the plan was made for.
        bound.whole([given], [out])
    np.testing.assert_array_equal(out, x.astype("f4"))


@pytest.mark.parametrize("order", ["F", "cropped"])
def test_slices_by_parts_from_strided_sinograms(order, rng):
    x = rng.random((3, 64, 96), np.float32)
    given = np.asfortranarray(x) if order == "F" else np.pad(x, ((0, 0), (0, 0), (1, 2)))[..., 1:-2]
    options = {"method": "direct", "device": "cpu", "memory": 200_000}
    np.testing.assert_array_equal(fp.fbp(given, **options), fp.fbp(x, **options))


def test_alloc_is_exact_aligned_and_refused_in_words():
    backend = CpuBackend()
    block = backend.alloc(1000)
    assert block.nbytes == 1000 and block.ctypes.data % backend.limits.align == 0
    with pytest.raises(BackendError, match="could not provide 1 EiB"):
        backend.alloc(1 << 60)


def test_adopted_read_only_arrays_are_aliases():
    x = np.arange(12, dtype="f4").reshape(3, 4)
    x.flags.writeable = False
    view = CpuBackend().adopt(x, 16, ArraySpec((2, 4)))
    assert view.flags.writeable and np.shares_memory(view, x) and view[0, 0] == 4


def test_meter_sees_growth():
    """In a process of its own: what other tests' threads give back meanwhile would count against the growth."""
    code = """
import numpy as np
from footprint.backend.memory import PeakMeter, free_host_bytes, resident_bytes
with PeakMeter() as meter:
    x = np.ones(50 << 20, np.uint8)
    del x
print(meter.known, meter.growth >> 20, resident_bytes() > 0, free_host_bytes() > 0)
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stderr
    known, growth, *others = done.stdout.split()
    if known == "False":
        pytest.skip("this system does not tell the process's peak")
    assert 45 <= int(growth) <= 60 and others == ["True", "True"]


def test_threads_meet_where_numba_has_only_its_own_layer():
    """Its workqueue ends the process when two threads meet in parallel code."""
    code = """
import numpy as np, footprint as fp
from concurrent.futures import ThreadPoolExecutor
x = np.random.default_rng(0).random((300, 700), np.float32)
def over(_):
    return fp.threshold(fp.vertical_shift(x[None], np.zeros(1), device="cpu")[0], 0.5, device="cpu")

with ThreadPoolExecutor(4) as pool:
    out = list(pool.map(over, range(60)))
print(all(np.array_equal(one, x > 0.5) for one in out))
"""
    environment = os.environ | {"NUMBA_THREADING_LAYER": "workqueue", "FOOTPRINT_THREADS": "2", "NUMBA_NUM_THREADS": "2"}
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=environment, capture_output=True, text=True, timeout=240)
    assert done.stdout == "True\n", done.stderr


def test_free_memory_knows_the_groups_around_a_job(tmp_path, monkeypatch):
    """A batch system limits a group far below the root; the pages of files that were read count there as used."""
    step = tmp_path / "slurm" / "job" / "step"
    step.mkdir(parents=True)
    (tmp_path / "self").write_text("4:memory:/other\n0::/slurm/job/step\n")
    for group, limit, used, cached in ((step, "max", 800, 0), (step.parent, "1000", 900, 700), (tmp_path, "5000", 1000, 0)):
        (group / "memory.max").write_text(limit + "\n")
        (group / "memory.current").write_text(f"{used}\n")
        (group / "memory.stat").write_text(f"anon 10\ninactive_file {cached}\n")
    monkeypatch.setattr(memory, "_GROUPS", tmp_path)
    monkeypatch.setattr(memory, "_SELF", tmp_path / "self")
    assert free_host_bytes() == 800
    (step.parent / "memory.stat").unlink()
    assert free_host_bytes() == 100
    (tmp_path / "self").write_text("0::/\n")
    assert free_host_bytes() == 4000


@pytest.mark.parametrize("kinds", ["memory", "cpu,memory"])
@pytest.mark.parametrize("lies", ["slurm/job", ""])
def test_free_memory_knows_groups_of_version_1(tmp_path, monkeypatch, kinds, lies):
    """A job planned beyond its group's limit, and was killed for it. In a container the root of the tree is its own group."""
    job = tmp_path / kinds / lies
    job.mkdir(parents=True)
    (tmp_path / "unified").mkdir()
    for name, text in (("limit_in_bytes", "1000"), ("usage_in_bytes", "900"), ("stat", "cache 9\ntotal_inactive_file 300")):
        (job / f"memory.{name}").write_text(f"{text}\n")
    (tmp_path / "self").write_text(f"9:pids:/\n4:{kinds}:/slurm/job\n1:name=systemd:/a:b\n0::/\n")
    monkeypatch.setattr(memory, "_GROUPS", tmp_path)
    monkeypatch.setattr(memory, "_SELF", tmp_path / "self")
    assert free_host_bytes() == 400
    if lies:
        (tmp_path / kinds / "memory.limit_in_bytes").write_text("9223372036854771712\n")
        (tmp_path / kinds / "memory.usage_in_bytes").write_text("5000\n")
        assert free_host_bytes() == 400
    # A group of version 2 beside them may be the tighter one.
    (tmp_path / "unified/memory.max").write_text("70\n")
    (tmp_path / "unified/memory.current").write_text("20\n")
    assert free_host_bytes() == 50


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells what addresses are taken")
def test_free_memory_knows_the_limit_on_addresses():
    """`ulimit -v`: the default budget was four fifths of the machine's memory."""
    code = """
import resource
from footprint.backend.memory import free_host_bytes
before = next(int(line.split()[1]) << 10 for line in open("/proc/self/status") if line.startswith("VmSize"))
resource.setrlimit(resource.RLIMIT_AS, (before + (30 << 20), resource.RLIM_INFINITY))
print(free_host_bytes())
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert 25 << 20 < int(done.stdout) <= 30 << 20, done.stderr


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells what addresses are taken")
def test_no_more_threads_are_started_than_addresses_have_room_for():
    """`ulimit -v`: OpenMP printed a line of its own and ended the process, so that nothing was cleaned up."""
    code = """
import resource
import numpy as np, footprint as fp
from footprint.backend.cpu import _numba
image = np.random.default_rng(0).random((700, 800), np.float32)
_numba()
before = next(int(line.split()[1]) << 10 for line in open("/proc/self/status") if line.startswith("VmSize"))
resource.setrlimit(resource.RLIMIT_STACK, (64 << 20, resource.getrlimit(resource.RLIMIT_STACK)[1]))
resource.setrlimit(resource.RLIMIT_AS, (before + (200 << 20), resource.RLIM_INFINITY))
_numba.cache_clear()
print(float(fp.gaussian_filter(image, 2, device="cpu", memory="30MB").mean()))
"""
    environment = os.environ | {"FOOTPRINT_THREADS": "16", "NUMBA_NUM_THREADS": "16", "OMP_STACKSIZE": "64M", "FOOTPRINT_CHECK": ""}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, env=environment)
    assert done.returncode == 0 and abs(float(done.stdout) - 0.5) < 0.01, done.stderr


@pytest.mark.parametrize("name", ["gpu", "cuda:x", "", "cpu0", None, 3, "cpu:", "cpu:²", "cpu:-1", "null:", "cpu:7"])
def test_unknown_device_is_one_sentence(name):
    with pytest.raises((ArgumentError, BackendError), match="device"):
        device_limits(choose_device(name))


def test_the_processor_is_number_0_and_there_is_no_other():
    assert device_limits("cpu:0").device == open_backend("cpu:0").limits.device == "cpu"
    assert open_backend("cpu") is open_backend("cpu:0") is open_backend(choose_device("cpu"))
    for use in (device_limits, open_backend):
        with pytest.raises(BackendError, match="cpu:7: there is one CPU device; give cpu"):
            use("cpu:7")


def test_devices_lists_all_kinds():
    names = {name.partition(":")[0] for name, _ in devices()}
    assert names == {"cpu", "cuda", "opencl", "null"}
    assert open_backend("cpu").limits.device == "cpu"


def test_auto_obeys_the_environment(monkeypatch):
    monkeypatch.setenv("FOOTPRINT_DEVICE", "null")
    assert choose_device("auto") == "null"
    assert choose_device("auto", like="cuda:1") == "cuda:1"
    assert choose_device("cpu") == "cpu"
    monkeypatch.setenv("FOOTPRINT_DEVICE", "auto")
    assert choose_device("auto") in ("cpu", "cuda")
    monkeypatch.setenv("FOOTPRINT_DEVICE", "abacus")
    with pytest.raises(ArgumentError, match="FOOTPRINT_DEVICE: got 'abacus', wanted auto, cpu, "):
        choose_device("auto")


def test_an_array_in_other_axes_is_a_view_of_it():
    """A window onto its bytes by ctypes took eight of the fifty microseconds that padding a small image takes."""
    array = np.zeros((4, 5), "f4")
    assert open_backend("cpu").adopt(array, 0, ArraySpec((1, 4, 5), "<f4")).base is array


_HOLE = """
import ctypes, sys
import numpy as np
from footprint.backend.cpu import CpuBackend
from footprint.backend.memory import PeakMeter

# Freed, it has later ones come from the heap, where NumPy asks for large pages for the second; what comes last keeps the hole.
first = np.ones(15 << 18)
del first
second = np.ones(2 << 20)
last = [np.ones(12000) for _ in range(20)]
del second
ctypes.CDLL(None).malloc_trim(0)
block = CpuBackend().alloc(1 << 20)
with PeakMeter() as meter:
    few = np.empty(7 << 19, np.uint8)
    few[:: 1 << 19] = 1
print(meter.growth if meter.known else 0)
"""


def test_where_a_large_array_was_a_few_bytes_take_ordinary_pages():
    """In a hole of the heap that NumPy had advised, eight touched bytes took 4 MiB."""
    done = subprocess.run([sys.executable, "-c", _HOLE], capture_output=True, text=True, cwd=ROOT, timeout=60)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) < 512 << 10


@pytest.mark.parametrize(("own", "looks"), [({}, "10000"), ({"GOMP_SPINCOUNT": "77"}, "77")], ids=str)
def test_threads_without_work_sleep_soon_unless_the_user_says_when(own, looks):
    """Each kept a core busy for 5 ms after every kernel, and other programs from it."""
    code = "import os; from footprint.backend.cpu import _numba; print(_numba().layer, os.environ.get('GOMP_SPINCOUNT'))"
    env = {name: value for name, value in os.environ.items() if name not in ("GOMP_SPINCOUNT", "OMP_WAIT_POLICY")}
    env |= own | {"PYTHONPATH": str(ROOT), "OMP_DISPLAY_ENV": "verbose"}
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True)
    layer, left = done.stdout.split()
    assert left == own.get("GOMP_SPINCOUNT", "None")
    # Only GNU's says so.
    if layer == "omp" and "GOMP_SPINCOUNT" in done.stderr:
        assert f"GOMP_SPINCOUNT = '{looks}'" in done.stderr


def test_a_device_is_bound_to_by_its_name():
    image, out = np.random.default_rng(1).random((40, 30), np.float32), np.empty((40, 30), np.float32)
    plan = fp.plan_gaussian_filter(image.shape, 2, device="cpu")
    with plan.bind("cpu") as bound:
        bound(image, out=[out])
    np.testing.assert_array_equal(out, fp.gaussian_filter(image, 2, device="cpu"))
    with pytest.raises(BackendError, match="null: it only plans"):
        plan.bind("null")
    for wrong in None, image, fp:
        with pytest.raises(ArgumentError, match=r"device: got .*, wanted a device's name such as 'cpu' or 'cuda:0'"):
            plan.bind(wrong)
    # Without a name it is the plan's own; where that only plans, what functions choose.
    plans = plan, fp.plan_gaussian_filter(image.shape, 2, device="null")
    for given in ({}, {"device": "auto"}, {"device": "cpu"}):
        for one in plans:
            with one.bind(**given) as bound:
                assert bound.backend.limits.device == "cpu"
                bound(image, out=[out])
    for name in "cup", "cuda:*":
        with pytest.raises(FootprintError):
            plan.bind(name)
