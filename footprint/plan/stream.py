"""Frames through a plan one after another: read, computed and written side by side, in order, in bounded memory."""

from __future__ import annotations

import threading
import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

import numpy as np

from footprint.backend import process
from footprint.plan.drive import Flow, Job, Progress
from footprint.plan.faces import Filler, Taker, Turning
from footprint.plan.frames import Ahead, FrameJob, Frames, Stopped
from footprint.plan.slots import Part
from footprint.plan.spent import SPENT

if TYPE_CHECKING:
    from footprint.plan.bind import BoundPlan

At = Callable[[int, np.ndarray], None]
"""What reads or writes a block that is frame so and so."""


class StackJob(Job):
    """A stack's frames, a part each: from a source to a sink, both of which are told which frame it is.

    Attributes
    ----------
    latencies
        Seconds from the beginning of a frame's reading to the end of its writing, by frame.
    """

    def __init__(
        self, bound: BoundPlan, count: int, read: At, write: At, rest: dict[int, Any], progress: Progress | None = None
    ) -> None:
        plan = bound.plan
        source = Turning(lambda order: Filler(lambda region, block: read(order, block)))
        sink = Turning(lambda order: Taker(lambda region, block: write(order, block)))
        super().__init__(plan, 0, 0, {plan.inputs[0].id: source, plan.outputs[0].id: sink, **rest}, progress, None)
        self._total, self._asked = count, 0
        self.latencies = np.zeros(count)

    def next(self) -> list[Part] | None:
        """The next frame; None after the last."""
        if self._asked == self._total:
            return None
        self.latencies[self._asked] = -time.perf_counter()
        self._asked += 1
        return [()]

    def finished(self, bound: BoundPlan, group: list[Part], order: int) -> None:
        """A frame is written."""
        self.latencies[order] += time.perf_counter()
        if self.progress is not None:
            self.progress(order + 1, self._total)


def run_stack(
    bound: BoundPlan, count: int, read: At, write: At, rest: dict[int, Any], progress: Progress | None = None
) -> dict[str, float]:
    """Run ``count`` frames through a plan of one; `FrameStream.statistics` of them.

    Parameters
    ----------
    read, write
        ``read(number, block)`` fills a block with a frame, ``write(number, block)`` takes a result; each is called in order.
    rest
        The other inputs by slot.
    progress
        ``progress(frames_done, frames)``.
    """
    job, spent, start = StackJob(bound, count, read, write, rest, progress), SPENT.get(), time.perf_counter()
    with bound.backend.inside(bound.plan.limits.threads), spent.of([bound]) if spent is not None else nullcontext():
        bound.begin(0)
        job.side_by_side([bound])
    return statistics(count, time.perf_counter() - start, job.latencies)


def statistics(frames: int, seconds: float, latencies: Any) -> dict[str, float]:
    """Frames, seconds, frames a second; median, 95 % and largest of latencies in milliseconds."""
    times = 1e3 * np.asarray(latencies if len(latencies) else [float("nan")])
    return {
        "frames": frames,
        "seconds": seconds,
        "frames_per_second": frames / seconds if seconds else 0.0,
        "latency_median": float(np.median(times)),
        "latency_95": float(np.percentile(times, 95)),
        "latency_largest": float(times.max()),
    }


class FrameStream(Iterator[Any]):
    """Results in the order of the frames.

    It ends, and gives its memory back, when it is closed (by `close` or ``with``), comes to its end, or is let go of; at the latest
    with the interpreter. What the source raises comes after the results of the frames before it. A source that blocks is waited for
    a second, and then left alone until it comes back; a generator is closed.

    Attributes
    ----------
    plan
        What it takes, beside the results that the consumer holds.
    """

    def __init__(
        self, bound: BoundPlan, frames: Iterator[Any], first: np.ndarray, rest: dict[int, Any], depth: int, kind: Frames
    ) -> None:
        self.plan, self._job, self._back = bound.plan, FrameJob(bound, frames, first, rest, depth, kind.see), kind.back
        self._start = time.perf_counter()
        self._taken, self._seconds = 0, 0.0
        # Called once, be it by `close`, by the collector or at exit.
        self._end = weakref.finalize(self, _end, self._job, bound)
        try:
            with bound.backend.inside(bound.plan.limits.threads) as here:
                bound.follow(here)
                bound.begin(0)
                (Flow if bound.plan.limits.host else Ahead)(bound, self._job).start()
        except BaseException:
            self._end()
            raise

    def __next__(self) -> Any:
        if not self._end.alive:
            raise StopIteration
        result = self._job.take()
        if result is None:
            job = self._job
            first = job.error if job.error is not None and not isinstance(job.error, Stopped) else job.cut_off
            self.close()
            try:
                raise first if first is not None else StopIteration
            finally:
                # As in `drive.Job.side_by_side`: named here, it would keep the memory its frames hold.
                del first
        self._taken += 1
        self._seconds = time.perf_counter() - self._start
        return self._back(result)

    def __enter__(self) -> FrameStream:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """End the threads and give the memory back; frames not handed on yet are dropped."""
        self._end()

    @property
    def statistics(self) -> dict[str, float]:
        """Frames handed on, seconds, frames a second; milliseconds from a frame's coming to its result: median, 95 %, largest."""
        return statistics(self._taken, self._seconds, self._job.latencies)


def _end(job: FrameJob, bound: BoundPlan) -> None:
    if process.FORKED:
        # Threads and memory are the parent's.
        return
    if threading.current_thread() in bound.threads:
        # The collector ran in a thread that this waits for.
        threading.Thread(target=_end_here, args=(job, bound), daemon=True).start()
    else:
        _end_here(job, bound)


def _end_here(job: FrameJob, bound: BoundPlan) -> None:
    try:
        job.stop()
    finally:
        if job.running == 0:
            # They have left the job; that they are gone, too, takes them a moment.
            for thread in bound.late():
                thread.join()
        # Who still waits for the source touches nothing of it.
        bound.threads = []
        bound.free()
        # What was on its way to them has come.
        job.forget()
