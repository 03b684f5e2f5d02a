"""Run one job on two devices: do they agree, and what does the second buy?"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from footprint.api.convolve import convolve, plan_convolve
from footprint.api.fbp import fbp, plan_fbp
from footprint.api.find_sources import find_sources
from footprint.backend.device import parse
from footprint.backend.registry import choose_device, running_backend
from footprint.backend.registry import devices as all_devices
from footprint.errors import ArgumentError, choose
from footprint.plan.ready import bind

Plan = Any

JOBS = ("convolve", "fbp", "sources")
# The largest difference between devices that float32 arithmetic in another order explains, relative to the largest value.
TOLERANCE = {"convolve": 2e-6, "fbp": 5e-5, "sources": 1e-5}
_TURNS = 5
_HERE = "'footprint devices' lists what is here, and what is missing"


@dataclass(frozen=True)
class Verdict:
    """One device's run.

    Attributes
    ----------
    device
        Its name.
    seconds
        Median of a whole call, from host array to host array: transfers and set-up counted.
    work
        Seconds of the kernels alone, each waited for; None where the job makes several passes.
    largest, rms
        Difference to the first device, relative to the largest value.
    agrees
        Whether ``largest`` is within the tolerance.
    """

    device: str
    seconds: float
    work: float | None
    largest: float
    rms: float
    agrees: bool


def verify(job: str, devices: Sequence[str] | None = None, *, size: int = 1024, seed: int = 0) -> list[Verdict]:
    """Run one job on several devices with the same random data and compare results and times.

    Parameters
    ----------
    job : {"convolve", "fbp", "sources"}
        A 13 x 13 convolution of a size x size image; FBP of 3/4 size angles of size pixels; the sources of a size x size field.
    devices : sequence of str, optional
        Two or more, all different; the first is the one the others are compared with. By default the CPU, and the first device of
        every other kind found here.
    size : int
        Pixels a side, at least 32.
    seed : int
        Of the data.

    Returns
    -------
    list of Verdict
        One per device, in order.

    Raises
    ------
    ArgumentError, BackendError
        For an unknown job, a device that is not available, or none to compare with.

    Examples
    --------
    >>> import footprint as fp
    >>> here = [name for name, missing in fp.devices() if not missing and not name.startswith("null")]
    >>> len(here) < 2 or all(v.agrees for v in fp.verify("convolve", here[:2], size=64))
    True
    """
    choose("job", job, JOBS)
    if not isinstance(size, int | np.integer) or size < 32:
        raise ArgumentError("size", repr(size), "a whole number of pixels, 32 or more")
    devices = _found() if devices is None else devices
    if isinstance(devices, str) or len(devices) < 2:
        raise ArgumentError("devices", repr(devices), "two devices or more in a list, such as ['cpu', 'cuda']", _HERE)
    # Before the first runs: one that is not here is the user's to know at once.
    seen: dict[tuple[str, int, str], str] = {}
    for device in devices:
        for one in choose_device(device).each:
            running_backend(str(one))
            key = (one.kind, one.number, one.profile)
            if key in seen:
                again = f"{device!r} again" if device == seen[key] else f"{seen[key]!r} and {device!r}, which are one device"
                raise ArgumentError("devices", again, "devices that differ, as each agrees with itself", _HERE)
            seen[key] = device
    call, plan, arrays = _job(job, size, np.random.default_rng(seed))
    found: list[Verdict] = []
    first: np.ndarray | None = None
    for device in devices:
        result = call(device)
        seconds = []
        for _ in range(_TURNS):
            start = time.perf_counter()
            result = call(device)
            seconds.append(time.perf_counter() - start)
        first = result if first is None else first
        scale = float(np.abs(first).max(initial=0)) or 1.0
        same = result.shape == first.shape
        difference = (result - first) / scale if same else np.array([np.inf])
        largest = float(np.abs(difference).max(initial=0))
        work = _work(plan(device), arrays, device) if plan else None
        rms = float(np.sqrt(np.mean(np.square(difference)))) if same and difference.size else largest
        found.append(Verdict(device, statistics.median(seconds), work, largest, rms, largest <= TOLERANCE[job]))
    return found


def _found() -> list[str]:
    """The first device of every kind there is, the processor before all."""
    kinds: dict[str, str] = {}
    for name, missing in all_devices():
        if not missing and not name.startswith("null"):
            kinds.setdefault(parse(name).kind, name)
    return sorted(kinds.values(), key=lambda name: name != "cpu")


def _job(
    job: str, size: int, rng: np.random.Generator
) -> tuple[Callable[[str], np.ndarray], Callable[[str], Plan] | None, list[Any]]:
    """What to call on a device; its plan; the plan's inputs and outputs."""
    if job == "convolve":
        image, mask = rng.standard_normal((size, size), np.float32), rng.standard_normal((13, 13), np.float32)
        arrays = [image, np.ascontiguousarray(mask[::-1, ::-1]), np.empty_like(image)]
        return (
            lambda device: convolve(image, mask, device=device),
            lambda device: plan_convolve(image.shape, mask.shape, device=device),
            arrays,
        )
    if job == "fbp":
        sinogram = rng.random((1, 3 * size // 4, size), np.float32)
        return (
            lambda device: fbp(sinogram, method="direct", device=device),
            lambda device: plan_fbp(sinogram.shape, method="direct", device=device),
            [sinogram, np.empty((1, size, size), np.float32)],
        )
    field = rng.standard_normal((size, size), np.float32)
    for y, x in rng.integers(4, size - 4, (size * size // 4096, 2)):
        field[y - 2 : y + 3, x - 2 : x + 3] += rng.uniform(10, 100)

    def sources(device: str) -> np.ndarray:
        table = find_sources(field, device=device)
        return np.stack([np.asarray(table[name], float) for name in ("x", "y", "flux", "npix")], axis=1)

    return sources, None, []


def _work(plan: Plan, arrays: list[Any], device: str) -> float:
    with bind(plan, running_backend(device)) as bound:
        for _ in range(2):
            clock = bound.profile(*arrays[:-1], out=arrays[-1:])
    return sum(seconds for step, seconds in clock.items() if step not in ("copy", "fill", "take"))
