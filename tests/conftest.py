"""Fixtures of every room: ``backend`` runs a test on each device found, ``data`` finds the real scans and images."""

from __future__ import annotations

import gc
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import hypothesis
import numpy as np
import pytest

from footprint import settings
from footprint.backend.registry import device_limits, devices, open_backend
from footprint.plan import exact, ready
from footprint.plan.results import Results

# No test fails for want of speed, as a busy machine would have it.
hypothesis.settings.register_profile("footprint", deadline=None)
hypothesis.settings.load_profile("footprint")

# Compiled once, shared by every run of the tests on this machine.
os.environ.setdefault("NUMBA_CACHE_DIR", str(settings.cache_dir() / "numba"))

# Programs that tests start are of this tree, as tests are: what is installed would be compiled anew, and may be older.
os.environ["PYTHONPATH"] = os.pathsep.join([str(Path(__file__).parents[1]), *filter(None, [os.environ.get("PYTHONPATH")])])

# Workspaces, and so budgets, grow with the threads: two everywhere, so that a test means the same on every machine.
os.environ.setdefault("FOOTPRINT_THREADS", "2")

# Two workers share the cores: threads that spin while they wait take them from each other.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")

# Every plan that runs is watched: bytes needed twice, copies taken too early, windows beyond a slot, content read when it is dead.
os.environ.setdefault("FOOTPRINT_CHECK", "ledger")

_NAMED = "FOOTPRINT_TEST_DEVICES" in os.environ
_WANTED = os.environ.get("FOOTPRINT_TEST_DEVICES", "cpu,opencl,cuda").split(",")
_ABSENT: dict[str, str] = {}


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Collect tests without looking for garbage, of which they make none: they stay, and no later look goes through them again."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.freeze()
        # Compilers make millions of objects that stay: 8 % of a hundred seconds went into looking for garbage among them.
        gc.set_threshold(50_000, 20, 20)
        gc.callbacks.append(_looks)


_began = _longest = 0.0


def _looks(phase: str, info: dict[str, int]) -> None:
    """See how long looks for garbage through everything take."""
    global _began, _longest
    if info["generation"] < 2:
        return
    if phase == "start":
        _began = time.perf_counter()
    else:
        _longest = max(_longest, time.perf_counter() - _began)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Where looks have become long, later ones leave out what is there before a test: most of it kernels', which stay for good.

    Hundreds are compiled, each followed by such a look, and a seventh of all the time went into these.
    """
    global _longest, _short
    _short = item.get_closest_marker("short_runs") is not None
    if _longest > 0.03:
        gc.collect()
        gc.freeze()
        _longest = 0.0


# Texts of which there is a program for every border, mask, length or dtype, each for a run or two of a few pixels.
_MANY = ("convolve.knl", "separable.knl", "column.knl", "rank_filter.knl", "rank_chosen.knl", "pad.knl", "pad_fill.knl")
_MANY += ("fft.knl", "fft_lines.knl", "ramp_filter.knl", "paganin.knl", "mesh_cells.knl")
# Whether the test that runs is marked as one whose programs of any text run for so short.
_short = False


class _Apart(dict[Any, Any]):
    """Programs of tests with `short_runs` beside those of others, which may run them for long."""

    def __contains__(self, key: object) -> bool:
        return super().__contains__((key, _short))

    def __getitem__(self, key: Any) -> Any:
        return super().__getitem__((key, _short))

    def __setitem__(self, key: Any, program: Any) -> None:
        super().__setitem__((key, _short), program)


def _as_written(name: str) -> None:
    """Let a processor's OpenCL build programs of those texts, or for tests with `short_runs`, unoptimised, in half the time.

    It stands in for GPUs, whose compilers are others, to show that texts are right; a GPU builds what users run.
    """
    if device_limits(name).cores >= 16:
        return
    from footprint.backend.opencl import OpenClBackend

    compiled = OpenClBackend._compiled

    def quickly(self: OpenClBackend, launch: Any) -> Any:
        if not _short and launch.source not in _MANY:
            return compiled(self, launch)
        os.environ["PYOPENCL_BUILD_OPTIONS"] = "-cl-opt-disable"
        try:
            return compiled(self, launch)
        finally:
            os.environ.pop("PYOPENCL_BUILD_OPTIONS", None)

    def opened(self: OpenClBackend, index: int = 0) -> None:
        made(self, index)
        self._programs = _Apart()

    made, OpenClBackend.__init__ = OpenClBackend.__init__, opened
    OpenClBackend._compiled = quickly


def _backends() -> list[object]:
    """One parameter a device; a kind with no device has no cases, and the end of a run says why.

    Where kinds are named (FOOTPRINT_TEST_DEVICES), it is a parameter that skips: what was asked for is not passed over.
    """
    found = []
    for name, problem in devices():
        kind = name.partition(":")[0]
        if kind == "null" or kind not in _WANTED:
            continue
        if problem and not _NAMED:
            _ABSENT[name] = problem
            continue
        marks = [pytest.mark.skip(reason=problem)] if problem else []
        if name == "opencl:0":
            _as_written(name)
        found.append(pytest.param(name, marks=marks, id=name))
    return found


@pytest.fixture(params=_backends())
def device(request: pytest.FixtureRequest) -> str:
    """Name of a device, once for each found."""
    return request.param


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Say which devices no test ran on."""
    for problem in _ABSENT.values():
        terminalreporter.write_line(f"not run on all kinds of devices: {problem}")


@pytest.fixture
def backend(device: str):
    """An open backend, once for each device found."""
    return open_backend(device)


@pytest.fixture
def rng() -> np.random.Generator:
    """Random numbers, the same in every run."""
    return np.random.default_rng(20261121)


@pytest.fixture
def nothing_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """No memory of results that earlier tests have let go of, nor what they asked for, which count as kept, whatever ran before."""
    monkeypatch.setattr(ready, "RESULTS", Results())
    exact.forget()


@pytest.fixture(scope="session")
def data() -> Path:
    """Folder of real scans and images: FOOTPRINT_DATA, or shared/data beside the checkout."""
    folder = settings.data_dir() or Path(__file__).resolve().parents[2] / "shared" / "data"
    if not folder.is_dir():
        pytest.skip(f"no real data: {folder} is missing; set FOOTPRINT_DATA to its folder")
    return folder
