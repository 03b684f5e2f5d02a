"""Honest timings: every contestant is warmed, then they take turns, and medians of the turns are compared.

Taking turns makes a disturbance of the machine fall on all of them alike; the median drops the turn it fell on, and the
ratio is the median of the per-turn ratios, so that a slow spell cancels. The spread is printed: a figure is not more
exact than that.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Timing:
    """Seconds of one contestant: one entry a turn."""

    name: str
    seconds: tuple[float, ...]

    @property
    def median(self) -> float:
        """Median seconds of a call."""
        return statistics.median(self.seconds)

    @property
    def best(self) -> float:
        """Fastest turn, in seconds a call."""
        return min(self.seconds)

    @property
    def spread(self) -> float:
        """(largest - smallest) / median."""
        return (max(self.seconds) - min(self.seconds)) / self.median if self.median else 0.0

    def ratio(self, other: Timing) -> float:
        """How many times as long ``other`` takes: the median of the turns' ratios."""
        return statistics.median(b / a for a, b in zip(self.seconds, other.seconds))


def _turn(call: Callable[[], object], calls: int, sync: Callable[[], object] | None) -> float:
    if sync:
        sync()
    start = time.perf_counter()
    for _ in range(calls):
        call()
    if sync:
        sync()
    return (time.perf_counter() - start) / calls


def compare(
    calls: Mapping[str, Callable[[], object]],
    *,
    turns: int = 7,
    least: float = 0.05,
    patience: float = 60.0,
    sync: Callable[[], object] | None = None,
) -> dict[str, Timing]:
    """Time the calls side by side.

    Each is called once to warm up (compile, fill caches) and once to learn its cost; a turn repeats it until ``least``
    seconds are filled. ``patience`` bounds the whole: there are fewer turns, never fewer than three, where one is slow.
    ``sync`` waits for a device.
    """
    repeats: dict[str, int] = {}
    cost = 0.0
    for name, call in calls.items():
        call()
        once = _turn(call, 1, sync)
        repeats[name] = max(1, int(least / max(once, 1e-7)))
        cost += once * repeats[name]
    turns = max(3, min(turns, int(patience / max(cost, 1e-7))))
    seconds: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(turns):
        for name, call in calls.items():
            seconds[name].append(_turn(call, repeats[name], sync))
    return {name: Timing(name, tuple(values)) for name, values in seconds.items()}


def report(title: str, timings: Mapping[str, Timing], *, nbytes: int = 0, flops: int = 0) -> None:
    """Print one table; the first contestant is the one the others are compared with.

    ``nbytes`` and ``flops`` are what the work needs at least: they give the columns GB/s and GFLOP/s.
    """
    first = next(iter(timings.values()))
    wide = max(len(name) for name in timings)
    print(title)
    for name, timing in timings.items():
        line = f"  {name:<{wide}}  {1e3 * timing.median:10.3f} ms  spread {100 * timing.spread:4.0f} %"
        if nbytes:
            line += f"  {nbytes / timing.median / 1e9:7.1f} GB/s"
        if flops:
            line += f"  {flops / timing.median / 1e9:8.1f} GFLOP/s"
        if timing is not first:
            line += f"  {first.ratio(timing):7.2f} x {first.name}"
        print(line, flush=True)
