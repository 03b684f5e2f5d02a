"""Runs one kernel of a GPU backend on NumPy arrays, for tests below the plan."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from footprint.backend.base import Backend
from footprint.backend.registry import device_limits
from footprint.kernels.common.table import state_specs, work_specs
from footprint.ops import job as job_of_ops
from footprint.plan.builder import Builder
from footprint.plan.fit import Job
from footprint.plan.plan import Plan, finish
from footprint.plan.ready import clear_cache
from footprint.plan.slots import Cut
from footprint.spec import ArraySpec, Limits

# What lies behind arrays.
_GUARD = np.full(1 << 16, 0xA5, np.uint8)


def need_gpu(backend: Backend) -> None:
    """Skip where kernels are Numba's."""
    if backend.limits.family != "gpu":
        pytest.skip("the kernels of this family are tested through their verbs")


def quick_compiler(device: str, why: str) -> None:
    """Skip where OpenCL runs on a processor, whose compiler takes half a minute for what a GPU's does in a second."""
    limits = device_limits(device)
    if device.startswith("opencl") and limits.cores < 16:
        pytest.skip(f"a processor's OpenCL takes half a minute to compile {why}; shorter ones are tested")


def in_turn(device: str, place: int, of: int) -> None:
    """Skip all cases but every ``of``-th on OpenCL, whose compiler takes as long as ten runs; CUDA runs the same text for all."""
    if device.startswith("opencl") and place % of:
        pytest.skip("OpenCL compiles a program for every border, mask and dtype, and takes them in turn; CUDA runs them all")


@contextmanager
def bound(backend: Backend, kernel: str, arrays: list[np.ndarray], **numbers: Any) -> Iterator[Any]:
    """Yield a function that runs the kernel on ``arrays`` and reads them back, numbers of a run's own replacing these.

    What it keeps and its workspace start as all ones and are kept; what lies behind each array must stay as it is.
    """
    specs = tuple(ArraySpec(a.shape, a.dtype.str) for a in arrays)
    state = state_specs(backend.limits, kernel, specs, numbers)
    scratch = work_specs(backend.limits, kernel, (*specs, *state), numbers)
    work = (*state, *scratch)
    ends = [-(-spec.nbytes // 16) * 16 for spec in (*specs, *work)]
    blocks = [backend.alloc(end + _GUARD.nbytes) for end in ends]
    views = tuple(backend.view(block, 0, spec) for block, spec in zip(blocks, (*specs, *work), strict=True))
    guards = [backend.view(block, end, ArraySpec(_GUARD.shape, "u1")) for block, end in zip(blocks, ends)]
    for guard in guards:
        backend.write(guard, _GUARD)
    for view, spec in zip(views[len(arrays) :], work, strict=True):
        if spec.nbytes:
            backend.write(view, np.full(spec.nbytes, 0xFF, np.uint8).view(spec.dtype).reshape(spec.shape))

    def run(**own: Any) -> None:
        ready = backend.compile(kernel, (*specs, *state), {**numbers, **own})
        for view, array in zip(views, arrays, strict=False):
            if array.nbytes:
                backend.write(view, array)
        backend.launch(ready, views)
        for view, array in zip(views, arrays, strict=False):
            if array.nbytes:
                backend.read(array, view)
        for guard in guards:
            behind = np.empty_like(_GUARD)
            backend.read(behind, guard)
            np.testing.assert_array_equal(behind, _GUARD, err_msg=f"{kernel} wrote behind an array")
        backend.sync()

    try:
        yield run
    finally:
        for block in blocks:
            backend.free(block)


@contextmanager
def parts(backend: Backend, kernel: str, arrays: list[np.ndarray], edges: list[int], cut: int = 1, **numbers: Any) -> Iterator[Any]:
    """Yield a function that runs the kernel on parts of rows of the first ``cut`` arrays between ``edges``, in order.

    The others, and what it keeps, which starts as zeros, stay on the device from part to part and from run to run.
    """
    most = max(stop - start for start, stop in pairwise(edges))
    specs = [ArraySpec((most, *a.shape[1:]) if i < cut else a.shape, a.dtype.str) for i, a in enumerate(arrays)]
    state = state_specs(backend.limits, kernel, tuple(specs), {**numbers, "first": 0})
    blocks = [backend.alloc(max(s.nbytes, 1)) for s in (*specs, *state)]
    stay = [backend.view(block, 0, s) for block, s in zip(blocks, (*specs, *state), strict=True)]
    for view, array in zip(stay[cut:], [*arrays[cut:], *(np.zeros(s.shape, s.dtype) for s in state)], strict=True):
        backend.write(view, array)

    def run(**own: Any) -> None:
        for start, stop in pairwise(edges):
            some = [ArraySpec((stop - start, *a.shape[1:]), a.dtype.str) for a in arrays[:cut]]
            views = [backend.view(block, 0, spec) for block, spec in zip(blocks, some, strict=False)]
            for view, array in zip(views, arrays, strict=False):
                backend.write(view, np.ascontiguousarray(array[start:stop]))
            given, now = (*some, *specs[cut:], *state), {**numbers, **own, "first": start}
            work = [backend.alloc(max(s.nbytes, 1)) for s in work_specs(backend.limits, kernel, given, now)]
            scratch = [backend.view(b, 0, s) for b, s in zip(work, work_specs(backend.limits, kernel, given, now), strict=True)]
            backend.launch(backend.compile(kernel, given, now), (*views, *stay[cut:], *scratch))
            backend.sync()
            for view, array in zip(views, arrays, strict=False):
                backend.read(array[start:stop], view)
            for block in work:
                backend.free(block)
        for view, array in zip(stay[cut:], arrays[cut:], strict=False):
            backend.read(array, view)
        backend.sync()

    try:
        yield run
    finally:
        for block in blocks:
            backend.free(block)


def run(backend: Backend, kernel: str, *arrays: np.ndarray, **numbers: Any) -> None:
    """Run a kernel once."""
    with bound(backend, kernel, list(arrays), **numbers) as once:
        once()


@contextmanager
def cut_into(rows: int) -> Iterator[None]:
    """Have every job be cut into parts of so many rows, wherever parts should begin; no job is cut where ``rows`` is 0."""

    def fit(limits: Limits, budget: int | None, name: str, job: Job) -> Plan:
        cuts = [Cut(axis, total, min(rows, total), unit) for axis, total, unit in job.axes[:1] if rows]
        builder = Builder(limits, tuple(cuts))
        job.record(builder)
        return finish(builder, name)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(job_of_ops, "fit", fit)
        clear_cache()
        yield
    clear_cache()
