"""Seconds that lanes are busy, beside what was predicted; measured only where someone wants to know."""

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


class Clock:
    """Seconds of steps: by kernel or action with the device waited for around each; without one by lane, as they run.

    Attributes
    ----------
    seconds
        By name. A lane is one thread of a binding, so each name has one writer.
    """

    def __init__(self, waits_for: Backend | None = None) -> None:
        self.seconds: dict[str, float] = {}
        self._backend = waits_for

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
        self.seconds[name] = self.seconds.get(name, 0.0) + time.perf_counter() - since


class Spent:
    """Of all jobs run in a `measuring` block, seconds by lane.

    Attributes
    ----------
    predicted, measured
        What the plans said, and how long the lanes' threads were busy; neither has the time a lane waits for another. A GPU's
        threads only start what it computes, so its own time is not among what is measured.
    """

    def __init__(self) -> None:
        self.predicted: dict[str, float] = {}
        self.measured: dict[str, float] = {}

    @contextmanager
    def of(self, bounds: Sequence[BoundPlan]) -> Iterator[None]:
        """Add what a job takes; of several devices, the one that is busy longest in a lane counts."""
        clocks = [Clock() for _ in bounds]
        for bound, clock in zip(bounds, clocks):
            bound.clock = clock
        try:
            yield
        finally:
            found = [clock.seconds for clock in clocks]
            for bound in bounds:
                bound.clock = None
            for lane in dict.fromkeys(lane for times in found for lane in times):
                self.measured[lane] = self.measured.get(lane, 0.0) + max(times.get(lane, 0.0) for times in found)
            for lane, seconds in bounds[0].plan.seconds:
                if seconds > 0:
                    self.predicted[lane] = self.predicted.get(lane, 0.0) + seconds


SPENT: ContextVar[Spent | None] = ContextVar("seconds by lane", default=None)


@contextmanager
def measuring() -> Iterator[Spent]:
    """Measure the jobs that this thread runs inside the block."""
    spent = Spent()
    token = SPENT.set(spent)
    try:
        yield spent
    finally:
        SPENT.reset(token)
