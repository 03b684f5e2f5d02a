"""Seconds that lanes are busy, and when, beside what was predicted, and what devices hold; only where someone wants to know."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from footprint.backend.base import Backend
    from footprint.plan.bind import BoundPlan
    from footprint.plan.slots import Step


# Spans of time that a lane's busy seconds are kept for, and how long each is at first.
SPANS, _SPAN = 256, 1 / 4096


class Busy:
    """Seconds that a lane was busy in each of so many spans of time; they grow twice as long when it goes on beyond the last.

    Attributes
    ----------
    span, seconds
        How long each is, and how much of it the lane was busy.
    """

    def __init__(self) -> None:
        self.span, self.seconds = _SPAN, [0.0] * SPANS

    def add(self, since: float, until: float) -> None:
        """Busy from one moment to another, in seconds from the first span's start."""
        while until > self.span * SPANS:
            self._double()
        i = min(max(int(since / self.span), 0), SPANS - 1)
        while since < until:
            end = min(until, (i + 1) * self.span) if i + 1 < SPANS else until
            self.seconds[i] += max(end - since, 0.0)
            since, i = max(end, since), i + 1

    def join(self, other: Busy) -> None:
        """Take another's seconds to these; of several devices a span may then hold more than it is long."""
        while self.span < other.span:
            self._double()
        step = int(self.span / other.span)
        for i, seconds in enumerate(other.seconds):
            self.seconds[i // step] += seconds

    def _double(self) -> None:
        self.span *= 2
        self.seconds = [a + b for a, b in zip(self.seconds[::2], self.seconds[1::2])] + [0.0] * (SPANS // 2)


class Clock:
    """Seconds of steps: by kernel or action with the device waited for around each; without one by lane, as they run.

    Parameters
    ----------
    waits_for
        The device.
    zero
        Keep when lanes were busy, too, from this moment on; None keeps no such thing.

    Attributes
    ----------
    seconds, busy
        By name. A lane is one thread of a binding, so each name has one writer.
    longest
        Seconds of the longest lane in each of the passes that have ended, added up: what follows waits for all of a pass.
    """

    def __init__(self, waits_for: Backend | None = None, zero: float | None = None) -> None:
        self.seconds: dict[str, float] = {}
        self.busy: dict[str, Busy] = {}
        self.longest = 0.0
        self._before: dict[str, float] = {}
        self._backend, self._zero = waits_for, zero

    def start(self) -> float:
        """When a step begins."""
        if self._backend is not None:
            self._backend.sync()
        return time.perf_counter()

    def stop(self, step: Step, since: float) -> None:
        """A step has ended."""
        if self._backend is not None:
            self._backend.sync()
        name = step.lane if self._backend is None else step.kernel or step.action
        now = time.perf_counter()
        self.seconds[name] = self.seconds.get(name, 0.0) + now - since
        if self._zero is not None:
            if name not in self.busy:
                self.busy[name] = Busy()
            self.busy[name].add(since - self._zero, now - self._zero)

    def passed(self) -> None:
        """All lanes are through a pass."""
        self.longest += max((spent - self._before.get(lane, 0.0) for lane, spent in self.seconds.items()), default=0.0)
        self._before = dict(self.seconds)


class Spent:
    """Of all jobs run in a `measuring` block, seconds by lane, and the most that a device held.

    Attributes
    ----------
    predicted, measured
        What the plans said, and how long the lanes' threads were busy; neither has the time a lane waits for another. A GPU's
        threads only start what it computes, so its own time is not among what is measured.
    longest
        Seconds of the longest lane in every pass, added up: less than that a job cannot take, whatever overlaps.
    busy
        When, by lane, where it was made to know: from its making on, all devices together.
    held
        Bytes that a device held at the end of a job, beyond those it held when the first plan was given memory there: what one
        takes it has from then on. None where all ran on the host.
    """

    def __init__(self, when: bool = False) -> None:
        self.predicted: dict[str, float] = {}
        self.measured: dict[str, float] = {}
        self.longest = 0.0
        self.busy: dict[str, Busy] = {}
        self.held: int | None = None
        self._zero = time.perf_counter() if when else None
        self._before: dict[str, int] = {}

    def binds(self, backend: Backend) -> None:
        """A plan is about to be given memory."""
        if not backend.limits.host and backend.limits.device not in self._before:
            self._before[backend.limits.device] = backend.used()

    @contextmanager
    def of(self, bounds: Sequence[BoundPlan]) -> Iterator[None]:
        """Add what a job takes; of several devices, the one that is busy longest in a lane counts."""
        clocks = [Clock(zero=self._zero) for _ in bounds]
        for bound, clock in zip(bounds, clocks):
            bound.clock = clock
        try:
            yield
        finally:
            found = [clock.seconds for clock in clocks]
            for bound in bounds:
                bound.clock = None
                self._holds(bound.backend)
            for lane in dict.fromkeys(lane for times in found for lane in times):
                self.measured[lane] = self.measured.get(lane, 0.0) + max(times.get(lane, 0.0) for times in found)
            self.longest += max(clock.longest for clock in clocks)
            for clock in clocks:
                for lane, busy in clock.busy.items():
                    self.busy.setdefault(lane, Busy()).join(busy)
            for lane, seconds in bounds[0].plan.seconds:
                if seconds > 0:
                    self.predicted[lane] = self.predicted.get(lane, 0.0) + seconds

    def _holds(self, backend: Backend) -> None:
        before = self._before.get(backend.limits.device)
        if before is not None:
            self.held = max(self.held or 0, backend.used() - before)


SPENT: ContextVar[Spent | None] = ContextVar("seconds by lane", default=None)


@contextmanager
def measuring(when: bool = False) -> Iterator[Spent]:
    """Measure the jobs that this thread runs inside the block, and ``when`` their lanes are busy."""
    spent = Spent(when)
    token = SPENT.set(spent)
    try:
        yield spent
    finally:
        SPENT.reset(token)
